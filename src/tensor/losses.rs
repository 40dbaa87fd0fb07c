//! Losses: how far a result is from what it should be.
//!
//! Each has a short form, the mean as a scalar, and one with settings (`_with`), whose rank follows from the
//! [`Reduction`].

use super::nn::node;
use super::twins::twins;
use super::{Dim0, Dim1, DimDyn, Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::{FloatDType, IntegerDType};
use crate::ops::compose::loss::classes::{self, CrossEntropy};
use crate::ops::compose::loss::{binary, regression, similarity};

pub use crate::ops::compose::loss::Reduction;

/// Settings of [`Tensor::cross_entropy_with`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropyOptions {
    /// What becomes of the losses of single samples.
    pub reduction: Reduction,
    /// The weight that is spread evenly over all classes, 0 to 1.
    pub label_smoothing: f64,
    /// Samples with this label count for nothing.
    pub ignore_index: i64,
}

impl Default for CrossEntropyOptions {
    fn default() -> CrossEntropyOptions {
        CrossEntropyOptions { reduction: Reduction::Mean, label_smoothing: 0.0, ignore_index: -100 }
    }
}

impl CrossEntropyOptions {
    fn settings(self) -> CrossEntropy {
        CrossEntropy {
            reduction: self.reduction,
            label_smoothing: self.label_smoothing,
            ignore_index: self.ignore_index,
        }
    }
}

/// Losses between two tensors of one shape, with one number as setting or none.
macro_rules! losses {
    ($($name:ident $try_name:ident $with:ident $try_with:ident ($($arg:ident = $default:literal)?),
        $doc:literal, $left:literal, $right:literal => $gives:literal, $f:expr;)*) => {
        impl<T: FloatDType, D: Dimension> Tensor<T, D> {
            twins! {$(
                #[doc = concat!($doc, " The mean over all elements.")]
                #[doc = concat!(
                    "\n```\n# use zither::Tensor;\nlet (x, target) = (Tensor::new(", $left, "), Tensor::new(", $right,
                    "));\nassert_eq!(x.", stringify!($name), "(&target).item()?, ", $gives,
                    ");\n# Ok::<(), zither::Error>(())\n```"
                )]
                fn $name $try_name(&self, target: &Tensor<T, D>) -> Tensor<T, Dim0> {
                    Ok(Tensor::wrap($f(self.node(), target.node(), $($default,)? Reduction::Mean)?))
                }

                #[doc = concat!("[`", stringify!($name), "`](Self::", stringify!($name), ") with settings.")]
                #[doc = concat!(
                    "\n```\n# use zither::{Reduction, Tensor};\nlet (x, target) = (Tensor::new(", $left, "), Tensor::new(", $right,
                    "));\nlet losses = x.", stringify!($with), "(&target, ", $(stringify!($default), ", ",)? "Reduction::Mean",
                    ");\nassert_eq!(losses.item()?, ", $gives, ");\n# Ok::<(), zither::Error>(())\n```"
                )]
                fn $with $try_with(&self, target: &Tensor<T, D>, $($arg: f64,)? reduction: Reduction) -> Tensor<T, DimDyn> {
                    Ok(Tensor::wrap($f(self.node(), target.node(), $($arg,)? reduction)?))
                }
            )*}
        }

        impl DynTensor {
            twins! {$(
                #[doc = concat!($doc, "\n\nSee [`Tensor::", stringify!($name), "`](crate::Tensor::", stringify!($name), ").")]
                fn $name $try_name(&self, target: &DynTensor, $($arg: f64,)? reduction: Reduction) -> DynTensor {
                    Ok(DynTensor::wrap($f(self.node(), target.node(), $($arg,)? reduction)?))
                }
            )*}
        }
    };
}

