//! Which path a contraction takes, and how it is cut into parts: by shape, strides and machine, never by threads.

use super::kernel::{Kernel, Plain};
use super::{Contraction, Group, Operand, Operands, Product, Side, Target, TileShape, blocked, deliver};
use crate::dtype::{DType, bf16, f16};
use std::ops::Range;

/// Where a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Where it is.
    Direct,
    /// In panels that the part packs for itself.
    Local,
    /// In panels that all parts share, packed in a phase before.
    Shared,
}

/// How a product runs.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) batch: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) depth: usize,
    /// Depth at a time.
    pub(super) depth_block: usize,
    /// Into how many parts rows and columns are cut, and how many batch indices are one part.
    pub(super) row_parts: usize,
    pub(super) col_parts: usize,
    pub(super) batch_step: usize,
    pub(super) left: Read,
    pub(super) right: Read,
    /// The rows and columns of the largest part, in whole panels.
    pub(super) most_rows: usize,
    pub(super) most_cols: usize,
    /// What is packed for all parts, if anything is: the left operand first.
    pub(super) packs: Vec<Pack>,
    pub(super) shared_bytes: usize,
    pub(super) thread_bytes: usize,
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
const PART: usize = 1 << 17;
/// Elements that are worth a part of their own when they are packed.
const PACK_PART: usize = 1 << 15;
/// Rows and columns of a part where there are many of both.
const TILE_ROWS: usize = 96;
const TILE_COLS: usize = 1024;
/// Where there are no more rows (columns) than this, a part takes them all.
const FEW: usize = 192;
/// Columns of a part that packs them for itself.
const LOCAL_COLS: usize = 256;
/// Bytes of an operand that is read where it is by many tiles: it stays in the first cache, or the second.
const FIRST_CACHE: usize = 16 << 10;
const SECOND_CACHE: usize = 128 << 10;
/// Bytes of a block of depth in a panel of columns.
const PANEL_BYTES: usize = 16 << 10;

impl Plan {
    pub(super) fn phases(&self) -> usize {
        1 + usize::from(!self.packs.is_empty())
    }

    pub(super) fn parts(&self, phase: usize) -> usize {
        if phase + 1 < self.phases() {
            self.packs.iter().map(|pack| pack.parts(self)).sum()
        } else {
            self.batch.div_ceil(self.batch_step) * self.row_parts * self.col_parts
        }
    }

    /// Blocks of depth; there is one even if depth is 0, so that the sum is 0.
    pub(super) fn depth_blocks(&self) -> usize {
        self.depth.div_ceil(self.depth_block).max(1)
    }

    /// A block of depth.
    pub(super) fn depths(&self, block: usize) -> Range<usize> {
        block * self.depth_block..((block + 1) * self.depth_block).min(self.depth)
    }
}

impl Pack {
    pub(super) fn parts(&self, plan: &Plan) -> usize {
        self.batch * plan.depth_blocks() * self.line_parts * self.depth_parts
    }
}

/// Lines in the part `part` of `parts`, cut at whole panels, all of about the same size.
pub(super) fn share(lines: usize, panel: usize, parts: usize, part: usize) -> Range<usize> {
    let panels = lines.div_ceil(panel);
    let start = (part * panels / parts * panel).min(lines);
    start..((part + 1) * panels / parts * panel).min(lines)
}

/// Makes a contraction ready.
pub(super) fn product(c: &Contraction) -> Product {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
        use super::kernel::Avx2;
        return match c.dtype {
            DType::F32 => ready::<Avx2<f32>>(c),
            DType::F64 => ready::<Avx2<f64>>(c),
            DType::F16 => ready::<Avx2<f16>>(c),
            DType::BF16 => ready::<Avx2<bf16>>(c),
            DType::I8 | DType::U8 | DType::Bool => ready::<Avx2<u8>>(c),
            DType::I16 | DType::U16 => ready::<Avx2<u16>>(c),
            DType::I32 | DType::U32 => ready::<Avx2<u32>>(c),
            DType::I64 | DType::U64 => ready::<Avx2<u64>>(c),
        };
    }
    plain(c)
}

