//! Chooses instructions for reading elements into lanes, for writing lanes as elements, and for positions.

use super::asm::Width;
use super::inst::{Form, Home, Id, Inst, NONE, Target};
use super::op::{self, Op};
use super::select::Select;
use crate::dtype::DType;
use crate::ops::vector::Lane;

/// How an operand's elements lie along a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// One for all lanes.
    Uniform,
    /// Side by side.
    Dense,
    /// So many elements apart.
    Strided(i64),
}

impl Step {
    pub(super) fn of(stride: i64) -> Step {
        match stride {
            0 => Step::Uniform,
            1 => Step::Dense,
            stride => Step::Strided(stride),
        }
    }
}

/// The narrowest register with room for so many bytes.
pub(super) fn width_of(bytes: usize) -> Width {
    match bytes {
        0..=16 => Width::X,
        17..=32 => Width::Y,
        _ => Width::Z,
    }
}

/// The store of so many bytes at the low end of a register.
fn store_of(bytes: usize) -> Op {
    match bytes {
        0..=4 => op::MOVD_STORE,
        5..=8 => op::MOVQ_STORE,
        _ => op::MOVUPS_STORE,
    }
}

/// Whether elements are read by pairs, of which every other one is dropped. Those of a tail lie in the frame as they lie in memory then.
pub(super) fn by_pairs(step: Step, size: usize, lanes: usize) -> bool {
    step == Step::Strided(2) && size == 4 && lanes == 8
}

impl Select {
    fn element(&mut self, operand: u16, lane: usize, width: Width, invariant: bool) -> Id {
        self.at_home(Home::Element { operand, lane: lane as u8 }, width, invariant)
    }

    /// A vector of an operand's elements, in the lane of their dtype. Where it is `stepped`, even one element for all
    /// lanes is not the same all along a row.
    pub(super) fn read(&mut self, operand: u16, dtype: DType, step: Step, stepped: bool) -> Id {
        let width = self.width(Lane::of(dtype));
        let narrow = self.width(Lane::I32);
        let elements = match (step, dtype.size()) {
            (Step::Dense, 4 | 8) => return self.element(operand, 0, width, false),
            (Step::Dense, size) => self.element(operand, 0, width_of(self.lanes * size), false),
            (Step::Uniform, size) => {
                let element = self.element(operand, 0, Width::X, !stepped);
                match size {
                    1 => self.rm(op::PBROADCASTB, width_of(self.lanes), element),
                    2 => self.rm(op::PBROADCASTW, width_of(2 * self.lanes), element),
                    4 => return self.rm(op::BROADCASTSS, width, element),
                    _ => return self.rm(op::BROADCASTSD, width, element),
                }
            }
            (Step::Strided(_), size) if by_pairs(step, size, self.lanes) => return self.pairs(operand),
            (Step::Strided(_), 4 | 8) => return self.collect(operand, dtype.size()),
            (Step::Strided(_), _) => self.collect(operand, dtype.size()),
        };
        // One or two bytes an element, which take a conversion from the low end of a register or from memory.
        match dtype {
            DType::I8 => self.rm(op::PMOVSXBD, narrow, elements),
            DType::U8 => self.rm(op::PMOVZXBD, narrow, elements),
            DType::I16 => self.rm(op::PMOVSXWD, narrow, elements),
            DType::U16 => self.rm(op::PMOVZXWD, narrow, elements),
            DType::F16 => self.rm(op::CVTPH2PS, narrow, elements),
            DType::BF16 => {
                let low = self.rm(op::PMOVZXWD, narrow, elements);
                self.shift(op::PSLLD, narrow, low, 16)
            }
            DType::Bool => {
                let bytes = self.rm(op::PMOVZXBD, narrow, elements);
                let zero = self.zero();
                let mask = self.rvm(op::PCMPGTD, narrow, bytes, zero);
                self.new_mask(mask, 32)
            }
            DType::I32 | DType::U32 | DType::F32 | DType::I64 | DType::U64 | DType::F64 => {
                unreachable!("{dtype} needs no conversion")
            }
        }
    }

    /// Every other one of fifteen elements of 4 bytes.
    fn pairs(&mut self, operand: u16) -> Id {
        self.too_wide |= self.is_wide();
        let element = self.element(operand, 0, Width::Y, false);
        let low = self.rm(op::MOVUPS, Width::Y, element);
        let high = self.at_home(Home::Before { operand, lane: 4 }, Width::Y, false);
        // Lanes 0 1 4 5 and 2 3 6 7: the first vector begins with a lane, the second ends with one.
        let lanes = self.rvm_with(op::SHUFPS, Width::Y, low, high, 0b11_01_10_00);
        self.rm_with(op::PERMQ, Width::Y, lanes, 0b11_01_10_00)
    }

    /// Elements that do not lie side by side, read one by one; those of one or two bytes to the low end of the register.
    fn collect(&mut self, operand: u16, size: usize) -> Id {
        // Registers of more than two halves would take more than it saves.
        self.too_wide |= self.is_wide();
        let insert: Op = match size {
            1 => op::PINSRB,
            2 => op::PINSRW,
            4 => op::PINSRD,
            _ => op::PINSRQ,
        };
        let per_half = if size < 4 { self.lanes } else { 16 / size };
        let mut halves = Vec::new();
        for first in (0..self.lanes).step_by(per_half) {
            let element = self.element(operand, first, Width::X, false);
            let mut half = match size {
                4 => self.rm(op::MOVD, Width::X, element),
                8 => self.rm(op::MOVQ, Width::X, element),
                _ => {
                    let zero = self.zero();
                    self.rvm_with(insert, Width::X, zero, element, 0)
                }
            };
            for k in 1..per_half {
                let element = self.element(operand, first + k, Width::X, false);
                half = self.rvm_with(insert, Width::X, half, element, k as u8);
            }
            halves.push(half);
        }
        match halves[..] {
            [low, high] => self.rvm_with(op::INSERTI128, Width::Y, low, high, 1),
            _ => halves[0],
        }
    }

