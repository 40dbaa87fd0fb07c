//! Prints a tensor as text, the way PyTorch and NumPy users know it.
//!
//! In: a shape, a dtype and a way to ask for one element. Out: the text.
//! `layout.rs` decides which elements are shown and where, `number.rs` how one of them is written.

mod layout;
mod number;
#[cfg(test)]
mod tests;

use crate::dtype::{DType, Literal};
use layout::{Page, Window};
use number::Notation;
use std::fmt;

/// Writes a tensor.
///
/// ```text
/// tensor([[1., 2.],
///         [3., 4.]], shape=[2, 2], dtype=f32)
/// ```
///
/// **Numbers.** Everything shown is written alike and right-aligned to one width.
/// - Floats get as many decimals as it takes to read every one of them back in its own dtype, but at most 4. So whole
///   numbers are `1.`, an `f16` shows no digits that it does not have, and `[0.5, 0.25]` is `[0.50, 0.25]`.
/// - All floats turn to scientific notation (`1.5e-05`) when the largest is 1e8 or more, the smallest is under 1e-4, or,
///   unless all are whole, the largest is over 1000 times the smallest. Signs, zeros, `nan` and `inf` do not count.
/// - `nan`, `inf`, `-inf` and `-0.` are written as such; bools are `true` and `false`.
///
/// **Lines.** They hold 80 columns, closing brackets included. A row that is longer goes on under its first element;
/// `shape` and `dtype` go to a line of their own where they do not fit. Only one element wider than a line sticks out.
/// Matrices are set apart by a blank line, and by one more for each further axis.
///
/// **Shortening.** Above 1000 elements, an axis longer than 6 shows 3 items at each edge around `...`. Only the shown
/// elements are asked for, each once. From 6 axes on, should that still be over 10,000 elements, every axis shows
/// 2 items at each edge, or 1, or none: the cost has a bound that no shape exceeds.
///
/// **Rank 0** is the bare number, so that `{loss}` in a sentence reads well; a tensor without elements is
/// `tensor([], shape=[2, 0], dtype=f32)`.
///
/// **Format options.** `{:.2}` writes exactly 2 decimals, `{:8}` makes every column at least 8 wide, and `{:#}` shows
/// every element.
pub(crate) fn format_tensor(
    shape: &[usize],
    dtype: DType,
    literal_at: &dyn Fn(&[usize]) -> Literal,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let window = Window::over(shape, f.alternate());
    let shown = window.gather(literal_at);
    let notation = Notation::for_all(&shown, f.precision());
    let width = notation.width(&shown).max(f.width().unwrap_or(0));
    let mut page = Page::new(window, notation, width, &shown);
    match shape {
        [] => page.number(),
        _ => page.tensor(dtype),
    }
    f.write_str(&page.text)
}
