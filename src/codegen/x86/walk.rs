//! How operands lie over the axes of a program, once axes that all of them walk evenly are one.

use super::build::Read;
use super::elements::Step;
use super::staged::Written;
use crate::codegen::Call;
use crate::codegen::block::{affine, origin_step};
use crate::dtype::DType;
use crate::lower::program::{Access, Load, LoopProgram, dense};
use smallvec::SmallVec;
use std::cell::Cell;
use std::mem::MaybeUninit;

/// The operands of a program over some of its axes.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The axes' sizes, outermost first, merged; at least one.
    pub(super) sizes: SmallVec<[usize; 4]>,
    /// The strides of each operand over these axes, in elements.
    pub(super) strides: Vec<SmallVec<[i64; 4]>>,
}

/// Where an operand is: its element at index 0, and the strides over all axes of the program.
pub(super) struct Strided {
    pub(super) offset: i64,
    pub(super) strides: Vec<i64>,
    /// What the origin of a call adds to the offset, for every index.
    pub(super) by_origin: i64,
    /// The elements, if the call does not have them.
    pub(super) list: Option<Box<[i64]>>,
}

/// The most numbers that are listed: they stay in the second cache, with what is read beside them.
const MOST_LISTED: usize = 1 << 14;

/// Numbers that words compute from the index along one reduced axis, listed once: to kernels, an operand like any other.
fn listed(program: &LoopProgram, load: &Load, sizes: &[usize]) -> Option<Strided> {
    let Access::Computed { position, .. } = &load.access else { return None };
    let (first, mut strides) = affine(position, sizes.len()).filter(|_| load.dtype == DType::I64)?;
    let axis = strides.iter().position(|&stride| stride != 0)?;
    let apart = std::mem::replace(&mut strides[axis], 1);
    // The origin of a call moves the first outer axis, beyond its size too.
    let is_one = axis >= program.outer.len() && strides[axis + 1..].iter().all(|&stride| stride == 0);
    let number = |k: usize| first.wrapping_add(apart.wrapping_mul(k as i64));
    (is_one && sizes[axis] <= MOST_LISTED).then(|| {
        let list = Some((0..sizes[axis]).map(number).collect());
        Strided { offset: 0, strides, by_origin: 0, list }
    })
}

/// The operands of a program, and the slots of those that are not read at constant strides: they are as if dense, over the
/// first `walked` axes and over the others; see [`Stages`].
///
/// [`Stages`]: super::staged::Stages
pub(super) fn operands(written: &Written<'_>, walked: usize) -> (Vec<Strided>, Vec<usize>) {
    let program = &written.program;
    let sizes: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
    let one = |access: &Access| match access {
        Access::Strided { offset, strides } => {
            Some(Strided { offset: *offset, strides: strides.clone(), by_origin: 0, list: None })
        }
        Access::Computed { position, guards } if guards.is_empty() => {
            let (offset, strides) = affine(position, sizes.len())?;
            let by_origin = if program.outer.is_empty() { 0 } else { strides[0] };
            Some(Strided { offset, strides, by_origin, list: None })
        }
        Access::Computed { .. } => None,
    };
    let (mut operands, mut staged) = (Vec::with_capacity(program.loads.len()), Vec::new());
    for (slot, load) in program.loads.iter().enumerate() {
        let strided = if slot < written.given { one(&load.access) } else { listed(program, load, &sizes) };
        operands.push(strided.unwrap_or_else(|| {
            staged.push(slot);
            let strides = dense(&sizes[..walked]).into_iter().chain(dense(&sizes[walked..])).collect();
            Strided { offset: 0, strides, by_origin: 0, list: None }
        }));
    }
    (operands, staged)
}

/// The operands of a program, if all are read at constant strides.
pub(super) fn strided(program: &LoopProgram) -> Option<Vec<Strided>> {
    let (operands, staged) = operands(&Written::new(program), 0);
    staged.is_empty().then_some(operands)
}

