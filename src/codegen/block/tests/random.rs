//! Random programs over random shapes and accesses.

use super::scalar::{Scalar, Told, evaluate, places};
use super::words::{SIZES, plain};
use super::{Random, check, check_told, run};
use crate::codegen::block::lane_bits;
use crate::codegen::order::Order;
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Guard, Load, LoopProgram, dense};
use crate::lower::{Part, RowProgram};
use crate::ops::vector::{Binary, Emit, Lane, Unary, Val, Word};
use crate::shape::Expr;
use std::sync::Arc;

const LANES: [Lane; 5] = [Lane::Mask, Lane::I32, Lane::I64, Lane::F32, Lane::F64];

/// Axis sizes whose product is at most `limit`.
fn shape(random: &mut Random, limit: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut product = 1;
    for _ in 0..random.below(5) {
        let size = match random.below(6) {
            0 => random.pick(&SIZES),
            1 => 1,
            _ => 1 + random.below(9),
        };
        if product * size <= limit && (size > 0 || random.chance(4)) {
            product *= size;
            sizes.push(size);
        }
    }
    sizes
}

/// Strides of some layout over the sizes, and the offset and length that keep every position in range.
fn strided(random: &mut Random, sizes: &[usize]) -> (Access, usize) {
    let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
    if random.chance(3) {
        for k in (1..order.len()).rev() {
            order.swap(k, random.below(k + 1));
        }
    }
    let mut strides = vec![0; sizes.len()];
    let mut step = if random.chance(5) { 1 + random.below(3) as i64 } else { 1 };
    for axis in order {
        if random.chance(5) {
            continue; // broadcast
        }
        strides[axis] = if random.chance(6) { -step } else { step };
        step *= sizes[axis].max(1) as i64 + i64::from(random.chance(8));
    }
    let reach = |sign: i64| -> i64 {
        let axes = sizes.iter().zip(&strides);
        axes.map(|(&size, &stride)| (size.max(1) as i64 - 1) * (stride * sign).max(0)).sum()
    };
    let offset = reach(-1) + random.below(3) as i64;
    let length = offset + reach(1) + 1;
    (Access::Strided { offset, strides }, length as usize)
}

/// A small index expression. Its value stays far from overflow.
pub(in crate::codegen) fn expression(random: &mut Random, rank: usize, depth: usize) -> Expr {
    if depth == 0 || random.chance(4) {
        return match rank > 0 && !random.chance(3) {
            true => Expr::Idx(random.below(rank)),
            false => Expr::Const(random.below(9) as i64 - 2),
        };
    }
    let sub = |random: &mut Random| Arc::new(expression(random, rank, depth - 1));
    let (a, b) = (sub(random), sub(random));
    let divisor = Arc::new(Expr::Const(random.pick(&[1, 2, 3, 4, 5, 7, 8, 10, 64, 100, -3])));
    match random.below(9) {
        0 | 1 => Expr::Add(a, b),
        2 => Expr::Sub(a, b),
        3 => Expr::Mul(a, Arc::new(Expr::Const(random.below(7) as i64 - 2))),
        4 => Expr::Div(a, divisor),
        5 => Expr::Rem(a, divisor),
        6 => Expr::Lt(a, b),
        7 => Expr::Not(a),
        _ => Expr::And(a, b),
    }
}

/// Like padding: an operand with borders around it, and sometimes a mask on top that compares two axes.
fn padded(random: &mut Random, sizes: &[usize], dtype: DType) -> (Access, usize) {
    let mut inside = Expr::Const(1);
    let (mut offset, mut strides, mut step) = (0, vec![0; sizes.len()], 1);
    for (axis, &size) in sizes.iter().enumerate().rev() {
        let before = random.below(3).min(size / 2);
        let length = (size - before).saturating_sub(random.below(3)).max(1);
        strides[axis] = step * random.pick(&[1, 1, 1, 2, -1]);
        offset += if strides[axis] < 0 { (length as i64 - 1) * -strides[axis] } else { 0 };
        offset -= before as i64 * strides[axis];
        step = length as i64 * strides[axis].abs();
        inside = inside.and(Expr::idx(axis).ge(before)).and(Expr::idx(axis).lt(before + length));
    }
    let mut guards = vec![Guard { condition: inside, default: random.value(dtype) }];
    if sizes.len() > 1 && random.chance(2) {
        let (a, b) = (random.below(sizes.len()), sizes.len() - 1);
        let condition = Expr::idx(b).le(Expr::idx(a) + random.below(5));
        guards.insert(random.below(2), Guard { condition, default: random.value(dtype) });
    }
    (Access::Computed { position: Expr::from_affine(offset, &strides), guards }, step as usize)
}

