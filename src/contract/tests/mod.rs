//! Products against naive ones.

mod cases;
mod naive;
mod orders;
mod paths;
mod strips;
