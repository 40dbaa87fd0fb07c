//! Normalisations over batches and groups, lengths of vectors, attention and dropout.

use super::nn::node;
use super::twins::twins;
use super::{Dim0, Dim1, DimDyn, Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::{FloatDType, TensorDType};
use crate::ops::compose::attention::{self, Attention};
use crate::ops::compose::batch_norm::{self, Normed};
use crate::ops::compose::length;
use crate::ops::compose::positions;

/// A normalised batch, and the statistics it was normalised by.
///
/// Running statistics are values like others: mix them with these, and give them to
/// [`batch_norm`](Tensor::batch_norm) when the training is done.
///
/// ```
/// # use zither::Tensor;
/// let x = Tensor::new([[1.0f32], [3.0]]);
/// let normed = x.batch_norm_train(None, None, 0.0);
/// assert_eq!(normed.output.data()?, [-1.0, 1.0]);
/// let running = Tensor::new([0.0f32]) * 0.9 + &normed.mean * 0.1;
/// assert_eq!(running.data()?, [0.2]);
/// # Ok::<(), zither::Error>(())
/// ```
pub struct BatchNormed<T: TensorDType, D: Dimension> {
    /// `(x - mean) / √(var + eps) · weight + bias`.
    pub output: Tensor<T, D>,
    /// The mean of each channel.
    pub mean: Tensor<T, Dim1>,
    /// The variance of each channel, with `n - 1`.
    pub var: Tensor<T, Dim1>,
}

/// As [`BatchNormed`], of dynamic tensors.
pub struct DynBatchNormed {
    /// `(x - mean) / √(var + eps) · weight + bias`.
    pub output: DynTensor,
    /// The mean of each channel.
    pub mean: DynTensor,
    /// The variance of each channel, with `n - 1`.
    pub var: DynTensor,
}

/// Settings of [`Tensor::scaled_dot_product_attention`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttentionOptions {
    /// Whether query `i` sees only the keys up to `i`. Most of what is hidden is not even looked at, so keys and values that no
    /// query sees do no harm, whatever they are; but some are multiplied by 0, and should be finite.
    pub causal: bool,
    /// What products of queries and keys are multiplied by; `None` is `1 / √width`.
    pub scale: Option<f64>,
}

impl AttentionOptions {
    fn settings(self) -> Attention {
        Attention { causal: self.causal, scale: self.scale }
    }
}

