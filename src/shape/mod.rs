//! Shapes: axes, broadcasting, layouts, index expressions and views.
//!
//! Everything here is arithmetic on indices; no element of a tensor is ever touched.

mod axis;
mod broadcast;
mod expr;
mod layout;
mod size;
mod view;

#[cfg(test)]
mod tests;

pub use expr::Expr;
pub(crate) use expr::{floor_div, floor_rem};
pub use layout::{Layout, StridedIndex, index_to_position, ordinal_to_index};
pub use view::{Read, View};

pub(crate) use axis::{normalize_axes, normalize_axis};
pub(crate) use broadcast::broadcast_shapes;
pub(crate) use layout::reshape_strides;
pub(crate) use size::{element_count, len_of, row_major_strides};
pub(crate) use view::{Bound, Bounded, Position};

use smallvec::SmallVec;

/// The sizes of a tensor's axes; any rank, inline up to six.
pub type Shape = SmallVec<[usize; 6]>;

/// The distance, in elements, between neighbours along each axis.
pub type Strides = SmallVec<[isize; 6]>;
