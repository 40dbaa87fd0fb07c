//! Contractions computed one element at a time, and the harness that compares.

use crate::contract::{Contraction, Operands, Side, Source, Tile, TileShape, Wanted, plan};
use crate::dtype::{DType, TensorDType, with_dtype};
use std::ops::Range;
use std::sync::Mutex;

/// Numbers that look random.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// How the axes of one operand lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In order, the last axis dense.
    Dense,
    /// The last group of axes first.
    Turned,
    /// With gaps, from the back, behind some others.
    Loose,
}

/// Strides of axes that lie dense in the order `order`, with a step, and the elements they span.
fn strides(sizes: &[usize], order: &[usize], layout: Layout) -> (Vec<i64>, i64, usize) {
    let step = if layout == Layout::Loose { 2 } else { 1 };
    let mut strides = vec![0; sizes.len()];
    let mut len = step;
    for &axis in order.iter().rev() {
        strides[axis] = len;
        len = len * sizes[axis].max(1) as i64 + i64::from(layout == Layout::Loose);
    }
    let mut offset = 0;
    if layout == Layout::Loose {
        offset = 5;
        for (axis, stride) in strides.iter_mut().enumerate().step_by(2) {
            offset += (sizes[axis].max(1) - 1) as i64 * *stride;
            *stride = -*stride;
        }
    }
    (strides, offset, len as usize + 6)
}

/// An operand of `sizes` (three groups), and the elements of its buffer.
fn side(groups: [&[usize]; 3], layout: Layout) -> (Side, usize) {
    let sizes = groups.concat();
    let (a, b) = (groups[0].len(), groups[0].len() + groups[1].len());
    let order: Vec<usize> = match layout {
        Layout::Turned => (0..a).chain(b..sizes.len()).chain(a..b).collect(),
        Layout::Dense | Layout::Loose => (0..sizes.len()).collect(),
    };
    let (strides, offset, len) = strides(&sizes, &order, layout);
    (Side { strides, offset, computed: false, guards: Vec::new(), len }, len)
}

/// A contraction with the lengths of its buffers.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) c: Contraction,
    pub(super) left_len: usize,
    pub(super) right_len: usize,
    pub(super) out_len: usize,
    pub(super) out_offset: i64,
}

impl Case {
    /// Groups are batch, rows, columns, depth; the right operand's own order is batch, depth, columns.
    pub(super) fn new(dtype: DType, groups: [&[usize]; 4], layouts: [Layout; 3]) -> Case {
        let [batch, rows, cols, depth] = groups;
        let (left, left_len) = side([batch, rows, depth], layouts[0]);
        let turned = if layouts[1] == Layout::Dense { Layout::Turned } else { Layout::Dense };
        let (right, right_len) =
            side([batch, cols, depth], if layouts[1] == Layout::Loose { Layout::Loose } else { turned });
        let (out, out_len) = side([batch, rows, cols], layouts[2]);
        let c = Contraction {
            dtype,
            batch: batch.to_vec(),
            rows: rows.to_vec(),
            cols: cols.to_vec(),
            depth: depth.to_vec(),
            left,
            right,
            out: out.strides,
        };
        Case { c, left_len, right_len, out_len, out_offset: out.offset }
    }

    /// The plain product of an m×k and a k×n matrix.
    pub(super) fn matrices(dtype: DType, [m, n, k]: [usize; 3], layouts: [Layout; 3]) -> Case {
        Case::new(dtype, [&[], &[m], &[n], &[k]], layouts)
    }
}

/// What `run` shall do besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extras {
    pub(super) finish: bool,
    pub(super) left_source: bool,
    pub(super) right_source: bool,
    /// Parts run from the last to the first, in scratch full of something else.
    pub(super) backwards: bool,
    /// How many better kinds of machine there are among those that this one is of.
    pub(super) older: usize,
}

/// The flat index of a group, as one offset.
fn place(sizes: &[usize], strides: &[i64], mut index: usize) -> i64 {
    let mut at = 0;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        at += (index % size) as i64 * stride;
        index /= size;
    }
    at
}

/// Memory that begins where a cache line does.
pub(super) struct Memory(Vec<[u64; 8]>);

impl Memory {
    pub(super) fn new(bytes: usize, fill: u8) -> Memory {
        Memory(vec![[u64::from_ne_bytes([fill; 8]); 8]; bytes / 64 + 2])
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        let start = self.0.as_mut_ptr().cast::<u8>();
        start.wrapping_add(start.align_offset(64))
    }
}

/// Strides of each group of a side.
fn parts<'a>(strides: &'a [i64], batch: &[usize], lines: &[usize]) -> (&'a [i64], &'a [i64], &'a [i64]) {
    let (batch, rest) = strides.split_at(batch.len());
    let (lines, depth) = rest.split_at(lines.len());
    (batch, lines, depth)
}

