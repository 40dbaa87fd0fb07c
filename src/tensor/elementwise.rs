//! Elementwise functions of one tensor, and comparisons and choices between two.

use super::operand::Beside;
use super::tables::{applied, as_typed};
use super::twins::twins;
use super::{BroadcastWith, Dimension, DynOperand, DynTensor, Operand, Tensor};
use crate::dtype::{FloatDType, Literal, NumericDType, TensorDType};
use crate::error::{Error, ErrorKind, OrRaise, Result};
use crate::graph::Node;
use crate::ops::compose::scalar::Number;
use crate::ops::{self, compose};

/// Functions of one tensor: `name`, the twin of a dynamic tensor, what it does, numbers and what it makes of them.
macro_rules! unary {
    ($($bound:ident { $($name:ident $try_name:ident $doc:literal, $numbers:literal => $gives:literal, $f:expr;)* })*) => {$(
        impl<T: $bound, D: Dimension> Tensor<T, D> {$(
            #[doc = $doc]
            #[doc = applied!($numbers, $name(""), $gives)]
            #[track_caller]
            pub fn $name(&self) -> Tensor<T, D> {
                Tensor::wrap($f(self.node()).or_raise())
            }
        )*}

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!($doc, $name)]
                fn $name $try_name(&self) -> DynTensor { Ok(DynTensor::wrap($f(self.node())?)) }
            )*}
        }
    )*};
}

/// A primitive as a function of one node.
macro_rules! primitive {
    ($record:ident) => {{
        #[track_caller]
        fn call(x: &Node) -> Result<Node> {
            Node::map(&ops::$record, &[x])
        }
        call
    }};
}

unary! {
    FloatDType {
        exp try_exp "eˣ.", "[0.0f32, 1.0]" => "[1.0, std::f32::consts::E]", primitive!(EXP);
        exp2 try_exp2 "2ˣ.", "[0.0f32, 3.0]" => "[1.0, 8.0]", primitive!(EXP2);
        expm1 try_expm1 "eˣ - 1, exact near 0.", "[0.0f32, 1e-10]" => "[0.0, 1e-10]", primitive!(EXPM1);
        ln try_ln "The natural logarithm.", "[1.0f32, 0.0]" => "[0.0, f32::NEG_INFINITY]", primitive!(LN);
        log2 try_log2 "The logarithm to base 2.", "[1.0f32, 8.0]" => "[0.0, 3.0]", primitive!(LOG2);
        log1p try_log1p "ln(1 + x), exact near 0.", "[0.0f32, 1e-10]" => "[0.0, 1e-10]", primitive!(LOG1P);
        sqrt try_sqrt "The square root, correctly rounded.", "[4.0f32, 9.0]" => "[2.0, 3.0]", primitive!(SQRT);
        rsqrt try_rsqrt "1 / √x.", "[4.0f32, 0.25]" => "[0.5, 2.0]", compose::scalar::rsqrt;
        recip try_recip "1 / x, correctly rounded.", "[4.0f32, 0.5]" => "[0.25, 2.0]", primitive!(RECIP);
        sin try_sin "The sine.", "[0.0f32]" => "[0.0]", primitive!(SIN);
        cos try_cos "The cosine.", "[0.0f32]" => "[1.0]", primitive!(COS);
        tan try_tan "The tangent.", "[0.0f32]" => "[0.0]", primitive!(TAN);
        asin try_asin "The inverse sine.", "[0.0f32]" => "[0.0]", primitive!(ASIN);
        acos try_acos "The inverse cosine.", "[1.0f32]" => "[0.0]", primitive!(ACOS);
        atan try_atan "The inverse tangent.", "[0.0f32]" => "[0.0]", primitive!(ATAN);
        sinh try_sinh "The hyperbolic sine.", "[0.0f32]" => "[0.0]", primitive!(SINH);
        cosh try_cosh "The hyperbolic cosine.", "[0.0f32]" => "[1.0]", primitive!(COSH);
        log10 try_log10 "The logarithm to base 10.", "[1.0f32, 1000.0]" => "[0.0, 3.0]", primitive!(LOG10);
        tanh try_tanh "The hyperbolic tangent.", "[0.0f32, 100.0]" => "[0.0, 1.0]", primitive!(TANH);
        sigmoid try_sigmoid "1 / (1 + e⁻ˣ), without overflow.", "[0.0f32, -1000.0]" => "[0.5, 0.0]", primitive!(SIGMOID);
        erf try_erf "The error function.", "[0.0f32, 10.0]" => "[0.0, 1.0]", primitive!(ERF);
        erfc try_erfc "1 - erf x, with all its digits where `erf` is near 1.", "[0.0f32, 20.0]" => "[1.0, 0.0]", primitive!(ERFC);
        floor try_floor "Rounded down.", "[1.5f32, -1.5]" => "[1.0, -2.0]", primitive!(FLOOR);
        ceil try_ceil "Rounded up.", "[1.5f32, -1.5]" => "[2.0, -1.0]", primitive!(CEIL);
        trunc try_trunc "Rounded towards zero.", "[1.5f32, -1.5]" => "[1.0, -1.0]", primitive!(TRUNC);
        round try_round "Rounded to nearest, ties to even (as NumPy and PyTorch do).", "[0.5f32, 1.5, 2.5]" => "[0.0, 2.0, 2.0]", primitive!(ROUND);
        silu try_silu "x · sigmoid(x).", "[0.0f32, 100.0]" => "[0.0, 100.0]", compose::activation::silu;
        gelu try_gelu "x · Φ(x), with Φ the normal distribution, through `erf`.", "[0.0f32, 100.0]" => "[0.0, 100.0]", compose::activation::gelu;
        gelu_tanh try_gelu_tanh "The usual approximation of `gelu` through `tanh`.", "[0.0f32, 100.0]" => "[0.0, 100.0]", primitive!(GELU_TANH);
        softplus try_softplus "ln(1 + eˣ), without overflow.", "[100.0f32, f32::NEG_INFINITY]" => "[100.0, 0.0]", compose::activation::softplus;
    }
    NumericDType {
        abs try_abs "The absolute value.", "[-2, 3]" => "[2, 3]", primitive!(ABS);
        sign try_sign "-1, 0 or 1 by the sign (0 for NaN).", "[-2.5f32, 0.0, 3.0]" => "[-1.0, 0.0, 1.0]", primitive!(SIGN);
        square try_square "x².", "[-2, 3]" => "[4, 9]", compose::scalar::square;
        relu try_relu "max(0, x); its slope at 0 is 0.", "[-2, 3]" => "[0, 3]", compose::activation::relu;
    }
}

