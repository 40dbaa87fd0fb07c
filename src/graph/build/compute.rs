//! Nodes that compute: maps, casts, reductions, concatenation, gathering.

use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::movement::with_size;
use crate::graph::node::Flow;
use crate::graph::op::reduced_shape;
use crate::graph::{Lookup, Node, Op, ReduceKind};
use crate::ops::{Grad, Primitive, Takes};
use crate::shape::{Shape, broadcast_shapes, element_count, normalize_axes, normalize_axis};
use smallvec::SmallVec;

impl Node {
    /// A primitive on operands that broadcast to one shape.
    #[track_caller]
    pub(crate) fn map(primitive: &'static Primitive, operands: &[&Node]) -> Result<Node> {
        Node::map_all(primitive, operands.iter().map(|&operand| operand.clone()).collect())
    }

    /// As [`Node::map`], of operands that are not needed any more.
    #[track_caller]
    pub(crate) fn map_of<const N: usize>(primitive: &'static Primitive, operands: [Node; N]) -> Result<Node> {
        Node::map_all(primitive, operands.into_iter().collect())
    }

    #[track_caller]
    fn map_all(primitive: &'static Primitive, operands: SmallVec<[Node; 3]>) -> Result<Node> {
        debug_assert_eq!(operands.len(), primitive.takes.count());
        let given = primitive.result_dtype(check_dtypes(primitive, &operands)?);
        let shape = operands[0].shape();
        let (shape, inputs) = if operands[1..].iter().all(|operand| operand.shape() == shape) {
            // As many elements as an operand has, none of them larger: nothing to check.
            (Shape::from_slice(shape), operands)
        } else {
            broadcast(primitive.name, given, &operands)?
        };
        let flow = match primitive.grad {
            Grad::Rules(_) | Grad::Zero => Flow::Natural,
            Grad::None(why) => Flow::Stops(why),
        };
        Ok(Node::with_flow(Op::Map { primitive, inputs }, shape, given, flow))
    }

    /// Each element converted to `dtype`.
    #[track_caller]
    pub(crate) fn cast(&self, dtype: DType) -> Result<Node> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        element_count("cast", self.shape(), dtype)?;
        // True and false are 1 and 0 everywhere: what they were on the way does not matter.
        let truth = self.with_op(|op| match op {
            Op::Cast { input } if input.dtype() == DType::Bool => Some(input.clone()),
            _ => None,
        });
        if let Some(truth) = truth {
            return truth.cast(dtype);
        }
        Ok(Node::new(Op::Cast { input: self.clone() }, Shape::from_slice(self.shape()), dtype))
    }

    /// A reduction along axes; `op` is the name users called.
    #[track_caller]
    pub(crate) fn reduce(&self, op: &str, kind: ReduceKind, axes: &[isize], keepdim: bool) -> Result<Node> {
        let axes = normalize_axes(op, axes, self.shape()).map_err(|error| error.made_at("tensor", self.at()))?;
        self.reduce_checked(op, kind, axes, keepdim)
    }

    /// A reduction along all axes.
    #[track_caller]
    pub(crate) fn reduce_all(&self, op: &str, kind: ReduceKind) -> Result<Node> {
        self.reduce_checked(op, kind, (0..self.rank()).collect(), false)
    }

    #[track_caller]
    fn reduce_checked(&self, op: &str, kind: ReduceKind, axes: SmallVec<[usize; 6]>, keepdim: bool) -> Result<Node> {
        let is_number = self.dtype() != DType::Bool;
        let choice = match kind {
            ReduceKind::Sum | ReduceKind::Prod if !is_number => {
                return Err(Error::new(ErrorKind::DType, op, "bool is not a number: cast to an integer dtype first")
                    .made_at("tensor", self.at()));
            }
            ReduceKind::Sum | ReduceKind::Prod => false,
            ReduceKind::Max | ReduceKind::Min => is_number, // any and all of nothing are known
        };
        let shape = reduced_shape(self.shape(), &axes, keepdim);
        let empty = axes.iter().any(|&axis| self.shape()[axis] == 0);
        if choice && empty && !shape.contains(&0) {
            let message = format!("nothing to choose from: shape {:?} is empty along axes {axes:?}", self.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", self.at()));
        }
        // Without an axis of 0 there may be more of them than memory holds.
        element_count(op, &shape, self.dtype()).map_err(|error| error.made_at("tensor", self.at()))?;
        Ok(Node::new(Op::Reduce { kind, input: self.clone(), axes, keepdim }, shape, self.dtype()))
    }

    /// Nodes one after the other along an axis.
    #[track_caller]
    pub(crate) fn concat(op: &str, parts: &[&Node], axis: isize) -> Result<Node> {
        let Some(first) = parts.first() else {
            return Err(Error::new(ErrorKind::Value, op, "no tensors were given: at least one is needed"));
        };
        let axis = normalize_axis(op, axis, first.shape()).map_err(|error| error.made_at("tensor", first.at()))?;
        let mut shape = Shape::from_slice(first.shape());
        for part in &parts[1..] {
            same_dtype(op, first, part)?;
            let fits = part.rank() == first.rank()
                && (0..first.rank()).all(|k| k == axis || part.shape()[k] == first.shape()[k]);
            if !fits {
                let message = format!(
                    "shapes {:?} and {:?} do not fit along axis {axis}: every other axis must be the same",
                    first.shape(),
                    part.shape()
                );
                return Err(Error::new(ErrorKind::Shape, op, message).operands(first.at(), part.at()));
            }
            shape[axis] = shape[axis].saturating_add(part.shape()[axis]);
        }
        element_count(op, &shape, first.dtype())?;
        if parts.len() == 1 {
            return Ok((*first).clone());
        }
        let inputs = parts.iter().map(|&part| part.clone()).collect();
        Ok(Node::new(Op::Concat { inputs, axis }, shape, first.dtype()))
    }

    /// `out[.., j, ..] = self[.., index[.., j, ..], ..]` along `axis`. Indices below zero count from the end.
    #[track_caller]
    pub(crate) fn gather(&self, name: &'static str, index: &Node, axis: usize) -> Result<Node> {
        self.gather_by(Lookup { name, from_end: true }, index, axis)
    }

    /// [`Node::gather`] with the numbers of the index meant in a given way.
    #[track_caller]
    pub(crate) fn gather_by(&self, lookup: Lookup, index: &Node, axis: usize) -> Result<Node> {
        let op = lookup.name;
        let places = index.as_places(op)?;
        let fits =
            index.rank() == self.rank() && (0..self.rank()).all(|k| k == axis || index.shape()[k] <= self.shape()[k]);
        if !fits {
            let message = format!(
                "index of shape {:?} does not fit a tensor of shape {:?} along axis {axis}",
                index.shape(),
                self.shape()
            );
            return Err(Error::new(ErrorKind::Shape, op, message).operands(self.at(), index.at()));
        }
        if self.shape()[axis] == 0 && index.len() > 0 {
            let message = format!("axis {axis} of shape {:?} is empty: there is nothing to take", self.shape());
            return Err(Error::new(ErrorKind::Index, op, message).made_at("tensor", self.at()));
        }
        element_count(op, index.shape(), self.dtype())?;
        let shape = Shape::from_slice(index.shape());
        let gather = Op::Gather { lookup, input: self.clone(), index: places, axis };
        Ok(Node::new(gather, shape, self.dtype()))
    }

    /// An index tensor's numbers as `i64`.
    #[track_caller]
    pub(crate) fn as_places(&self, op: &str) -> Result<Node> {
        if !self.dtype().is_integer() {
            let message = format!("an index is an integer tensor, this one is {}: cast it", self.dtype());
            return Err(Error::new(ErrorKind::DType, op, message).made_at("index", self.at()));
        }
        // What no i64 holds is outside every axis, and must not come back as a number below zero.
        let most = Literal::U64(i64::MAX as u64);
        let index = match self.dtype() {
            DType::U64 => Node::map(&crate::ops::MINIMUM, &[self, &Node::full(self.shape(), most)?])?,
            _ => self.clone(),
        };
        index.cast(DType::I64)
    }

    /// A tensor of `shape` with what goes to one place put together: the elements of this node go to `index` along `axis`. The sum
    /// is the adjoint of [`Node::gather`].
    #[track_caller]
    pub(crate) fn scatter(
        &self,
        kind: ReduceKind,
        lookup: Lookup,
        index: &Node,
        axis: usize,
        shape: &[usize],
    ) -> Result<Node> {
        debug_assert!(index.dtype() == DType::I64 && index.shape() == self.shape() && self.dtype() != DType::Bool);
        element_count(lookup.name, shape, self.dtype())?;
        // The other axes may be longer than those of what goes there: the rest is as if nothing went there.
        let own = with_size(self.shape(), axis, shape[axis]);
        let (index, source) = (index.clone(), self.dense());
        let scattered = Node::new(Op::Scatter { kind, lookup, index, source, axis }, own, self.dtype());
        let rest = shape.iter().zip(scattered.shape()).map(|(&size, &own)| (0, size - own));
        scattered.padded(&rest.collect::<SmallVec<[(usize, usize); 6]>>(), kind.start(self.dtype()))
    }
}

