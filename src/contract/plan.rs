//! Which path a contraction takes, and how it is cut into parts: by shape, strides and machine, never by threads.

#[cfg(target_arch = "x86_64")]
use super::kernel::{Avx2, Avx512};
use super::kernel::{Kernel, Plain, are_worth_it};
use super::pack::View;
use super::place::{FEW, Meeting};
use super::{
    Border, Contraction, Group, Operand, Operands, Product, Side, Target, TileShape, blocked, deliver, tiny, vector,
};
use crate::dtype::{DType, bf16, f16};
use std::ops::Range;
use std::sync::OnceLock;

/// Where a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Where it is.
    Direct,
    /// In panels that the part packs for itself.
    Local,
    /// In panels that the part packs for itself just before a tile wants them, while those of the next tile are fetched.
    Late,
    /// The same through windows: the first rows of a tile pack what they read.
    Through,
    /// In panels that all parts share, packed in a phase before.
    Shared,
}

/// The way a product is computed.
pub(super) enum Path {
    /// There is nothing to compute.
    Empty,
    Blocked(Plan),
    Vector(vector::Plan),
    Tiny(tiny::Plan),
}

/// How many indices each group has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) depth: usize,
}

impl Sizes {
    /// Multiply-adds of one batch index.
    pub(super) fn work(&self) -> usize {
        (self.rows * self.cols).saturating_mul(self.depth.max(1))
    }
}

/// Depth, cut into blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    pub(super) len: usize,
    /// The most of a block.
    pub(super) most: usize,
}

impl Depth {
    /// Blocks of about equal size, of whole eights.
    pub(super) fn new(len: usize) -> Depth {
        let blocks = if len <= ONLY_BLOCK { 1 } else { len.div_ceil(DEPTH_BLOCK) };
        Depth { len, most: len.div_ceil(blocks).next_multiple_of(8).max(8) }
    }

    /// How many blocks there are; one even if there is no depth, so that the sum is 0.
    pub(super) fn blocks(&self) -> usize {
        self.len.div_ceil(self.most).max(1)
    }

    pub(super) fn block(&self, block: usize) -> Range<usize> {
        block * self.most..((block + 1) * self.most).min(self.len)
    }
}

/// How a product runs in blocks.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) sizes: Sizes,
    pub(super) depth: Depth,
    /// Into how many parts rows and columns are cut, and how many batch indices are one part.
    pub(super) row_parts: usize,
    pub(super) col_parts: usize,
    pub(super) batch_step: usize,
    pub(super) left: Read,
    pub(super) right: Read,
    /// Whether columns that are read where they are lie too far away for that, and are fetched before.
    pub(super) fetches: bool,
    /// The rows and columns of the largest part, in whole panels.
    pub(super) most_rows: usize,
    pub(super) most_cols: usize,
    /// What is packed for all parts, if anything is: the left operand first.
    pub(super) packs: Vec<Pack>,
}

/// The packing of a whole operand for all parts.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    pub(super) is_left: bool,
    /// How many batch indices differ.
    pub(super) batch: usize,
    /// Lines, rounded up to whole panels.
    pub(super) lines: usize,
    /// The lines and depths packed by one part, and the parts of one block of depth.
    pub(super) line_step: usize,
    pub(super) depth_step: usize,
    pub(super) line_parts: usize,
    pub(super) depth_parts: usize,
    /// Where it begins in the shared memory, in sums.
    pub(super) start: usize,
}

/// Multiply-adds that are worth a part of their own.
pub(super) const PART: usize = 1 << 17;
/// Elements that are worth a part of their own when they are packed.
const PACK_PART: usize = 1 << 15;
/// Rows, and bytes of columns, of a part where there are many of both.
const TILE_ROWS: usize = 48;
const TILE_COL_BYTES: usize = 8 << 10;
/// Columns of a part that packs them for itself.
const LOCAL_COLS: usize = 256;
/// Panels of columns that are many for one panel of rows.
const MANY_PANELS: usize = 8;
/// The most depth of a block where there are several, and of one that is the only one. Sums are read and written again for each block,
/// while a panel of columns need not stay in the first cache: the second is quick enough for the kernels.
const DEPTH_BLOCK: usize = 512;
const ONLY_BLOCK: usize = 768;
/// Depths of windows that are many: making a tile ready to read through them takes its time.
const DEEP_WINDOWS: usize = 64;

