//! Pooling, transposed convolution and other sizes of images.

use super::nn::node;
use super::tables::shaped;
use super::twins::twins;
use super::{Dim1, Dim3, Dim4, Dim5, Dimension, DynTensor, Tensor, Window};
use crate::dtype::{FloatDType, NumericDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops::compose::interpolate::{self as images, interpolate};
use crate::ops::compose::pool::Pooling;
use crate::ops::compose::pool::adaptive::{adaptive_avg_pool, adaptive_max_pool};
use crate::ops::compose::pool::average::{Divisor, avg_pool, lp_pool};
use crate::ops::compose::pool::max::{max_pool, max_pool_with_indices};
use crate::ops::compose::transposed;
use smallvec::SmallVec;

pub use crate::ops::compose::interpolate::Interpolation;

/// The windows of a pooling over `N` axes.
///
/// ```
/// use zither::Pool;
/// let pool = Pool { padding: [1, 1], ..Pool::new([3, 3]).stride([2, 2]) };
/// assert_eq!((pool.kernel, pool.stride), ([3, 3], [2, 2]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool<const N: usize> {
    /// The size of a window.
    pub kernel: [usize; N],
    /// The step from one window to the next.
    pub stride: [usize; N],
    /// How far windows reach over the edge on both sides: at most half of the kernel.
    pub padding: [usize; N],
    /// The step from one element of a window to the next.
    pub dilation: [usize; N],
    /// Whether the last window may end outside, as long as it begins inside.
    pub ceil_mode: bool,
    /// Whether a mean counts the padding.
    pub count_include_pad: bool,
}

impl<const N: usize> Pool<N> {
    /// Windows side by side.
    ///
    /// ```
    /// use zither::{Pool, Tensor};
    /// let x = Tensor::new([[[1.0f32, 3.0, 2.0, 5.0]]]);
    /// assert_eq!(x.max_pool1d(Pool::new([2])).data()?, [3.0, 5.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn new(kernel: [usize; N]) -> Pool<N> {
        Pool { kernel, stride: kernel, padding: [0; N], dilation: [1; N], ceil_mode: false, count_include_pad: true }
    }

    /// The same windows at another distance.
    ///
    /// ```
    /// use zither::{Pool, Tensor};
    /// let x = Tensor::new([[[1.0f32, 3.0, 2.0, 5.0]]]);
    /// assert_eq!(x.max_pool1d(Pool::new([2]).stride([1])).data()?, [3.0, 3.0, 5.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn stride(self, stride: [usize; N]) -> Pool<N> {
        Pool { stride, ..self }
    }

    fn pooling(&self) -> Pooling {
        let window = Window { stride: self.stride, padding: self.padding, dilation: self.dilation, groups: 1 };
        Pooling { kernel: SmallVec::from_slice(&self.kernel), sliding: window.sliding(), ceil: self.ceil_mode }
    }

    fn divisor(&self) -> Divisor {
        if self.count_include_pad { Divisor::WithPadding } else { Divisor::Inside }
    }
}

/// Means have no windows with gaps.
fn undilated<const N: usize>(op: &str, x: &Node, pool: &Pool<N>) -> Result<()> {
    if pool.dilation == [1; N] {
        return Ok(());
    }
    let message = format!("dilation {:?} is for max pooling: a mean is over whole windows", pool.dilation);
    Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()))
}