losses! {
    mse_loss try_mse_loss mse_loss_with try_mse_loss_with(),
        "The squared difference, `(x - t)²`.", "[1.0f32, 2.0]", "[1.0f32, 4.0]" => "2.0", regression::mse;
    l1_loss try_l1_loss l1_loss_with try_l1_loss_with(),
        "The absolute difference, `|x - t|`; its slope at 0 is 0.", "[1.0f32, 2.0]", "[1.0f32, 4.0]" => "1.0", regression::l1;
    smooth_l1_loss try_smooth_l1_loss smooth_l1_loss_with try_smooth_l1_loss_with(beta = 1.0),
        "`½d²/β` where `d = |x - t|` is below `β` (1 unless told), `d - ½β` beyond.",
        "[1.0f32, 2.0]", "[1.0f32, 4.0]" => "0.75", regression::smooth_l1;
    huber_loss try_huber_loss huber_loss_with try_huber_loss_with(delta = 1.0),
        "`½d²` where `d = |x - t|` is below `δ` (1 unless told), `δ(d - ½δ)` beyond.",
        "[1.0f32, 2.0]", "[1.0f32, 4.0]" => "0.75", regression::huber;
    hinge_loss try_hinge_loss hinge_loss_with try_hinge_loss_with(margin = 1.0),
        "`max(0, margin - t·x)` for targets of -1 and 1 (margin 1 unless told).",
        "[0.5f32, 2.0]", "[1.0f32, 1.0]" => "0.25", binary::hinge;
    hinge_embedding_loss try_hinge_embedding_loss hinge_embedding_loss_with try_hinge_embedding_loss_with(margin = 1.0),
        "`x` where the target is 1, `max(0, margin - x)` where it is -1 (margin 1 unless told).",
        "[0.5f32, 0.25]", "[1.0f32, -1.0]" => "0.625", binary::hinge_embedding;
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The mean of `-(t ln p + (1 - t) ln(1 - p))`, where this tensor holds probabilities `p`. Logarithms end at -100.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let loss = Tensor::new([0.5f32]).binary_cross_entropy(&Tensor::new([1.0]));
        /// assert_eq!(loss.item()?, 2f32.ln());
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn binary_cross_entropy try_binary_cross_entropy(&self, target: &Tensor<T, D>) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(binary::bce(self.node(), target.node(), None, Reduction::Mean)?))
        }

        /// [`binary_cross_entropy`](Self::binary_cross_entropy) with a weight for each loss, which broadcasts.
        ///
        /// ```
        /// use zither::{Dim1, Reduction, Tensor};
        /// let (p, target) = (Tensor::new([0.5f32, 0.5]), Tensor::new([1.0f32, 0.0]));
        /// let losses = p.binary_cross_entropy_with::<Dim1>(&target, Some(&Tensor::new([1.0, 2.0])), Reduction::None);
        /// assert_eq!(losses.data()?, [2f32.ln(), 2.0 * 2f32.ln()]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn binary_cross_entropy_with try_binary_cross_entropy_with[E: Dimension](
            &self,
            target: &Tensor<T, D>,
            weight: Option<&Tensor<T, E>>,
            reduction: Reduction,
        ) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(binary::bce(self.node(), target.node(), node(weight), reduction)?))
        }

        /// [`binary_cross_entropy`](Self::binary_cross_entropy) of the sigmoid of this tensor, without overflow.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let loss = Tensor::new([-200.0f32]).binary_cross_entropy_with_logits(&Tensor::new([1.0]));
        /// assert_eq!(loss.item()?, 200.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn binary_cross_entropy_with_logits try_binary_cross_entropy_with_logits(&self, target: &Tensor<T, D>) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(binary::bce_with_logits(self.node(), target.node(), None, None, Reduction::Mean)?))
        }

        /// [`binary_cross_entropy_with_logits`](Self::binary_cross_entropy_with_logits) with a weight for each loss and one
        /// for each yes (`positive`), both of which broadcast.
        ///
        /// ```
        /// use zither::{Dim1, Reduction, Tensor};
        /// let (x, target) = (Tensor::new([-200.0f32]), Tensor::new([1.0f32]));
        /// let losses =
        ///     x.binary_cross_entropy_with_logits_with::<Dim1>(&target, None, Some(&Tensor::new([3.0])), Reduction::None);
        /// assert_eq!(losses.data()?, [600.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn binary_cross_entropy_with_logits_with try_binary_cross_entropy_with_logits_with[E: Dimension](
            &self,
            target: &Tensor<T, D>,
            weight: Option<&Tensor<T, E>>,
            positive: Option<&Tensor<T, E>>,
            reduction: Reduction,
        ) -> Tensor<T, DimDyn> {
            let (weight, positive) = (node(weight), node(positive));
            Ok(Tensor::wrap(binary::bce_with_logits(self.node(), target.node(), weight, positive, reduction)?))
        }

        /// The Kullback-Leibler divergence, `Σ t (ln t - x) / samples`: this tensor holds logarithms of probabilities,
        /// samples along axis 0.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let p = Tensor::new([[0.25f32, 0.75]]);
        /// assert_eq!(p.ln().kl_div(&p).item()?, 0.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn kl_div try_kl_div(&self, target: &Tensor<T, D>) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(binary::kl_div(self.node(), target.node(), false, Reduction::BatchMean)?))
        }

        /// [`kl_div`](Self::kl_div) with settings; with `log_target` the target holds logarithms too.
        ///
        /// ```
        /// use zither::{Reduction, Tensor};
        /// let p = Tensor::new([0.25f32, 0.75]).ln();
        /// assert_eq!(p.kl_div_with(&p, true, Reduction::Sum).item()?, 0.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn kl_div_with try_kl_div_with(&self, target: &Tensor<T, D>, log_target: bool, reduction: Reduction) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(binary::kl_div(self.node(), target.node(), log_target, reduction)?))
        }
    }
}

