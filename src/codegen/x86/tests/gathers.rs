//! Rows that an index names, among other operands: against the scalar evaluator, also where an index names nothing.

use super::check_told;
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::scalar::Told;
use crate::codegen::block::tests::words::values;
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Load, LoopProgram, dense};
use crate::ops::vector::{Emit, Lane, Unary};

/// `fold(table[index[i, j], k] · scale + other[j, k])` over `[i, j, k]`, the table's rows so far apart.
struct Lookup {
    sizes: [usize; 3],
    table: usize,
    pitch: usize,
    index: DType,
    from_end: bool,
    fold: Option<Fold>,
}

impl Lookup {
    fn program(&self) -> LoopProgram {
        let Lookup { sizes: [_, middle, inner], pitch, .. } = *self;
        let mut e = Emit::new();
        let index = e.load(0, self.index);
        let wide = match (index.lane, self.index) {
            (Lane::I64, _) => index,
            (_, DType::U32) => e.convert(Unary::ZeroExtend, index, Lane::I64),
            _ => e.convert(Unary::SignExtend, index, Lane::I64),
        };
        let place = e.place(wide, self.table, self.from_end);
        let step = e.int(Lane::I64, pitch as i64);
        let at = e.integer(crate::ops::vector::Binary::Mul, place, step);
        let row = e.gather(1, DType::F32, at);
        let (scale, other) = (e.float(Lane::F32, 0.5), e.load(2, DType::F32));
        let scaled = e.mul(row, scale);
        let result = e.add(scaled, other);
        let strided = |dtype, strides: [usize; 3]| Load {
            dtype,
            access: Access::Strided { offset: 0, strides: strides.map(|stride| stride as i64).to_vec() },
        };
        let kept = if self.fold.is_some() { 2 } else { 3 };
        LoopProgram {
            outer: self.sizes[..kept].to_vec(),
            store: dense(&self.sizes[..kept]),
            reduced: self.sizes[kept..].to_vec(),
            loads: vec![
                strided(self.index, [middle, 1, 0]),
                strided(DType::F32, [0, 0, 1]),
                strided(DType::F32, [0, inner, 1]),
            ],
            indices: vec![],
            words: e.finish(),
            result,
            fold: self.fold,
            stored: DType::F32,
        }
    }

    /// The operands; one index in so many names no place, if any does.
    fn operands(&self, random: &mut Random, wrong: Option<usize>) -> Vec<Vec<Literal>> {
        let [outer, middle, inner] = self.sizes;
        let is_signed = self.index.is_signed_integer();
        let index = (0..(outer * middle).max(1)).map(|_| {
            let beyond = wrong.is_some_and(|wrong| random.below(wrong) == 0);
            let place = random.below(self.table) as i64 + if beyond { self.table as i64 } else { 0 };
            let from_end = self.from_end && is_signed && random.chance(2) && !beyond;
            let place = if from_end { place - self.table as i64 } else { place };
            Literal::from_integer(self.index, place.into())
        });
        let index = index.collect();
        vec![
            index,
            values(random, DType::F32, self.pitch * (self.table - 1) + inner),
            values(random, DType::F32, middle * inner),
        ]
    }
}

#[test]
fn rows_that_an_index_names_are_read_as_the_evaluator_does() {
    let (mut served, mut random) = (0, Random::new(31));
    for case in 0..400 {
        let inner = random.pick(&[1, 3, 8, 16, 17, 64, 100, 128, 129, 300, 2500]);
        let sizes = [1 + random.below(4), 1 + random.below(20), inner];
        let index = random.pick(&[DType::I64, DType::I32, DType::U8, DType::I16, DType::U32]);
        let fold = random.pick(&[None, None, Some(Fold::Sum), Some(Fold::Max)]);
        let (table, pitch) = (1 + random.below(40), inner + random.below(5));
        let lookup = Lookup { sizes, table, pitch, index, from_end: random.chance(2), fold };
        let wrong = (case % 5 == 0).then_some(30);
        let told = Told { scalars: vec![], origin: random.pick(&[0, 0, 7]) };
        let operands = lookup.operands(&mut random, wrong);
        served += usize::from(check_told(&lookup.program(), &operands, &told));
    }
    assert!(served > 250 || super::widths().is_empty(), "{served} were served");
}
