//! Activations: the bends between the layers of a network.

use super::tables::{as_typed, example, functions};
use super::twins::twins;
use super::{Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::FloatDType;
use crate::ops::compose::activation;

functions! {
    FloatDType {
        softplus_with try_softplus_with(beta: f64) -> T, "`ln(1 + e^(βx)) / β`, without overflow: the larger `beta`, the closer to `relu`.",
            "Tensor::new([40.0f32]).softplus_with(2.0)" => "[40.0]", activation::softplus_with;
        elu try_elu(alpha: f64) -> T, "`x` above 0, `α(eˣ - 1)` below.",
            "Tensor::new([2.0f32, -f32::INFINITY]).elu(1.0)" => "[2.0, -1.0]", activation::elu;
        celu try_celu(alpha: f64) -> T, "`x` above 0, `α(e^(x/α) - 1)` below: an `elu` without a kink.",
            "Tensor::new([2.0f32, -f32::INFINITY]).celu(3.0)" => "[2.0, -3.0]", activation::celu;
        selu try_selu() -> T, "The `elu` that keeps mean 0 and variance 1 from layer to layer.",
            "Tensor::new([0.0f32]).selu()" => "[0.0]", activation::selu;
        leaky_relu try_leaky_relu(slope: f64) -> T, "`x` above 0, `slope · x` below; its slope at 0 is `slope`.",
            "Tensor::new([2.0f32, -2.0]).leaky_relu(0.5)" => "[2.0, -1.0]", activation::leaky_relu;
        hardtanh try_hardtanh(low: f64, high: f64) -> T, "`x` kept between two numbers; at both its slope is 0.",
            "Tensor::new([-3.0f32, 0.5, 3.0]).hardtanh(-1.0, 1.0)" => "[-1.0, 0.5, 1.0]", activation::hardtanh;
        relu6 try_relu6() -> T, "`min(max(0, x), 6)`; its slope at 0 and at 6 is 0.",
            "Tensor::new([-1.0f32, 3.0, 7.0]).relu6()" => "[0.0, 3.0, 6.0]", activation::relu6;
        hardsigmoid try_hardsigmoid() -> T, "`relu6(x + 3) / 6`: a sigmoid of three lines.",
            "Tensor::new([-3.0f32, 0.0, 3.0]).hardsigmoid()" => "[0.0, 0.5, 1.0]", activation::hardsigmoid;
        hardswish try_hardswish() -> T, "`x · hardsigmoid(x)`.",
            "Tensor::new([-3.0f32, 3.0]).hardswish()" => "[0.0, 3.0]", activation::hardswish;
        mish try_mish() -> T, "`x · tanh(softplus(x))`.",
            "Tensor::new([0.0f32]).mish()" => "[0.0]", activation::mish;
        softsign try_softsign() -> T, "`x / (1 + |x|)`.",
            "Tensor::new([1.0f32, -3.0]).softsign()" => "[0.5, -0.75]", activation::softsign;
        logsigmoid try_logsigmoid() -> T, "`ln sigmoid(x)`, without underflow.",
            "Tensor::new([-200.0f32]).logsigmoid()" => "[-200.0]", activation::logsigmoid;
        tanhshrink try_tanhshrink() -> T, "`x - tanh x`.",
            "Tensor::new([0.0f32]).tanhshrink()" => "[0.0]", activation::tanhshrink;
        softshrink try_softshrink(lambda: f64) -> T, "`x` moved towards 0 by `lambda`, and 0 where that would pass it.",
            "Tensor::new([2.0f32, 0.25, -2.0]).softshrink(0.5)" => "[1.5, 0.0, -1.5]", activation::softshrink;
        hardshrink try_hardshrink(lambda: f64) -> T, "`x` where it is further from 0 than `lambda`, 0 elsewhere.",
            "Tensor::new([2.0f32, 0.25, -2.0]).hardshrink(0.5)" => "[2.0, 0.0, -2.0]", activation::hardshrink;
        threshold try_threshold(bound: f64, value: f64) -> T, "`x` where it is above a bound, `value` elsewhere.",
            "Tensor::new([2.0f32, 0.25]).threshold(0.5, 9.0)" => "[2.0, 9.0]", activation::threshold;
    }
}

/// Gated units: one half of an axis lets the other through.
macro_rules! gates {
    ($($name:ident $try_name:ident $doc:literal, $call:literal => $gives:literal;)*) => {
        impl<T: FloatDType, D: HasAxes> Tensor<T, D> {
            twins! {$(
                #[doc = $doc]
                #[doc = example!($call, $gives)]
                fn $name $try_name(&self, axis: isize) -> Tensor<T, D> {
                    Ok(Tensor::wrap(activation::$name(self.node(), axis)?))
                }
            )*}
        }

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!($doc, $name)]
                fn $name $try_name(&self, axis: isize) -> DynTensor {
                    Ok(DynTensor::wrap(activation::$name(self.node(), axis)?))
                }
            )*}
        }
    };
}

gates! {
    glu try_glu "The first half of an axis times the sigmoid of the second.",
        "Tensor::new([6.0f32, 0.0]).glu(0)" => "[3.0]";
    swiglu try_swiglu "The silu of the first half of an axis times the second half.",
        "Tensor::new([0.0f32, 5.0]).swiglu(0)" => "[0.0]";
    geglu try_geglu "The gelu of the first half of an axis times the second half.",
        "Tensor::new([0.0f32, 5.0]).geglu(0)" => "[0.0]";
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// `x` above 0, `weight · x` below: one weight, or one for each channel (axis 1). The weight can be learned.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[2.0f32, -2.0]]);
        /// assert_eq!(x.prelu(&Tensor::new([0.5, 0.25])).data()?, [2.0, -0.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn prelu try_prelu[E: Dimension](&self, weight: &Tensor<T, E>) -> Tensor<T, D> {
            Ok(Tensor::wrap(activation::prelu(self.node(), weight.node())?))
        }
    }
}

impl DynTensor {
    twins! {
        /// `x` above 0, `weight · x` below; see [`Tensor::prelu`].
        fn prelu try_prelu(&self, weight: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(activation::prelu(self.node(), weight.node())?))
        }
    }
}
