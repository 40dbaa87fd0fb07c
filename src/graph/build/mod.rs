//! Making nodes: every wish is checked here, once, for all dtypes and ranks.

mod compute;
mod lines;
mod moves;
mod source;
mod windows;

pub(crate) use moves::whole_ranges;
