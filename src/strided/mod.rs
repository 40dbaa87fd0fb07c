//! Map, zip and reduce over strided views of flat slices, with any Rust closure.
//!
//! An operand is a flat slice and a [`Strided`]: a shape, the step in elements that each axis makes, and where the first element
//! lies. One code serves dense, sliced, permuted, flipped and broadcast operands, and splits the outputs over the
//! library's threads.
//!
//! ```
//! use zither::strided::{Strided, tensor_map, zip};
//!
//! // Every second column of a (2, 4) base, which is a view: shape (2, 2), strides (4, 2).
//! let base = [0, 1, 2, 3, 4, 5, 6, 7];
//! let mut out = [0; 4];
//! tensor_map(&mut out, &[2, 2], &[2, 1], &base, &[2, 2], &[4, 2], |x| x + 100)?;
//! assert_eq!(out, [100, 102, 104, 106]);
//!
//! // The base's rows backwards, plus a row for all: negative strides need a start.
//! let backwards = Strided::new(&[2, 4], &[4, -1]).at(3);
//! let mut out = [0; 8];
//! zip(&mut out, Strided::new(&[2, 4], &[4, 1]), &base, backwards, &[10, 20, 30, 40], Strided::new(&[4], &[1]), |x, y| x + y)?;
//! assert_eq!(out, [13, 22, 31, 40, 17, 26, 35, 44]);
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! Everything is checked before the first element is read: shapes that do not broadcast, positions outside a slice and
//! outputs that overlap are errors. How the work is split depends on the shapes alone, so a closure that
//! depends only on its arguments gives the same bits with any number of threads.
//!
//! - `view.rs`: [`Strided`] and its checks.  `index.rs`: ordinals, indices, positions.
//! - `nest.rs`: the loops over all operands, simplified, and walked in parts by an odometer.
//! - `map.rs`, `zip.rs`, `reduce.rs`: the innermost loops.  `vec_ops.rs`: sums and the like over whole slices.

mod index;
mod map;
mod nest;
mod reduce;
pub mod vec_ops;
mod view;
mod zip;

pub use index::{broadcast_index, index_to_position, is_aligned, ordinal_to_index};
pub use map::{map, tensor_map};
pub use nest::{Path, path};
pub use reduce::{reduce, tensor_reduce};
pub use view::Strided;
pub use zip::{tensor_zip, zip};

/// The start of a slice that the parts of one job write to.
#[derive(Clone, Copy)]
struct Start<T>(*mut T);

impl<T> Start<T> {
    /// The address of a position.
    ///
    /// # Safety
    /// The position lies within the slice.
    unsafe fn at(self, position: isize) -> *mut T {
        // SAFETY: the caller's word.
        unsafe { self.0.offset(position) }
    }
}

// SAFETY: it is an address only; those who write through it see to it that no two parts share an element.
unsafe impl<T: Send> Sync for Start<T> {}
