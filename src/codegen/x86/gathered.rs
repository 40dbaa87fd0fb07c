//! Rows of an operand that an index names: what lies so far behind the row's own place as words say, which are the same all along the row.
//!
//! The words are run once a row, and the row is then put into scratch like any other operand that kernels cannot read as it lies
//! ([`super::staged`]).

use super::walk::Strided;
use crate::codegen::Call;
use crate::dtype::DType;
use crate::lower::program::LoopProgram;
use crate::ops::vector::{Binary, Fault, Lane, Unary, Val, Word};
use smallvec::SmallVec;

/// How such a row is found.
pub(super) struct Gathered {
    /// The operand, and where the row would begin without an index.
    slot: usize,
    place: Place,
    /// What gives the distance, each step from those before it; the last one is the distance.
    steps: Vec<Step>,
}

/// A step towards the distance.
enum Step {
    /// The element of an operand of integers.
    Element {
        slot: usize,
        dtype: DType,
        place: Place,
    },
    Const(i64),
    /// As of [`Word::Place`].
    Named {
        of: usize,
        size: i64,
        from_end: bool,
    },
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
}

/// Where an element is, by the index.
struct Place {
    offset: i64,
    strides: SmallVec<[i64; 6]>,
    /// What the origin of a call takes away: the operand already begins there.
    by_origin: i64,
}

impl Place {
    fn of(operand: &Strided) -> Place {
        let outermost = operand.strides.first().copied().unwrap_or(0);
        let by_origin = outermost - operand.by_origin;
        Place { offset: operand.offset, strides: operand.strides.iter().copied().collect(), by_origin }
    }

    fn at(&self, index: &[i64], origin: usize) -> isize {
        let along = self.strides.iter().zip(index).map(|(stride, index)| stride * index);
        (self.offset + along.sum::<i64>() - self.by_origin * origin as i64) as isize
    }
}

impl Gathered {
    /// The rows along an axis of operand `slot` that lie `at` behind their places; `None` where that is not the same for all of a row, or
    /// comes from something else than integers in memory. `staged` operands are not there as they are, and neither are listed ones.
    pub(super) fn of(
        program: &LoopProgram,
        operands: &[Strided],
        staged: &[usize],
        (slot, at): (usize, Val),
        along: usize,
    ) -> Option<Gathered> {
        // Which step is the value of each word.
        let mut known: Vec<Option<usize>> = vec![None; at.id as usize + 1];
        let mut steps = Vec::new();
        for &word in needed(program, at).iter() {
            let of = |val: Val| known[val.id as usize];
            let step = match program.words[word].0 {
                Word::Load { slot, dtype } if dtype.is_integer() && !staged.contains(&slot.into()) => {
                    let operand = operands.get(slot as usize).filter(|operand| operand.list.is_none())?;
                    (operand.strides[along] == 0).then(|| Step::Element {
                        slot: slot.into(),
                        dtype,
                        place: Place::of(operand),
                    })?
                }
                Word::Const { lane: Lane::I64, bits } => Step::Const(bits as i64),
                // The element is read in full.
                Word::Unary(Unary::SignExtend | Unary::ZeroExtend, val) => {
                    known[word] = Some(of(val)?);
                    continue;
                }
                Word::Place { index, size, from_end } => Step::Named { of: of(index)?, size: size.into(), from_end },
                Word::Binary(Binary::Add, a, b) => Step::Add(of(a)?, of(b)?),
                Word::Binary(Binary::Sub, a, b) => Step::Sub(of(a)?, of(b)?),
                Word::Binary(Binary::Mul, a, b) => Step::Mul(of(a)?, of(b)?),
                _ => return None,
            };
            known[word] = Some(steps.len());
            steps.push(step);
        }
        // Words between 32 bits may wrap, which these do not.
        let is_wide = |&word: &usize| {
            let (word, lane) = program.words[word];
            lane == Lane::I64 || matches!(word, Word::Load { .. })
        };
        let is_served = needed(program, at).iter().all(is_wide) && !steps.is_empty();
        is_served.then(|| Gathered { slot, place: Place::of(&operands[slot]), steps })
    }

    /// Where the row of an index begins, and how far apart its elements are.
    ///
    /// # Safety
    /// The operands of integers can be read at the index.
    pub(super) unsafe fn find(
        &self,
        on: &Call<'_>,
        index: &[i64],
        along: usize,
        size: usize,
    ) -> Result<(*const u8, isize), Fault> {
        let mut values: SmallVec<[i64; 8]> = SmallVec::new();
        for step in &self.steps {
            values.push(match *step {
                Step::Element { slot, dtype, ref place } => {
                    let from = on.loads[slot].wrapping_offset(place.at(index, on.origin) * dtype.size() as isize);
                    // SAFETY: the caller's promise.
                    unsafe { integer(from, dtype) }
                }
                Step::Const(value) => value,
                Step::Named { of, size, from_end } => {
                    let named = if from_end && values[of] < 0 { values[of].wrapping_add(size) } else { values[of] };
                    if !(0..size).contains(&named) {
                        return Err(Fault::OutOfRange);
                    }
                    named
                }
                Step::Add(a, b) => values[a].wrapping_add(values[b]),
                Step::Sub(a, b) => values[a].wrapping_sub(values[b]),
                Step::Mul(a, b) => values[a].wrapping_mul(values[b]),
            });
        }
        let distance = values[values.len() - 1] as isize;
        let from = self.place.at(index, on.origin) + distance;
        Ok((on.loads[self.slot].wrapping_offset(from * size as isize), self.place.strides[along] as isize))
    }
}

/// The words that a value is made from, itself the last.
fn needed(program: &LoopProgram, val: Val) -> SmallVec<[usize; 8]> {
    let mut needed: SmallVec<[usize; 8]> = SmallVec::from_elem(val.id as usize, 1);
    let mut next = 0;
    while next < needed.len() {
        let word = program.words[needed[next]].0;
        let mut need = |val: Val| {
            if !needed.contains(&(val.id as usize)) {
                needed.push(val.id as usize);
            }
        };
        match word {
            Word::Unary(_, a) | Word::Place { index: a, .. } => need(a),
            Word::Binary(_, a, b) => [a, b].into_iter().for_each(need),
            _ => {}
        }
        next += 1;
    }
    needed.sort_unstable();
    needed
}

/// An element as an integer.
///
/// # Safety
/// It can be read.
unsafe fn integer(from: *const u8, dtype: DType) -> i64 {
    // SAFETY: the caller's promise; operands are aligned for their elements.
    unsafe {
        match dtype {
            DType::I8 => i64::from(from.cast::<i8>().read()),
            DType::U8 => i64::from(from.read()),
            DType::I16 => i64::from(from.cast::<i16>().read()),
            DType::U16 => i64::from(from.cast::<u16>().read()),
            DType::I32 => i64::from(from.cast::<i32>().read()),
            DType::U32 => i64::from(from.cast::<u32>().read()),
            DType::I64 => from.cast::<i64>().read(),
            _ => from.cast::<u64>().read() as i64,
        }
    }
}
