//! What happens to finished sums: they are handed to what follows, or written where the result wants them.

use super::kernel::{Element, Kernel};
use super::{Operands, Product};
use std::ops::Range;

/// Hands over a tile of sums in the thread's scratch, `stride` from row to row.
///
/// # Safety
/// As for [`Product::run`]; the tile may be read and written.
pub(super) unsafe fn deliver<K: Kernel>(
    product: &Product,
    call: &Operands<'_>,
    batch: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    tile: *mut K::Acc,
    stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(finish) = call.finish {
            let stride = settle::<K>(tile, rows.len(), cols.len(), stride);
            finish.finish(batch, rows, cols, tile.cast(), stride);
            return;
        }
        let out = call.out.cast::<K::Elem>().wrapping_offset(product.out.batch.offset(batch));
        let (row_group, col_group) = (&product.out.rows, &product.out.cols);
        if row_group.inner() == 1 && col_group.inner() != 1 {
            for (j, col) in cols.enumerate() {
                let out = out.wrapping_offset(col_group.offset(col));
                let mut from = tile.wrapping_add(j).cast_const();
                for run in row_group.runs(rows.clone()) {
                    for i in 0..run.len {
                        *out.offset(run.offset + i as isize * run.stride) = K::Elem::narrow(*from);
                        from = from.wrapping_add(stride);
                    }
                }
            }
            return;
        }
        for (i, row) in rows.enumerate() {
            let out = out.wrapping_offset(row_group.offset(row));
            let mut from = tile.add(i * stride).cast_const();
            for run in col_group.runs(cols.clone()) {
                let to = out.offset(run.offset);
                if run.stride == 1 {
                    K::narrow(from, to, run.len);
                } else {
                    for j in 0..run.len {
                        *to.offset(j as isize * run.stride) = K::Elem::narrow(*from.add(j));
                    }
                }
                from = from.add(run.len);
            }
        }
    }
}

/// The elements from one row of a tile to the next, as what follows sees it, if sums are `stride` apart.
pub(super) fn finished_stride<K: Kernel>(stride: usize) -> usize {
    if K::Elem::FINISHED_WIDE { stride } else { stride * (size_of::<K::Acc>() / size_of::<K::Elem>()) }
}

/// Makes elements of sums where what follows expects elements, each row where it is. Gives the stride as it is then.
///
/// # Safety
/// The tile may be read and written.
unsafe fn settle<K: Kernel>(tile: *mut K::Acc, rows: usize, cols: usize, stride: usize) -> usize {
    if K::Elem::FINISHED_WIDE {
        return stride;
    }
    for row in 0..rows {
        let sums = tile.wrapping_add(row * stride);
        for col in 0..cols {
            // SAFETY: the caller's promise; an element is never behind the sum it comes from.
            unsafe { *sums.cast::<K::Elem>().add(col) = K::Elem::narrow(*sums.add(col)) }
        }
    }
    finished_stride::<K>(stride)
}