fn computed(random: &mut Random, sizes: &[usize], dtype: DType) -> (Access, usize) {
    if random.chance(2) {
        return padded(random, sizes, dtype);
    }
    let length = 1 + random.below(200);
    let number = |value: usize| Arc::new(Expr::Const(value as i64));
    let raw = Arc::new(expression(random, sizes.len(), 3));
    let mut guards: Vec<Guard> = (0..random.below(3))
        .map(|_| Guard { condition: expression(random, sizes.len(), 3), default: random.value(dtype) })
        .collect();
    if random.chance(3) {
        // Like padding: the position is only in range where the last guard says so.
        let above = Expr::Not(Arc::new(Expr::Lt(raw.clone(), number(0))));
        let below = Expr::Lt(raw.clone(), number(length));
        let default = if random.chance(2) { Literal::zero(dtype) } else { random.value(dtype) };
        guards.push(Guard { condition: Expr::And(Arc::new(above), Arc::new(below)), default });
        return (Access::Computed { position: (*raw).clone(), guards }, length);
    }
    (Access::Computed { position: Expr::Rem(raw, number(length)), guards }, length)
}

/// A program under construction: its words, and some value of every lane.
struct Writer {
    emit: Emit,
    values: Vec<Val>,
    /// Integers are divided, too.
    divide: bool,
}

impl Writer {
    fn of_lane(&mut self, random: &mut Random, lane: Lane) -> Val {
        let known: Vec<Val> = self.values.iter().copied().filter(|val| val.lane == lane).collect();
        // Recent values mostly, so that programs grow deep; older ones too, so that lives are long.
        match known.len() {
            0 => self.emit.literal(random.value(plain(lane))),
            n if random.chance(3) => known[random.below(n)],
            n => known[n - 1 - random.below(n.min(3))],
        }
    }

    /// A float without NaN, whose bits are then the same on every machine.
    fn number(&mut self, random: &mut Random, lane: Lane) -> Val {
        let x = self.of_lane(random, lane);
        let (nan, zero) = (self.emit.is_nan(x), self.emit.float(lane, 0.0));
        self.emit.select(nan, zero, x)
    }

