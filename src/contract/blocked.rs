//! Runs the parts of a product: packs blocks of the operands, sums tiles over all depth, and delivers them.

use super::axes::Group;
use super::deliver::deliver;
use super::fetch::Fetch;
use super::kernel::{Kernel, Next, Tile, narrow_tile, panels_at_once, same};
use super::late::{Columns, Late};
use super::plan::{Pack, Path, Plan, Read, share};
use super::room::Room;
use super::{Operand, Operands, Product, Source, Wanted};
use std::marker::PhantomData;
use std::ops::Range;

/// Where things are in a thread's scratch, in bytes.
pub(super) struct Scratch<K> {
    left: usize,
    right: usize,
    tile: usize,
    narrow: usize,
    /// Where depths are, for columns that are read through windows.
    pub(super) places: usize,
    bytes: usize,
    kernel: PhantomData<K>,
}

impl<K: Kernel> Scratch<K> {
    fn new(plan: &Plan) -> Scratch<K> {
        let (acc, elem) = (size_of::<K::Acc>(), size_of::<K::Elem>());
        let left = plan.most_rows * plan.depth.most;
        let right = plan.depth.most
            * match plan.right {
                Read::Direct => K::COLS,
                Read::Late | Read::Through => K::COLS * K::PANELS,
                Read::Local | Read::Shared => plan.most_cols,
            };
        let mut room = Room::default();
        let mut take = |wanted: bool, size: usize| room.take(usize::from(wanted), size);
        let packed = plan.packs.iter().map(|pack| pack.line_step * pack.depth_step).max().unwrap_or(0);
        Scratch {
            left: take(plan.left == Read::Local, left * acc),
            right: take(plan.right != Read::Shared, right * acc),
            tile: take(true, plan.most_rows * plan.most_cols * acc),
            narrow: take(!same::<K>(), left.max(right).max(packed) * elem),
            places: take(plan.right == Read::Through, plan.depth.most * size_of::<isize>()),
            bytes: room.bytes,
            kernel: PhantomData,
        }
    }

    /// The bytes a thread needs.
    pub(super) fn bytes(plan: &Plan) -> usize {
        Self::new(plan).bytes
    }
}

/// Panels of an operand: where the kernel finds it.
#[derive(Clone, Copy)]
struct Panels<A> {
    start: *const A,
    /// From panel to panel, from line to line, and from depth to depth.
    panel: isize,
    line: isize,
    depth: isize,
    /// The last panel, if it is somewhere else.
    edge: *const A,
    /// The panels that are wanted after these, if they are worth fetching.
    after: *const A,
    /// Whether the panels of each tile are yet to be packed, all to the same place.
    late: bool,
}

impl<A> Panels<A> {
    fn packed(start: *const A, width: usize, depth: usize) -> Panels<A> {
        let (edge, after) = (std::ptr::null(), std::ptr::null());
        Panels { start, panel: (width * depth) as isize, line: 1, depth: width as isize, edge, after, late: false }
    }
}

/// A block of an operand that is packed.
pub(super) struct Block {
    is_left: bool,
    pub(super) batch: usize,
    pub(super) lines: Range<usize>,
    pub(super) depth: Range<usize>,
}

/// What a block of depth is added to.
struct Part<A> {
    /// The columns, and the block of depth.
    columns: Block,
    rows: usize,
    to: *mut A,
    stride: isize,
    /// Whether columns may be written up to a whole panel.
    roomy: bool,
    /// Whether there are sums already.
    add: bool,
}

/// The place of a tile among the rows' parts and the columns', by its number: first all columns of the upper rows, then those of the
/// lower ones. Two threads, each with one half of the numbers, then read the same columns at the same time, which stay in their last cache.
fn tile_of(number: usize, row_parts: usize, col_parts: usize) -> (usize, usize) {
    let bands = if row_parts.is_multiple_of(2) { 2 } else { 1 };
    let height = row_parts / bands;
    let (band, rest) = (number / (height * col_parts), number % (height * col_parts));
    (band * height + rest % height, rest / height)
}

/// Runs one part.
///
/// # Safety
/// As for [`Product::run`]; the machine is of the kernel's kind.
pub(super) unsafe fn run<K: Kernel>(product: &Product, phase: usize, part: usize, call: &Operands<'_>) {
    let Path::Blocked(plan) = &product.path else { return };
    let scratch = Scratch::<K>::new(plan);
    let worker = Worker::<K> { product, plan, call, scratch };
    // SAFETY: the caller's promise.
    unsafe {
        if phase + 1 < product.parts.len() {
            worker.pack_shared(part);
        } else {
            worker.multiply(part);
        }
    }
}