/// The shape that operands stretch to, and the operands stretched to it.
#[track_caller]
fn broadcast(op: &str, given: DType, operands: &[Node]) -> Result<(Shape, SmallVec<[Node; 3]>)> {
    let mut shape = Shape::from_slice(operands[0].shape());
    for pair in operands.windows(2) {
        shape = broadcast_shapes(op, &shape, pair[1].shape())
            .map_err(|error| error.operands(pair[0].at(), pair[1].at()))?;
    }
    element_count(op, &shape, given)?;
    let mut inputs = SmallVec::new();
    for operand in operands {
        inputs.push(operand.broadcast_to(&shape)?);
    }
    Ok((shape, inputs))
}

/// The dtype a primitive works in, after checking every operand's.
fn check_dtypes(primitive: &Primitive, operands: &[Node]) -> Result<DType> {
    let name = primitive.name;
    let values = match primitive.takes {
        Takes::Same(_) => operands,
        Takes::Choice => {
            let condition = &operands[0];
            if condition.dtype() != DType::Bool {
                let message = format!("the condition is {}, not bool: compare it, as in x.ne(0)", condition.dtype());
                return Err(Error::new(ErrorKind::DType, name, message).made_at("condition", condition.at()));
            }
            &operands[1..]
        }
    };
    for pair in values.windows(2) {
        same_dtype(name, &pair[0], &pair[1])?;
    }
    primitive.dtypes.check(name, &values[0])?;
    Ok(values[0].dtype())
}

/// An error unless both dtypes are the same.
fn same_dtype(op: &str, left: &Node, right: &Node) -> Result<()> {
    if left.dtype() == right.dtype() {
        return Ok(());
    }
    let message = format!(
        "dtypes {} and {} do not mix: cast one, as in x.cast({})",
        left.dtype(),
        right.dtype(),
        format_args!("DType::{:?}", left.dtype())
    );
    Err(Error::new(ErrorKind::DType, op, message).operands(left.at(), right.at()))
}
