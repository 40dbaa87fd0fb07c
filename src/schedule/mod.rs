//! Decides which nodes share one kernel, and in which order kernels run.
//!
//! In: the nodes that are wanted. Out: a plan, kernels in running order.
//! A stage is one expression, optionally reduced: an elementwise node merges into its consumer, also through views, unless
//! that would compute it twice ([`group`]). Stages that share rows, or what they read, become one kernel ([`rows`]).

mod border;
mod build;
mod contraction;
mod expression;
mod fingerprint;
mod frame;
mod glance;
mod group;
mod hidden;
mod kernels;
mod order;
mod plan;
mod print;
mod producer;
mod request;
mod rows;
mod snapshot;
mod turned;
mod unroll;

#[cfg(test)]
mod tests;

pub(crate) use contraction::{Axes, Contraction, collapsed, contraction, kept_axes};
pub(crate) use expression::{Expression, Step};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use glance::Glance;
pub(crate) use hidden::Hidden;
pub(crate) use plan::{Form, Kernel, MapReduce, Operand, Plan, Stage, Work};
pub(crate) use producer::Producer;
pub(crate) use request::Request;

#[cfg(test)]
use crate::graph::Node;

/// The kernels that compute `wanted`. None of `wanted` is a view, and none is realized.
#[cfg(test)]
pub(crate) fn plan(wanted: &[Node]) -> Plan {
    Request::new(wanted.to_vec()).plan()
}