    fn word(&mut self, random: &mut Random) {
        let lane = random.pick(&LANES);
        let (a, b, c) = (self.of_lane(random, lane), self.of_lane(random, lane), self.of_lane(random, lane));
        let val = match (lane, random.below(10)) {
            (_, 0) => {
                let mask = self.of_lane(random, Lane::Mask);
                self.emit.select(mask, a, b)
            }
            (_, 1) => {
                if random.chance(2) {
                    self.emit.eq(a, b)
                } else {
                    self.emit.ne(a, b)
                }
            }
            (Lane::Mask, 2 | 3) => self.emit.not(a),
            (Lane::Mask, _) => {
                let word = random.pick(&[Binary::And, Binary::Or, Binary::Xor]);
                self.emit.integer(word, a, b)
            }
            (_, 2) => {
                if random.chance(2) {
                    self.emit.lt(a, b)
                } else {
                    self.emit.le(a, b)
                }
            }
            (Lane::F32, 3) => {
                let word = random.pick(&[Unary::ToI32, Unary::ToU32, Unary::Bits]);
                let x = self.number(random, lane);
                self.emit.convert(word, x, Lane::I32)
            }
            (Lane::F64, 3) => {
                let word = random.pick(&[Unary::ToI64, Unary::ToU64, Unary::Bits]);
                let x = self.number(random, lane);
                self.emit.convert(word, x, Lane::I64)
            }
            (Lane::F32, 4) => self.emit.widen(a),
            (Lane::F64, 4) => {
                let word = random.pick(&[Unary::Narrow, Unary::RoundF16, Unary::RoundBF16]);
                self.emit.convert(word, a, Lane::F32)
            }
            (Lane::F32 | Lane::F64, 5) => self.emit.fma(a, b, c),
            (Lane::F32 | Lane::F64, 6) => {
                let words = [Unary::Neg, Unary::Abs, Unary::Sqrt, Unary::Floor, Unary::Ceil, Unary::Trunc];
                self.emit.convert(random.pick(&words), a, lane)
            }
            (Lane::F32 | Lane::F64, _) => {
                let words = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Min, Binary::Max];
                self.emit.integer(random.pick(&words), a, b)
            }
            (Lane::I32, 3) => {
                let word = random.pick(&[Unary::SignExtend, Unary::ZeroExtend]);
                self.emit.convert(word, a, Lane::I64)
            }
            (Lane::I64, 3) => self.emit.convert(Unary::Truncate, a, Lane::I32),
            (Lane::I32, 4) => {
                let word = random.pick(&[Unary::ToF32, Unary::UnsignedToF32, Unary::Eighths]);
                self.emit.convert(word, a, Lane::F32)
            }
            (Lane::I64, 4) => self.emit.convert(random.pick(&[Unary::ToF64, Unary::UnsignedToF64]), a, Lane::F64),
            (Lane::I32 | Lane::I64, 5) if self.divide => {
                let one = self.emit.int(lane, 1);
                let divisor = if random.chance(50) { b } else { self.emit.or(b, one) };
                let words = [Binary::DivS, Binary::RemS, Binary::DivU, Binary::RemU];
                self.emit.integer(random.pick(&words), a, divisor)
            }
            (Lane::I32 | Lane::I64, 6) => self.emit.convert(random.pick(&[Unary::Neg, Unary::Not]), a, lane),
            (Lane::I32 | Lane::I64, _) => {
                let words =
                    [Binary::Add, Binary::Sub, Binary::Mul, Binary::MinS, Binary::MaxU, Binary::Xor, Binary::Sar];
                self.emit.integer(random.pick(&words), a, b)
            }
        };
        self.values.push(val);
    }
}

/// A random program, its operands, and what it is told.
pub(in crate::codegen) type Drawn = (LoopProgram, Vec<Vec<Literal>>, Told);

/// Strides for an output: mostly dense, sometimes a region of something larger, sometimes turned round.
fn store(random: &mut Random, sizes: &[usize]) -> Vec<i64> {
    if !random.chance(3) {
        return dense(sizes);
    }
    let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
    if random.chance(3) {
        for k in (1..order.len()).rev() {
            order.swap(k, random.below(k + 1));
        }
    }
    let mut strides = vec![0; sizes.len()];
    let mut step = if random.chance(4) { 1 + random.below(3) } else { 1 };
    for axis in order {
        strides[axis] = step as i64;
        step = step * sizes[axis].max(1) + if random.chance(2) { random.below(5) } else { 0 };
    }
    strides
}

/// A random program.
fn program(random: &mut Random, words: usize, fold: Option<Fold>, limit: usize) -> Drawn {
    program_with(random, words, fold, limit, Draw { divide: true, computed: true })
}

/// What programs may have.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct Draw {
    /// Divisions of integers.
    pub(in crate::codegen) divide: bool,
    /// Computed accesses.
    pub(in crate::codegen) computed: bool,
}

