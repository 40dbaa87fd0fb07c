//! Views against a model that copies: after every movement all elements are compared.

use super::{Position, Read, View};
use crate::dtype::Literal;
use crate::shape::{Expr, Layout, Shape, ordinal_to_index};

/// Numbers enough like chance for tests (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// A tensor that owns its values: the meaning of a movement, written naively.
#[derive(Clone, Debug)]
struct Model {
    shape: Shape,
    values: Vec<i64>,
}

/// Every index of a shape, in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Shape> + '_ {
    let count = shape.iter().product();
    (0..count).map(move |ordinal| ordinal_to_index(ordinal, shape))
}

impl Model {
    fn at(&self, index: &[usize]) -> i64 {
        self.values[Layout::contiguous(&self.shape).position(index)]
    }

    /// A new tensor whose element at each index is what `value` says.
    fn build(shape: &[usize], value: impl Fn(&[usize]) -> i64) -> Model {
        Model { shape: shape.into(), values: indices(shape).map(|index| value(&index)).collect() }
    }
}

/// What a view shows of a buffer, read both ways.
fn materialise(view: &View, buffer: &[i64], history: &str) -> Model {
    let shape = view.shape();
    let (position, guards) = view.access();
    Model::build(&shape, |index| {
        let read = view.read(index);
        let accessed = match guards.iter().find(|(condition, _)| condition.eval(index) == 0) {
            Some((_, default)) => Read::Default(*default),
            None => Read::At(match &position {
                Position::Strided { offset, strides } => {
                    (offset + strides.iter().zip(index).map(|(s, i)| s * *i as i64).sum::<i64>()) as usize
                }
                Position::Computed(expr) => expr.eval(index) as usize,
            }),
        };
        assert_eq!(read, accessed, "access differs from read at {index:?} of {view:?}\n{history}");
        match read {
            Read::At(position) => buffer[position],
            Read::Default(Literal::I64(value)) => value,
            Read::Default(other) => panic!("{other} came from nowhere"),
        }
    })
}

/// One random movement, on the view and on the model.
fn movement(view: &View, model: &Model, random: &mut Random, history: &mut String) -> (Option<View>, Model) {
    let shape = model.shape.clone();
    let rank = shape.len();
    match random.below(9) {
        0 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            (1..rank).for_each(|i| axes.swap(i, random.below(i + 1)));
            *history += &format!("permute {axes:?}\n");
            let new: Shape = axes.iter().map(|&axis| shape[axis]).collect();
            let moved = Model::build(&new, |index| {
                let mut old = shape.clone();
                axes.iter().zip(index).for_each(|(&axis, &i)| old[axis] = i);
                model.at(&old)
            });
            (view.permute(&axes), moved)
        }
        1 => {
            let mut new: Shape = (0..random.below(2)).map(|_| random.below(4)).collect();
            let lead = new.len();
            new.extend(shape.iter().map(|&size| if size == 1 { random.below(4) } else { size }));
            *history += &format!("expand {new:?}\n");
            let moved = Model::build(&new, |index| {
                let old: Shape = index[lead..].iter().zip(&shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                model.at(&old)
            });
            (view.expand(&new), moved)
        }
        2 | 3 => {
            let ranges: Vec<(usize, isize, usize)> = shape.iter().map(|&size| range(size, random)).collect();
            *history += &format!("slice {ranges:?}\n");
            let new: Shape = ranges.iter().map(|range| range.2).collect();
            let moved = Model::build(&new, |index| {
                let old: Shape = index
                    .iter()
                    .zip(&ranges)
                    .map(|(&i, &(start, step, _))| (start as isize + i as isize * step) as usize)
                    .collect();
                model.at(&old)
            });
            (view.slice(&ranges), moved)
        }
        4 => {
            let new = factors(shape.iter().product(), random);
            *history += &format!("reshape {new:?}\n");
            (view.reshape(&new), Model { shape: new, values: model.values.clone() })
        }
        5 => {
            // A split or the insertion of an axis of 1: these must never need a copy.
            let mut new = shape.clone();
            let axis = random.below(rank + 1);
            if axis < rank && shape[axis] > 1 && random.chance(2) {
                let divisors: Vec<usize> = (1..=shape[axis]).filter(|d| shape[axis].is_multiple_of(*d)).collect();
                let inner = divisors[random.below(divisors.len())];
                new[axis] /= inner;
                new.insert(axis + 1, inner);
            } else {
                new.insert(axis, 1);
            }
            *history += &format!("split {new:?}\n");
            let moved = view.reshape(&new);
            assert!(moved.is_some() || guards(view) >= 4, "a split copied\n{history}{view:?}");
            (moved, Model { shape: new, values: model.values.clone() })
        }
        6 => {
            let padding: Vec<(usize, usize)> = shape
                .iter()
                .map(|_| if random.chance(2) { (0, 0) } else { (random.below(3), random.below(3)) })
                .collect();
            let default = -1 - random.below(2) as i64;
            *history += &format!("pad {padding:?} with {default}\n");
            let new: Shape = shape.iter().zip(&padding).map(|(n, (a, b))| n + a + b).collect();
            let moved = Model::build(&new, |index| {
                let inside = index.iter().zip(&padding).zip(&shape).all(|((i, (a, _)), n)| i >= a && i - a < *n);
                let old = || index.iter().zip(&padding).map(|(i, (a, _))| i - a).collect::<Shape>();
                if inside { model.at(&old()) } else { default }
            });
            (view.pad(&padding, Literal::I64(default)), moved)
        }
        7 => {
            let condition = condition(rank, random);
            let default = -1 - random.below(2) as i64;
            *history += &format!("mask {condition} with {default}\n");
            let moved = Model::build(&shape, |i| if condition.eval(i) != 0 { model.at(i) } else { default });
            (view.mask(condition, Literal::I64(default)), moved)
        }
        _ if rank > 0 => {
            let axis = random.below(rank);
            let (size, step, dilation) = (random.below(4), 1 + random.below(3), random.below(3));
            *history += &format!("unfold axis {axis} size {size} step {step} dilation {dilation}\n");
            let mut windows = 0;
            while windows * step + size.saturating_sub(1) * dilation + usize::from(size > 0) <= shape[axis] {
                windows += 1;
            }
            let mut new = shape.clone();
            new[axis] = windows;
            new.push(size);
            let moved = Model::build(&new, |index| {
                let mut old: Shape = index[..rank].into();
                old[axis] = index[axis] * step + index[rank] * dilation;
                model.at(&old)
            });
            (view.unfold(axis, size, step, dilation), moved)
        }
        _ => (Some(view.clone()), model.clone()),
    }
}

