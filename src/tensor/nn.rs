//! What networks are made of: softmax, normalisations, linear maps, convolution and its windows.

use super::tables::shaped;
use super::twins::twins;
use super::{Dim1, Dim2, Dim3, Dim4, Dim5, DimDyn, Dimension, DynTensor, HasAxes, MatMulWith, Tensor};
use crate::dtype::{FloatDType, NumericDType};
use crate::error::Result;
use crate::graph::Node;
use crate::ops::compose::convolution::{self, Sliding};
use crate::ops::compose::{contraction, norm};
use smallvec::SmallVec;

/// How a window moves over `N` spatial axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<const N: usize> {
    /// The step from one window to the next.
    pub stride: [usize; N],
    /// Zeros added on both sides of each axis.
    pub padding: [usize; N],
    /// The step from one element of a window to the next.
    pub dilation: [usize; N],
    /// Channels are split into so many groups that do not see each other (convolution only).
    pub groups: usize,
}

impl<const N: usize> Default for Window<N> {
    fn default() -> Window<N> {
        Window { stride: [1; N], padding: [0; N], dilation: [1; N], groups: 1 }
    }
}

impl<const N: usize> Window<N> {
    /// The same, of any number of axes.
    pub(super) fn sliding(&self) -> Sliding {
        Sliding {
            stride: SmallVec::from_slice(&self.stride),
            padding: SmallVec::from_slice(&self.padding),
            dilation: SmallVec::from_slice(&self.dilation),
        }
    }
}

/// The node of a tensor that may be missing.
pub(super) fn node<T: FloatDType, D: Dimension>(tensor: Option<&Tensor<T, D>>) -> Option<&Node> {
    tensor.map(|tensor| tensor.node())
}

impl<T: FloatDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// eˣ / Σ eˣ along an axis, without overflow.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1.0f32, 1.0]).softmax(0).data()?, [0.5, 0.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn softmax try_softmax(&self, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(norm::softmax(self.node(), axis)?))
        }

        /// ln softmax(x) along an axis.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let y = Tensor::new([1000.0f32, 0.0]).log_softmax(0);
        /// assert_eq!(y.data()?, [0.0, -1000.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn log_softmax try_log_softmax(&self, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(norm::log_softmax(self.node(), axis)?))
        }

        /// `(x - mean) / √(var + eps) · weight + bias` over the trailing axes, which are `shape`.
        ///
        /// ```
        /// use zither::{Dim1, Tensor};
        /// let y = Tensor::new([[1.0f32, 3.0]]).layer_norm::<Dim1>(&[2], None, None, 0.0);
        /// assert_eq!(y.data()?, [-1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn layer_norm try_layer_norm[E: Dimension](
            &self,
            shape: &[usize],
            weight: Option<&Tensor<T, E>>,
            bias: Option<&Tensor<T, E>>,
            eps: f64,
        ) -> Tensor<T, D> {
            Ok(Tensor::wrap(norm::layer_norm(self.node(), shape, node(weight), node(bias), eps)?))
        }

        /// `x / √(mean(x²) + eps) · weight` over the trailing axes, which are `shape`.
        ///
        /// ```
        /// use zither::{Dim1, Tensor};
        /// let y = Tensor::new([[3.0f32, -3.0]]).rms_norm::<Dim1>(&[2], None, 0.0);
        /// let near = |(a, b): (&f32, f32)| (a - b).abs() < 1e-6;
        /// assert!(y.data()?.iter().zip([1.0, -1.0]).all(near));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn rms_norm try_rms_norm[E: Dimension](&self, shape: &[usize], weight: Option<&Tensor<T, E>>, eps: f64) -> Tensor<T, D> {
            Ok(Tensor::wrap(norm::rms_norm(self.node(), shape, node(weight), eps)?))
        }

        /// `self · weightᵀ + bias`, with `weight` of shape `[outputs, inputs]`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (x, weight) = (Tensor::new([[1.0f32, 2.0]]), Tensor::new([[3.0f32, 4.0]]));
        /// assert_eq!(x.linear(&weight, Some(&Tensor::new([0.5]))).data()?, [11.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn linear try_linear(&self, weight: &Tensor<T, Dim2>, bias: Option<&Tensor<T, Dim1>>) -> Tensor<T, <D as MatMulWith<Dim2>>::Output>
        [D: MatMulWith<Dim2>] {
            Ok(Tensor::wrap(contraction::linear(self.node(), weight.node(), node(bias))?))
        }
    }
}