/// The same, with less.
pub(in crate::codegen) fn program_with(
    random: &mut Random,
    words: usize,
    fold: Option<Fold>,
    limit: usize,
    draw: Draw,
) -> Drawn {
    let outer = shape(random, limit);
    let reduced = match fold {
        None => vec![],
        Some(_) => shape(random, (2 * limit / outer.iter().product::<usize>().max(1)).max(1)),
    };
    let sizes: Vec<usize> = outer.iter().chain(&reduced).copied().collect();
    let mut writer = Writer { emit: Emit::new(), values: Vec::new(), divide: draw.divide };
    let (mut loads, mut operands) = (Vec::new(), Vec::new());
    for slot in 0..random.below(5) {
        let dtype = random.pick(&DType::ALL);
        let (access, length) =
            if draw.computed && random.chance(3) { computed(random, &sizes, dtype) } else { strided(random, &sizes) };
        loads.push(Load { dtype, access });
        operands.push((0..length).map(|_| random.value(dtype)).collect());
        let val = writer.emit.load(slot, dtype);
        writer.values.push(val);
    }
    if random.chance(3) {
        let val = writer.emit.position();
        writer.values.push(val);
    }
    let origin = if random.chance(2) { random.below(50) } else { 0 };
    let mut told = Told { scalars: Vec::new(), origin };
    for slot in 0..random.below(4).saturating_sub(1) {
        let dtype = random.pick(&DType::ALL);
        writer.values.push(writer.emit.scalar(slot, dtype));
        told.scalars.push(lane_bits(random.value(dtype)));
    }
    let mut indices = Vec::new();
    while draw.computed && random.chance(3) {
        let expr = if random.chance(2) {
            expression(random, sizes.len(), 3)
        } else {
            match padded(random, &sizes, DType::F32).0 {
                Access::Computed { mut guards, .. } => guards.remove(0).condition,
                Access::Strided { .. } => unreachable!("it is guarded"),
            }
        };
        indices.push(expr);
        let val = writer.emit.index(indices.len() - 1, random.pick(&[DType::Bool, DType::I64]));
        writer.values.push(val);
    }
    for _ in 0..words {
        writer.word(random);
    }
    let stored = match fold {
        Some(Fold::Sum | Fold::Prod) => random.pick(&DType::ALL[1..]),
        Some(Fold::Max | Fold::Min) | None => random.pick(&DType::ALL),
    };
    let result = writer.of_lane(random, Lane::of(stored));
    let store = store(random, &outer);
    (
        LoopProgram { outer, store, reduced, loads, indices, words: writer.emit.finish(), result, fold, stored },
        operands,
        told,
    )
}

#[test]
fn random_maps_agree_with_the_evaluator() {
    for seed in 0..1500 {
        let mut random = Random::new(1000 + seed);
        let words = random.below(12);
        let (program, operands, told) = program(&mut random, words, None, 1500);
        check_told(&program, &operands, &told);
    }
}

#[test]
fn transposes_of_every_edge_agree_with_the_evaluator() {
    for seed in 0..60 {
        let mut random = Random::new(400_000 + seed);
        let sizes = [1 + random.below(3), 1 + random.below(40), 1 + random.below(3), 60 + random.below(300)];
        let [a, b, c, d] = sizes.map(|size| size as i64);
        let dtype = random.pick(&[DType::F32, DType::U8, DType::F64]);
        let layouts = [vec![b * c * d, 1, b * d, b], vec![1, a * c * d, a * d, a], vec![0, c, 1, b * c]];
        let access = Access::Strided { offset: 0, strides: random.pick(&[0, 1, 2].map(|k| &layouts[k])).clone() };
        let mut emit = Emit::new();
        let result = emit.load(0, dtype);
        let values = (0..sizes.iter().product()).map(|_| random.value(dtype)).collect();
        let loads = vec![Load { dtype, access }];
        let (outer, words) = (sizes.to_vec(), emit.finish());
        let store = dense(&outer);
        let program = LoopProgram {
            outer,
            store,
            reduced: vec![],
            loads,
            indices: vec![],
            words,
            result,
            fold: None,
            stored: dtype,
        };
        check(&program, &[values]);
    }
}

#[test]
fn random_folds_agree_with_the_evaluator() {
    for seed in 0..1500 {
        let mut random = Random::new(100_000 + seed);
        let fold = random.pick(&[Fold::Sum, Fold::Prod, Fold::Max, Fold::Min]);
        let words = random.below(6);
        let (program, operands, told) = program(&mut random, words, Some(fold), 1500);
        check_told(&program, &operands, &told);
    }
}

