//! Operands that are computed element by element become part of the contraction that reads them.

use super::counts::{agrees, data, takes};
use super::*;
use crate::dtype::Literal;
use crate::graph::SliceRange;
use crate::memory::Buffer;
use crate::ops::compose::convolution::{Sliding, conv};
use crate::ops::compose::{activation, contraction};
use crate::{grad, runtime};

/// The producers of all kernels that make a node.
fn folded(node: &Node) -> Vec<Node> {
    let kernels = kernels(&[node.base()]);
    kernels.iter().flat_map(|kernel| &kernel.producers).map(|producer| producer.stage.node.clone()).collect()
}

fn matmul(a: &Node, b: &Node) -> Node {
    contraction::matmul(a, b).unwrap()
}

fn relu(x: &Node) -> Node {
    activation::relu(x).unwrap()
}

/// The bits of a node's numbers.
fn bits(node: &Node) -> Vec<u64> {
    let buffer = runtime::read(node).unwrap();
    (0..buffer.len()).map(|k| crate::ops::vector::lane_bits(buffer.literal(k))).collect()
}

/// A product of two operands has the same bits whether they are computed before or within it; it has so many producers, unless it runs row by
/// row with what it reads.
#[track_caller]
fn is_the_same(expected: usize, a: impl Fn() -> Node, b: impl Fn() -> Node) {
    let within = matmul(&a(), &b());
    let forms = kernels(&[within.base()]);
    let in_rows = forms.iter().any(|kernel| matches!(kernel.form, Form::Rows(_)));
    assert!(in_rows || folded(&within).len() == expected, "producers of\n{}", crate::graph::listing(&[within]));
    let before = [a(), b()];
    let missing: Vec<Node> = before.iter().map(|node| node.base()).filter(|base| base.buffer().is_none()).collect();
    runtime::execute(&missing).unwrap();
    let [a, b] = &before;
    let product = matmul(a, b);
    assert_eq!(bits(&within), bits(&product));
}

#[test]
fn what_a_product_reads_is_computed_while_it_is_packed() {
    let (x, w) = (data(&[530, 64], 1), data(&[64, 520], 2));
    assert_eq!(folded(&matmul(&relu(&x), &(&w * 0.3))).len(), 2);
    takes(1, &[relu(&matmul(&relu(&x), &w))]);
    is_the_same(2, || x.exp(), || w.exp());
    is_the_same(2, || x.cast(DType::F64).unwrap(), || w.cast(DType::F64).unwrap());
    let turned = data(&[90, 40], 3);
    takes(1, &[matmul(&data(&[50, 40], 4), &(&turned * 0.3).swapped(0, 1))]);
}

#[test]
fn what_is_needed_besides_is_written() {
    let (x, w) = (data(&[900, 40], 1), data(&[40, 540], 2));
    let y = relu(&x);
    assert!(kernels(&[matmul(&y, &w), y.clone()]).iter().all(|kernel| kernel.producers.is_empty()));
    let y = relu(&x);
    agrees(&[matmul(&y, &w), y.reduce("sum", ReduceKind::Sum, &[1], false).unwrap()]);
}

#[test]
fn layouts_of_what_is_computed_and_of_what_it_reads() {
    // Of the left operand, then of the right one.
    for (rows, columns, depth) in [(70, 530, 600), (257, 513, 129), (130, 600, 255), (513, 520, 65)] {
        let x = || data(&[rows, depth], 1);
        let turned = || data(&[depth, rows], 3).swapped(0, 1);
        let w = || data(&[depth, columns], 2);
        is_the_same(1, || relu(&x()), w);
        is_the_same(1, || relu(&turned()), w);
        is_the_same(1, || &x() + &turned(), w);
        is_the_same(1, || &x() * &data(&[depth], 3), w);
        is_the_same(1, || &x() * &data(&[rows, 1], 3), w);
        is_the_same(1, || &(&x() - &data(&[rows, 1], 3)) * &data(&[rows, 1], 4), w);
        is_the_same(1, || &x() + &data(&[1, 1], 3), w);
    }
    for (rows, columns, depth) in [(5, 300, 20), (513, 17, 40), (70, 90, 257), (64, 520, 8), (2, 2, 4000), (600, 3, 16)]
    {
        let x = || data(&[rows, depth], 1);
        let w = || data(&[depth, columns], 2);
        let turned = || data(&[columns, depth], 4).swapped(0, 1);
        is_the_same(1, x, || turned().exp());
        is_the_same(1, x, || &(&turned() * 0.7) + &w());
        is_the_same(1, x, || &data(&[columns, depth], 4).exp().swapped(0, 1) * 0.7);
        is_the_same(1, x, || &turned() * &data(&[columns], 3));
        is_the_same(1, x, || &turned() * &data(&[depth, 1], 3));
        is_the_same(usize::from(rows > 512), x, || &w() + 1.0);
    }
    // What is repeated for a batch, or not.
    let (x, w) = (|| data(&[3, 70, 600], 5), || data(&[600, 530], 2));
    let turned = || data(&[530, 600], 2).swapped(0, 1);
    is_the_same(1, || relu(&x()), w);
    is_the_same(1, x, || relu(&turned()));
    is_the_same(1, || &x() + &data(&[3, 1, 1], 6), w);
    is_the_same(2, || &x() + &data(&[70, 600], 6), || relu(&data(&[3, 530, 600], 7)).swapped(1, 2));
    // Slices, before and behind.
    let every = |size: usize| SliceRange { start: 0, step: 1, len: size };
    let back = |size: usize| SliceRange { start: 2 * size - 1, step: -2, len: size };
    is_the_same(1, || relu(&data(&[140, 600], 3).sliced(&[back(70), every(600)])), w);
    is_the_same(1, || relu(&data(&[70, 1200], 3).sliced(&[every(70), back(600)])), w);
    is_the_same(1, || relu(&data(&[70, 1200], 3)).sliced(&[every(70), back(600)]), w);
}

