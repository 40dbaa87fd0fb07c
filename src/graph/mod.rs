//! The graph of wishes: nodes, how they are made, and walking them without recursion.

pub(crate) mod build;
mod ids;
mod lines;
mod movement;
mod node;
mod op;
mod print;
mod replace;
mod replay;
mod scope;
mod shortcut;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use ids::{IdMap, IdSet};
pub(crate) use lines::{LineWork, ScanKind};
pub(crate) use movement::{Axes, Movement, SliceRange, Vjp, Window};
pub(crate) use node::{Cut, Harvest, Identity, NOT_FLOAT, Node};
pub(crate) use op::{Lookup, Op, ReduceKind};
pub(crate) use print::listing;
pub(crate) use replace::replace;
pub(crate) use scope::{Origin, Pause, is_recording};
pub(crate) use walk::topological;