#[test]
fn deep_random_programs_keep_their_registers_apart() {
    for seed in 0..40 {
        let mut random = Random::new(200_000 + seed);
        let words = 100 + random.below(500);
        let (program, operands, told) = program(&mut random, words, None, 300);
        check_told(&program, &operands, &told);
    }
    for seed in 0..20 {
        let mut random = Random::new(300_000 + seed);
        let words = 100 + random.below(200);
        let (program, operands, told) = program(&mut random, words, Some(Fold::Sum), 100);
        check_told(&program, &operands, &told);
    }
}

#[test]
fn rows_one_by_one_are_the_whole() {
    for seed in 0..300 {
        let mut random = Random::new(500_000 + seed);
        let fold = random.pick(&[None, Some(Fold::Sum), Some(Fold::Max)]);
        let words = random.below(6);
        let (program, operands, mut told) = program(&mut random, words, fold, 300);
        told.origin = 0;
        let lead = random.below(program.outer.len() + 1);
        let total: usize = program.outer[..lead].iter().product();
        let Ok(expected) = evaluate(&program, &operands, &told) else { continue };
        let expected: Vec<(usize, Literal)> = places(&program).into_iter().zip(expected).collect();
        let rows = RowProgram::new(program.clone(), lead);
        let (even, tile) = (rows.even_rows(), 1 + random.below(3));
        let mut found = Vec::new();
        let tiles = (0..total)
            .step_by(even.max(1))
            .flat_map(|first| (0..even).step_by(tile).map(move |within| (first + within, tile.min(even - within))));
        for (row, count) in tiles {
            let mut part = rows.for_rows(count, None);
            told.origin = row;
            // The evaluator has no pointers to move.
            for (slot, load) in part.loads.iter_mut().enumerate() {
                if let Access::Strided { offset, .. } = &mut load.access {
                    *offset += rows.shift(slot, row);
                }
            }
            let values = run(&part, &operands, &told, false).unwrap();
            // The order of a reduction may be another where rows are few.
            let same_order = fold.is_none() || Order::of(&part) == Order::of(&program);
            for (place, value) in places(&part).into_iter().zip(values) {
                found.push(((place as i64 + rows.store_shift(row)) as usize, value, same_order));
            }
        }
        assert_eq!(found.len(), expected.len());
        for (&(place, expected), (at, found, same_order)) in expected.iter().zip(found) {
            assert_eq!(place, at);
            assert!(!same_order || Scalar::of(expected).same(Scalar::of(found)), "{expected:?} {found:?} {program:#?}");
        }
    }
}

#[test]
fn parts_of_an_axis_are_the_whole() {
    for seed in 0..300 {
        let mut random = Random::new(600_000 + seed);
        let words = random.below(6);
        let (program, operands, mut told) = program(&mut random, words, None, 300);
        told.origin = 0;
        let knows_places = program.words.iter().any(|(word, _)| matches!(word, Word::Position));
        if knows_places || program.outer.len() < 2 {
            continue;
        }
        let Ok(expected) = evaluate(&program, &operands, &told) else { continue };
        let mut expected: Vec<(usize, Literal)> = places(&program).into_iter().zip(expected).collect();
        let rows = RowProgram::new(program.clone(), 1);
        let axis = 1 + random.below(program.outer.len() - 1);
        let size = program.outer[axis];
        let middle = random.below(size + 1);
        let mut found = Vec::new();
        for range in [0..middle, middle..size].into_iter().filter(|range| !range.is_empty()) {
            let part = Part { axis, range };
            let of_part = rows.for_rows(program.outer[0], Some(&part));
            let values = run(&of_part, &operands, &told, false).unwrap();
            let shift = rows.skipped(&part);
            found.extend(places(&of_part).into_iter().map(|place| (place as i64 + shift) as usize).zip(values));
        }
        expected.sort_by_key(|(place, _)| *place);
        found.sort_by_key(|(place, _)| *place);
        assert_eq!(found.len(), expected.len());
        for ((place, expected), (at, found)) in expected.into_iter().zip(found) {
            assert!(place == at && Scalar::of(expected).same(Scalar::of(found)), "{expected:?} {found:?} {program:#?}");
        }
    }
}