impl<T: FloatDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// The mean of `-ln softmax(self)[target]`: classes along axis 1 (axis 0 for a vector), `target` their numbers.
        ///
        /// ```
        /// use zither::Tensor;
        /// let logits = Tensor::new([[0.0f32, 0.0], [0.0, 0.0]]);
        /// let loss = logits.cross_entropy(&Tensor::new([0i64, 1]));
        /// assert!((loss.item()? - 2f32.ln()).abs() < 1e-6);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cross_entropy try_cross_entropy[I: IntegerDType](&self, target: &Tensor<I, D::Smaller>) -> Tensor<T, Dim0> {
            let settings = CrossEntropyOptions::default().settings();
            Ok(Tensor::wrap(classes::cross_entropy(self.node(), target.node(), None, settings)?))
        }

        /// [`cross_entropy`](Self::cross_entropy) with settings; without a reduction the result has the target's shape.
        ///
        /// ```
        /// use zither::{CrossEntropyOptions, Reduction, Tensor};
        /// let options = CrossEntropyOptions { reduction: Reduction::None, ignore_index: 1, ..Default::default() };
        /// let losses = Tensor::new([[0.0f32], [0.0]]).cross_entropy_with(&Tensor::new([0i64, 1]), options);
        /// assert_eq!(losses.data()?, [0.0, 0.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cross_entropy_with try_cross_entropy_with[I: IntegerDType](
            &self,
            target: &Tensor<I, D::Smaller>,
            options: CrossEntropyOptions,
        ) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(classes::cross_entropy(self.node(), target.node(), None, options.settings())?))
        }

        /// [`cross_entropy_with`](Self::cross_entropy_with) where each class has a weight; a mean is then over the weights.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let logits = Tensor::new([[0.0f32, 0.0], [0.0, 0.0]]);
        /// let loss = logits.cross_entropy_weighted(&Tensor::new([0i64, 1]), &Tensor::new([1.0, 3.0]), Default::default());
        /// assert!((loss.item()? - 2f32.ln()).abs() < 1e-6);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cross_entropy_weighted try_cross_entropy_weighted[I: IntegerDType](
            &self,
            target: &Tensor<I, D::Smaller>,
            weight: &Tensor<T, Dim1>,
            options: CrossEntropyOptions,
        ) -> Tensor<T, DimDyn> {
            let weight = Some(weight.node());
            Ok(Tensor::wrap(classes::cross_entropy(self.node(), target.node(), weight, options.settings())?))
        }

        /// The mean of `-self[target]`, where this tensor holds logarithms of probabilities: classes along axis 1 (axis 0
        /// for a vector).
        ///
        /// ```
        /// # use zither::Tensor;
        /// let loss = Tensor::new([[-1.0f32, -2.0], [-3.0, -4.0]]).nll_loss(&Tensor::new([0i64, 1]));
        /// assert_eq!(loss.item()?, 2.5);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn nll_loss try_nll_loss[I: IntegerDType](&self, target: &Tensor<I, D::Smaller>) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(classes::nll(self.node(), target.node(), None, -100, Reduction::Mean)?))
        }

        /// [`nll_loss`](Self::nll_loss) with a weight for each class, and a label that counts for nothing.
        ///
        /// ```
        /// use zither::{Reduction, Tensor};
        /// let x = Tensor::new([[-1.0f32, -2.0], [-3.0, -4.0]]);
        /// let losses = x.nll_loss_with(&Tensor::new([0i64, 1]), Some(&Tensor::new([1.0, 10.0])), -100, Reduction::None);
        /// assert_eq!(losses.data()?, [1.0, 40.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn nll_loss_with try_nll_loss_with[I: IntegerDType](
            &self,
            target: &Tensor<I, D::Smaller>,
            weight: Option<&Tensor<T, Dim1>>,
            ignore_index: i64,
            reduction: Reduction,
        ) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(classes::nll(self.node(), target.node(), node(weight), ignore_index, reduction)?))
        }

        /// `a · b / (|a| |b|)` along an axis; lengths below 1e-8 count as that.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b) = (Tensor::new([3.0f32, 4.0]), Tensor::new([4.0f32, -3.0]));
        /// assert_eq!(a.cosine_similarity(&b, 0).item()?, 0.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cosine_similarity try_cosine_similarity(&self, other: &Tensor<T, D>, axis: isize) -> Tensor<T, D::Smaller> {
            Ok(Tensor::wrap(similarity::cosine("cosine_similarity", self.node(), other.node(), axis, 1e-8)?))
        }

        /// `1 - cos` where the target is 1, `max(0, cos - margin)` where it is -1; vectors along the last axis.
        ///
        /// ```
        /// use zither::{Reduction, Tensor};
        /// let (a, b) = (Tensor::new([[3.0f32, 4.0]]), Tensor::new([[4.0f32, -3.0]]));
        /// let loss = a.cosine_embedding_loss(&b, &Tensor::new([1.0]), 0.0, Reduction::Mean);
        /// assert_eq!(loss.item()?, 1.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cosine_embedding_loss try_cosine_embedding_loss(
            &self,
            other: &Tensor<T, D>,
            target: &Tensor<T, D::Smaller>,
            margin: f64,
            reduction: Reduction,
        ) -> Tensor<T, DimDyn> {
            let (a, b) = (self.node(), other.node());
            Ok(Tensor::wrap(similarity::cosine_embedding(a, b, target.node(), margin, reduction)?))
        }

        /// `max(0, |a - p| - |a - n| + margin)` with lengths along the last axis: this anchor should be nearer to `positive`
        /// than to `negative`.
        ///
        /// ```
        /// use zither::{Reduction, Tensor};
        /// let (a, p, n) = (Tensor::new([[0.0f32]]), Tensor::new([[3.0f32]]), Tensor::new([[1.0f32]]));
        /// let loss = a.triplet_margin_loss(&p, &n, 1.0, Reduction::Mean).item()?;
        /// assert!((loss - 3.0).abs() < 1e-5);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn triplet_margin_loss try_triplet_margin_loss(
            &self,
            positive: &Tensor<T, D>,
            negative: &Tensor<T, D>,
            margin: f64,
            reduction: Reduction,
        ) -> Tensor<T, DimDyn> {
            let (positive, negative) = (positive.node(), negative.node());
            Ok(Tensor::wrap(similarity::triplet(self.node(), positive, negative, margin, reduction)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// `-(t ln p + (1 - t) ln(1 - p))`; see [`Tensor::binary_cross_entropy_with`].
        fn binary_cross_entropy try_binary_cross_entropy(&self, target: &DynTensor, weight: Option<&DynTensor>, reduction: Reduction) -> DynTensor {
            Ok(DynTensor::wrap(binary::bce(self.node(), target.node(), weight.map(DynTensor::node), reduction)?))
        }

        /// Binary cross entropy of logits; see [`Tensor::binary_cross_entropy_with_logits_with`].
        fn binary_cross_entropy_with_logits try_binary_cross_entropy_with_logits(
            &self,
            target: &DynTensor,
            weight: Option<&DynTensor>,
            positive: Option<&DynTensor>,
            reduction: Reduction,
        ) -> DynTensor {
            let (weight, positive) = (weight.map(DynTensor::node), positive.map(DynTensor::node));
            Ok(DynTensor::wrap(binary::bce_with_logits(self.node(), target.node(), weight, positive, reduction)?))
        }

        /// `t (ln t - x)`; see [`Tensor::kl_div_with`].
        fn kl_div try_kl_div(&self, target: &DynTensor, log_target: bool, reduction: Reduction) -> DynTensor {
            Ok(DynTensor::wrap(binary::kl_div(self.node(), target.node(), log_target, reduction)?))
        }

        /// `-ln softmax(self)[target]`; see [`Tensor::cross_entropy`].
        fn cross_entropy try_cross_entropy(&self, target: &DynTensor, options: CrossEntropyOptions) -> DynTensor {
            Ok(DynTensor::wrap(classes::cross_entropy(self.node(), target.node(), None, options.settings())?))
        }

        /// Cross entropy where each class has a weight; see [`Tensor::cross_entropy_weighted`].
        fn cross_entropy_weighted try_cross_entropy_weighted(
            &self,
            target: &DynTensor,
            weight: &DynTensor,
            options: CrossEntropyOptions,
        ) -> DynTensor {
            let weight = Some(weight.node());
            Ok(DynTensor::wrap(classes::cross_entropy(self.node(), target.node(), weight, options.settings())?))
        }

        /// `-self[target]`; see [`Tensor::nll_loss_with`].
        fn nll_loss try_nll_loss(
            &self,
            target: &DynTensor,
            weight: Option<&DynTensor>,
            ignore_index: i64,
            reduction: Reduction,
        ) -> DynTensor {
            let weight = weight.map(DynTensor::node);
            Ok(DynTensor::wrap(classes::nll(self.node(), target.node(), weight, ignore_index, reduction)?))
        }

        /// `a · b / (|a| |b|)` along an axis; see [`Tensor::cosine_similarity`].
        fn cosine_similarity try_cosine_similarity(&self, other: &DynTensor, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(similarity::cosine("cosine_similarity", self.node(), other.node(), axis, 1e-8)?))
        }

        /// `1 - cos` or `max(0, cos - margin)`; see [`Tensor::cosine_embedding_loss`].
        fn cosine_embedding_loss try_cosine_embedding_loss(
            &self,
            other: &DynTensor,
            target: &DynTensor,
            margin: f64,
            reduction: Reduction,
        ) -> DynTensor {
            let (a, b) = (self.node(), other.node());
            Ok(DynTensor::wrap(similarity::cosine_embedding(a, b, target.node(), margin, reduction)?))
        }

        /// `max(0, |a - p| - |a - n| + margin)`; see [`Tensor::triplet_margin_loss`].
        fn triplet_margin_loss try_triplet_margin_loss(
            &self,
            positive: &DynTensor,
            negative: &DynTensor,
            margin: f64,
            reduction: Reduction,
        ) -> DynTensor {
            let (positive, negative) = (positive.node(), negative.node());
            Ok(DynTensor::wrap(similarity::triplet(self.node(), positive, negative, margin, reduction)?))
        }
    }
}