    /// Writes a vector of lanes as elements of a dtype.
    pub(super) fn write(&mut self, operand: u16, dtype: DType, step: Step, value: Id) {
        let width = self.width(Lane::of(dtype));
        let target = Target::Operand { operand, lane: 0 };
        if dtype == DType::F16 && step == Step::Dense {
            return self.store(target, op::CVTPS2PH, width, value, Some(0));
        }
        let (elements, op, width) = match dtype {
            DType::F32 | DType::I32 | DType::U32 | DType::F64 | DType::I64 | DType::U64 => {
                (value, op::MOVUPS_STORE, width)
            }
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => {
                let words = match dtype {
                    DType::F16 => self.extract(op::CVTPS2PH, width, value, Some(0)),
                    DType::BF16 => {
                        let halves = self.rounded_to_bf16(value);
                        self.pack_words(halves)
                    }
                    _ => self.pack_words(value),
                };
                (words, store_of(2 * self.lanes), width_of(2 * self.lanes))
            }
            DType::I8 | DType::U8 | DType::Bool => {
                let bytes = match dtype {
                    DType::Bool => {
                        let mask = self.mask(value, 32);
                        self.shift(op::PSRLD, width, mask, 31)
                    }
                    _ => value,
                };
                (self.pack_bytes(bytes), store_of(self.lanes), width_of(self.lanes))
            }
        };
        match step {
            Step::Strided(_) => self.spread(operand, dtype.size(), elements),
            Step::Dense => self.store(target, op, width, elements, None),
            Step::Uniform => self.store_one(target, dtype.size(), elements),
        }
    }

    /// Writes elements one by one to where they belong; those of one or two bytes are at the low end of the register.
    fn spread(&mut self, operand: u16, size: usize, elements: Id) {
        self.too_wide |= self.is_wide();
        let op = match size {
            1 => op::PEXTRB,
            2 => op::PEXTRW,
            4 => op::PEXTRD,
            _ => op::PEXTRQ,
        };
        let per_half = if size < 4 { self.lanes } else { 16 / size };
        let mut half = elements;
        for lane in 0..self.lanes {
            if lane == per_half {
                half = self.extract(op::EXTRACTI128, Width::Y, elements, Some(1));
            }
            let target = Target::Operand { operand, lane: lane as u8 };
            self.store(target, op, Width::X, half, Some((lane % per_half) as u8));
        }
    }

    /// Stores the first of some elements, which are the same all along a row.
    fn store_one(&mut self, target: Target, size: usize, elements: Id) {
        let (op, immediate) = match size {
            1 => (op::PEXTRB, Some(0)),
            2 => (op::PEXTRW, Some(0)),
            4 => (op::MOVSS_STORE, None),
            _ => (op::MOVSD_STORE, None),
        };
        let form = Form::Store(target);
        self.push(Inst { form, op, width: Width::X, to: NONE, args: [elements, NONE, NONE], immediate }, true);
    }

    /// An instruction that stores a value as it is.
    pub(super) fn store(&mut self, target: Target, op: Op, width: Width, value: Id, immediate: Option<u8>) {
        let inst = Inst { form: Form::Store(target), op, width, to: NONE, args: [value, NONE, NONE], immediate };
        self.push(inst, false);
    }

    /// The low two bytes of each 32-bit lane, side by side at the low end.
    fn pack_words(&mut self, x: Id) -> Id {
        if self.is_wide() {
            return self.extract(op::PMOVDW, self.width(Lane::I32), x, None);
        }
        let pattern = u64::from_le_bytes([0, 1, 4, 5, 8, 9, 12, 13]);
        let pattern = self.constant([pattern, u64::MAX, pattern, u64::MAX]);
        let packed = self.rvm(op::PSHUFB, self.width(Lane::I32), x, pattern);
        if self.lanes == 8 { self.rm_with(op::PERMQ, Width::Y, packed, 0b1000) } else { packed }
    }

    /// The low byte of each 32-bit lane, side by side at the low end.
    fn pack_bytes(&mut self, x: Id) -> Id {
        if self.is_wide() {
            return self.extract(op::PMOVDB, self.width(Lane::I32), x, None);
        }
        let pattern = u64::from_le_bytes([0, 4, 8, 12, 255, 255, 255, 255]);
        let pattern = self.constant([pattern, u64::MAX, pattern, u64::MAX]);
        let packed = self.rvm(op::PSHUFB, self.width(Lane::I32), x, pattern);
        if self.lanes == 8 {
            let joined = self.rm_with(op::PERMQ, Width::Y, packed, 0b1000);
            self.rm_with(op::PSHUFD, Width::X, joined, 0b1000)
        } else {
            packed
        }
    }

    /// The position of each element: that of the row's first, and its number in the row.
    pub(super) fn position(&mut self) -> Id {
        let first = self.at_home(Home::Position, Width::X, true);
        let first = self.rm(op::BROADCASTSD, self.full, first);
        let number = self.index();
        let number = self.rm(op::PBROADCASTQ, self.full, number);
        let sum = self.commutative(op::PADDQ, self.full, number, first);
        let lanes = self.at_home(Home::LaneNumbers, self.full, false);
        self.commutative(op::PADDQ, self.full, sum, lanes)
    }
}