#[test]
fn what_would_not_be_packed_is_written() {
    let (x, w) = (data(&[300, 200], 1), data(&[200, 400], 2));
    is_the_same(0, || relu(&x), || w.clone());
    is_the_same(0, || x.clone(), || relu(&w));
    is_the_same(1, || x.clone(), || relu(&w.swapped(0, 1).contiguous()).swapped(0, 1));
    // Many tiny products are computed side by side.
    let (x, w) = (data(&[3000, 4, 5], 1), data(&[3000, 6, 5], 2));
    takes(2, &[matmul(&x, &relu(&w).swapped(1, 2))]);
}

#[test]
fn every_dtype_is_computed_and_read() {
    let numbers = |shape: &[usize], seed: u64, dtype: DType| (&data(shape, seed) * 4.0).cast(dtype).unwrap();
    for dtype in DType::ALL {
        let stored = |shape: &[usize], seed: u64| {
            let node = numbers(shape, seed, dtype);
            runtime::execute(std::slice::from_ref(&node)).unwrap();
            node
        };
        let (x, w) = (stored(&[65, 520], 1), stored(&[520, 530], 2));
        for to in DType::ALL.into_iter().filter(|&to| to != dtype && to != DType::Bool) {
            is_the_same(1, || x.cast(to).unwrap(), || w.cast(to).unwrap());
            is_the_same(2, || x.cast(to).unwrap(), || stored(&[530, 520], 3).swapped(0, 1).cast(to).unwrap());
        }
        if dtype != DType::Bool {
            is_the_same(1, || &x + &x, || &w * &w);
        }
    }
}

#[test]
fn windows_would_compute_elements_again() {
    let of = |size: usize| [size; 2].as_slice().into();
    let sliding = Sliding { stride: of(1), padding: of(1), dilation: of(1) };
    let (x, w) = (data(&[2, 8, 9, 10], 1), data(&[16, 8, 3, 3], 2));
    let y = conv("conv2d", &x.exp(), &w, None, &sliding, 1).unwrap();
    assert!(folded(&y).is_empty());
    takes(2, &[y]);
    // Weights have no windows, nor has a convolution with single places.
    let w = data(&[600, 8, 3, 3], 2);
    assert_eq!(folded(&conv("conv2d", &data(&[2, 8, 24, 24], 1), &w.exp(), None, &sliding, 1).unwrap()).len(), 1);
    let still = Sliding { padding: of(0), ..sliding };
    takes(1, &[conv("conv2d", &x.exp(), &data(&[600, 8, 1, 1], 3), None, &still, 1).unwrap()]);
}

#[test]
fn zeros_around_what_is_computed_are_zeros() {
    let w = data(&[44, 450], 2);
    for padding in [(2, 2), (0, 4), (4, 0)] {
        let x = data(&[70, 40], 1).exp();
        let padded = x.padded(&[(0, 0), padding], Literal::F32(0.0)).unwrap().contiguous();
        agrees(&[matmul(&padded, &w)]);
        // What is computed from something with a border has a border of its own.
        let inside = data(&[400, 40], 1).padded(&[(0, 0), padding], Literal::F32(0.0)).unwrap();
        let inside = inside.exp();
        takes(1, &[matmul(&data(&[70, 44], 3), &inside.swapped(0, 1))]);
    }
}

#[test]
fn gradients_are_computed_while_they_are_packed() {
    let (x, w) = (data(&[90, 600], 1), data(&[600, 450], 2));
    let y = matmul(&x, &w);
    let gradients = grad::gradients(&y, relu(&data(&[90, 450], 3)), std::slice::from_ref(&w)).unwrap();
    assert_eq!(folded(&gradients[0]).len(), 1);
    agrees(&gradients);
}

