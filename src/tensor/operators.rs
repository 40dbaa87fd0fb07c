//! `+ - * / %`, `& | ^ << >>`, `-x` and `!x`: owned and borrowed, tensors and numbers on both sides.

use super::operand::Beside;
use super::{BroadcastWith, Dimension, DynOperand, DynTensor, Tensor};
use crate::dtype::{BitDType, DType, IntegerDType, Literal, NumericDType, SignedDType, TensorDType, bf16, f16};
use crate::error::{OrRaise, Result};
use crate::graph::Node;
use crate::ops::compose::scalar::Number;
use crate::ops::{self, Primitive};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

/// Division is of floats or of integers.
pub(super) fn division(dtype: DType) -> &'static Primitive {
    if dtype.is_float() { &ops::DIV } else { &ops::IDIV }
}

#[track_caller]
fn apply(primitive: &'static Primitive, left: Node, right: Node) -> Node {
    Node::map_of(primitive, [left, right]).or_raise()
}

/// A tensor and a number on its right.
#[track_caller]
fn apply_number(primitive: &'static Primitive, left: Node, right: Literal) -> Node {
    let right = left.full_like(right);
    apply(primitive, left, right)
}

/// One operator between tensors (owned or borrowed) and between a tensor and a number on its right.
macro_rules! operator {
    ($($trait:ident $method:ident $try_method:ident $bound:ident $doc:literal $gives:literal $primitive:expr;)*) => {$(
        operator!(@pair $trait $method $bound ($primitive) [Tensor<T, D>] into_node [Tensor<T, E>] into_node);
        operator!(@pair $trait $method $bound ($primitive) [Tensor<T, D>] into_node [&Tensor<T, E>] to_node);
        operator!(@pair $trait $method $bound ($primitive) [&Tensor<T, D>] to_node [Tensor<T, E>] into_node);
        operator!(@pair $trait $method $bound ($primitive) [&Tensor<T, D>] to_node [&Tensor<T, E>] to_node);
        operator!(@number $trait $method $bound ($primitive) [Tensor<T, D>] into_node);
        operator!(@number $trait $method $bound ($primitive) [&Tensor<T, D>] to_node);

        impl<T: $bound, D: Dimension> Tensor<T, D> {
            #[doc = concat!($doc, " with an error in place of a panic.")]
            #[doc = concat!(
                "\n```\n# use zither::Tensor;\nlet (a, b) = (Tensor::new([6, 3]), Tensor::new([2, 1]));\nassert_eq!(a.",
                stringify!($try_method), "(&b)?.data()?, ", $gives, ");\n# Ok::<(), zither::Error>(())\n```"
            )]
            #[track_caller]
            pub fn $try_method<E: Dimension>(&self, other: &Tensor<T, E>) -> Result<Tensor<T, <D as BroadcastWith<E>>::Output>>
            where
                D: BroadcastWith<E>,
            {
                Ok(Tensor::wrap(Node::map($primitive(T::DTYPE), &[self.node(), other.node()])?))
            }
        }
    )*};
    (@pair $trait:ident $method:ident $bound:ident ($primitive:expr) [$left:ty] $left_node:ident [$right:ty] $right_node:ident) => {
        impl<T: $bound, D: Dimension, E: Dimension> $trait<$right> for $left
        where
            D: BroadcastWith<E>,
        {
            type Output = Tensor<T, <D as BroadcastWith<E>>::Output>;
            #[track_caller]
            fn $method(self, other: $right) -> Self::Output {
                Tensor::wrap(apply($primitive(T::DTYPE), self.$left_node(), other.$right_node()))
            }
        }
    };
    (@number $trait:ident $method:ident $bound:ident ($primitive:expr) [$left:ty] $left_node:ident) => {
        impl<T: $bound, D: Dimension> $trait<T> for $left {
            type Output = Tensor<T, D>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                Tensor::wrap(apply_number($primitive(T::DTYPE), self.$left_node(), other.literal()))
            }
        }
    };
}

operator! {
    Add add try_add NumericDType "`a + b`," "[8, 4]" |_| &ops::ADD;
    Sub sub try_sub NumericDType "`a - b`," "[4, 2]" |_| &ops::SUB;
    Mul mul try_mul NumericDType "`a * b`," "[12, 3]" |_| &ops::MUL;
    Div div try_div NumericDType "`a / b` (integers towards zero)," "[3, 3]" division;
    Rem rem try_rem IntegerDType "`a % b` (the remainder has the sign of `a`)," "[0, 0]" |_| &ops::REM;
    BitAnd bitand try_bitand BitDType "`a & b`," "[2, 1]" |_| &ops::BITAND;
    BitOr bitor try_bitor BitDType "`a | b`," "[6, 3]" |_| &ops::BITOR;
    BitXor bitxor try_bitxor BitDType "`a ^ b`," "[4, 2]" |_| &ops::BITXOR;
    Shl shl try_shl IntegerDType "`a << b`," "[24, 6]" |_| &ops::SHL;
    Shr shr try_shr IntegerDType "`a >> b`," "[1, 1]" |_| &ops::SHR;
}

/// A number on the left of a tensor.
macro_rules! number_first {
    ($($ty:ty: $($trait:ident $method:ident $primitive:expr),*;)*) => {$($(
        impl<D: Dimension> $trait<&Tensor<$ty, D>> for $ty {
            type Output = Tensor<$ty, D>;
            #[track_caller]
            fn $method(self, other: &Tensor<$ty, D>) -> Tensor<$ty, D> {
                let node = other.node();
                Tensor::wrap(apply($primitive, node.full_like(self.literal()), node.clone()))
            }
        }
        impl<D: Dimension> $trait<Tensor<$ty, D>> for $ty {
            type Output = Tensor<$ty, D>;
            #[track_caller]
            fn $method(self, other: Tensor<$ty, D>) -> Tensor<$ty, D> {
                $trait::$method(self, &other)
            }
        }
    )*)*};
}