/// Depths that lie a multiple of so many bytes apart share the same few places of the first cache, which have room for fewer than so many.
const CROWDED: usize = 2 << 10;
const CROWD: usize = 64;

impl Pack {
    pub(super) fn parts(&self, depth: &Depth) -> usize {
        self.batch * depth.blocks() * self.line_parts * self.depth_parts
    }
}

/// Lines in the part `part` of `parts`, cut at whole panels, all of about the same size.
pub(super) fn share(lines: usize, panel: usize, parts: usize, part: usize) -> Range<usize> {
    let panels = lines.div_ceil(panel);
    let start = (part * panels / parts * panel).min(lines);
    start..((part + 1) * panels / parts * panel).min(lines)
}

/// The kinds of machine that there are kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// Any.
    Plain,
    /// With AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With AVX-512 as well.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Machine {
    /// All kinds that this machine is of, the best one last.
    pub(super) fn all() -> Vec<Machine> {
        let mut all = vec![Machine::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            let is_avx2 =
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
            all.extend(is_avx2.then_some(Machine::Avx2));
            all.extend((is_avx2 && is_x86_feature_detected!("avx512f")).then_some(Machine::Avx512));
        }
        all
    }

    /// The best kind; no better than AVX2 if `ZITHER_JIT` says `avx2`.
    pub(super) fn best() -> Machine {
        static BEST: OnceLock<Machine> = OnceLock::new();
        *BEST.get_or_init(|| {
            let mut all = Machine::all();
            #[cfg(target_arch = "x86_64")]
            if std::env::var_os("ZITHER_JIT").is_some_and(|value| value == "avx2") {
                all.retain(|&machine| machine != Machine::Avx512);
            }
            all.pop().expect("there is always a plain one")
        })
    }
}

/// Makes a contraction ready.
pub(super) fn product(c: &Contraction) -> Product {
    product_on(Machine::best(), c)
}

/// Makes a contraction ready for a kind of machine.
pub(super) fn product_on(machine: Machine, c: &Contraction) -> Product {
    match machine {
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => match c.dtype {
            DType::F32 => ready::<Avx512<f32>>(c),
            DType::F64 => ready::<Avx512<f64>>(c),
            DType::F16 => ready::<Avx512<f16>>(c),
            DType::BF16 => ready::<Avx512<bf16>>(c),
            _ => product_on(Machine::Avx2, c),
        },
        #[cfg(target_arch = "x86_64")]
        Machine::Avx2 => match c.dtype {
            DType::F32 => ready::<Avx2<f32>>(c),
            DType::F64 => ready::<Avx2<f64>>(c),
            DType::F16 => ready::<Avx2<f16>>(c),
            DType::BF16 => ready::<Avx2<bf16>>(c),
            DType::I8 | DType::U8 | DType::Bool => ready::<Avx2<u8>>(c),
            DType::I16 | DType::U16 => ready::<Avx2<u16>>(c),
            DType::I32 | DType::U32 => ready::<Avx2<u32>>(c),
            DType::I64 | DType::U64 => ready::<Avx2<u64>>(c),
        },
        Machine::Plain => match c.dtype {
            DType::F32 => ready::<Plain<f32>>(c),
            DType::F64 => ready::<Plain<f64>>(c),
            DType::F16 => ready::<Plain<f16>>(c),
            DType::BF16 => ready::<Plain<bf16>>(c),
            DType::I8 | DType::U8 | DType::Bool => ready::<Plain<u8>>(c),
            DType::I16 | DType::U16 => ready::<Plain<u16>>(c),
            DType::I32 | DType::U32 => ready::<Plain<u32>>(c),
            DType::I64 | DType::U64 => ready::<Plain<u64>>(c),
        },
    }
}