/// Whether an operand has an element at flat indices of batch, lines and depth.
fn is_inside(side: &Side, sizes: [&[usize]; 3], indices: [usize; 3]) -> bool {
    side.guards.iter().all(|guard| {
        let (b, l, d) = parts(&guard.steps, sizes[0], sizes[1]);
        let values = sizes.iter().zip([b, l, d]).zip(indices);
        let value: i64 = values.map(|((sizes, steps), index)| place(sizes, steps, index)).sum();
        guard.low <= value && value < guard.high
    })
}

/// Reads an operand for the kernels, one element at a time.
struct Filler<'a> {
    c: &'a Contraction,
    is_left: bool,
    data: *const u8,
}

// SAFETY: it only reads what nobody writes.
unsafe impl Sync for Filler<'_> {}

impl Source for Filler<'_> {
    unsafe fn fill(&self, wanted: &Wanted, to: *mut u8) {
        let Wanted { batch, lines, depth, width, panel } = wanted.clone();
        let (side, sizes) = if self.is_left { (&self.c.left, &self.c.rows) } else { (&self.c.right, &self.c.cols) };
        let (b, l, d) = parts(&side.strides, &self.c.batch, sizes);
        let size = self.c.dtype.size();
        for (i, line) in lines.enumerate() {
            for (j, k) in depth.clone().enumerate() {
                let at =
                    side.offset + place(&self.c.batch, b, batch) + place(sizes, l, line) + place(&self.c.depth, d, k);
                // SAFETY: the caller's promise, and the case's buffers cover its strides.
                unsafe {
                    let to = to.add((i / width * panel + j * width + i % width) * size);
                    if !is_inside(side, [&self.c.batch, sizes, &self.c.depth], [batch, line, k]) {
                        std::ptr::write_bytes(to, 0x37, size);
                        continue;
                    }
                    std::ptr::copy_nonoverlapping(self.data.offset(at as isize * size as isize), to, size);
                }
            }
        }
    }
}

/// Keeps finished tiles as numbers by batch, row and column.
struct Keeper {
    dtype: DType,
    cols: usize,
    rows: usize,
    tiles: Vec<TileShape>,
    values: Mutex<Vec<Option<f64>>>,
}

impl Tile for Keeper {
    unsafe fn finish(&self, batch: usize, rows: Range<usize>, cols: Range<usize>, tile: *mut u8, stride: usize) {
        let shape = TileShape { rows: rows.len(), cols: cols.len(), stride };
        assert!(self.tiles.contains(&shape), "{shape:?} is not one of {:?}", self.tiles);
        let mut values = self.values.lock().expect("no panic");
        for (i, row) in rows.enumerate() {
            for (j, col) in cols.clone().enumerate() {
                let at = i * stride + j;
                // SAFETY: the caller's promise.
                let value = unsafe {
                    match self.dtype {
                        DType::F16 | DType::BF16 => f64::from(*tile.cast::<f32>().add(at)),
                        dtype => with_dtype!(dtype, T => (*tile.cast::<T>().add(at)).to_f64()),
                    }
                };
                let place = &mut values[(batch * self.rows + row) * self.cols + col];
                assert!(place.is_none(), "a tile was finished twice");
                *place = Some(value);
            }
        }
    }
}

