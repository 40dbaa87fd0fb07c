//! Reductions. Typed where the rank can be known: `sum_axis` loses one axis, `sum_keepdim` keeps it as 1, `sum_all`
//! loses all; `sum(&axes, keepdim)` takes any axes and gives `DimDyn`.

use super::tables::{applied, as_typed};
use super::twins::twins;
use super::{Dim0, DimDyn, Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::{FloatDType, NumericDType, TensorDType};
use crate::error::Result;
use crate::graph::{Node, ReduceKind};
use crate::ops::compose::reduction::{self, AxesArg};

/// The four forms of a reduction, on typed and on dynamic tensors.
macro_rules! reductions {
    ($($bound:ident { $(
        $name:ident $try_name:ident $axis:ident $try_axis:ident $keep:ident $try_keep:ident $all:ident $try_all:ident $out:ty,
        $doc:literal, $numbers:literal => $gives:literal, $whole:literal, $f:expr;
    )* })*) => {$(
        impl<T: $bound, D: Dimension> Tensor<T, D> {
            twins! {$(
                #[doc = concat!($doc, " Along any axes (negative ones count from the end), which stay as 1 with `keepdim`.")]
                #[doc = applied!($numbers, $name("&[1], false"), $gives)]
                fn $name $try_name(&self, axes: &[isize], keepdim: bool) -> Tensor<$out, DimDyn> {
                    Ok(Tensor::wrap($f(stringify!($name), self.node(), Some(axes), keepdim)?))
                }

                #[doc = concat!($doc, " Over all elements.")]
                #[doc = applied!($numbers, $all(""), $whole)]
                fn $all $try_all(&self) -> Tensor<$out, Dim0> {
                    Ok(Tensor::wrap($f(stringify!($name), self.node(), None, false)?))
                }
            )*}
        }

        impl<T: $bound, D: HasAxes> Tensor<T, D> {
            twins! {$(
                #[doc = concat!($doc, " Along one axis, which goes away.")]
                #[doc = applied!($numbers, $axis("1"), $gives)]
                fn $axis $try_axis(&self, axis: isize) -> Tensor<$out, D::Smaller> {
                    Ok(Tensor::wrap($f(stringify!($axis), self.node(), Some(&[axis]), false)?))
                }

                #[doc = concat!($doc, " Along one axis, which stays as 1.")]
                #[doc = applied!($numbers, $keep("1"), $gives)]
                fn $keep $try_keep(&self, axis: isize) -> Tensor<$out, D> {
                    Ok(Tensor::wrap($f(stringify!($keep), self.node(), Some(&[axis]), true)?))
                }
            )*}
        }

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!(concat!($doc, " Along any axes, which stay as 1 with `keepdim`."), $name)]
                fn $name $try_name(&self, axes: &[isize], keepdim: bool) -> DynTensor {
                    Ok(DynTensor::wrap($f(stringify!($name), self.node(), Some(axes), keepdim)?))
                }

                #[doc = as_typed!(concat!($doc, " Over all elements."), $all)]
                fn $all $try_all(&self) -> DynTensor {
                    Ok(DynTensor::wrap($f(stringify!($name), self.node(), None, false)?))
                }
            )*}
        }
    )*};
}

/// A primitive reduction as a function.
macro_rules! kind {
    ($kind:ident) => {{
        #[track_caller]
        fn call(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
            reduction::reduce(op, ReduceKind::$kind, x, axes, keepdim)
        }
        call
    }};
}

/// A spread with PyTorch's default of `n - 1`.
macro_rules! spread {
    ($name:ident) => {{
        #[track_caller]
        fn call(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
            reduction::$name(op, x, axes, 1.0, keepdim)
        }
        call
    }};
}