fn ready<K: Kernel>(c: &Contraction) -> Product {
    assert!(c.dtype != DType::Bool, "there is no product of bools");
    let mut left = operand(&c.left, [&c.batch, &c.rows, &c.depth]);
    let mut right = operand(&c.right, [&c.batch, &c.cols, &c.depth]);
    for (operand, side, width) in [(&mut left, &c.left, K::ROWS), (&mut right, &c.right, K::COLS)] {
        if let Some(border) = &mut operand.border {
            border.tabulate(width, &side.guards, &c.depth);
        }
    }
    let (batch, rows) = c.out.split_at(c.batch.len());
    let (rows, cols) = rows.split_at(c.rows.len());
    let out =
        Target { batch: Group::new(&c.batch, batch), rows: Group::new(&c.rows, rows), cols: Group::new(&c.cols, cols) };
    let sizes = Sizes { batch: out.batch.len(), rows: out.rows.len(), cols: out.cols.len(), depth: left.depth.len() };

    let run: unsafe fn(&Product, usize, usize, &Operands<'_>) = blocked::run::<K>;
    let mut product = Product {
        left,
        right,
        out,
        path: Path::Empty,
        parts: vec![0],
        shared_bytes: 0,
        thread_bytes: 0,
        tiles: Vec::new(),
        widths: [K::ROWS, K::COLS],
        run,
    };
    if sizes.batch * sizes.rows * sizes.cols == 0 {
        return product;
    }
    let plain = product.left.is_plain() && product.right.is_plain();
    if tiny::serves(sizes) && plain {
        tiny::prepare::<K>(&mut product, sizes);
    } else if tiny::serves(sizes) {
        // Operands that are computed or have a border come in blocks. The order of sums is the same.
        prepare::<K>(&mut product, sizes, Depth::new(sizes.depth));
    } else if sizes.rows == 1 || sizes.cols == 1 {
        vector::prepare::<K>(&mut product, sizes);
    } else {
        prepare::<K>(&mut product, sizes, Depth::new(sizes.depth));
    }
    product
}

/// The shapes of all tiles, each once; the largest first.
fn tiles<K: Kernel>(plan: &Plan) -> Vec<TileShape> {
    let lengths = |lines: usize, panel: usize, parts: usize| {
        let mut lengths: Vec<usize> = (0..parts).map(|part| share(lines, panel, parts, part).len()).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        lengths
    };
    let columns = lengths(plan.sizes.cols, K::COLS, plan.col_parts);
    let stride = |cols: usize| deliver::finished_stride::<K>(cols.next_multiple_of(K::COLS));
    let shape = |rows: usize, cols: usize| TileShape { rows, cols, stride: stride(cols) };
    let rows = lengths(plan.sizes.rows, K::ROWS, plan.row_parts);
    rows.iter().flat_map(|&rows| columns.iter().map(move |&cols| shape(rows, cols))).collect()
}

/// An operand over axes of these sizes: batch, lines and depth.
pub(super) fn operand(side: &Side, sizes: [&[usize]; 3]) -> Operand {
    let (batch, rest) = side.strides.split_at(sizes[0].len());
    let (lines, depth) = rest.split_at(sizes[1].len());
    Operand {
        batch: Group::new(sizes[0], batch),
        lines: Group::new(sizes[1], lines),
        depth: Group::new(sizes[2], depth),
        offset: side.offset as isize,
        computed: side.computed,
        border: Border::new(&side.guards, sizes, side.len),
    }
}

impl Operand {
    /// Whether strides say everything.
    pub(super) fn is_plain(&self) -> bool {
        !self.computed && self.border.is_none()
    }

    /// Whether every batch index has the same elements.
    fn is_still(&self) -> bool {
        self.batch.is_still() && self.border.as_ref().is_none_or(Border::is_still)
    }

    /// Whether panels that parts pack for themselves would be computed more than once, there being so many parts that need the same ones.
    fn is_computed_again(&self, batch: usize, parts: usize) -> bool {
        self.computed && (parts > 1 || (batch > 1 && self.is_still()))
    }

    /// One batch index, of an operand whose first element is at `base`.
    pub(super) fn at<E>(&self, batch: usize, base: *const E) -> View<'_, E> {
        let at = self.offset + self.batch.offset(batch);
        let border = self.border.as_ref().map(|border| border.seen(batch, at));
        View { base: base.wrapping_offset(at), lines: &self.lines, depth: &self.depth, border }
    }
}

