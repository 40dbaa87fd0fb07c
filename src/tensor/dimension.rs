//! The rank in the type: `Dim<2>` for matrices, `DimDyn` where only the run knows.

use crate::shape::Shape;

mod sealed {
    /// Keeps the set of dimensions closed.
    pub trait Sealed {}
}

/// A rank known to the compiler, from 0 to 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim<const N: usize>;

/// A rank known at run time only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DimDyn;

/// Rank 0: one number.
pub type Dim0 = Dim<0>;
/// Rank 1.
pub type Dim1 = Dim<1>;
/// Rank 2.
pub type Dim2 = Dim<2>;
/// Rank 3.
pub type Dim3 = Dim<3>;
/// Rank 4.
pub type Dim4 = Dim<4>;
/// Rank 5.
pub type Dim5 = Dim<5>;
/// Rank 6.
pub type Dim6 = Dim<6>;

/// The number of axes of a tensor, as a type.
///
/// Tensors of one rank broadcast to that rank, so code for any rank needs no other bound:
///
/// ```
/// use zither::{Dimension, Tensor};
///
/// fn step<D: Dimension>(weight: &Tensor<f32, D>, grad: &Tensor<f32, D>) -> Tensor<f32, D> {
///     weight - grad * 0.1
/// }
///
/// let weight = step(&Tensor::new([1.0, 2.0]), &Tensor::new([10.0, 0.0]));
/// assert_eq!(weight.data()?, [0.0, 2.0]);
/// # Ok::<(), zither::Error>(())
/// ```
pub trait Dimension: Copy + Send + Sync + BroadcastWith<Self, Output = Self> + sealed::Sealed + 'static {
    /// The rank, if the compiler knows it.
    const RANK: Option<usize>;
    /// One axis fewer. (Rank 0 has none to lose; see [`HasAxes`].)
    type Smaller: Dimension;
    /// One axis more. (`DimDyn` after rank 12.)
    type Larger: Dimension;
}

/// A dimension with at least one axis, or one known at run time only: what axes can be taken from.
#[diagnostic::on_unimplemented(message = "a tensor of rank 0 has no axis to take away", label = "rank 0 here")]
pub trait HasAxes: Dimension {}

/// Two ranks that broadcast to a third: the larger of the two.
pub trait BroadcastWith<E: Dimension> {
    /// The rank of the result.
    type Output: Dimension;
}

/// Two ranks that multiply as matrices.
#[diagnostic::on_unimplemented(message = "tensors of these ranks do not multiply: a scalar has no axis to sum over")]
pub trait MatMulWith<E: Dimension>: Dimension {
    /// The rank of the product.
    type Output: Dimension;
}

impl<const N: usize> sealed::Sealed for Dim<N> {}
impl sealed::Sealed for DimDyn {}

impl Dimension for DimDyn {
    const RANK: Option<usize> = None;
    type Smaller = DimDyn;
    type Larger = DimDyn;
}
impl HasAxes for DimDyn {}
impl BroadcastWith<DimDyn> for DimDyn {
    type Output = DimDyn;
}
impl MatMulWith<DimDyn> for DimDyn {
    type Output = DimDyn;
}

/// Rank 0, and every rank with the one below and above it.
macro_rules! ladder {
    ($($rank:literal $smaller:ty, $larger:ty;)*) => {$(
        impl Dimension for Dim<$rank> {
            const RANK: Option<usize> = Some($rank);
            type Smaller = $smaller;
            type Larger = $larger;
        }
        impl BroadcastWith<DimDyn> for Dim<$rank> {
            type Output = DimDyn;
        }
        impl BroadcastWith<Dim<$rank>> for DimDyn {
            type Output = DimDyn;
        }
    )*};
}

ladder! {
    0 DimDyn, Dim<1>;
    1 Dim<0>, Dim<2>;
    2 Dim<1>, Dim<3>;
    3 Dim<2>, Dim<4>;
    4 Dim<3>, Dim<5>;
    5 Dim<4>, Dim<6>;
    6 Dim<5>, Dim<7>;
    7 Dim<6>, Dim<8>;
    8 Dim<7>, Dim<9>;
    9 Dim<8>, Dim<10>;
    10 Dim<9>, Dim<11>;
    11 Dim<10>, Dim<12>;
    12 Dim<11>, DimDyn;
}

