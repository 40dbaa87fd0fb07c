//! Which elements are shown, and where they stand on the page.

use super::number::Notation;
use crate::dtype::{DType, Literal};

/// The columns of a line.
const LINE: usize = 80;
/// Tensors up to this many elements are shown whole.
const SHOWN_WHOLE: usize = 1000;
/// Items shown at each end of a shortened axis.
const EDGE: usize = 3;
/// The most elements a shortened tensor shows; matters from 6 axes on, as 6 items on each of 5 axes are 7776.
const SHOWN_AT_MOST: usize = 10_000;
/// An edge no axis exceeds.
const WHOLE: usize = usize::MAX;

const PREFIX: &str = "tensor(";

/// The shown part of a tensor: up to `edge` items at both ends of every axis.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    shape: &'a [usize],
    edge: usize,
}

impl<'a> Window<'a> {
    /// The part to show: all of a small tensor (of any, if `whole`), else the edges.
    pub(super) fn over(shape: &'a [usize], whole: bool) -> Window<'a> {
        let all = Window { shape, edge: WHOLE };
        if whole || all.len() <= SHOWN_WHOLE {
            return all;
        }
        // An edge of 0 shows no element, so one always fits.
        let fitting = (0..=EDGE).rev().find(|&edge| Window { shape, edge }.len() <= SHOWN_AT_MOST);
        Window { shape, edge: fitting.unwrap_or(0) }
    }

    /// The shown elements, in row-major order.
    pub(super) fn gather(&self, literal_at: &dyn Fn(&[usize]) -> Literal) -> Vec<Literal> {
        let mut shown = Vec::new();
        // An axis of 0 may follow one of billions: do not walk to find nothing.
        if self.len() > 0 {
            self.gather_below(&mut Vec::with_capacity(self.shape.len()), literal_at, &mut shown);
        }
        shown
    }

    fn gather_below(&self, index: &mut Vec<usize>, literal_at: &dyn Fn(&[usize]) -> Literal, shown: &mut Vec<Literal>) {
        if index.len() == self.shape.len() {
            return shown.push(literal_at(index));
        }
        for position in self.items(index.len()).flatten() {
            index.push(position);
            self.gather_below(index, literal_at, shown);
            index.pop();
        }
    }

    /// The items of an axis from left to right; `None` stands for those left out.
    fn items(&self, axis: usize) -> impl Iterator<Item = Option<usize>> + use<> {
        let length = self.shape[axis];
        let (head, gap, tail) =
            if self.shortens(length) { (self.edge, Some(None), length - self.edge) } else { (length, None, length) };
        (0..head).map(Some).chain(gap).chain((tail..length).map(Some))
    }

    fn shortens(&self, length: usize) -> bool {
        length > self.edge.saturating_mul(2)
    }

    /// The number of shown elements, or `usize::MAX` if it is even larger.
    fn len(&self) -> usize {
        let shown = |&length: &usize| if self.shortens(length) { 2 * self.edge } else { length };
        self.shape.iter().map(shown).fold(1, usize::saturating_mul)
    }
}

/// The text so far, and the elements still to be written.
pub(super) struct Page<'a> {
    /// What has been written.
    pub(super) text: String,
    window: Window<'a>,
    notation: Notation,
    width: usize,
    rest: std::slice::Iter<'a, Literal>,
}

impl<'a> Page<'a> {
    /// An empty page for the elements of a window, which will take columns of `width`.
    pub(super) fn new(window: Window<'a>, notation: Notation, width: usize, shown: &'a [Literal]) -> Page<'a> {
        Page { text: String::new(), window, notation, width, rest: shown.iter() }
    }

    /// Writes the next element alone.
    pub(super) fn number(&mut self) {
        if let Some(&literal) = self.rest.next() {
            let start = self.text.len();
            self.notation.write(literal, &mut self.text);
            let missing = self.width.saturating_sub(self.text.len() - start);
            self.text.insert_str(start, &" ".repeat(missing));
        }
    }

    /// Writes `tensor(…, shape=…, dtype=…)`.
    pub(super) fn tensor(&mut self, dtype: DType) {
        self.text.push_str(PREFIX);
        if self.window.shape.contains(&0) {
            self.text.push_str("[]");
        } else {
            self.axis(0);
        }
        self.suffix(&format!("shape={:?}", self.window.shape));
        self.suffix(&format!("dtype={dtype}"));
        self.text.push(')');
    }

    /// Writes the items of an axis, and all that is inside them, in brackets.
    fn axis(&mut self, axis: usize) {
        let axes_inside = self.window.shape.len() - axis - 1;
        let items_in_line = if axes_inside == 0 { self.items_in_line() } else { 1 };
        self.text.push('[');
        for (count, item) in self.window.items(axis).enumerate() {
            if count > 0 && count % items_in_line == 0 {
                self.text.push(',');
                self.new_line(axes_inside.max(1), PREFIX.len() + axis + 1);
            } else if count > 0 {
                self.text.push_str(", ");
            }
            match item {
                None if axes_inside == 0 => self.text.push_str(" ..."),
                None => self.text.push_str("..."),
                Some(_) if axes_inside == 0 => self.number(),
                Some(_) => self.axis(axis + 1),
            }
        }
        self.text.push(']');
    }

    /// How many elements of a row fit in a line with all the brackets before and behind, and a comma.
    fn items_in_line(&self) -> usize {
        let rank = self.window.shape.len();
        let outside = PREFIX.len() + 2 * rank + ",".len();
        // The last element has no `, ` behind it.
        let separator = ", ".len();
        ((LINE + separator).saturating_sub(outside) / (self.width + separator)).max(1)
    }

    /// Appends `, suffix`, on a new line if it does not fit with the comma or bracket that follows.
    fn suffix(&mut self, suffix: &str) {
        self.text.push(',');
        let column = self.text.len() - self.text.rfind('\n').map_or(0, |end| end + 1);
        if column + " ".len() + suffix.len() + ")".len() > LINE {
            self.new_line(1, PREFIX.len());
        } else {
            self.text.push(' ');
        }
        self.text.push_str(suffix);
    }

    fn new_line(&mut self, ends: usize, indent: usize) {
        self.text.extend(std::iter::repeat_n('\n', ends));
        self.text.extend(std::iter::repeat_n(' ', indent));
    }
}