/// The operands of a program in memory: everything that changes neither with the row nor with the step.
pub(super) struct Bases {
    /// The first byte of each operand, what the origin adds to it, and the bytes of an element.
    operands: SmallVec<[(i64, i64, i64); 8]>,
    /// The elements of operands that a call does not have, but for those that are brought in.
    lists: SmallVec<[(usize, Box<[i64]>); 1]>,
    /// How far apart neighbours along the first outer axis are in the index space.
    origin_step: usize,
}

impl Bases {
    pub(super) fn new(program: &LoopProgram, strided: Vec<Strided>) -> Bases {
        let of = |(load, strided): (&Load, &Strided)| {
            let size = load.dtype.size() as i64;
            (strided.offset * size, strided.by_origin * size, size)
        };
        let operands = program.loads.iter().zip(&strided).map(of).collect();
        let lists = strided.into_iter().enumerate().filter_map(|(k, strided)| Some((k, strided.list?)));
        Bases { operands, lists: lists.collect(), origin_step: origin_step(program) }
    }

    /// By how many bytes an operand moves where the origin of a call does by so much, and nothing else.
    pub(super) fn by_origin(&self, operand: usize, origin: usize) -> i64 {
        self.operands[operand].1 * origin as i64
    }

    /// How many operands there are.
    pub(super) fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether two operands begin equally far from their first bytes, wherever a call's origin is, and have elements of the same size.
    pub(super) fn begin_alike(&self, one: usize, other: usize) -> bool {
        self.operands[one] == self.operands[other]
    }

    /// The bytes of an element.
    pub(super) fn size(&self, operand: usize) -> i64 {
        self.operands[operand].2
    }

    /// The address of an operand's element, so many from its first.
    pub(super) fn address(&self, call: &Call<'_>, operand: usize, position: i64) -> i64 {
        let (offset, by_origin, size) = self.operands[operand];
        let listed = || self.lists.iter().find(|(listed, _)| *listed == operand);
        // What is neither is brought in, and pointed to by whoever does that.
        let base = match call.loads.get(operand) {
            Some(load) => load.addr(),
            None => listed().map_or(0, |(_, list)| list.as_ptr().expose_provenance()),
        };
        base as i64 + offset + by_origin * call.origin as i64 + position * size
    }

    /// How far apart, in the index space, origins are that differ by so much.
    pub(super) fn position_step(&self, origin: usize) -> usize {
        self.origin_step.wrapping_mul(origin)
    }

    /// The position, in the index space, of the element so many from the first.
    pub(super) fn position(&self, call: &Call<'_>, element: usize) -> usize {
        call.origin.wrapping_mul(self.origin_step).wrapping_add(element)
    }
}