/// Whether a kernel could read the operand where it is.
fn is_plain<K: Kernel>(operand: &Operand) -> bool {
    super::kernel::same::<K>() && has_one_stride(operand)
}

/// Whether lines lie at equal distances, and depths as well.
fn has_one_stride(operand: &Operand) -> bool {
    let one_stride = |group: &Group| group.uniform(&(0..group.len())).is_some();
    operand.is_plain() && one_stride(&operand.lines) && one_stride(&operand.depth)
}

/// Whether columns are windows over the rows of an image, such that the first rows of a tile are worth packing them: deep ones, most panels
/// of which have no break. Kernels of several panels lose where borders are of too many kinds for that.
fn has_windows<K: Kernel>(operand: &Operand, depth: &Depth) -> bool {
    let is_long = operand.lines.inner() == 1 && operand.lines.even(0) >= K::COLS + K::COLS / 2;
    let are_few = |border: &Border| border.kinds_in_turn().is_some_and(|kinds| are_worth_it(kinds, depth.most));
    let is_known = |border: &Border| if K::PANELS > 1 { are_few(border) } else { border.has_table() };
    is_long && !operand.computed && operand.border.as_ref().is_none_or(is_known) && depth.len >= DEEP_WINDOWS
}

/// Whether a tile that reads its lines where they are finds its depths crowded in a few places of the first cache.
fn crowds<K: Kernel>(operand: &Operand) -> bool {
    let stride = operand.depth.uniform(&(0..operand.depth.len())).unwrap_or(0).unsigned_abs();
    stride != 0 && (stride * size_of::<K::Acc>()).is_multiple_of(CROWDED) && operand.depth.len() > CROWD
}

/// What is known of an operand that meets so many lines of the other.
fn meeting<K: Kernel>(operand: &Operand, others: usize) -> Meeting {
    Meeting {
        lines: operand.lines.len(),
        depth: operand.depth.len(),
        others,
        size: size_of::<K::Acc>(),
        is_along: operand.lines.inner() == 1,
        streams: K::PANELS > 1,
    }
}