/// For each rank, the smaller ones: with them, and with itself, it gives itself.
macro_rules! broadcasts {
    ($($rank:literal: $($below:literal)*;)*) => {$(
        impl BroadcastWith<Dim<$rank>> for Dim<$rank> {
            type Output = Dim<$rank>;
        }
        $(
            impl BroadcastWith<Dim<$below>> for Dim<$rank> {
                type Output = Dim<$rank>;
            }
            impl BroadcastWith<Dim<$rank>> for Dim<$below> {
                type Output = Dim<$rank>;
            }
        )*
    )*};
}

broadcasts! {
    0: ;
    1: 0;
    2: 0 1;
    3: 0 1 2;
    4: 0 1 2 3;
    5: 0 1 2 3 4;
    6: 0 1 2 3 4 5;
    7: 0 1 2 3 4 5 6;
    8: 0 1 2 3 4 5 6 7;
    9: 0 1 2 3 4 5 6 7 8;
    10: 0 1 2 3 4 5 6 7 8 9;
    11: 0 1 2 3 4 5 6 7 8 9 10;
    12: 0 1 2 3 4 5 6 7 8 9 10 11;
}

/// Matrix products: vectors lose their axis, batches broadcast.
macro_rules! products {
    ($($rank:literal: $($below:literal)*;)*) => {$(
        impl HasAxes for Dim<$rank> {}
        impl MatMulWith<DimDyn> for Dim<$rank> {
            type Output = DimDyn;
        }
        impl MatMulWith<Dim<$rank>> for DimDyn {
            type Output = DimDyn;
        }
        impl MatMulWith<Dim<$rank>> for Dim<$rank> {
            type Output = Dim<$rank>;
        }
        impl MatMulWith<Dim<1>> for Dim<$rank> {
            type Output = <Dim<$rank> as Dimension>::Smaller;
        }
        impl MatMulWith<Dim<$rank>> for Dim<1> {
            type Output = <Dim<$rank> as Dimension>::Smaller;
        }
        $(
            impl MatMulWith<Dim<$below>> for Dim<$rank> {
                type Output = Dim<$rank>;
            }
            impl MatMulWith<Dim<$rank>> for Dim<$below> {
                type Output = Dim<$rank>;
            }
        )*
    )*};
}

impl HasAxes for Dim<1> {}
impl MatMulWith<Dim<1>> for Dim<1> {
    type Output = Dim<0>;
}
impl MatMulWith<DimDyn> for Dim<1> {
    type Output = DimDyn;
}
impl MatMulWith<Dim<1>> for DimDyn {
    type Output = DimDyn;
}

products! {
    2: ;
    3: 2;
    4: 2 3;
    5: 2 3 4;
    6: 2 3 4 5;
    7: 2 3 4 5 6;
    8: 2 3 4 5 6 7;
    9: 2 3 4 5 6 7 8;
    10: 2 3 4 5 6 7 8 9;
    11: 2 3 4 5 6 7 8 9 10;
    12: 2 3 4 5 6 7 8 9 10 11;
}

/// Sizes that make a shape of dimension `D`: `[usize; N]` for `Dim<N>`, slices and vectors for `DimDyn`.
pub trait IntoShape<D: Dimension> {
    /// The sizes.
    fn into_shape(self) -> Shape;
}

impl<const N: usize> IntoShape<Dim<N>> for [usize; N]
where
    Dim<N>: Dimension,
{
    fn into_shape(self) -> Shape {
        Shape::from_slice(&self)
    }
}

impl IntoShape<DimDyn> for &[usize] {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl IntoShape<DimDyn> for Vec<usize> {
    fn into_shape(self) -> Shape {
        Shape::from_vec(self)
    }
}

impl IntoShape<DimDyn> for &Vec<usize> {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl<const N: usize> IntoShape<DimDyn> for &[usize; N] {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}