/// Convolution over so many spatial axes.
macro_rules! convolutions {
    ($($n:literal $dim:ty, $conv:ident $try_conv:ident, $large:literal $kernel:literal $small:literal;)*) => {$(
        impl<T: FloatDType> Tensor<T, $dim> {
            twins! {
                /// Convolution of `[samples, channels, ..]` with `[outputs, channels / groups, ..]` (a correlation, as in
                /// PyTorch), plus one bias per output.
                #[doc = shaped!("Tensor, Window", $large, $conv("&Tensor::ones(", $kernel, "), None, Window::default()"), $small)]
                fn $conv $try_conv(
                    &self,
                    weight: &Tensor<T, $dim>,
                    bias: Option<&Tensor<T, Dim1>>,
                    window: Window<$n>,
                ) -> Tensor<T, $dim> {
                    let op = stringify!($conv);
                    let result = convolution::conv(op, self.node(), weight.node(), node(bias), &window.sliding(), window.groups)?;
                    Ok(Tensor::wrap(result))
                }
            }
        }
    )*};
}

convolutions! {
    1 Dim3, conv1d try_conv1d, "[1, 3, 4]" "[5, 3, 2]" "[1, 5, 3]";
    2 Dim4, conv2d try_conv2d, "[1, 3, 4, 4]" "[5, 3, 2, 2]" "[1, 5, 3, 3]";
    3 Dim5, conv3d try_conv3d, "[1, 3, 4, 4, 4]" "[5, 3, 2, 2, 2]" "[1, 5, 3, 3, 3]";
}

/// Windows over the last `N` axes, and the way back.
macro_rules! windows {
    ($($n:literal $unfold:ident $try_unfold:ident $fold:ident $try_fold:ident, $whole:literal $kernel:literal $windows:literal;)*) => {
        impl<T: NumericDType, D: Dimension> Tensor<T, D> {
            twins! {$(
                #[doc = concat!("The windows over the last ", stringify!($n), " axes: `[.., places.., kernel..]`. A view.")]
                #[doc = shaped!("Tensor, Window", $whole, $unfold($kernel, ", Window::default()"), $windows)]
                fn $unfold $try_unfold(&self, kernel: [usize; $n], window: Window<$n>) -> Tensor<T, DimDyn> {
                    Ok(Tensor::wrap(unfold_node(stringify!($unfold), self.node(), &kernel, &window.sliding())?))
                }

                #[doc = concat!("The adjoint of [`", stringify!($unfold), "`](Self::", stringify!($unfold), "): windows `[.., places.., kernel..]` added up where they came from, `[.., size..]`.")]
                #[doc = shaped!("Tensor, Window", $windows, $fold($whole, ", ", $kernel, ", Window::default()"), $whole)]
                fn $fold $try_fold(&self, size: [usize; $n], kernel: [usize; $n], window: Window<$n>) -> Tensor<T, DimDyn> {
                    let op = stringify!($fold);
                    Ok(Tensor::wrap(convolution::fold(op, self.node(), &size, &kernel, &window.sliding())?))
                }
            )*}
        }
    };
}

windows! {
    1 unfold1d try_unfold1d fold1d try_fold1d, "[4]" "[2]" "[3, 2]";
    2 unfold2d try_unfold2d fold2d try_fold2d, "[4, 4]" "[2, 2]" "[3, 3, 2, 2]";
    3 unfold3d try_unfold3d fold3d try_fold3d, "[4, 4, 4]" "[2, 2, 2]" "[3, 3, 3, 2, 2, 2]";
}