/// Chooses parts, and where the operands are read.
fn prepare<K: Kernel>(product: &mut Product, sizes: Sizes, depth: Depth) {
    let Sizes { batch, rows, cols, .. } = sizes;
    let (left, right) = (&product.left, &product.right);
    let acc = size_of::<K::Acc>();
    let work = sizes.work();
    let (meets_left, meets_right) = (meeting::<K>(left, cols), meeting::<K>(right, rows));
    let mut grid = Grid { row_parts: 1, col_parts: 1, batch_step: 1 };
    if work <= 2 * PART {
        grid.batch_step = (PART / work.max(1)).clamp(1, batch);
    } else if batch < 16 || work > 32 * PART {
        grid.cut(sizes, meets_right.few_rows(), TILE_COL_BYTES / acc);
    }
    let (row_panels, col_panels) = (rows.div_ceil(K::ROWS), cols.div_ceil(K::COLS));
    let (row_parts, col_parts) = (grid.row_parts.clamp(1, row_panels), grid.col_parts.clamp(1, col_panels));
    let most_rows = row_panels.div_ceil(row_parts) * K::ROWS;
    let most_cols = col_panels.div_ceil(col_parts) * K::COLS;

    // Rows that a part reads again for many panels of columns are better put side by side for it, however near they are.
    let left_again_here = K::PANELS == 1 && col_parts == 1 && col_panels >= MANY_PANELS;
    let left_crowds = col_parts == 1 && crowds::<K>(left);
    let windows = !has_one_stride(right) && has_windows::<K>(right, &depth);
    let through = K::THROUGH && windows && row_parts == 1 && rows >= K::ROWS;
    // Rows that pack what they read through windows are packed themselves, where they are read from the second cache otherwise.
    let left_packs = left_crowds || left_again_here || K::PANELS > 1 && through;
    let left_plain = is_plain::<K>(left) && meets_left.leaves_left() && !left_packs;
    let left_again = col_parts > 1 && (most_cols < LOCAL_COLS || rows > FEW);
    let left_read = match (left_plain, left_again || left.is_computed_again(batch, col_parts)) {
        (true, _) => Read::Direct,
        (false, true) => Read::Shared,
        (false, false) => Read::Local,
    };
    let right_plain = is_plain::<K>(right) && meets_right.leaves_right();
    let right_read = match (right_plain, row_parts > 1 || right.is_computed_again(batch, row_parts)) {
        (true, _) => Read::Direct,
        (false, true) => Read::Shared,
        (false, false) if has_one_stride(right) => Read::Late,
        (false, false) if through => Read::Through,
        (false, false) => Read::Local,
    };
    let mut shared_bytes = 0;
    let mut packs = Vec::new();
    for (read, operand, is_left, width) in [(left_read, left, true, K::ROWS), (right_read, right, false, K::COLS)] {
        if read == Read::Shared {
            let start = shared_bytes / acc;
            let pack = Pack::new(batch, &depth, operand, is_left, width, start);
            shared_bytes += (pack.batch * pack.lines * sizes.depth * acc).next_multiple_of(64);
            packs.push(pack);
        }
    }
    product.parts.clear();
    if !packs.is_empty() {
        product.parts.push(packs.iter().map(|pack| pack.parts(&depth)).sum());
    }
    product.parts.push(batch.div_ceil(grid.batch_step) * row_parts * col_parts);
    let plan = Plan {
        sizes,
        depth,
        row_parts,
        col_parts,
        batch_step: grid.batch_step,
        left: left_read,
        right: right_read,
        fetches: !meets_right.is_near(),
        most_rows,
        most_cols,
        packs,
    };
    product.shared_bytes = shared_bytes;
    product.thread_bytes = blocked::Scratch::<K>::bytes(&plan);
    product.tiles = tiles::<K>(&plan);
    product.path = Path::Blocked(plan);
}

impl Pack {
    fn new(batch: usize, depth: &Depth, operand: &Operand, is_left: bool, width: usize, start: usize) -> Pack {
        let lines = operand.lines.len().next_multiple_of(width);
        let batch = if operand.is_still() { 1 } else { batch };
        // Parts are cut across what lies side by side, so that memory is read in long pieces.
        let (line_step, depth_step) = match operand.lines.inner() == 1 {
            true => (lines, (PACK_PART / lines).next_multiple_of(8).clamp(8, depth.most)),
            false => ((PACK_PART / depth.most).next_multiple_of(width).min(lines), depth.most),
        };
        let (line_parts, depth_parts) = (lines.div_ceil(line_step), depth.most.div_ceil(depth_step));
        Pack { is_left, batch, lines, line_step, depth_step, line_parts, depth_parts, start }
    }
}

/// How a product is cut into parts.
struct Grid {
    row_parts: usize,
    col_parts: usize,
    batch_step: usize,
}

impl Grid {
    fn cut(&mut self, sizes: Sizes, few_rows: usize, tile_cols: usize) {
        let Sizes { rows, cols, .. } = sizes;
        let parts = sizes.work().div_ceil(2 * PART);
        if rows <= few_rows {
            self.col_parts = parts.min(16).max(cols.div_ceil(LOCAL_COLS)).next_multiple_of(2);
        } else if cols <= FEW {
            self.row_parts = parts.min(16).max(rows.div_ceil(TILE_ROWS)).next_multiple_of(2);
        } else {
            self.row_parts = rows.div_ceil(TILE_ROWS).next_multiple_of(2);
            self.col_parts = cols.div_ceil(tile_cols);
        }
    }
}