/// Functions of two: a tensor, and a tensor or a number beside it.
macro_rules! binary {
    ($($bound:ident { $($name:ident $try_name:ident $out:ty, $doc:literal, $numbers:literal, $other:literal => $gives:literal, $f:expr;)* })*) => {$(
        impl<T: $bound, D: Dimension> Tensor<T, D> {$(
            #[doc = $doc]
            #[doc = applied!($numbers, $name($other), $gives)]
            #[track_caller]
            pub fn $name<O: Operand<T>>(&self, other: O) -> Tensor<$out, <D as BroadcastWith<O::Dim>>::Output>
            where
                D: BroadcastWith<O::Dim>,
            {
                self.$try_name(other).or_raise()
            }

            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), with an error in place of a panic.")]
            #[track_caller]
            pub fn $try_name<O: Operand<T>>(&self, other: O) -> Result<Tensor<$out, <D as BroadcastWith<O::Dim>>::Output>>
            where
                D: BroadcastWith<O::Dim>,
            {
                let other = other.operand(&Beside(self.node()))?;
                Ok(Tensor::wrap($f(self.node(), &other.0)?))
            }
        )*}

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!($doc, $name)]
                fn $name $try_name[O: DynOperand](&self, other: O) -> DynTensor {
                    let other = other.operand(stringify!($name), &Beside(self.node()))?;
                    Ok(DynTensor::wrap($f(self.node(), &other.0)?))
                }
            )*}
        }
    )*};
}

/// A primitive as a function of two nodes, in the given order.
macro_rules! primitive_of_two {
    ($record:ident) => {{
        #[track_caller]
        fn call(a: &Node, b: &Node) -> Result<Node> {
            Node::map(&ops::$record, &[a, b])
        }
        call
    }};
    ($record:ident swapped $name:literal) => {{
        #[track_caller]
        fn call(a: &Node, b: &Node) -> Result<Node> {
            // Said in the user's order, and by the name that was called.
            compose::together::fits($name, a, b)?;
            Node::map(&ops::$record, &[b, a])
        }
        call
    }};
}

