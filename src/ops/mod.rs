//! The vocabulary: what each op means, in one place each.

pub(crate) mod math;
pub(crate) mod vector;
