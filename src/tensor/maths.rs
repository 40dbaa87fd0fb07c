//! Elementary functions and questions about floats, composed from the primitives.

use super::operand::Beside;
use super::tables::{as_typed, example, functions, functions_of_two};
use super::twins::twins;
use super::{BroadcastWith, Dimension, DynOperand, DynTensor, Operand, Tensor};
use crate::dtype::{FloatDType, NumericDType, TensorDType};
use crate::ops::compose::{classify, elementary};

functions! {
    TensorDType {
        isnan try_isnan() -> bool, "Whether each element is NaN.",
            "Tensor::new([1.0f32, f32::NAN]).isnan()" => "[false, true]", classify::isnan;
        isinf try_isinf() -> bool, "Whether each element is infinite, of either sign.",
            "Tensor::new([1.0f32, -f32::INFINITY]).isinf()" => "[false, true]", classify::isinf;
        isfinite try_isfinite() -> bool, "Whether each element is neither NaN nor infinite.",
            "Tensor::new([1.0f32, f32::NAN]).isfinite()" => "[true, false]", classify::isfinite;
        isposinf try_isposinf() -> bool, "Whether each element is +∞.",
            "Tensor::new([-f32::INFINITY, f32::INFINITY]).isposinf()" => "[false, true]", classify::isposinf;
        isneginf try_isneginf() -> bool, "Whether each element is -∞.",
            "Tensor::new([-f32::INFINITY, f32::INFINITY]).isneginf()" => "[true, false]", classify::isneginf;
    }
    FloatDType {
        nan_to_num try_nan_to_num(nan: f64, above: Option<f64>, below: Option<f64>) -> T,
            "NaN replaced by `nan`, +∞ by `above` and -∞ by `below`; `None` stands for the largest (lowest) finite number.",
            "Tensor::new([f32::NAN, f32::INFINITY]).nan_to_num(0.0, Some(9.0), None)" => "[0.0, 9.0]", classify::nan_to_num;
        asinh try_asinh() -> T, "The inverse hyperbolic sine, `ln(x + √(x² + 1))`, exact near 0.",
            "Tensor::new([0.0f32]).asinh()" => "[0.0]", elementary::asinh;
        acosh try_acosh() -> T, "The inverse hyperbolic cosine, `ln(x + √(x² - 1))`; NaN below 1.",
            "Tensor::new([1.0f32]).acosh()" => "[0.0]", elementary::acosh;
        atanh try_atanh() -> T, "The inverse hyperbolic tangent, `½ ln((1 + x) / (1 - x))`, exact near 0.",
            "Tensor::new([0.0f32, 1.0]).atanh()" => "[0.0, f32::INFINITY]", elementary::atanh;
        sinc try_sinc() -> T, "`sin(πx) / (πx)`, and 1 at 0.",
            "Tensor::new([0.0f32]).sinc()" => "[1.0]", elementary::sinc;
        deg2rad try_deg2rad() -> T, "Degrees as radians.",
            "Tensor::new([180.0f32]).deg2rad()" => "[std::f32::consts::PI]", elementary::deg2rad;
        rad2deg try_rad2deg() -> T, "Radians as degrees.",
            "Tensor::new([std::f32::consts::PI]).rad2deg()" => "[180.0]", elementary::rad2deg;
        frac try_frac() -> T, "What stands after the decimal point: `x - trunc(x)`.",
            "Tensor::new([1.25f32, -2.5]).frac()" => "[0.25, -0.5]", elementary::frac;
        logit try_logit() -> T, "`ln(x / (1 - x))`, the inverse of `sigmoid`.",
            "Tensor::new([0.5f32]).logit()" => "[0.0]", elementary::logit;
    }
}

functions_of_two! {
    FloatDType {
        hypot try_hypot, "`√(a² + b²)`, without overflow. At the origin the slopes are 0.",
            "Tensor::new([3.0f32]).hypot(4.0)" => "[5.0]", elementary::hypot;
        logaddexp try_logaddexp, "`ln(eᵃ + eᵇ)`, without overflow.",
            "Tensor::new([f32::NEG_INFINITY]).logaddexp(2.0)" => "[2.0]", elementary::logaddexp;
        xlogy try_xlogy, "`a · ln b`, and 0 wherever `a` is 0.",
            "Tensor::new([0.0f32, 3.0]).xlogy(&Tensor::new([0.0, 1.0]))" => "[0.0, 0.0]", elementary::xlogy;
    }
    NumericDType {
        fmod try_fmod, "The remainder of a division with the sign of the dividend (C's `fmod`, Rust's `%`).",
            "Tensor::new([5.5f32, -5.5]).fmod(2.0)" => "[1.5, -1.5]", elementary::fmod;
        remainder try_remainder, "The remainder of a division with the sign of the divisor (Python's `%`).",
            "Tensor::new([5.5f32, -5.5]).remainder(2.0)" => "[1.5, 0.5]", elementary::remainder;
        heaviside try_heaviside, "0 below zero, 1 above, and `other` at zero.",
            "Tensor::new([-1.0f32, 0.0, 2.0]).heaviside(0.5)" => "[0.0, 0.5, 1.0]", elementary::heaviside;
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// `self + weight · (end - self)`: 0 gives `self`, 1 gives `end`, exactly. All three broadcast.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b) = (Tensor::new([0.0f32, 10.0]), Tensor::new([4.0f32, 20.0]));
        /// assert_eq!(a.lerp(&b, &Tensor::new([0.25])).data()?, [1.0, 12.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn lerp try_lerp(&self, end: &Tensor<T, D>, weight: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(elementary::lerp(self.node(), end.node(), weight.node())?))
        }
    }
}

impl DynTensor {
    twins! {
        /// `self + weight · (end - self)`; see [`Tensor::lerp`].
        fn lerp try_lerp(&self, end: &DynTensor, weight: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(elementary::lerp(self.node(), end.node(), weight.node())?))
        }
    }
}