#[test]
fn what_may_fail_or_hangs_on_its_place_is_written() {
    let numbers = |shape: &[usize]| {
        let values: Vec<i64> = (0..shape.iter().product::<usize>() as i64).map(|k| k % 7 + 1).collect();
        Node::from_buffer(Buffer::from_vec("test", values).unwrap(), shape.into())
    };
    let (x, w) = (numbers(&[900, 40]), numbers(&[40, 520]));
    let divided = Node::map(&ops::IDIV, &[&x, &numbers(&[40])]).unwrap();
    assert!(folded(&matmul(&divided, &w)).is_empty());
    let placed = &Node::positions(40).unwrap() + &x;
    assert!(folded(&matmul(&placed, &w)).is_empty());
}

#[test]
fn threads_do_not_matter() {
    let threads = runtime::threads();
    let (x, w) = (data(&[300, 400], 1), data(&[600, 400], 2));
    let product = || matmul(&x.exp(), &(&w * 0.3).swapped(0, 1));
    assert_eq!(folded(&product()).len(), 2);
    let expected = bits(&product());
    for count in [1, 2, 3, 7] {
        runtime::set_threads(count);
        let found = bits(&product());
        runtime::set_threads(threads);
        assert_eq!(found, expected, "{count} threads");
    }
}

/// Draws numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A tensor in memory of a matrix's shape, or of one that can be stretched to it, seen in some way.
fn leaf(dice: &mut Dice, [lines, depth]: [usize; 2], dtype: DType) -> Node {
    let every = |len: usize| SliceRange { start: 0, step: 1, len };
    let seed = dice.below(100) as u64;
    let numbers = |shape: &[usize]| {
        let node = (&data(shape, seed) * 4.0).cast(dtype).unwrap();
        runtime::execute(std::slice::from_ref(&node)).unwrap();
        node
    };
    match dice.below(9) {
        0..3 => numbers(&[lines, depth]),
        3 => numbers(&[depth, lines]).swapped(0, 1),
        4 => numbers(&[depth]),
        5 => numbers(&[lines, 1]),
        6 => numbers(&[1]),
        7 => {
            let back = SliceRange { start: 2 * depth, step: -2, len: depth };
            numbers(&[lines, 2 * depth + 1]).sliced(&[every(lines), back])
        }
        _ => {
            let (before, behind) = (dice.below(3), dice.below(3));
            let inside = numbers(&[lines, (depth - before - behind).max(1)]);
            let rest = depth - before - inside.shape()[1];
            inside.padded(&[(0, 0), (before, rest)], Literal::zero(dtype)).unwrap()
        }
    }
}

/// Something that is computed from a few leaves, of a dtype and a shape.
fn computed(dice: &mut Dice, shape: [usize; 2], dtype: DType) -> Node {
    let mut made = leaf(dice, shape, dtype).broadcast_to(&shape).unwrap();
    for _ in 0..1 + dice.below(3) {
        let from = dice.of(&DType::ALL);
        let other = leaf(dice, shape, from).cast(dtype).unwrap();
        let primitive = dice.of(&[&ops::ADD, &ops::MUL, &ops::SUB, &ops::MAXIMUM]);
        made = match dice.below(4) {
            0 => relu(&made),
            1 if dtype.is_float() => made.exp(),
            _ => Node::map(primitive, &[&made, &other]).unwrap(),
        };
    }
    made
}

#[test]
fn whatever_is_computed_has_the_same_bits_within_a_product() {
    let rounds = std::env::var("ZITHER_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let dtypes = [DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64];
    let mut found = 0;
    for seed in 0..rounds {
        let mut dice = Dice(seed * 77 + 5);
        let dtype = dice.of(&dtypes);
        let (rows, columns) = (1 + dice.below(150), 1 + dice.below(250));
        let depth = dice.of(&[5, 17, 64, 200, 255, 256, 257, 400, 600]);
        // Wide enough for the left operand to be packed, now and then.
        let columns = if dice.below(4) == 0 { columns + 512 } else { columns };
        let again = dice.0;
        let operands = || {
            let mut dice = Dice(again);
            let left = computed(&mut dice, [rows, depth], dtype);
            let right = computed(&mut dice, [columns, depth], dtype).swapped(0, 1);
            let padded = dice.below(6) == 0 && rows > 1;
            let around = |node: &Node| node.padded(&[(1, 2), (0, 0)], Literal::zero(dtype)).unwrap().contiguous();
            (left, if padded { around(&right.sliced(&whole_less(&right))) } else { right })
        };
        let (left, right) = operands();
        let within = matmul(&left, &right);
        let count = folded(&within).len();
        found += count;
        if count == 0 {
            continue; // where numbers are alike it may be no contraction
        }
        let (left, right) = operands();
        let bases = [&left, &right].map(|node| node.base());
        runtime::execute(&bases).unwrap();
        assert_eq!(bits(&within), bits(&matmul(&left, &right)), "program {seed}");
    }
    assert!(found * 3 > rounds as usize, "{found} producers in {rounds} programs");
}

/// All of a matrix but three of its rows.
fn whole_less(node: &Node) -> Vec<SliceRange> {
    let [rows, columns] = *node.shape() else { unreachable!("a matrix") };
    vec![SliceRange { start: 1, step: 1, len: rows - 3 }, SliceRange { start: 0, step: 1, len: columns }]
}