/// A range within an axis, forwards, backwards or standing still, sometimes empty.
fn range(size: usize, random: &mut Random) -> (usize, isize, usize) {
    if size == 0 || random.chance(12) {
        return (0, 1, 0);
    }
    if random.chance(2) {
        return (0, 1, size);
    }
    let start = random.below(size);
    let step = random.below(6) as isize - 2;
    let room = match step {
        0 => 3,
        1.. => (size - 1 - start) / step as usize + 1,
        _ => start / step.unsigned_abs() + 1,
    };
    (start, step, 1 + random.below(room))
}

/// Sizes with a given product, in random order and with ones in between.
fn factors(count: usize, random: &mut Random) -> Shape {
    let mut rest = count;
    let mut sizes = Shape::new();
    while rest > 1 || random.chance(4) {
        let divisors: Vec<usize> = (1..=rest.max(1)).filter(|d| rest.is_multiple_of(*d)).collect();
        let size = divisors[random.below(divisors.len())];
        sizes.push(size);
        rest /= size;
    }
    if count == 0 {
        sizes.push(0);
    }
    sizes
}

/// A condition over some axes.
fn condition(rank: usize, random: &mut Random) -> Expr {
    let term = |random: &mut Random| {
        let number = random.below(7) as i64 - 2;
        if rank == 0 || random.chance(5) { Expr::constant(number) } else { Expr::idx(random.below(rank)) }
    };
    let (a, b) = (term(random), term(random));
    let number = random.below(5) as i64 - 1;
    match random.below(8) {
        0 => a.le(b),
        1 => a.rem(2).eq_expr(0),
        2 => (a + b).gt(number),
        3 => a.ne_expr(number),
        4 => (a * 2 - b).lt(number),
        5 => a.div(2).ge(b).or(Expr::constant(number).lt(1)),
        6 => a.rem(3),
        _ => a.clone().lt(b).not().and(a.rem(-3).not()),
    }
}

fn guards(view: &View) -> usize {
    view.access().1.len()
}

#[test]
fn s3_17_18_19_20_any_chain_of_movements_reads_what_copying_would_give() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut views, mut copies) = (0_usize, 0_usize);
    for _ in 0..12_000 {
        let shape: Shape = (0..random.below(4)).map(|_| 1 + random.below(5)).collect();
        let mut buffer: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
        let mut view = View::contiguous(&shape);
        let mut model = materialise(&view, &buffer, "");
        let mut history = format!("contiguous {shape:?}\n");
        for _ in 0..1 + random.below(9) {
            let (moved, expected) = movement(&view, &model, &mut random, &mut history);
            if expected.values.len() > 3_000 || expected.shape.len() > 8 {
                break;
            }
            model = expected;
            match moved {
                Some(moved) => {
                    assert_eq!(moved.shape(), model.shape, "the shape is wrong\n{history}{moved:?}");
                    assert_eq!(moved.rank(), model.shape.len());
                    let shown = materialise(&moved, &buffer, &history);
                    assert_eq!(shown.values, model.values, "the elements are wrong\n{history}{moved:?}");
                    assert!(
                        !moved.is_contiguous()
                            || model.values.is_empty()
                            || shown.values == buffer[..shown.values.len()]
                    );
                    view = moved;
                    views += 1;
                }
                None => {
                    history += "(copied)\n";
                    buffer = model.values.clone();
                    view = View::contiguous(&model.shape);
                    copies += 1;
                }
            }
        }
    }
    println!("{views} views, {copies} copies");
    assert!(copies * 10 < views, "{copies} copies for {views} views");
}

#[test]
fn affine_maps_and_computed_ones_agree_with_read() {
    let mut random = Random(77);
    for _ in 0..3_000 {
        let size = 1 + random.below(20);
        let base = View::contiguous(&[size]);
        let base = if random.chance(2) { base.pad(&[(2, 1)], Literal::I64(-1)).unwrap() } else { base };
        let size = base.shape()[0];
        let shape: Shape = (0..2).map(|_| 1 + random.below(6)).collect();
        let mixed = Expr::idx(0) * (random.below(5) as i64) + Expr::idx(1) * (random.below(5) as i64 - 2);
        let map = (mixed + random.below(9)).div(1 + random.below(3)).rem(size);
        let view = base.substitute(shape.clone(), std::slice::from_ref(&map)).unwrap();
        let buffer: Vec<i64> = (0..size as i64).collect();
        let shown = materialise(&view, &buffer, "");
        let old = materialise(&base, &buffer, "");
        let expected = Model::build(&shape, |index| old.at(&[map.eval(index) as usize]));
        assert_eq!(shown.values, expected.values, "{map} over {shape:?}: {view:?}");
    }
}