impl<T: FloatDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// `(x - mean) / √(var + eps) · weight + bias` by the statistics of this batch, `[samples, channels, ..]`: for
        /// training. The statistics come with it.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[1.0f32], [3.0]]);
        /// let normed = x.batch_norm_train(None, None, 0.0);
        /// assert_eq!((normed.output.data()?, normed.mean.data()?), (vec![-1.0, 1.0], vec![2.0]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn batch_norm_train try_batch_norm_train(
            &self,
            weight: Option<&Tensor<T, Dim1>>,
            bias: Option<&Tensor<T, Dim1>>,
            eps: f64,
        ) -> BatchNormed<T, D> {
            let Normed { output, mean, var } = batch_norm::train(self.node(), node(weight), node(bias), eps)?;
            Ok(BatchNormed { output: Tensor::wrap(output), mean: Tensor::wrap(mean), var: Tensor::wrap(var) })
        }

        /// `(x - mean) / √(var + eps) · weight + bias` by statistics that are given, one number a channel (axis 1).
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[5.0f32]]);
        /// let y = x.batch_norm(&Tensor::new([1.0]), &Tensor::new([4.0]), None, None, 0.0);
        /// assert_eq!(y.data()?, [2.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn batch_norm try_batch_norm(
            &self,
            mean: &Tensor<T, Dim1>,
            var: &Tensor<T, Dim1>,
            weight: Option<&Tensor<T, Dim1>>,
            bias: Option<&Tensor<T, Dim1>>,
            eps: f64,
        ) -> Tensor<T, D> {
            let (weight, bias) = (node(weight), node(bias));
            Ok(Tensor::wrap(batch_norm::given(self.node(), mean.node(), var.node(), weight, bias, eps)?))
        }

        /// Each group of channels (axis 1) of each sample normalised by itself.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[1.0f32, 3.0, 10.0, 30.0]]);
        /// assert_eq!(x.group_norm(2, None, None, 0.0).data()?, [-1.0, 1.0, -1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn group_norm try_group_norm(
            &self,
            groups: usize,
            weight: Option<&Tensor<T, Dim1>>,
            bias: Option<&Tensor<T, Dim1>>,
            eps: f64,
        ) -> Tensor<T, D> {
            Ok(Tensor::wrap(batch_norm::group_norm(self.node(), groups, node(weight), node(bias), eps)?))
        }

        /// Each channel (axis 1) of each sample normalised by itself.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[[1.0f32, 3.0], [10.0, 30.0]]]);
        /// assert_eq!(x.instance_norm(None, None, 0.0).data()?, [-1.0, 1.0, -1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn instance_norm try_instance_norm(
            &self,
            weight: Option<&Tensor<T, Dim1>>,
            bias: Option<&Tensor<T, Dim1>>,
            eps: f64,
        ) -> Tensor<T, D> {
            Ok(Tensor::wrap(batch_norm::instance_norm(self.node(), node(weight), node(bias), eps)?))
        }

        /// `x / max(‖x‖ₚ, eps)` along an axis: vectors of length 1.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([3.0f32, 4.0]).normalize(2.0, 0, 1e-12).data()?, [0.6, 0.8]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn normalize try_normalize(&self, p: f64, axis: isize, eps: f64) -> Tensor<T, D> {
            Ok(Tensor::wrap(length::normalize(self.node(), p, axis, eps)?))
        }

        /// `softmax(q kᵀ · scale + mask) v` over the last two axes: this tensor holds the queries, `[.., l, e]`, the keys are
        /// `[.., s, e]` and the values `[.., s, w]`. A mask says which keys a query sees (see
        /// [`scaled_dot_product_attention_masked`](Self::scaled_dot_product_attention_masked)).
        ///
        /// ```
        /// use zither::{AttentionOptions, Tensor};
        /// let x = Tensor::new([[1.0f32, 0.0], [0.0, 1.0]]);
        /// let causal = AttentionOptions { causal: true, ..Default::default() };
        /// let y = x.scaled_dot_product_attention(&x, &x, causal);
        /// assert_eq!(y.to_vec2()?[0], [1.0, 0.0]); // the first query sees the first key only
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn scaled_dot_product_attention try_scaled_dot_product_attention(
            &self,
            keys: &Tensor<T, D>,
            values: &Tensor<T, D>,
            options: AttentionOptions,
        ) -> Tensor<T, D> {
            let (q, k, v) = (self.node(), keys.node(), values.node());
            Ok(Tensor::wrap(attention::scaled_dot_product(q, k, v, None, options.settings())?))
        }

        /// [`scaled_dot_product_attention`](Self::scaled_dot_product_attention) with a mask that stretches to `[.., l, s]`: of
        /// `bool`, where true is seen, or of a float dtype, which is added.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (q, k, v) = (Tensor::new([[1.0f32]]), Tensor::new([[1.0f32], [1.0]]), Tensor::new([[5.0f32], [7.0]]));
        /// let second = Tensor::new([[false, true]]);
        /// let y = q.scaled_dot_product_attention_masked(&k, &v, &second, Default::default());
        /// assert_eq!(y.data()?, [7.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn scaled_dot_product_attention_masked try_scaled_dot_product_attention_masked[U: TensorDType, E: Dimension](
            &self,
            keys: &Tensor<T, D>,
            values: &Tensor<T, D>,
            mask: &Tensor<U, E>,
            options: AttentionOptions,
        ) -> Tensor<T, D> {
            let (q, k, v) = (self.node(), keys.node(), values.node());
            Ok(Tensor::wrap(attention::scaled_dot_product(q, k, v, Some(mask.node()), options.settings())?))
        }

        /// Rotary positions: the two halves of the last axis turned, as pairs, by angles given as cosines and sines, which
        /// stretch to half of this tensor.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let quarter = (Tensor::new([0.0f32]), Tensor::new([1.0f32]));
        /// assert_eq!(Tensor::new([1.0f32, 0.0]).rotary_embedding(&quarter.0, &quarter.1).data()?, [0.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn rotary_embedding try_rotary_embedding[E: Dimension](&self, cos: &Tensor<T, E>, sin: &Tensor<T, E>) -> Tensor<T, D> {
            Ok(Tensor::wrap(positions::rotary(self.node(), cos.node(), sin.node())?))
        }
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The p-norm, `(Σ |x|ᵖ)^(1/p)`, along axes: `p = ∞` is the largest, `-∞` the smallest, 0 the number of elements that are not
        /// 0. Where the length is 0 its slope is 0.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[3.0f32, -4.0]]);
        /// assert_eq!(x.norm(2.0, &[1], false).data()?, [5.0]);
        /// assert_eq!(x.norm(f64::INFINITY, &[1], false).data()?, [4.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn norm try_norm(&self, p: f64, axes: &[isize], keepdim: bool) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(length::norm("norm", self.node(), p, Some(axes), keepdim)?))
        }

        /// The p-norm of all elements.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[3.0f32, -4.0]]).norm_all(2.0).item()?, 5.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn norm_all try_norm_all(&self, p: f64) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(length::norm("norm", self.node(), p, None, false)?))
        }

        /// Each element 0 with probability `p`, the others larger by `1 / (1 - p)`: for training. The numbers depend on
        /// [`manual_seed`](crate::manual_seed) alone.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([1.0f32, 1.0, 1.0]);
        /// assert!(x.dropout(0.5).data()?.iter().all(|&y| y == 0.0 || y == 2.0));
        /// assert_eq!(x.dropout(0.0).data()?, [1.0, 1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn dropout try_dropout(&self, p: f64) -> Tensor<T, D> {
            Ok(Tensor::wrap(positions::dropout("dropout", self.node(), p, 0)?))
        }

        /// [`dropout`](Self::dropout) of whole channels: the last `axes` axes share their fate.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let y = Tensor::<f32, _>::ones([8, 3]).feature_dropout(0.5, 1).to_vec2()?;
        /// assert!(y.iter().all(|row| *row == [0.0; 3] || *row == [2.0; 3]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn feature_dropout try_feature_dropout(&self, p: f64, axes: usize) -> Tensor<T, D> {
            Ok(Tensor::wrap(positions::dropout("feature_dropout", self.node(), p, axes)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// Normalised by the statistics of this batch; see [`Tensor::batch_norm_train`].
        fn batch_norm_train try_batch_norm_train(
            &self,
            weight: Option<&DynTensor>,
            bias: Option<&DynTensor>,
            eps: f64,
        ) -> DynBatchNormed {
            let (weight, bias) = (weight.map(DynTensor::node), bias.map(DynTensor::node));
            let Normed { output, mean, var } = batch_norm::train(self.node(), weight, bias, eps)?;
            Ok(DynBatchNormed {
                output: DynTensor::wrap(output),
                mean: DynTensor::wrap(mean),
                var: DynTensor::wrap(var),
            })
        }

        /// Normalised by statistics that are given; see [`Tensor::batch_norm`].
        fn batch_norm try_batch_norm(
            &self,
            mean: &DynTensor,
            var: &DynTensor,
            weight: Option<&DynTensor>,
            bias: Option<&DynTensor>,
            eps: f64,
        ) -> DynTensor {
            let (weight, bias) = (weight.map(DynTensor::node), bias.map(DynTensor::node));
            Ok(DynTensor::wrap(batch_norm::given(self.node(), mean.node(), var.node(), weight, bias, eps)?))
        }

        /// Each group of channels of each sample normalised by itself.
        ///
        /// See [`Tensor::group_norm`](crate::Tensor::group_norm).
        fn group_norm try_group_norm(
            &self,
            groups: usize,
            weight: Option<&DynTensor>,
            bias: Option<&DynTensor>,
            eps: f64,
        ) -> DynTensor {
            let (weight, bias) = (weight.map(DynTensor::node), bias.map(DynTensor::node));
            Ok(DynTensor::wrap(batch_norm::group_norm(self.node(), groups, weight, bias, eps)?))
        }

        /// Each channel of each sample normalised by itself.
        ///
        /// See [`Tensor::instance_norm`](crate::Tensor::instance_norm).
        fn instance_norm try_instance_norm(&self, weight: Option<&DynTensor>, bias: Option<&DynTensor>, eps: f64) -> DynTensor {
            let (weight, bias) = (weight.map(DynTensor::node), bias.map(DynTensor::node));
            Ok(DynTensor::wrap(batch_norm::instance_norm(self.node(), weight, bias, eps)?))
        }

        /// Vectors of length 1 along an axis; see [`Tensor::normalize`].
        fn normalize try_normalize(&self, p: f64, axis: isize, eps: f64) -> DynTensor {
            Ok(DynTensor::wrap(length::normalize(self.node(), p, axis, eps)?))
        }

        /// The p-norm along axes; see [`Tensor::norm`].
        fn norm try_norm(&self, p: f64, axes: &[isize], keepdim: bool) -> DynTensor {
            Ok(DynTensor::wrap(length::norm("norm", self.node(), p, Some(axes), keepdim)?))
        }

        /// Attention with an optional mask; see [`Tensor::scaled_dot_product_attention_masked`].
        fn scaled_dot_product_attention try_scaled_dot_product_attention(
            &self,
            keys: &DynTensor,
            values: &DynTensor,
            mask: Option<&DynTensor>,
            options: AttentionOptions,
        ) -> DynTensor {
            let (q, k, v) = (self.node(), keys.node(), values.node());
            let mask = mask.map(DynTensor::node);
            Ok(DynTensor::wrap(attention::scaled_dot_product(q, k, v, mask, options.settings())?))
        }

        /// Rotary positions; see [`Tensor::rotary_embedding`].
        fn rotary_embedding try_rotary_embedding(&self, cos: &DynTensor, sin: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(positions::rotary(self.node(), cos.node(), sin.node())?))
        }

        /// Each element 0 with probability `p`; see [`Tensor::dropout`].
        fn dropout try_dropout(&self, p: f64) -> DynTensor {
            Ok(DynTensor::wrap(positions::dropout("dropout", self.node(), p, 0)?))
        }

        /// Whole channels 0 with probability `p`; see [`Tensor::feature_dropout`].
        fn feature_dropout try_feature_dropout(&self, p: f64, axes: usize) -> DynTensor {
            Ok(DynTensor::wrap(positions::dropout("feature_dropout", self.node(), p, axes)?))
        }
    }
}
