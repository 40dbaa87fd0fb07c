//! The operators by theme, with the names that users of PyTorch and NumPy know, and the conventions of gradients.
//!
#![doc = include_str!("../docs/OPERATORS.md")]
