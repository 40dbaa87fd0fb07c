//! What the library knows of one elementwise primitive, in one record.
//!
//! The reference evaluator, constant folding, the scheduler, every code generator, automatic differentiation and
//! the table tests all read the same record, so an op's facts cannot drift apart.

use super::vector::{Emit, Lane, Unary, Val};
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use std::ops::Range;

/// One elementwise primitive.
pub(crate) struct Primitive {
    /// The name users know it by.
    pub(crate) name: &'static str,
    /// How many operands, and how their dtypes go together.
    pub(crate) takes: Takes,
    /// The dtypes of its operands.
    pub(crate) dtypes: Dtypes,
    /// The dtype of its result.
    pub(crate) gives: Gives,
    /// The meaning, for the reference evaluator and for constants.
    pub(crate) eval: Eval,
    /// The derivative.
    pub(crate) grad: Grad,
    /// The same meaning in the code generator's words. The operands are in the lanes of the dtype.
    pub(crate) emit: fn(&mut Emit, DType, &[Val]) -> Val,
    /// Where the table tests draw each operand, where the op and its derivative are smooth.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests draw samples"))]
    pub(crate) sample: &'static [Range<f64>],
}

/// The operands of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// So many operands of one dtype.
    Same(usize),
    /// A `bool`, then two of one dtype.
    Choice,
}

impl Takes {
    /// The number of operands.
    pub(crate) fn count(self) -> usize {
        match self {
            Takes::Same(count) => count,
            Takes::Choice => 3,
        }
    }
}

/// Which dtypes a primitive is defined on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dtypes {
    Float,
    Integer,
    IntegerOrBool,
    /// Floats and integers with a sign.
    Signed,
    Numeric,
    Any,
}

impl Dtypes {
    /// Whether the set has a dtype.
    pub(crate) fn contains(self, dtype: DType) -> bool {
        match self {
            Dtypes::Float => dtype.is_float(),
            Dtypes::Integer => dtype.is_integer(),
            Dtypes::IntegerOrBool => !dtype.is_float(),
            Dtypes::Signed => dtype.is_float() || dtype.is_signed_integer(),
            Dtypes::Numeric => dtype.is_numeric(),
            Dtypes::Any => true,
        }
    }

    /// An error unless the set has the node's dtype.
    pub(crate) fn check(self, op: &str, x: &Node) -> Result<()> {
        if self.contains(x.dtype()) {
            return Ok(());
        }
        let message = format!("{} is not {}: cast it first", x.dtype(), self.describe());
        Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()))
    }

    /// The set in words, for messages.
    fn describe(self) -> &'static str {
        match self {
            Dtypes::Float => "a float dtype (f16, bf16, f32, f64)",
            Dtypes::Integer => "an integer dtype",
            Dtypes::IntegerOrBool => "an integer dtype or bool",
            Dtypes::Signed => "a float or signed integer dtype",
            Dtypes::Numeric => "a numeric dtype",
            Dtypes::Any => "any dtype",
        }
    }
}

/// The dtype of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// That of the (last) operand.
    Same,
    /// `bool`.
    Bool,
}

/// A meaning on integers of a dtype; `None` is a fault such as a division by zero.
pub(crate) type OnIntegers = fn(&[i128], DType) -> Option<i128>;

/// A primitive's meaning on numbers: floats as `f64` rounded once to the dtype, integers (and bools, 0 and 1) as
/// mathematical integers wrapped to the dtype. `None` where the dtype is not taken.
#[derive(Clone, Copy)]
pub(crate) struct Eval {
    pub(crate) float: Option<fn(&[f64]) -> f64>,
    pub(crate) integer: Option<OnIntegers>,
}

impl Eval {
    /// A meaning on floats only.
    pub(crate) const fn float(float: fn(&[f64]) -> f64) -> Eval {
        Eval { float: Some(float), integer: None }
    }

    /// A meaning on integers only; `None` is a fault such as a division by zero.
    pub(crate) const fn integer(integer: OnIntegers) -> Eval {
        Eval { float: None, integer: Some(integer) }
    }

    /// A meaning on floats and one on integers.
    pub(crate) const fn both(float: fn(&[f64]) -> f64, integer: OnIntegers) -> Eval {
        Eval { float: Some(float), integer: Some(integer) }
    }
}

/// The derivative of one operand: from the gradient of the result `g`, the operands `x` and the result `y`.
pub(crate) type Rule = fn(g: &Node, x: &[Node], y: &Node) -> Node;

/// A primitive's derivative.
#[derive(Clone, Copy)]
pub(crate) enum Grad {
    /// One rule for each operand.
    Rules(&'static [Rule]),
    /// Flat almost everywhere: the gradient is zero.
    Zero,
    /// No gradient passes, and why.
    None(&'static str),
}

impl Primitive {
    /// The result of the primitive on single values, by its record; `None` is a fault (an integer divided by zero).
    pub(crate) fn apply(&self, operands: &[Literal]) -> Option<Literal> {
        let last = operands[operands.len() - 1].dtype();
        let given = match self.gives {
            Gives::Same => last,
            Gives::Bool => DType::Bool,
        };
        if last.is_float() {
            let float = self.eval.float.expect("the record says it takes floats");
            let values: smallvec::SmallVec<[f64; 3]> = operands.iter().map(|x| x.to_f64()).collect();
            return Some(Literal::from_f64(given, float(&values)));
        }
        let integer = self.eval.integer.expect("the record says it takes integers");
        let values: Option<smallvec::SmallVec<[i128; 3]>> = operands.iter().map(|x| x.to_integer()).collect();
        Some(Literal::from_integer(given, integer(&values?, last)?))
    }

    /// The dtype of the result for operands of `dtype`.
    pub(crate) fn result_dtype(&self, dtype: DType) -> DType {
        match self.gives {
            Gives::Same => dtype,
            Gives::Bool => DType::Bool,
        }
    }

    /// Writes the primitive for operands of `dtype`, its result rounded or wrapped to that dtype.
    pub(crate) fn write(&self, e: &mut Emit, dtype: DType, operands: &[Val]) -> Val {
        let raw = (self.emit)(e, dtype, operands);
        settle(e, self.result_dtype(dtype), raw)
    }
}

/// Brings a value computed in a dtype's lane back to a value of the dtype.
pub(crate) fn settle(e: &mut Emit, dtype: DType, raw: Val) -> Val {
    let word = match dtype {
        DType::I8 => Unary::WrapI8,
        DType::I16 => Unary::WrapI16,
        DType::U8 => Unary::WrapU8,
        DType::U16 => Unary::WrapU16,
        DType::F16 => Unary::RoundF16,
        DType::BF16 => Unary::RoundBF16,
        DType::Bool | DType::I32 | DType::U32 | DType::I64 | DType::U64 | DType::F32 | DType::F64 => return raw,
    };
    debug_assert_eq!(raw.lane, Lane::of(dtype));
    e.convert(word, raw, raw.lane)
}