reductions! {
    NumericDType {
        sum try_sum sum_axis try_sum_axis sum_keepdim try_sum_keepdim sum_all try_sum_all T,
        "The sum. Integers wrap.", "[[1, 2], [3, 4]]" => "[3, 7]", "[10]", kind!(Sum);
        prod try_prod prod_axis try_prod_axis prod_keepdim try_prod_keepdim prod_all try_prod_all T,
        "The product. Integers wrap.", "[[1, 2], [3, 4]]" => "[2, 12]", "[24]", kind!(Prod);
        max try_max max_axis try_max_axis max_keepdim try_max_keepdim max_all try_max_all T,
        "The largest element; NaN wins. Ties share the gradient equally.", "[[1, 2], [3, 4]]" => "[2, 4]", "[4]", kind!(Max);
        min try_min min_axis try_min_axis min_keepdim try_min_keepdim min_all try_min_all T,
        "The smallest element; NaN wins. Ties share the gradient equally.", "[[1, 2], [3, 4]]" => "[1, 3]", "[1]", kind!(Min);
    }
    TensorDType {
        any try_any any_axis try_any_axis any_keepdim try_any_keepdim any_all try_any_all bool,
        "Whether any element is not zero.", "[[1, 0], [0, 0]]" => "[true, false]", "[true]", reduction::any;
        all try_all all_axis try_all_axis all_keepdim try_all_keepdim all_all try_all_all bool,
        "Whether every element is not zero.", "[[1, 0], [1, 1]]" => "[false, true]", "[false]", reduction::all;
    }
    FloatDType {
        mean try_mean mean_axis try_mean_axis mean_keepdim try_mean_keepdim mean_all try_mean_all T,
        "The mean; NaN for no elements.", "[[1.0f32, 2.0], [3.0, 4.0]]" => "[1.5, 3.5]", "[2.5]", reduction::mean;
        var try_var var_axis try_var_axis var_keepdim try_var_keepdim var_all try_var_all T,
        "The variance with `n - 1` (as PyTorch).", "[[1.0f32, 3.0], [2.0, 2.0]]" => "[2.0, 0.0]", "[2.0 / 3.0]", spread!(var);
        std try_std std_axis try_std_axis std_keepdim try_std_keepdim std_all try_std_all T,
        "The standard deviation with `n - 1` (as PyTorch).", "[[1.0f32, 2.0, 3.0]]" => "[1.0]", "[1.0]", spread!(std);
        logsumexp try_logsumexp logsumexp_axis try_logsumexp_axis logsumexp_keepdim try_logsumexp_keepdim logsumexp_all try_logsumexp_all T,
        "ln Σ eˣ, without overflow.", "[[1000.0f32, 0.0]]" => "[1000.0]", "[1000.0]", reduction::logsumexp;
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The variance with `n - correction` in place of `n`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1.0f32, 3.0]).var_with(&[0], 0.0, false).item()?, 1.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn var_with try_var_with(&self, axes: &[isize], correction: f64, keepdim: bool) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(reduction::var("var", self.node(), Some(axes), correction, keepdim)?))
        }

        /// The standard deviation with `n - correction` in place of `n`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1.0f32, 3.0]).std_with(&[0], 0.0, false).item()?, 1.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn std_with try_std_with(&self, axes: &[isize], correction: f64, keepdim: bool) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(reduction::std("std", self.node(), Some(axes), correction, keepdim)?))
        }
    }
}

impl<T: NumericDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// The position of the first largest element along an axis; NaN counts as largest.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 5, 5], [7, 2, 3]]).argmax(1).data()?, [1, 0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn argmax try_argmax(&self, axis: isize) -> Tensor<i64, D::Smaller> {
            Ok(Tensor::wrap(reduction::arg("argmax", ReduceKind::Max, self.node(), Some(axis), false)?))
        }

        /// The position of the first smallest element along an axis; NaN counts as smallest.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 5, 5], [7, 2, 3]]).argmin(1).data()?, [0, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn argmin try_argmin(&self, axis: isize) -> Tensor<i64, D::Smaller> {
            Ok(Tensor::wrap(reduction::arg("argmin", ReduceKind::Min, self.node(), Some(axis), false)?))
        }
    }
}

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The position of the first largest element of all, in row-major order.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 5], [7, 2]]).argmax_all().item()?, 2);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn argmax_all try_argmax_all(&self) -> Tensor<i64, Dim0> {
            Ok(Tensor::wrap(reduction::arg("argmax", ReduceKind::Max, self.node(), None, false)?))
        }

        /// The position of the first smallest element of all, in row-major order.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[4, 5], [7, 2]]).argmin_all().item()?, 3);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn argmin_all try_argmin_all(&self) -> Tensor<i64, Dim0> {
            Ok(Tensor::wrap(reduction::arg("argmin", ReduceKind::Min, self.node(), None, false)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The variance with `n - correction` in place of `n`.
        ///
        /// See [`Tensor::var_with`](crate::Tensor::var_with).
        fn var_with try_var_with(&self, axes: &[isize], correction: f64, keepdim: bool) -> DynTensor {
            Ok(DynTensor::wrap(reduction::var("var", self.node(), Some(axes), correction, keepdim)?))
        }

        /// The standard deviation with `n - correction` in place of `n`.
        ///
        /// See [`Tensor::std_with`](crate::Tensor::std_with).
        fn std_with try_std_with(&self, axes: &[isize], correction: f64, keepdim: bool) -> DynTensor {
            Ok(DynTensor::wrap(reduction::std("std", self.node(), Some(axes), correction, keepdim)?))
        }

        /// The position of the first largest element along an axis (`None`: of all elements).
        ///
        /// See [`Tensor::argmax`](crate::Tensor::argmax).
        fn argmax try_argmax(&self, axis: Option<isize>, keepdim: bool) -> DynTensor {
            Ok(DynTensor::wrap(reduction::arg("argmax", ReduceKind::Max, self.node(), axis, keepdim)?))
        }

        /// The position of the first smallest element along an axis (`None`: of all elements).
        ///
        /// See [`Tensor::argmin`](crate::Tensor::argmin).
        fn argmin try_argmin(&self, axis: Option<isize>, keepdim: bool) -> DynTensor {
            Ok(DynTensor::wrap(reduction::arg("argmin", ReduceKind::Min, self.node(), axis, keepdim)?))
        }
    }
}