/// Elements that are small whole numbers or simple fractions, so that integers and halves keep them.
pub(super) fn numbers<T: TensorDType>(len: usize, seed: u64) -> Vec<T> {
    let mut dice = Dice::new(seed);
    (0..len).map(|_| T::from_f64((dice.below(31) as f64 - 15.0) / if is_float(T::DTYPE) { 8.0 } else { 1.0 })).collect()
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// Runs a case and gives the result by batch, row and column.
pub(super) fn run<T: TensorDType>(case: &Case, left: &[T], right: &[T], extras: Extras) -> Vec<f64> {
    let mut c = case.c.clone();
    (c.left.computed, c.right.computed) = (extras.left_source, extras.right_source);
    let machines = plan::Machine::all();
    let product = plan::product_on(machines[machines.len().saturating_sub(1 + extras.older)], &c);
    let [batch, rows, cols] = [&c.batch, &c.rows, &c.cols].map(|sizes| sizes.iter().product::<usize>());
    let mut out = vec![T::from_f64(99.0); case.out_len];
    let (mut shared, mut scratch) =
        (Memory::new(product.shared_bytes(), 0xff), Memory::new(product.thread_bytes(), 0xff));
    let keeper = Keeper {
        dtype: c.dtype,
        cols,
        rows,
        tiles: product.tiles().to_vec(),
        values: Mutex::new(vec![None; batch * rows * cols]),
    };
    let (left_data, right_data) = (left.as_ptr().cast::<u8>(), right.as_ptr().cast::<u8>());
    let from_left = Filler { c: &case.c, is_left: true, data: left_data };
    let from_right = Filler { c: &case.c, is_left: false, data: right_data };
    let call = Operands {
        left: left_data,
        right: right_data,
        out: out.as_mut_ptr().wrapping_offset(case.out_offset as isize).cast(),
        shared: shared.start(),
        scratch: scratch.start(),
        finish: extras.finish.then_some(&keeper as &dyn Tile),
        left_source: extras.left_source.then_some(&from_left as &dyn Source),
        right_source: extras.right_source.then_some(&from_right as &dyn Source),
    };
    for phase in 0..product.phases() {
        for part in 0..product.parts(phase) {
            let part = if extras.backwards { product.parts(phase) - 1 - part } else { part };
            // SAFETY: the buffers are as long as the strides need, scratch and shared as long as the product says.
            unsafe { product.run(phase, part, &call) }
        }
    }
    if extras.finish {
        return keeper.values.into_inner().expect("no panic").into_iter().map(|v| v.expect("a finished sum")).collect();
    }
    let (b, r, n) = parts(&c.out, &c.batch, &c.rows);
    let mut touched = vec![false; case.out_len];
    let mut values = Vec::new();
    for index in 0..batch * rows * cols {
        let at = place(&c.batch, b, index / cols / rows)
            + place(&c.rows, r, index / cols % rows)
            + place(&c.cols, n, index % cols);
        let at = (at + case.out_offset) as usize;
        touched[at] = true;
        values.push(out[at].to_f64());
    }
    for (value, touched) in out.iter().zip(touched) {
        assert!(touched || value.to_f64() == T::from_f64(99.0).to_f64(), "something else was written: {case:?}");
    }
    values
}

/// The result one element at a time, with the sum of the products' sizes.
pub(super) fn naive<T: TensorDType>(case: &Case, left: &[T], right: &[T]) -> Vec<(f64, f64)> {
    let c = &case.c;
    let [batch, rows, cols, depth] =
        [&c.batch, &c.rows, &c.cols, &c.depth].map(|sizes| sizes.iter().product::<usize>());
    let (lb, lr, ld) = parts(&c.left.strides, &c.batch, &c.rows);
    let (rb, rc, rd) = parts(&c.right.strides, &c.batch, &c.cols);
    let mut values = Vec::with_capacity(batch * rows * cols);
    for index in 0..batch * rows * cols {
        let (b, r, n) = (index / cols / rows, index / cols % rows, index % cols);
        let l = c.left.offset + place(&c.batch, lb, b) + place(&c.rows, lr, r);
        let m = c.right.offset + place(&c.batch, rb, b) + place(&c.cols, rc, n);
        let (mut sum, mut size) = (0.0, 0.0);
        for k in 0..depth {
            let element = |side: &Side, lines: &[usize], of: &[T], [line, at]: [i64; 2]| {
                let is_inside = is_inside(side, [&c.batch, lines, &c.depth], [b, line as usize, k]);
                if is_inside { of[at as usize].to_f64() } else { 0.0 }
            };
            let x = element(&c.left, &c.rows, left, [r as i64, l + place(&c.depth, ld, k)]);
            let y = element(&c.right, &c.cols, right, [n as i64, m + place(&c.depth, rd, k)]);
            sum += x * y;
            size += (x * y).abs();
        }
        values.push((sum, size));
    }
    values
}

/// Asserts that a case gives what the naive sum says, within the error of its length; integers exactly, modulo their range.
pub(super) fn check(case: &Case, extras: Extras) {
    with_dtype!(case.c.dtype, T => {
        let (left, right) = (numbers::<T>(case.left_len, 1), numbers::<T>(case.right_len, 2));
        let got = run(case, &left, &right, extras);
        let expected = naive(case, &left, &right);
        let depth = case.c.depth.iter().product::<usize>() as f64;
        assert_eq!(got.len(), expected.len());
        for (index, (&got, &(sum, size))) in got.iter().zip(&expected).enumerate() {
            let bound = match case.c.dtype {
                DType::F64 => depth * 2f64.powi(-53) * size,
                DType::F32 => depth * 2f64.powi(-24) * size,
                DType::F16 if !extras.finish => depth * 2f64.powi(-24) * size + sum.abs() * 2f64.powi(-11) + 1e-7,
                DType::BF16 if !extras.finish => depth * 2f64.powi(-24) * size + sum.abs() * 2f64.powi(-8),
                DType::F16 | DType::BF16 => depth * 2f64.powi(-24) * size,
                _ => 0.0,
            };
            let expected = wrapped(case.c.dtype, sum);
            assert!((got - expected).abs() <= bound, "element {index}: {got}, not {expected} ± {bound}\n{case:?}\n{extras:?}");
        }
    });
}

/// An exact sum as an integer of the dtype keeps it.
fn wrapped(dtype: DType, sum: f64) -> f64 {
    let sum_exact = sum as i64;
    match dtype {
        DType::I8 => f64::from(sum_exact as i8),
        DType::I16 => f64::from(sum_exact as i16),
        DType::I32 => f64::from(sum_exact as i32),
        DType::I64 => sum_exact as f64,
        DType::U8 => f64::from(sum_exact as u8),
        DType::U16 => f64::from(sum_exact as u16),
        DType::U32 => f64::from(sum_exact as u32),
        DType::U64 => sum_exact as u64 as f64,
        DType::Bool | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => sum,
    }
}
