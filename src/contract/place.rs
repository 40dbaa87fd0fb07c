//! Which operands are better read where they are than packed.

/// An operand that meets no more lines of the other than this is hardly worth packing; left ones whose rows lie side by side are so
/// only up to fewer.
const SOME: usize = 512;
pub(super) const FEW: usize = 192;
/// Bytes of an operand that is read where it is by many tiles: it stays in the first cache, or the second.
const FIRST_CACHE: usize = 16 << 10;
const SECOND_CACHE: usize = 128 << 10;

/// An operand of a product, and what it meets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// How many lines (rows of the left operand, columns of the right one) and depths it has.
    pub lines: usize,
    pub depth: usize,
    /// How many lines of the other operand there are.
    pub others: usize,
    /// The bytes of a sum.
    pub size: usize,
    /// Lines lie side by side.
    pub is_along: bool,
    /// A kernel of several panels takes its columns from the second cache in any case: they need not lie close together.
    pub streams: bool,
}

impl Meeting {
    fn bytes(&self) -> usize {
        self.lines.saturating_mul(self.depth).saturating_mul(self.size)
    }

    /// Whether a left operand is read where it is, if it has one stride each way.
    pub(crate) fn leaves_left(&self) -> bool {
        let few = if self.is_along { FEW } else { SOME };
        self.bytes() <= SECOND_CACHE || (self.streams && self.others <= few)
    }

    /// The same of a right operand.
    pub(super) fn leaves_right(&self) -> bool {
        self.right_meets_few() || (self.is_along && self.is_near())
    }

    /// Whether a right operand, however large, meets too few rows to be packed for them.
    pub(crate) fn right_meets_few(&self) -> bool {
        self.is_along && self.streams && self.others <= SOME
    }

    /// Whether it stays in the first cache.
    pub(super) fn is_near(&self) -> bool {
        self.bytes() <= FIRST_CACHE
    }

    /// Up to how many rows a part takes them all and packs its own columns: those whose depth lies side by side are dear to pack together.
    pub(super) fn few_rows(&self) -> usize {
        if self.is_along { FEW } else { SOME }
    }
}
