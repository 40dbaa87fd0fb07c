//! Arithmetic on nodes, for the rules of the records and for compositions.
//!
//! These are the untyped core's own words: shapes broadcast, and a mistake is a panic at the user's line.

use super::Primitive;
use crate::dtype::{DType, Literal};
use crate::error::OrRaise;
use crate::graph::Node;
use std::ops::{Add, Div, Mul, Neg, Sub};

impl Node {
    #[track_caller]
    fn one(&self, primitive: &'static Primitive) -> Node {
        Node::map(primitive, &[self]).or_raise()
    }

    #[track_caller]
    fn two(&self, primitive: &'static Primitive, other: &Node) -> Node {
        Node::map(primitive, &[self, other]).or_raise()
    }

    /// A constant of this node's shape and dtype.
    #[track_caller]
    pub(crate) fn fill(&self, value: f64) -> Node {
        self.full_like(Literal::from_f64(self.dtype(), value))
    }

    /// This node where the condition holds, zero elsewhere.
    #[track_caller]
    pub(crate) fn keep_where(&self, condition: &Node) -> Node {
        Node::map(&super::SELECT, &[condition, self, &self.fill(0.0)]).or_raise()
    }

    /// This node where the condition holds, `other` elsewhere.
    #[track_caller]
    pub(crate) fn or_where_not(&self, condition: &Node, other: &Node) -> Node {
        Node::map(&super::SELECT, &[condition, self, other]).or_raise()
    }

    /// `a > b`, which is `b < a`.
    #[track_caller]
    pub(crate) fn gt(&self, other: &Node) -> Node {
        other.lt(self)
    }

    /// `a >= b`, which is `b <= a`.
    #[track_caller]
    pub(crate) fn ge(&self, other: &Node) -> Node {
        other.le(self)
    }
}

macro_rules! node_methods {
    ($($name:ident $record:ident $arity:ident;)*) => {
        impl Node { $(node_methods!(@ $arity $name $record);)* }
    };
    (@ one $name:ident $record:ident) => {
        #[track_caller]
        pub(crate) fn $name(&self) -> Node {
            self.one(&super::$record)
        }
    };
    (@ two $name:ident $record:ident) => {
        #[track_caller]
        pub(crate) fn $name(&self, other: &Node) -> Node {
            self.two(&super::$record, other)
        }
    };
}

node_methods! {
    lt LT two;
    le LE two;
    eq EQ two;
    ne NE two;
    and BITAND two;
    pow POW two;
    minimum MINIMUM two;
    not BITNOT one;
    exp EXP one;
    exp_below EXP_BELOW one;
    ln LN one;
    log1p LOG1P one;
    sin SIN one;
    cos COS one;
    sqrt SQRT one;
    sinh SINH one;
    cosh COSH one;
    abs ABS one;
    sign SIGN one;
}

macro_rules! node_operators {
    ($($trait:ident $method:ident $record:ident;)*) => {$(
        impl $trait<&Node> for &Node {
            type Output = Node;
            #[track_caller]
            fn $method(self, other: &Node) -> Node {
                self.two(&super::$record, other)
            }
        }
        impl $trait<f64> for &Node {
            type Output = Node;
            #[track_caller]
            fn $method(self, other: f64) -> Node {
                Node::map_of(&super::$record, [self.clone(), self.fill(other)]).or_raise()
            }
        }
        impl $trait<&Node> for f64 {
            type Output = Node;
            #[track_caller]
            fn $method(self, other: &Node) -> Node {
                Node::map_of(&super::$record, [other.fill(self), other.clone()]).or_raise()
            }
        }
    )*};
}

node_operators! {
    Add add ADD;
    Sub sub SUB;
    Mul mul MUL;
    Div div DIV;
}

impl Neg for &Node {
    type Output = Node;
    #[track_caller]
    fn neg(self) -> Node {
        self.one(&super::NEG)
    }
}

impl Neg for Node {
    type Output = Node;
    #[track_caller]
    fn neg(self) -> Node {
        -&self
    }
}

/// The dtype in which sums of a dtype's elements are best kept: floats of 16 bits are summed in 32.
pub(crate) fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::Bool
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64
        | DType::F32
        | DType::F64 => dtype,
    }
}