/// The poolings over so many axes.
macro_rules! pools {
    ($($n:literal $max:ident $try_max:ident $indices:ident $try_indices:ident $avg:ident $try_avg:ident $lp:ident $try_lp:ident
        $adaptive_avg:ident $try_adaptive_avg:ident $adaptive_max:ident $try_adaptive_max:ident
        $interpolate:ident $try_interpolate:ident, $four:literal $two:literal $half:literal;)*) => {$(
        impl<T: NumericDType, D: Dimension> Tensor<T, D> {
            twins! {
                #[doc = concat!("The largest element of each window over the last ", stringify!($n), " axes. Of several largest, the first gets the gradient, as in PyTorch.")]
                #[doc = shaped!("Pool, Tensor", $four, $max("Pool::new(", $two, ")"), $half)]
                fn $max $try_max(&self, pool: Pool<$n>) -> Tensor<T, D> {
                    Ok(Tensor::wrap(max_pool(stringify!($max), self.node(), &pool.pooling())?))
                }

                #[doc = concat!("As [`", stringify!($max), "`](Self::", stringify!($max), "), with the positions of the largest, counted row by row over the last ", stringify!($n), " axes.")]
                #[doc = concat!("\n```\nuse zither::{Pool, Tensor};\nlet x = Tensor::<f32, _>::ones(", $four, ");\nlet (_, places) = x.", stringify!($indices), "(Pool::new(", $two, "));\nassert_eq!(places.shape(), ", $half, ");\n```")]
                fn $indices $try_indices(&self, pool: Pool<$n>) -> (Tensor<T, D>, Tensor<i64, D>) {
                    let (values, indices) = max_pool_with_indices(stringify!($max), self.node(), &pool.pooling())?;
                    Ok((Tensor::wrap(values), Tensor::wrap(indices)))
                }

                #[doc = concat!("The largest element of each window over the last ", stringify!($n), " axes, so many windows that `size` comes out.")]
                #[doc = shaped!("Tensor", $four, $adaptive_max($two), $half)]
                fn $adaptive_max $try_adaptive_max(&self, size: [usize; $n]) -> Tensor<T, D> {
                    Ok(Tensor::wrap(adaptive_max_pool(stringify!($adaptive_max), self.node(), &size)?))
                }
            }
        }

        impl<T: FloatDType, D: Dimension> Tensor<T, D> {
            twins! {
                #[doc = concat!("The mean of each window over the last ", stringify!($n), " axes.")]
                #[doc = shaped!("Pool, Tensor", $four, $avg("Pool::new(", $two, ")"), $half)]
                fn $avg $try_avg(&self, pool: Pool<$n>) -> Tensor<T, D> {
                    undilated(stringify!($avg), self.node(), &pool)?;
                    Ok(Tensor::wrap(avg_pool(stringify!($avg), self.node(), &pool.pooling(), pool.divisor())?))
                }

                #[doc = concat!("`(Σ |x|ᵖ)^(1/p)` of each window over the last ", stringify!($n), " axes.")]
                #[doc = shaped!("Pool, Tensor", $four, $lp("2.0, Pool::new(", $two, ")"), $half)]
                fn $lp $try_lp(&self, p: f64, pool: Pool<$n>) -> Tensor<T, D> {
                    Ok(Tensor::wrap(lp_pool(stringify!($lp), self.node(), p, &pool.pooling())?))
                }

                #[doc = concat!("The mean of each window over the last ", stringify!($n), " axes, so many windows that `size` comes out.")]
                #[doc = shaped!("Tensor", $four, $adaptive_avg($two), $half)]
                fn $adaptive_avg $try_adaptive_avg(&self, size: [usize; $n]) -> Tensor<T, D> {
                    Ok(Tensor::wrap(adaptive_avg_pool(stringify!($adaptive_avg), self.node(), &size)?))
                }

                #[doc = concat!("The last ", stringify!($n), " axes brought to `size`. With `align_corners` the first and last elements stay at the ends.")]
                #[doc = shaped!("Interpolation, Tensor", $four, $interpolate($two, ", Interpolation::Nearest, false"), $half)]
                fn $interpolate $try_interpolate(&self, size: [usize; $n], mode: Interpolation, align_corners: bool) -> Tensor<T, D> {
                    Ok(Tensor::wrap(interpolate(stringify!($interpolate), self.node(), &size, None, mode, align_corners)?))
                }
            }
        }
    )*};
}

pools! {
    1 max_pool1d try_max_pool1d max_pool1d_with_indices try_max_pool1d_with_indices avg_pool1d try_avg_pool1d
        lp_pool1d try_lp_pool1d adaptive_avg_pool1d try_adaptive_avg_pool1d adaptive_max_pool1d try_adaptive_max_pool1d
        interpolate1d try_interpolate1d, "[1, 1, 4]" "[2]" "[1, 1, 2]";
    2 max_pool2d try_max_pool2d max_pool2d_with_indices try_max_pool2d_with_indices avg_pool2d try_avg_pool2d
        lp_pool2d try_lp_pool2d adaptive_avg_pool2d try_adaptive_avg_pool2d adaptive_max_pool2d try_adaptive_max_pool2d
        interpolate2d try_interpolate2d, "[1, 1, 4, 4]" "[2, 2]" "[1, 1, 2, 2]";
    3 max_pool3d try_max_pool3d max_pool3d_with_indices try_max_pool3d_with_indices avg_pool3d try_avg_pool3d
        lp_pool3d try_lp_pool3d adaptive_avg_pool3d try_adaptive_avg_pool3d adaptive_max_pool3d try_adaptive_max_pool3d
        interpolate3d try_interpolate3d, "[1, 1, 4, 4, 4]" "[2, 2, 2]" "[1, 1, 2, 2, 2]";
}

