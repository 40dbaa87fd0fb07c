//! How work is split: one op's into parts, and that of several stages into rows.

use crate::dtype::{DType, Literal};
use crate::graph::{Node, ReduceKind};
use crate::memory::Buffer;
use crate::ops::compose::{norm, reduction};
use crate::schedule::{self, Work};
use crate::tensor::{Dim4, Tensor};
use crate::{codegen, lower, reference, runtime};

/// How many parts the one kernel of a node is split into.
fn parts(node: &Node) -> usize {
    let plan = schedule::plan(std::slice::from_ref(node));
    assert_eq!(plan.kernels.len(), 1);
    match &plan.kernels[0].stages[0].work {
        Work::MapReduce(kernel) => codegen::compile(&lower::lower(kernel)).parts(),
        _ => panic!("not a map-reduce"),
    }
}

#[test]
fn s4_49_50_51_52_53_54_55_one_op_is_split_by_its_shape_into_many_parts() {
    let sum = |[n, h, w, c]: [usize; 4]| {
        let a = Tensor::<f32, Dim4>::input("a", [n, h, w, c]);
        let b = Tensor::<f32, Dim4>::input("b", [n, 1, 1, c]);
        parts((&a + &b).node())
    };
    let before = sum([32, 630, 12, 32]);
    assert!(before >= 16, "7,741,440 elements in {before} parts: few threads could help");
    assert_eq!(sum([2, 2, 2, 2]), 1, "small work stays on one thread");
    // A long reduction to one number is split too.
    let total = Tensor::<f32, Dim4>::input("a", [32, 630, 12, 32]).sum_all();
    assert!(parts(total.node()) > 1);

    // The parts do not depend on the number of threads.
    let threads = super::threads();
    for count in [1, 2, 3] {
        super::set_threads(count);
        assert_eq!(sum([32, 630, 12, 32]), before);
    }
    super::set_threads(threads);
}

/// Ops whose stages run row by row, on shapes of one tile, of many, and of many and a rest.
#[test]
fn stages_under_one_loop_agree_with_the_reference_for_any_number_of_threads() {
    let made = |shape: &[usize], seed: usize| {
        let values: Vec<f32> =
            (0..shape.iter().product()).map(|k| ((k * 7919 + seed) % 1013) as f32 / 100.0 - 5.0).collect();
        Node::from_buffer(Buffer::from_vec("test", values).unwrap(), shape.into())
    };
    let shapes: [&[usize]; 10] = [
        &[1, 5],
        &[3, 700],
        &[1000, 37],
        &[257, 129],
        &[20, 5000],
        &[70, 1100],
        &[7, 9, 33],
        &[40, 50, 6],
        &[0, 4],
        &[5000, 1],
    ];
    for (k, shape) in shapes.iter().enumerate() {
        let dense = made(shape, k);
        let mut backwards: Vec<usize> = (0..shape.len() - 1).rev().collect();
        backwards.push(shape.len() - 1);
        let stored: Vec<usize> = backwards.iter().map(|&axis| shape[axis]).collect();
        // The same shape out of permuted leading axes.
        let permuted = made(&stored, k).permuted(&backwards);
        let last = shape[shape.len() - 1];
        let weight = made(&[last], k + 1);
        for x in [dense, permuted] {
            for (op, build) in OPS {
                let expected: Vec<Literal> = reference::evaluate(&build(&x, &weight)).unwrap();
                let mut first: Option<Vec<Literal>> = None;
                for threads in [1, 2, 3] {
                    runtime::set_threads(threads);
                    let found = runtime::read(&build(&x, &weight)).unwrap();
                    let found: Vec<Literal> = (0..found.len()).map(|k| found.literal(k)).collect();
                    let what = format!("{op} of {shape:?} on {threads} threads");
                    assert_eq!(found.len(), expected.len(), "{what}");
                    for (place, (a, b)) in found.iter().zip(&expected).enumerate() {
                        let (a, b) = (a.to_f64(), b.to_f64());
                        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{what}: element {place} is {a}, not {b}");
                    }
                    assert!(first.as_ref().is_none_or(|first| *first == found), "{what}: a bit changed");
                    first = Some(found);
                }
                runtime::set_threads(0);
            }
        }
    }
}

type Build = fn(&Node, &Node) -> Node;

/// Ops that take several stages; the second operand is a row of weights.
const OPS: [(&str, Build); 6] = [
    ("softmax", |x, _| norm::softmax(x, -1).unwrap()),
    ("what the first stage made is read no more when others make something", |x, weight| {
        let powers = (x - &x.reduce("max", ReduceKind::Max, &[-1], true).unwrap()).exp();
        let sums = &powers + &powers.reduce("sum", ReduceKind::Sum, &[-1], true).unwrap();
        let centred = &sums - &(&sums * weight).reduce("max", ReduceKind::Max, &[-1], true).unwrap();
        &centred - &centred.reduce("sum", ReduceKind::Sum, &[-1], true).unwrap()
    }),
    ("what is stored on the way to the first fold is read last", |x, _| {
        let powers = &x.exp() + 1.0;
        let shares = &powers / &powers.reduce("sum", ReduceKind::Sum, &[-1], true).unwrap();
        &powers - &shares.reduce("max", ReduceKind::Max, &[-1], true).unwrap()
    }),
    ("layer_norm", |x, weight| norm::layer_norm(x, weight.shape(), Some(weight), None, 1e-5).unwrap()),
    ("centred", |x, _| {
        let centred = x - &reduction::mean("mean", x, Some(&[-1]), true).unwrap();
        &centred.cast(DType::F64).unwrap() * 2.0
    }),
    ("var", |x, _| reduction::var("var", x, Some(&[-1]), 0.0, false).unwrap()),
];