impl Walk {
    /// Merges axes, whose sizes come outermost first: one joins the one inside it where all operands walk both evenly.
    pub(super) fn new<'s>(sizes: &[usize], strides: impl Iterator<Item = &'s [i64]>) -> Walk {
        let strides: SmallVec<[&[i64]; 8]> = strides.collect();
        let mut axes: SmallVec<[(usize, usize); 4]> = SmallVec::new(); // the size, and the axis that has the strides
        for (axis, &size) in sizes.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let even = |outside: usize| strides.iter().all(|s| s[outside] == s[axis].wrapping_mul(size as i64));
            match axes.last_mut() {
                Some((merged, outside)) if even(*outside) => (*merged, *outside) = (*merged * size, axis),
                _ => axes.push((size, axis)),
            }
        }
        let over = |s: &&[i64]| axes.iter().map(|&(_, axis)| s[axis]).collect();
        let mut walk =
            Walk { sizes: axes.iter().map(|&(size, _)| size).collect(), strides: strides.iter().map(over).collect() };
        if walk.sizes.is_empty() {
            walk.sizes.push(1);
            walk.strides.iter_mut().for_each(|strides| strides.push(0));
        }
        walk
    }

    /// The axes of one walk, then those of another over the same operands.
    pub(super) fn then(mut self, inner: &Walk) -> Walk {
        self.sizes.extend_from_slice(&inner.sizes);
        for (strides, inner) in self.strides.iter_mut().zip(&inner.strides) {
            strides.extend_from_slice(inner);
        }
        self
    }

    /// The innermost size.
    pub(super) fn inner(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// How operands are read along the innermost axis, or `None` where steps are too long for the code.
    pub(super) fn reads(&self, program: &LoopProgram) -> Option<Vec<Read>> {
        let read =
            |(k, load): (usize, &Load)| Some(Read { dtype: load.dtype, step: self.step(k)?, stepped: false, ahead: 0 });
        program.loads.iter().enumerate().map(read).collect()
    }

    /// How an operand lies along the innermost axis, or `None` where steps are too long for the code.
    pub(super) fn step(&self, operand: usize) -> Option<Step> {
        let strides = &self.strides[operand];
        match Step::of(strides[strides.len() - 1]) {
            Step::Strided(stride) if stride.unsigned_abs() >= 1 << 22 => None,
            step => Some(step),
        }
    }

    /// How far each operand is from its first element at a row, given by the row's number over all axes but the last;
    /// then the index along the last of those axes.
    pub(super) fn locate(&self, row: usize, positions: &mut [i64]) -> usize {
        positions.fill(0);
        self.add(row, self.sizes.len() - 1, positions)
    }

    /// Adds how far each operand is at an index over all axes, given by its number; then the index along the last axis.
    pub(super) fn go_to(&self, index: usize, positions: &mut [i64]) -> usize {
        self.add(index, self.sizes.len(), positions)
    }

    /// As [`Walk::locate`], over all axes but the last two.
    pub(super) fn outside(&self, index: usize, positions: &mut [i64]) {
        positions.fill(0);
        self.add(index, self.sizes.len() - 2, positions);
    }

    /// Puts an axis into another's place; those in between make room.
    pub(super) fn move_axis(&mut self, from: usize, to: usize) {
        let size = self.sizes.remove(from);
        self.sizes.insert(to, size);
        for strides in &mut self.strides {
            let stride = strides.remove(from);
            strides.insert(to, stride);
        }
    }

    fn add(&self, index: usize, axes: usize, positions: &mut [i64]) -> usize {
        let (mut rest, mut last) = (index, 0);
        for axis in (0..axes).rev() {
            let index = if axis == 0 { rest } else { rest % self.sizes[axis] };
            rest /= self.sizes[axis];
            if axis == axes - 1 {
                last = index;
            }
            for (position, strides) in positions.iter_mut().zip(&self.strides) {
                *position += index as i64 * strides[axis];
            }
        }
        last
    }

    /// The size of the axis outside the innermost.
    pub(super) fn row_axis(&self) -> usize {
        self.sizes.len().checked_sub(2).map_or(1, |axis| self.sizes[axis])
    }

    /// An operand's stride over that.
    pub(super) fn row_stride(&self, operand: usize) -> i64 {
        self.sizes.len().checked_sub(2).map_or(0, |axis| self.strides[operand][axis])
    }
}

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[expect(dead_code, reason = "only its address is used")] [u8; 64]);

thread_local! {
    static SCRATCH: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// The cache lines of a small scratch: enough for the frames of kernels and the results of a few hundred rows.
const FEW: usize = 128;

/// Memory for a run: a little of the stack, or what a thread keeps between runs.
pub(super) struct Scratch {
    few: MaybeUninit<[CacheLine; FEW]>,
    /// Empty where a few lines are enough.
    many: Vec<CacheLine>,
}

impl Scratch {
    /// At least so many bytes, with anything in them.
    #[inline]
    pub(super) fn new(bytes: usize) -> Scratch {
        let mut many = Vec::new();
        if bytes > FEW * 64 {
            many = SCRATCH.take();
            if many.len() * 64 < bytes {
                many.resize(bytes.div_ceil(64), CacheLine([0; 64]));
            }
        }
        Scratch { few: MaybeUninit::uninit(), many }
    }

    /// The address of the first byte, on a cache line; good until the scratch is moved.
    pub(super) fn start(&mut self) -> *mut u8 {
        if self.many.is_empty() { self.few.as_mut_ptr().cast() } else { self.many.as_mut_ptr().cast() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.many.is_empty() {
            SCRATCH.set(std::mem::take(&mut self.many));
        }
    }
}