/// Transposed convolution over so many axes.
macro_rules! transposed {
    ($($n:literal $dim:ty, $conv:ident $try_conv:ident, $small:literal $kernel:literal $none:literal $large:literal;)*) => {$(
        impl<T: FloatDType> Tensor<T, $dim> {
            twins! {
                /// The adjoint of convolution as a layer: `[samples, channels, ..]` and `[channels, outputs / groups, ..]`.
                /// Along each axis the result has `(n - 1) · stride - 2 · padding + dilation · (kernel - 1) + 1 +
                /// output_padding` elements.
                #[doc = shaped!("Tensor, Window", $small, $conv("&Tensor::ones(", $kernel, "), None, Window::default(), ", $none), $large)]
                fn $conv $try_conv(
                    &self,
                    weight: &Tensor<T, $dim>,
                    bias: Option<&Tensor<T, Dim1>>,
                    window: Window<$n>,
                    output_padding: [usize; $n],
                ) -> Tensor<T, $dim> {
                    let (op, sliding) = (stringify!($conv), window.sliding());
                    let (x, weight, bias) = (self.node(), weight.node(), node(bias));
                    let result = transposed::conv_transpose(op, x, weight, bias, &sliding, &output_padding, window.groups)?;
                    Ok(Tensor::wrap(result))
                }
            }
        }
    )*};
}

transposed! {
    1 Dim3, conv_transpose1d try_conv_transpose1d, "[1, 3, 2]" "[3, 1, 2]" "[0]" "[1, 1, 3]";
    2 Dim4, conv_transpose2d try_conv_transpose2d, "[1, 3, 2, 2]" "[3, 1, 2, 2]" "[0, 0]" "[1, 1, 3, 3]";
    3 Dim5, conv_transpose3d try_conv_transpose3d, "[1, 3, 2, 2, 2]" "[3, 1, 2, 2, 2]" "[0, 0, 0]" "[1, 1, 3, 3, 3]";
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// `[.., C · r², H, W]` to `[.., C, H · r, W · r]`: channels become places.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([4, 2, 3]).pixel_shuffle(2).shape(), [1, 4, 6]);
        /// ```
        fn pixel_shuffle try_pixel_shuffle(&self, factor: usize) -> Tensor<T, D> {
            Ok(Tensor::wrap(images::pixel_shuffle(self.node(), factor)?))
        }

        /// `[.., C, H · r, W · r]` to `[.., C · r², H, W]`: the way back from [`pixel_shuffle`](Self::pixel_shuffle).
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([1, 4, 6]).pixel_unshuffle(2).shape(), [4, 2, 3]);
        /// ```
        fn pixel_unshuffle try_pixel_unshuffle(&self, factor: usize) -> Tensor<T, D> {
            Ok(Tensor::wrap(images::pixel_unshuffle(self.node(), factor)?))
        }
    }
}