/// One thread at work on one part.
pub(super) struct Worker<'a, K> {
    product: &'a Product,
    pub(super) plan: &'a Plan,
    call: &'a Operands<'a>,
    pub(super) scratch: Scratch<K>,
}

impl<K: Kernel> Worker<'_, K> {
    pub(super) fn scratch_at<T>(&self, start: usize) -> *mut T {
        self.call.scratch.wrapping_add(start).cast()
    }

    pub(super) fn operand(&self, is_left: bool) -> (&Operand, *const K::Elem, Option<&dyn Source>, usize) {
        if is_left {
            (&self.product.left, self.call.left.cast(), self.call.left_source, K::ROWS)
        } else {
            (&self.product.right, self.call.right.cast(), self.call.right_source, K::COLS)
        }
    }

    /// Packs one part of an operand for all parts.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn pack_shared(&self, mut part: usize) {
        let first = self.plan.packs[0].parts(&self.plan.depth);
        let pack = if part < first { &self.plan.packs[0] } else { &self.plan.packs[1] };
        part -= if part < first { 0 } else { first };
        let (rest, line_part) = (part / pack.line_parts, part % pack.line_parts);
        let (rest, depth_part) = (rest / pack.depth_parts, rest % pack.depth_parts);
        let (batch, block) = (rest / self.plan.depth.blocks(), rest % self.plan.depth.blocks());
        let (operand, .., width) = self.operand(pack.is_left);
        let depths = self.plan.depth.block(block);
        let depth = depths.start + depth_part * pack.depth_step;
        let line = line_part * pack.line_step;
        let what = Block {
            is_left: pack.is_left,
            batch,
            lines: line..(line + pack.line_step).min(operand.lines.len()),
            depth: depth.min(depths.end)..(depth + pack.depth_step).min(depths.end),
        };
        let to = self.shared(pack, batch, block, line).wrapping_add(depth_part * pack.depth_step * width);
        // SAFETY: the caller's promise; each part has places of its own.
        unsafe { self.pack(what, to, depths.len() * width) }
    }

    /// Where the panel of a line is in what is shared.
    fn shared(&self, pack: &Pack, batch: usize, block: usize, line: usize) -> *mut K::Acc {
        let batch = if pack.batch == 1 { 0 } else { batch };
        let depths = self.plan.depth.block(block);
        let at =
            pack.start + batch * pack.lines * self.plan.depth.len + pack.lines * depths.start + line * depths.len();
        self.call.shared.cast::<K::Acc>().wrapping_add(at)
    }

    /// Packs a block of an operand, widened, into panels at a distance of `panel`.
    ///
    /// # Safety
    /// As for [`run`]; `to` has room for whole panels.
    unsafe fn pack(&self, block: Block, to: *mut K::Acc, panel: usize) {
        let (operand, base, source, width) = self.operand(block.is_left);
        let Block { batch, lines, depth, .. } = block;
        let panels = lines.len().div_ceil(width);
        let len = depth.len() * width;
        let (elems, elem_panel) = match same::<K>() {
            true => (to.cast(), panel),
            false => (self.scratch_at::<K::Elem>(self.scratch.narrow), len),
        };
        // SAFETY: the caller's promise; the scratch has room for the largest block that is packed.
        unsafe {
            let view = operand.at(batch, base);
            if let Some(source) = source {
                let wanted = Wanted { batch, lines, depth, width, panel: elem_panel };
                source.fill(&wanted, elems.cast());
                view.close_border(&wanted, elems);
            } else {
                view.pack::<K>(lines, depth, width, elem_panel, elems);
            }
            if !same::<K>() {
                (0..panels).for_each(|i| K::widen(elems.add(i * len), to.add(i * panel), len));
            }
        }
    }

    /// Packs a block of an operand for this part.
    ///
    /// # Safety
    /// As for [`run`]; `to` has room for whole panels.
    pub(super) unsafe fn pack_local(
        &self,
        is_left: bool,
        batch: usize,
        lines: Range<usize>,
        depth: Range<usize>,
        to: *mut K::Acc,
    ) {
        let panel = depth.len() * if is_left { K::ROWS } else { K::COLS };
        // SAFETY: the caller's promise.
        unsafe { self.pack(Block { is_left, batch, lines, depth }, to, panel) }
    }

    /// Sums one part over all depth, and delivers it.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn multiply(&self, part: usize) {
        let plan = self.plan;
        let tiles = plan.row_parts * plan.col_parts;
        let (batch_part, (row_part, col_part)) = (part / tiles, tile_of(part % tiles, plan.row_parts, plan.col_parts));
        let rows = share(plan.sizes.rows, K::ROWS, plan.row_parts, row_part);
        let cols = share(plan.sizes.cols, K::COLS, plan.col_parts, col_part);
        let first = batch_part * plan.batch_step;
        for batch in first..(first + plan.batch_step).min(plan.sizes.batch) {
            // SAFETY: the caller's promise.
            unsafe { self.tile(batch, rows.clone(), cols.clone()) }
        }
    }

    /// # Safety
    /// As for [`run`].
    unsafe fn tile(&self, batch: usize, rows: Range<usize>, cols: Range<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            let tile = self.scratch_at::<K::Acc>(self.scratch.tile);
            let direct = if self.call.finish.is_none() { self.place(batch, &rows, &cols) } else { None };
            let (to, stride) = direct.unwrap_or((tile, cols.len().next_multiple_of(K::COLS) as isize));
            for block in 0..self.plan.depth.blocks() {
                let (left, right) = (self.left(batch, block, &rows), self.right(batch, block, &cols));
                let depth = self.plan.depth.block(block);
                let columns = Block { is_left: false, batch, lines: cols.clone(), depth };
                let part = Part { columns, rows: rows.len(), to, stride, roomy: direct.is_none(), add: block > 0 };
                self.sum(left, right, &part);
            }
            if direct.is_none() {
                deliver::<K>(self.product, self.call, batch, rows, cols, tile, stride as usize);
            }
        }
    }

    /// Where the tile is in the result, and its stride, if sums can be kept there.
    fn place(&self, batch: usize, rows: &Range<usize>, cols: &Range<usize>) -> Option<(*mut K::Acc, isize)> {
        let out = &self.product.out;
        let row_stride = out.rows.uniform(rows)?;
        let side_by_side = out.cols.uniform(cols)? == 1 || cols.len() == 1;
        (same::<K>() && side_by_side).then(|| {
            let at = out.batch.offset(batch) + out.rows.offset(rows.start) + out.cols.offset(cols.start);
            (self.call.out.cast::<K::Acc>().wrapping_offset(at), row_stride)
        })
    }

    /// The left operand of a block of depth.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn left(&self, batch: usize, block: usize, rows: &Range<usize>) -> Panels<K::Acc> {
        let depths = self.plan.depth.block(block);
        let packed = |start| Panels::packed(start, K::ROWS, depths.len());
        match self.plan.left {
            Read::Direct => {
                // SAFETY: the caller's promise.
                unsafe { self.direct(true, batch, rows, &depths) }
            }
            Read::Shared => packed(self.shared(&self.plan.packs[0], batch, block, rows.start)),
            Read::Local | Read::Late | Read::Through => {
                let to = self.scratch_at(self.scratch.left);
                // SAFETY: the caller's promise.
                unsafe { self.pack_local(true, batch, rows.clone(), depths.clone(), to) };
                packed(to)
            }
        }
    }

    /// The right operand of a block of depth.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn right(&self, batch: usize, block: usize, cols: &Range<usize>) -> Panels<K::Acc> {
        let depths = self.plan.depth.block(block);
        let packed = |start| Panels::packed(start, K::COLS, depths.len());
        match self.plan.right {
            Read::Direct => {
                // SAFETY: the caller's promise.
                unsafe { self.direct(false, batch, cols, &depths) }
            }
            Read::Shared => {
                let pack = self.plan.packs.last().expect("a shared operand");
                // The next rows begin again with the first block.
                let after = self.shared(pack, batch, (block + 1) % self.plan.depth.blocks(), cols.start);
                Panels { after, ..packed(self.shared(pack, batch, block, cols.start)) }
            }
            Read::Local => {
                let to = self.scratch_at(self.scratch.right);
                // SAFETY: the caller's promise.
                unsafe { self.pack_local(false, batch, cols.clone(), depths.clone(), to) };
                packed(to)
            }
            // All tiles read the same place, one after the other.
            Read::Late => Panels { late: true, ..packed(self.scratch_at(self.scratch.right)) },
            Read::Through => {
                // SAFETY: the caller's promise.
                unsafe { self.note_places(batch, &depths) };
                Panels { late: true, ..packed(self.scratch_at(self.scratch.right)) }
            }
        }
    }

    /// An operand where it is. Columns that do not fill a panel are packed behind.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn direct(
        &self,
        is_left: bool,
        batch: usize,
        lines: &Range<usize>,
        depths: &Range<usize>,
    ) -> Panels<K::Acc> {
        let (operand, base, _, width) = self.operand(is_left);
        let stride = |group: &Group| group.uniform(&(0..group.len())).expect("one stride");
        let line = stride(&operand.lines);
        let at = operand.offset + operand.batch.offset(batch);
        let place = |depth: usize| at + operand.lines.offset(lines.start) + operand.depth.offset(depth);
        let following = if depths.end < operand.depth.len() { depths.end } else { 0 };
        let fetched = !is_left && self.plan.fetches;
        let after = if fetched { base.wrapping_offset(place(following)) } else { std::ptr::null() };
        let mut panels = Panels {
            start: base.wrapping_offset(place(depths.start)).cast(),
            panel: width as isize * line,
            line,
            depth: stride(&operand.depth),
            edge: std::ptr::null(),
            after: after.cast(),
            late: false,
        };
        if !is_left && !lines.len().is_multiple_of(width) {
            let to = self.scratch_at(self.scratch.right);
            // SAFETY: the caller's promise; the scratch has room for a panel.
            unsafe { self.pack_local(false, batch, lines.end - lines.len() % width..lines.end, depths.clone(), to) };
            panels.edge = to;
        }
        panels
    }

    /// Adds a block of depth to all tiles of a part, or sets them to it.
    ///
    /// # Safety
    /// As for [`run`]; `to` has the part's rows at a distance of `stride`.
    unsafe fn sum(&self, left: Panels<K::Acc>, right: Panels<K::Acc>, part: &Part<K::Acc>) {
        let (rows, cols, depth) = (part.rows, part.columns.lines.len(), part.columns.depth.len());
        let row_panels = rows.div_ceil(K::ROWS);
        let mut col = 0;
        while col < cols {
            let panels_before = if right.late { 0 } else { col / K::COLS };
            let start = right.start.wrapping_offset(panels_before as isize * right.panel);
            // A panel that is somewhere else is a tile of its own.
            let whole = if right.edge.is_null() { cols.div_ceil(K::COLS) } else { cols / K::COLS } - col / K::COLS;
            let panels = panels_at_once::<K>(whole.max(1));
            let width = (panels * K::COLS).min(cols - col);
            let (b, b_depth) = if whole == 0 { (right.edge, K::COLS as isize) } else { (start, right.depth) };
            let next = match whole > panels {
                true => b.wrapping_offset(panels as isize * right.panel),
                false => right.after,
            };
            let late = match right.late {
                // SAFETY: the caller's promise; the place has room for the panels of a tile.
                true => unsafe { self.pack_late(&part.columns, col..col + width, b.cast_mut()) },
                false => Late { columns: Columns::Packed, following: Fetch::default() },
            };
            for (i, row) in (0..rows).step_by(K::ROWS).enumerate() {
                late.following.part(i, row_panels);
                let mut tile = Tile {
                    depth,
                    a: left.start.wrapping_offset(i as isize * left.panel),
                    a_row: left.line,
                    a_depth: left.depth,
                    b,
                    b_depth,
                    b_panel: right.panel,
                    c: part.to.wrapping_offset(row as isize * part.stride).wrapping_add(col),
                    c_row: part.stride,
                    add: part.add,
                    next: match right.after.is_null() {
                        true => Next::none(),
                        false => Next::part(next, b_depth, depth, i, row_panels),
                    },
                    keep: std::ptr::null_mut(),
                };
                let height = (rows - row).min(K::ROWS);
                if i == 0 {
                    // SAFETY: the caller's promise; these are the first rows, and the place has room for a panel.
                    if unsafe { self.keep(&late.columns, &part.columns, col..col + width, height, &mut tile) } {
                        continue;
                    }
                }
                // SAFETY: the caller's promise. A tile that is not whole goes through one that is, unless there is room.
                unsafe {
                    if width.is_multiple_of(K::COLS) || part.roomy || K::EXACT {
                        K::tile(height, width, &tile);
                    } else {
                        narrow_tile::<K>(height, width, tile);
                    }
                }
            }
            col += width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tile_of;

    #[test]
    fn every_tile_has_one_number() {
        for (row_parts, col_parts) in [(1, 1), (1, 5), (2, 3), (7, 2), (44, 2), (12, 1)] {
            let count = row_parts * col_parts;
            let mut tiles: Vec<_> = (0..count).map(|number| tile_of(number, row_parts, col_parts)).collect();
            tiles.sort_unstable();
            let all = (0..row_parts).flat_map(|row| (0..col_parts).map(move |col| (row, col)));
            assert!(tiles.into_iter().eq(all), "{row_parts} {col_parts}");
        }
    }
}
