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
    let kernels = kernels(&[node.base_and_view().0]);
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
    let forms = kernels(&[within.base_and_view().0]);
    let in_rows = forms.iter().any(|kernel| matches!(kernel.form, Form::Rows(_)));
    assert!(in_rows || folded(&within).len() == expected, "producers of\n{}", crate::graph::listing(&[within]));
    let before = [a(), b()];
    let missing: Vec<Node> =
        before.iter().map(|node| node.base_and_view().0).filter(|base| base.buffer().is_none()).collect();
    runtime::execute(&missing).unwrap();
    let [a, b] = &before;
    let product = matmul(a, b);
    assert_eq!(bits(&within), bits(&product));
}

#[test]
fn what_a_product_reads_is_computed_while_it_is_packed() {
    let (x, w) = (data(&[70, 130], 1), data(&[130, 150], 2));
    assert_eq!(folded(&matmul(&relu(&x), &(&w * 0.3))).len(), 2);
    takes(1, &[matmul(&relu(&x), &w)]);
    takes(1, &[matmul(&x, &relu(&w))]);
    takes(1, &[matmul(&relu(&x), &(&w * 0.3))]);
    takes(1, &[matmul(&x.exp(), &w.exp())]);
    takes(1, &[relu(&matmul(&relu(&x), &w))]);
    takes(1, &[matmul(&x.cast(DType::F64).unwrap(), &w.cast(DType::F64).unwrap())]);
}

#[test]
fn what_is_needed_besides_is_written() {
    let (x, w) = (data(&[70, 130], 1), data(&[130, 150], 2));
    let y = relu(&x);
    assert!(kernels(&[matmul(&y, &w), y.clone()]).iter().all(|kernel| kernel.producers.is_empty()));
    takes(2, &[matmul(&y, &w), y]);
    let y = relu(&x);
    agrees(&[matmul(&y, &w), y.reduce("sum", ReduceKind::Sum, &[1], false).unwrap()]);
}

#[test]
fn layouts_of_what_is_computed_and_of_what_it_reads() {
    for (rows, columns) in [(70, 90), (5, 300), (300, 3), (2, 2), (64, 512), (257, 17)] {
        for depth in [3, 8, 255, 257, 600] {
            if rows * columns * depth < 1 << 12 {
                continue;
            }
            let x = || data(&[rows, depth], 1);
            let turned = || data(&[depth, rows], 3).swapped(0, 1);
            let w = || data(&[depth, columns], 2);
            is_the_same(1, || relu(&x()), w);
            is_the_same(1, || relu(&turned()), w);
            is_the_same(1, || x(), || &w() + 1.0);
            is_the_same(2, || &x() + &turned(), || &data(&[columns, depth], 4).exp().swapped(0, 1) * 0.7);
        }
    }
    let x = || data(&[70, 40], 1);
    let w = || data(&[40, 450], 2);
    // Broadcast along lines, along depth, along both, and a leaf that is repeated for a batch.
    is_the_same(1, || &x() * &data(&[40], 3), w);
    is_the_same(1, || &x() * &data(&[70, 1], 3), w);
    is_the_same(1, || &(&x() - &data(&[70, 1], 3)) * &data(&[70, 1], 4), w);
    is_the_same(1, || &x() + &data(&[1, 1], 3), w);
    is_the_same(1, || x(), || &w() * &data(&[450], 3));
    let batch = || data(&[3, 70, 40], 5);
    is_the_same(1, || relu(&batch()), w);
    is_the_same(1, batch, || relu(&w()));
    is_the_same(1, || &batch() + &data(&[3, 1, 1], 6), w);
    is_the_same(2, || &batch() + &data(&[70, 40], 6), || relu(&data(&[3, 40, 20], 7)));
    // Slices, before and behind.
    let every = |size: usize| SliceRange { start: 0, step: 1, len: size };
    let back = |size: usize| SliceRange { start: 2 * size - 1, step: -2, len: size };
    is_the_same(1, || relu(&data(&[140, 40], 3).sliced(&[back(70), every(40)])), w);
    is_the_same(1, || relu(&data(&[70, 80], 3).sliced(&[every(70), back(40)])), w);
    is_the_same(1, || relu(&data(&[70, 80], 3)).sliced(&[every(70), back(40)]), w);
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
        let (x, w) = (stored(&[33, 70], 1), stored(&[70, 245], 2));
        for to in DType::ALL.into_iter().filter(|&to| to != dtype && to != DType::Bool) {
            is_the_same(2, || x.cast(to).unwrap(), || w.cast(to).unwrap());
            is_the_same(2, || x.cast(to).unwrap(), || stored(&[245, 70], 3).swapped(0, 1).cast(to).unwrap());
        }
        if dtype != DType::Bool {
            is_the_same(2, || &x + &x, || &w * &w);
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
    takes(1, &[conv("conv2d", &x, &w.exp(), None, &sliding, 1).unwrap()]);
    let still = Sliding { padding: of(0), ..sliding };
    takes(1, &[conv("conv2d", &x.exp(), &data(&[16, 8, 1, 1], 3), None, &still, 1).unwrap()]);
}

#[test]
fn zeros_around_what_is_computed_are_zeros() {
    let w = data(&[44, 450], 2);
    for padding in [(2, 2), (0, 4), (4, 0)] {
        let x = data(&[70, 40], 1).exp();
        let padded = x.padded(&[(0, 0), padding], Literal::F32(0.0)).unwrap().contiguous();
        agrees(&[matmul(&padded, &w)]);
        // What is computed from something with a border has a border of its own.
        let inside = data(&[70, 40], 1).padded(&[(0, 0), padding], Literal::F32(0.0)).unwrap();
        takes(1, &[matmul(&inside.exp(), &w)]);
    }
}

#[test]
fn gradients_are_computed_while_they_are_packed() {
    let (x, w) = (data(&[70, 40], 1), data(&[40, 450], 2));
    let y = matmul(&x, &w);
    let gradients = grad::gradients(&y, relu(&data(&[70, 450], 3)), std::slice::from_ref(&w)).unwrap();
    takes(1, &gradients);
}

#[test]
fn what_may_fail_or_hangs_on_its_place_is_written() {
    let numbers = |shape: &[usize]| {
        let values: Vec<i64> = (0..shape.iter().product::<usize>() as i64).map(|k| k % 7 + 1).collect();
        Node::from_buffer(Buffer::from_vec("test", values).unwrap(), shape.into())
    };
    let (x, w) = (numbers(&[70, 40]), numbers(&[40, 450]));
    let divided = Node::map(&ops::IDIV, &[&x, &numbers(&[40])]).unwrap();
    takes(2, &[matmul(&divided, &w)]);
    let placed = &Node::positions(40).unwrap() + &x;
    takes(2, &[matmul(&placed, &w)]);
}