/// The size that factors give, rounded down.
fn scaled<const N: usize>(op: &str, x: &Node, scale: [f64; N]) -> Result<[usize; N]> {
    if x.rank() < N || scale.iter().any(|&factor| !(factor > 0.0 && factor.is_finite())) {
        let message =
            format!("factors {scale:?} for shape {:?}: give one above 0 for each of the last axes", x.shape());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let lead = x.rank() - N;
    Ok(std::array::from_fn(|k| (x.shape()[lead + k] as f64 * scale[k]).floor() as usize))
}

impl DynTensor {
    twins! {
        /// The largest element of each window over the last `N` axes; see [`Tensor::max_pool2d`].
        ///
        /// ```
        /// use zither::{DynTensor, Pool};
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0, 2.0, 5.0], &[1, 1, 4]);
        /// assert_eq!(x.max_pool(Pool::new([2])).data::<f32>()?, [3.0, 5.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn max_pool try_max_pool[const N: usize](&self, pool: Pool<N>) -> DynTensor {
            Ok(DynTensor::wrap(max_pool("max_pool", self.node(), &pool.pooling())?))
        }

        /// The largest elements and their positions; see [`Tensor::max_pool2d_with_indices`].
        ///
        /// ```
        /// use zither::{DynTensor, Pool};
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0, 2.0, 5.0], &[1, 1, 4]);
        /// let (_, places) = x.max_pool_with_indices(Pool::new([2]));
        /// assert_eq!(places.data::<i64>()?, [1, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn max_pool_with_indices try_max_pool_with_indices[const N: usize](&self, pool: Pool<N>) -> (DynTensor, DynTensor) {
            let (values, indices) = max_pool_with_indices("max_pool", self.node(), &pool.pooling())?;
            Ok((DynTensor::wrap(values), DynTensor::wrap(indices)))
        }

        /// The mean of each window over the last `N` axes; see [`Tensor::avg_pool2d`].
        ///
        /// ```
        /// use zither::{DynTensor, Pool};
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0, 2.0, 5.0], &[1, 1, 4]);
        /// assert_eq!(x.avg_pool(Pool::new([2])).data::<f32>()?, [2.0, 3.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn avg_pool try_avg_pool[const N: usize](&self, pool: Pool<N>) -> DynTensor {
            undilated("avg_pool", self.node(), &pool)?;
            Ok(DynTensor::wrap(avg_pool("avg_pool", self.node(), &pool.pooling(), pool.divisor())?))
        }

        /// `(Σ |x|ᵖ)^(1/p)` of each window over the last `N` axes.
        ///
        /// ```
        /// use zither::{DynTensor, Pool};
        /// let x = DynTensor::from_data(vec![3.0f32, 4.0], &[1, 1, 2]);
        /// assert_eq!(x.lp_pool(2.0, Pool::new([2])).data::<f32>()?, [5.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn lp_pool try_lp_pool[const N: usize](&self, p: f64, pool: Pool<N>) -> DynTensor {
            Ok(DynTensor::wrap(lp_pool("lp_pool", self.node(), p, &pool.pooling())?))
        }

        /// The means of so many windows that `size` comes out.
        ///
        /// ```
        /// # use zither::DynTensor;
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0, 2.0, 4.0], &[1, 1, 4]);
        /// assert_eq!(x.adaptive_avg_pool(&[2]).data::<f32>()?, [2.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn adaptive_avg_pool try_adaptive_avg_pool(&self, size: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(adaptive_avg_pool("adaptive_avg_pool", self.node(), size)?))
        }

        /// The largest elements of so many windows that `size` comes out.
        ///
        /// ```
        /// # use zither::DynTensor;
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0, 2.0, 4.0], &[1, 1, 4]);
        /// assert_eq!(x.adaptive_max_pool(&[2]).data::<f32>()?, [3.0, 4.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn adaptive_max_pool try_adaptive_max_pool(&self, size: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(adaptive_max_pool("adaptive_max_pool", self.node(), size)?))
        }

        /// The adjoint of convolution over `N` spatial axes; see [`Tensor::conv_transpose2d`].
        fn conv_transpose try_conv_transpose[const N: usize](
            &self,
            weight: &DynTensor,
            bias: Option<&DynTensor>,
            window: Window<N>,
            output_padding: [usize; N],
        ) -> DynTensor {
            let (bias, sliding) = (bias.map(DynTensor::node), window.sliding());
            let (x, weight) = (self.node(), weight.node());
            let result = transposed::conv_transpose("conv_transpose", x, weight, bias, &sliding, &output_padding, window.groups)?;
            Ok(DynTensor::wrap(result))
        }

        /// The last axes brought to `size`; see [`Tensor::interpolate2d`].
        fn interpolate try_interpolate(&self, size: &[usize], mode: Interpolation, align_corners: bool) -> DynTensor {
            Ok(DynTensor::wrap(interpolate("interpolate", self.node(), size, None, mode, align_corners)?))
        }

        /// The last `N` axes larger (or smaller) by factors; sizes are rounded down.
        ///
        /// ```
        /// use zither::{DynTensor, Interpolation};
        /// let x = DynTensor::from_data(vec![1.0f32, 3.0], &[1, 1, 2]);
        /// assert_eq!(x.interpolate_by([2.0], Interpolation::Nearest).data::<f32>()?, [1.0, 1.0, 3.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn interpolate_by try_interpolate_by[const N: usize](&self, scale: [f64; N], mode: Interpolation) -> DynTensor {
            let size = scaled("interpolate", self.node(), scale)?;
            Ok(DynTensor::wrap(interpolate("interpolate", self.node(), &size, Some(&scale), mode, false)?))
        }

        /// Channels become places; see [`Tensor::pixel_shuffle`].
        fn pixel_shuffle try_pixel_shuffle(&self, factor: usize) -> DynTensor {
            Ok(DynTensor::wrap(images::pixel_shuffle(self.node(), factor)?))
        }

        /// Places become channels; see [`Tensor::pixel_unshuffle`].
        fn pixel_unshuffle try_pixel_unshuffle(&self, factor: usize) -> DynTensor {
            Ok(DynTensor::wrap(images::pixel_unshuffle(self.node(), factor)?))
        }
    }
}
