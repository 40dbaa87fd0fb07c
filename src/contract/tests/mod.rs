//! Products against naive ones.

mod borders;
mod cases;
mod naive;
mod orders;
mod paths;
mod strips;