/// The arithmetic operators for a list of numbers.
macro_rules! numbers_first {
    ($($ty:ty),*) => {
        number_first! {$(
            $ty: Add add &ops::ADD, Sub sub &ops::SUB, Mul mul &ops::MUL, Div div division(<$ty as TensorDType>::DTYPE);
        )*}
    };
}

numbers_first!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! prefix {
    ($($trait:ident $method:ident $try_method:ident $bound:ident $record:ident $doc:literal;)*) => {$(
        impl<T: $bound, D: Dimension> $trait for &Tensor<T, D> {
            type Output = Tensor<T, D>;
            #[track_caller]
            fn $method(self) -> Tensor<T, D> {
                Tensor::wrap(Node::map(&ops::$record, &[self.node()]).or_raise())
            }
        }
        impl<T: $bound, D: Dimension> $trait for Tensor<T, D> {
            type Output = Tensor<T, D>;
            #[track_caller]
            fn $method(self) -> Tensor<T, D> {
                $trait::$method(&self)
            }
        }
        impl DynTensor {
            #[doc = concat!($doc, " with an error in place of a panic.")]
            #[track_caller]
            pub fn $try_method(&self) -> Result<DynTensor> {
                Ok(DynTensor::wrap(Node::map(&ops::$record, &[self.node()])?))
            }
        }
        impl $trait for &DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self) -> DynTensor {
                self.$try_method().or_raise()
            }
        }
        impl $trait for DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self) -> DynTensor {
                $trait::$method(&self)
            }
        }
    )*};
}

prefix! {
    Neg neg try_neg SignedDType NEG "`-a`,";
    Not not try_not BitDType BITNOT "`!a`,";
}

/// The operators of dynamic tensors. Beside a float tensor a number is an `f64` or an `i64`, beside an integer tensor an
/// `i64`, and the dtype must be able to hold it.
macro_rules! dynamic_operator {
    ($($trait:ident $method:ident $try_method:ident $doc:literal $primitive:expr;)*) => {$(
        impl DynTensor {
            #[doc = concat!($doc, " with an error in place of a panic.")]
            #[track_caller]
            pub fn $try_method(&self, other: impl DynOperand) -> Result<DynTensor> {
                let primitive = $primitive(self.dtype());
                let other = other.operand(primitive.written(), &Beside(self.node()))?;
                Ok(DynTensor::wrap(Node::map(primitive, &[self.node(), &other.0])?))
            }
        }
        dynamic_operator!(@beside $trait $method $try_method [&DynTensor] [f64] [i64]);

        impl $trait<DynTensor> for DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: DynTensor) -> DynTensor {
                self.$try_method(&other).or_raise()
            }
        }
        impl $trait<DynTensor> for &DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: DynTensor) -> DynTensor {
                self.$try_method(&other).or_raise()
            }
        }
    )*};
    (@beside $trait:ident $method:ident $try_method:ident $([$right:ty])*) => {$(
        impl $trait<$right> for DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: $right) -> DynTensor {
                self.$try_method(other).or_raise()
            }
        }
        impl $trait<$right> for &DynTensor {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: $right) -> DynTensor {
                self.$try_method(other).or_raise()
            }
        }
    )*};
}

dynamic_operator! {
    Add add try_add "`a + b`," |_| &ops::ADD;
    Sub sub try_sub "`a - b`," |_| &ops::SUB;
    Mul mul try_mul "`a * b`," |_| &ops::MUL;
    Div div try_div "`a / b` (integers towards zero)," division;
    Rem rem try_rem "`a % b` (the remainder has the sign of `a`)," |_| &ops::REM;
    BitAnd bitand try_bitand "`a & b`," |_| &ops::BITAND;
    BitOr bitor try_bitor "`a | b`," |_| &ops::BITOR;
    BitXor bitxor try_bitxor "`a ^ b`," |_| &ops::BITXOR;
    Shl shl try_shl "`a << b`," |_| &ops::SHL;
    Shr shr try_shr "`a >> b`," |_| &ops::SHR;
}

/// A number on the left of a dynamic tensor, which must be able to hold it.
#[track_caller]
fn number_before(primitive: &'static Primitive, number: Number, x: &DynTensor) -> DynTensor {
    let node = x.node();
    let number = number.beside(primitive.written(), node).or_raise();
    DynTensor::wrap(apply(primitive, node.full_like(number), node.clone()))
}

macro_rules! dynamic_number_first {
    ($($number:ident $kind:ident: $($trait:ident $method:ident $primitive:expr),*;)*) => {$($(
        impl $trait<&DynTensor> for $number {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: &DynTensor) -> DynTensor {
                number_before($primitive(other.dtype()), Number::$kind(self), other)
            }
        }
        impl $trait<DynTensor> for $number {
            type Output = DynTensor;
            #[track_caller]
            fn $method(self, other: DynTensor) -> DynTensor {
                $trait::$method(self, &other)
            }
        }
    )*)*};
}

dynamic_number_first! {
    f64 Float: Add add |_| &ops::ADD, Sub sub |_| &ops::SUB, Mul mul |_| &ops::MUL, Div div division;
    i64 Whole: Add add |_| &ops::ADD, Sub sub |_| &ops::SUB, Mul mul |_| &ops::MUL, Div div division;
}
