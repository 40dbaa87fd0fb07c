//! Tables in which every op stands: its value on every dtype and layout, its edges, its gradients.
//!
//! The judge is [`crate::reference`] for values and finite differences for gradients. An op without a row fails a test.

mod casts;
mod compare;
mod composed;
mod gradients;
mod layouts;
mod primitives;
mod reductions;
mod rooms;
mod sample;
mod special;