binary! {
    NumericDType {
        maximum try_maximum T, "The larger of two numbers; NaN if either is.", "[1, 5]", "3" => "[3, 5]", primitive_of_two!(MAXIMUM);
        minimum try_minimum T, "The smaller of two numbers; NaN if either is.", "[1, 5]", "3" => "[1, 3]", primitive_of_two!(MINIMUM);
        lt try_lt bool, "Whether each element is smaller. False on NaN.", "[1, 3]", "3" => "[true, false]", primitive_of_two!(LT);
        le try_le bool, "Whether each element is smaller or equal. False on NaN.", "[1, 3]", "3" => "[true, true]", primitive_of_two!(LE);
        gt try_gt bool, "Whether each element is larger. False on NaN.", "[3, 5]", "3" => "[false, true]", primitive_of_two!(LT swapped "gt");
        ge try_ge bool, "Whether each element is larger or equal. False on NaN.", "[3, 5]", "3" => "[true, true]", primitive_of_two!(LE swapped "ge");
    }
    TensorDType {
        eq try_eq bool, "Whether each element is equal. NaN equals nothing.", "[1.0f32, f32::NAN]", "&x" => "[true, false]", primitive_of_two!(EQ);
        ne try_ne bool, "Whether each element is different.", "[1, 3]", "3" => "[true, false]", primitive_of_two!(NE);
    }
    FloatDType {
        atan2 try_atan2 T, "The angle of the point (`other`, `self`), from -π to π.", "[0.0f32]", "1.0" => "[0.0]", primitive_of_two!(ATAN2);
        pow try_pow T, "Each element to a power, as C's `pow`.", "[2.0f32, 3.0]", "&Tensor::new([3.0, 2.0])" => "[8.0, 9.0]", primitive_of_two!(POW);
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    /// Each element to a power known now: small whole powers are products.
    ///
    /// ```
    /// let x = zither::Tensor::new([3.0f32]);
    /// assert_eq!(x.powf(2.0).item()?, 9.0);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn powf(&self, exponent: f64) -> Tensor<T, D> {
        Tensor::wrap(compose::scalar::powf(self.node(), exponent).or_raise())
    }

    twins! {
        /// `self * b + c`, rounded once. All three broadcast.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b, c) = (Tensor::new([2.0f32]), Tensor::new([3.0]), Tensor::new([1.0]));
        /// assert_eq!(a.mul_add(&b, &c).data()?, [7.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn mul_add try_mul_add(&self, b: &Tensor<T, D>, c: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::map(&ops::MUL_ADD, &[self.node(), b.node(), c.node()])?))
        }
    }
}

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    /// Kept between two numbers. Where `low > high` the result is `high`; NaN stays.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([-2, 1, 9]).clamp(0, 5).data()?, [0, 1, 5]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp(&self, low: T, high: T) -> Tensor<T, D> {
        let (low, high) = (Some(low.literal()), Some(high.literal()));
        Tensor::wrap(compose::scalar::clamp(self.node(), low, high).or_raise())
    }

    /// `self * mul + add`: two roundings, as the operators would.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1.0f32, 2.0]).affine(3.0, 0.5).data()?, [3.5, 6.5]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn affine(&self, mul: T, add: T) -> Tensor<T, D> {
        self * mul + add
    }
}

impl<D: Dimension> Tensor<bool, D> {
    twins! {
        /// `yes` where this is true, `no` elsewhere. All three broadcast; the result has the rank of `yes`.
        ///
        /// ```
        /// let x = zither::Tensor::new([1.0f32, -2.0]);
        /// let y = x.gt(0.0).where_(&x, &(&x * 10.0));
        /// assert_eq!(y.data()?, [1.0, -20.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn where_ try_where[T: TensorDType, E: Dimension](&self, yes: &Tensor<T, E>, no: &Tensor<T, E>) -> Tensor<T, E> {
            let node = Node::map(&ops::SELECT, &[self.node(), yes.node(), no.node()])?;
            if E::RANK.is_some_and(|rank| rank != node.rank()) {
                let message = format!(
                    "condition {:?} is of higher rank than the values {:?}: unsqueeze the values",
                    self.shape(),
                    yes.shape()
                );
                return Err(Error::new(ErrorKind::Shape, "where", message).operands(self.node().at(), yes.node().at()));
            }
            Ok(Tensor::wrap(node))
        }
    }
}

impl DynTensor {
    twins! {
        /// Each element to a power known now.
        ///
        /// See [`Tensor::powf`](crate::Tensor::powf).
        fn powf try_powf(&self, exponent: f64) -> DynTensor {
            Ok(DynTensor::wrap(compose::scalar::powf(self.node(), exponent)?))
        }

        /// Kept between two numbers, either of which may be missing.
        ///
        /// See [`Tensor::clamp`](crate::Tensor::clamp).
        fn clamp try_clamp(&self, low: Option<f64>, high: Option<f64>) -> DynTensor {
            let given = |value: Option<f64>| value.map(|value| bound("clamp", self, value)).transpose();
            Ok(DynTensor::wrap(compose::scalar::clamp(self.node(), given(low)?, given(high)?)?))
        }

        /// `self * mul + add`, for float tensors.
        ///
        /// See [`Tensor::affine`](crate::Tensor::affine).
        fn affine try_affine(&self, mul: f64, add: f64) -> DynTensor {
            let product = compose::scalar::with_scalar(&ops::MUL, self.node(), Number::Float(mul))?;
            Ok(DynTensor::wrap(compose::scalar::with_scalar(&ops::ADD, &product, Number::Float(add))?))
        }

        /// `yes` where this (a bool tensor) is true, `no` elsewhere.
        ///
        /// See [`Tensor::where_`](crate::Tensor::where_).
        fn where_ try_where(&self, yes: &DynTensor, no: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(Node::map(&ops::SELECT, &[self.node(), yes.node(), no.node()])?))
        }
    }
}

/// A number in a tensor's dtype: a whole one beside integers.
pub(super) fn bound(op: &str, x: &DynTensor, value: f64) -> Result<Literal> {
    let is_whole = value.fract() == 0.0 && value.abs() <= 2f64.powi(53);
    let number = if is_whole && !x.dtype().is_float() { Number::Whole(value as i64) } else { Number::Float(value) };
    number.beside(op, x.node())
}