#[track_caller]
fn unfold_node(op: &str, x: &Node, kernel: &[usize], sliding: &Sliding) -> Result<Node> {
    if x.rank() < kernel.len() {
        let message = format!("shape {:?} has fewer than {} axes", x.shape(), kernel.len());
        return Err(crate::error::Error::new(crate::error::ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    convolution::windows(op, x, kernel, sliding)
}

impl DynTensor {
    twins! {
        /// eˣ / Σ eˣ along an axis, without overflow.
        ///
        /// See [`Tensor::softmax`](crate::Tensor::softmax).
        fn softmax try_softmax(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(norm::softmax(self.node(), axis)?))
        }

        /// ln softmax(x) along an axis.
        ///
        /// See [`Tensor::log_softmax`](crate::Tensor::log_softmax).
        fn log_softmax try_log_softmax(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(norm::log_softmax(self.node(), axis)?))
        }

        /// `(x - mean) / √(var + eps) · weight + bias` over the trailing axes, which are `shape`.
        ///
        /// See [`Tensor::layer_norm`](crate::Tensor::layer_norm).
        fn layer_norm try_layer_norm(
            &self,
            shape: &[usize],
            weight: Option<&DynTensor>,
            bias: Option<&DynTensor>,
            eps: f64,
        ) -> DynTensor {
            let (weight, bias) = (weight.map(DynTensor::node), bias.map(DynTensor::node));
            Ok(DynTensor::wrap(norm::layer_norm(self.node(), shape, weight, bias, eps)?))
        }

        /// `x / √(mean(x²) + eps) · weight` over the trailing axes, which are `shape`.
        ///
        /// See [`Tensor::rms_norm`](crate::Tensor::rms_norm).
        fn rms_norm try_rms_norm(&self, shape: &[usize], weight: Option<&DynTensor>, eps: f64) -> DynTensor {
            Ok(DynTensor::wrap(norm::rms_norm(self.node(), shape, weight.map(DynTensor::node), eps)?))
        }

        /// `self · weightᵀ + bias`, with `weight` of shape `[outputs, inputs]`.
        ///
        /// See [`Tensor::linear`](crate::Tensor::linear).
        fn linear try_linear(&self, weight: &DynTensor, bias: Option<&DynTensor>) -> DynTensor {
            Ok(DynTensor::wrap(contraction::linear(self.node(), weight.node(), bias.map(DynTensor::node))?))
        }

        /// The windows over the last `N` axes: `[.., places.., kernel..]`; see [`Tensor::unfold2d`].
        fn unfold_windows try_unfold_windows[const N: usize](&self, kernel: [usize; N], window: Window<N>) -> DynTensor {
            Ok(DynTensor::wrap(unfold_node("unfold_windows", self.node(), &kernel, &window.sliding())?))
        }

        /// Windows `[.., places.., kernel..]` added up where they came from, `[.., size..]`; see [`Tensor::fold2d`].
        fn fold_windows try_fold_windows[const N: usize](&self, size: [usize; N], kernel: [usize; N], window: Window<N>) -> DynTensor {
            let sliding = window.sliding();
            Ok(DynTensor::wrap(convolution::fold("fold_windows", self.node(), &size, &kernel, &sliding)?))
        }

        /// Convolution over `N` spatial axes; see [`Tensor::conv2d`].
        fn conv try_conv[const N: usize](&self, weight: &DynTensor, bias: Option<&DynTensor>, window: Window<N>) -> DynTensor {
            let bias = bias.map(DynTensor::node);
            let result = convolution::conv("conv", self.node(), weight.node(), bias, &window.sliding(), window.groups)?;
            Ok(DynTensor::wrap(result))
        }
    }
}