/// The product on a machine of no known kind.
pub(super) fn plain(c: &Contraction) -> Product {
    match c.dtype {
        DType::F32 => ready::<Plain<f32>>(c),
        DType::F64 => ready::<Plain<f64>>(c),
        DType::F16 => ready::<Plain<f16>>(c),
        DType::BF16 => ready::<Plain<bf16>>(c),
        DType::I8 | DType::U8 | DType::Bool => ready::<Plain<u8>>(c),
        DType::I16 | DType::U16 => ready::<Plain<u16>>(c),
        DType::I32 | DType::U32 => ready::<Plain<u32>>(c),
        DType::I64 | DType::U64 => ready::<Plain<u64>>(c),
    }
}

fn ready<K: Kernel>(c: &Contraction) -> Product {
    assert!(c.dtype != DType::Bool, "there is no product of bools");
    let left = operand(&c.left, [&c.batch, &c.rows, &c.depth]);
    let right = operand(&c.right, [&c.batch, &c.cols, &c.depth]);
    let (batch, rows) = c.out.split_at(c.batch.len());
    let (rows, cols) = rows.split_at(c.rows.len());
    let out =
        Target { batch: Group::new(&c.batch, batch), rows: Group::new(&c.rows, rows), cols: Group::new(&c.cols, cols) };
    let plan = choose::<K>(&left, &right, &out);
    let run: unsafe fn(&Product, usize, usize, &Operands<'_>) = blocked::run::<K>;
    let tiles = tiles::<K>(&plan);
    Product { left, right, out, plan, tiles, run }
}

/// The shapes of all tiles, each once; the largest first.
fn tiles<K: Kernel>(plan: &Plan) -> Vec<TileShape> {
    let lengths = |lines: usize, panel: usize, parts: usize| {
        let mut lengths: Vec<usize> = (0..parts).map(|part| share(lines, panel, parts, part).len()).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        lengths
    };
    let columns = lengths(plan.cols, K::COLS, plan.col_parts);
    let shape = |rows: usize, cols: usize| TileShape { rows, cols, stride: deliver::tile_stride::<K>(cols) };
    let rows = lengths(plan.rows, K::ROWS, plan.row_parts);
    rows.iter().flat_map(|&rows| columns.iter().map(move |&cols| shape(rows, cols))).collect()
}

fn operand(side: &Side, sizes: [&[usize]; 3]) -> Operand {
    let strides = if side.computed { &vec![0; sizes.concat().len()] } else { &side.strides };
    let (batch, rest) = strides.split_at(sizes[0].len());
    let (lines, depth) = rest.split_at(sizes[1].len());
    Operand {
        batch: Group::new(sizes[0], batch),
        lines: Group::new(sizes[1], lines),
        depth: Group::new(sizes[2], depth),
        offset: side.offset as isize,
        computed: side.computed,
    }
}

/// Whether a kernel could read the operand where it is.
fn is_plain<K: Kernel>(operand: &Operand) -> bool {
    let one_stride = |group: &Group| group.uniform(&(0..group.len())).is_some();
    super::kernel::same::<K>() && !operand.computed && one_stride(&operand.lines) && one_stride(&operand.depth)
}

fn choose<K: Kernel>(left: &Operand, right: &Operand, out: &Target) -> Plan {
    let (batch, rows, cols, depth) = (out.batch.len(), out.rows.len(), out.cols.len(), left.depth.len());
    let acc = size_of::<K::Acc>();
    let depth_block = depth_block(depth, PANEL_BYTES / (K::COLS * acc));
    let work = (rows * cols).saturating_mul(depth.max(1));
    let mut grid = Grid { row_parts: 1, col_parts: 1, batch_step: 1 };
    if rows * cols * batch == 0 {
        grid.batch_step = 1;
    } else if work <= 2 * PART {
        grid.batch_step = (PART / work.max(1)).clamp(1, batch);
    } else if batch < 16 || work > 32 * PART {
        grid.cut(rows, cols, work);
    }
    let row_panels = rows.div_ceil(K::ROWS);
    let col_panels = cols.div_ceil(K::COLS);
    let row_parts = grid.row_parts.clamp(1, row_panels.max(1));
    let col_parts = grid.col_parts.clamp(1, col_panels.max(1));
    let most_rows = row_panels.div_ceil(row_parts) * K::ROWS;
    let most_cols = col_panels.div_ceil(col_parts) * K::COLS;

    let left_plain = is_plain::<K>(left) && rows * depth * acc <= SECOND_CACHE;
    let left_read = match (left_plain, col_parts > 1 && most_cols < LOCAL_COLS) {
        (true, _) => Read::Direct,
        (false, true) => Read::Shared,
        (false, false) => Read::Local,
    };
    let right_plain = is_plain::<K>(right) && right.lines.inner() == 1 && cols * depth * acc <= FIRST_CACHE;
    let right_read = match (right_plain, row_parts > 1) {
        (true, _) => Read::Direct,
        (false, true) => Read::Shared,
        (false, false) => Read::Local,
    };

    let mut plan = Plan {
        batch,
        rows,
        cols,
        depth,
        depth_block,
        row_parts,
        col_parts,
        batch_step: grid.batch_step,
        left: left_read,
        right: right_read,
        most_rows,
        most_cols,
        packs: Vec::new(),
        shared_bytes: 0,
        thread_bytes: 0,
    };
    if rows * cols * batch == 0 {
        plan.row_parts = 0;
        return plan;
    }
    for (read, operand, is_left, width) in [(left_read, left, true, K::ROWS), (right_read, right, false, K::COLS)] {
        if read == Read::Shared {
            add_pack::<K>(&mut plan, operand, is_left, width);
        }
    }
    plan.thread_bytes = blocked::Scratch::<K>::bytes(&plan);
    plan
}

/// Blocks of about equal size, of whole eights, at most `most`.
fn depth_block(depth: usize, most: usize) -> usize {
    let blocks = depth.div_ceil(most).max(1);
    depth.div_ceil(blocks).next_multiple_of(8).max(8)
}

fn add_pack<K: Kernel>(plan: &mut Plan, operand: &Operand, is_left: bool, width: usize) {
    let lines = operand.lines.len().next_multiple_of(width);
    let batch = if operand.batch.is_still() && !operand.computed { 1 } else { plan.batch };
    // Parts are cut across what lies side by side, so that memory is read in long pieces.
    let (line_step, depth_step) = match operand.lines.inner() == 1 {
        true => (lines, (PACK_PART / lines).next_multiple_of(8).min(plan.depth_block)),
        false => ((PACK_PART / plan.depth_block).next_multiple_of(width).min(lines), plan.depth_block),
    };
    plan.packs.push(Pack {
        is_left,
        batch,
        lines,
        line_step,
        depth_step,
        line_parts: lines.div_ceil(line_step),
        depth_parts: plan.depth_block.div_ceil(depth_step),
        start: plan.shared_bytes / size_of::<K::Acc>(),
    });
    plan.shared_bytes += (batch * lines * plan.depth * size_of::<K::Acc>()).next_multiple_of(64);
}

/// How a product is cut into parts.
struct Grid {
    row_parts: usize,
    col_parts: usize,
    batch_step: usize,
}

impl Grid {
    fn cut(&mut self, rows: usize, cols: usize, work: usize) {
        let parts = work.div_ceil(2 * PART);
        if rows <= FEW {
            self.col_parts = parts.min(16).max(cols.div_ceil(LOCAL_COLS)).next_multiple_of(2);
        } else if cols <= FEW {
            self.row_parts = parts.min(16).max(rows.div_ceil(TILE_ROWS)).next_multiple_of(2);
        } else {
            self.row_parts = rows.div_ceil(TILE_ROWS).next_multiple_of(2);
            self.col_parts = cols.div_ceil(TILE_COLS);
        }
    }
}
