//! Nodes that begin a graph.

use crate::dtype::{DType, Literal};
use crate::error::{MadeHere, Result};
use crate::graph::{Node, Op};
use crate::shape::{Shape, element_count};

impl Node {
    /// One value everywhere.
    #[track_caller]
    pub(crate) fn full(shape: &[usize], value: Literal) -> Result<Node> {
        element_count("full", shape, value.dtype()).made_here()?;
        Ok(Node::new(Op::ConstFill(value), Shape::from_slice(shape), value.dtype()))
    }

    /// One value of this node's dtype, everywhere in this node's shape: a number beside a tensor.
    #[track_caller]
    pub(crate) fn full_like(&self, value: Literal) -> Node {
        debug_assert_eq!(value.dtype(), self.dtype());
        Node::new(Op::ConstFill(value), Shape::from_slice(self.shape()), self.dtype())
    }

    /// 0, 1, 2 … `len - 1` as `i64`.
    #[track_caller]
    pub(crate) fn positions(len: usize) -> Result<Node> {
        element_count("arange", &[len], DType::I64).made_here()?;
        Ok(Node::new(Op::Arange, Shape::from_slice(&[len]), DType::I64))
    }

    /// Random bits as `u32`, by counter.
    #[track_caller]
    pub(crate) fn random_bits(shape: &[usize], seed: u64, stream: u64, word: u8) -> Result<Node> {
        element_count("rand", shape, DType::U64).made_here()?;
        Ok(Node::new(Op::Rand { seed, stream, word }, Shape::from_slice(shape), DType::U32))
    }

    /// Data that will be given by name.
    #[track_caller]
    pub(crate) fn input(name: &str, shape: &[usize], dtype: DType) -> Result<Node> {
        element_count("input", shape, dtype).made_here()?;
        Ok(Node::placeholder(name, Shape::from_slice(shape), dtype))
    }
}
