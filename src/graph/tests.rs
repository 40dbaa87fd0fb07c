//! What a node holds, and which kinds of nodes there are.

use super::*;
use crate::dtype::DType;
use crate::memory::Buffer;
use crate::ops::{self, compose};
use crate::shape::{Expr, Shape, View};
use std::collections::BTreeSet;

fn data(values: &[f32], shape: &[usize]) -> Node {
    Node::from_buffer(Buffer::from_slice("test", values).unwrap(), Shape::from_slice(shape))
}

fn name(node: &Node) -> &'static str {
    node.with_op(|op| op.name())
}

/// The names of every kind of node behind some nodes.
fn kinds(wanted: &[Node]) -> BTreeSet<&'static str> {
    let kind = |node: &Node| {
        node.with_op(|op| match op {
            // The same elements with a derivative of their own: named after the function, but one kind.
            Op::View { movement: Movement::Custom(_), .. } => "custom",
            // So is one without its history: named after the op that left it behind.
            Op::View { movement: Movement::Detach { .. }, .. } => "detach",
            _ => op.name(),
        })
    };
    topological(wanted, Node::inputs).iter().map(kind).collect()
}

#[test]
fn s3_3_a_node_holds_op_view_shape_dtype_name_autograd_and_its_buffer_once_executed() {
    let x = Node::input("x", &[2, 3], DType::F64).unwrap();
    assert_eq!((x.name(), x.shape(), x.dtype(), name(&x)), (Some("x"), &[2, 3][..], DType::F64, "input"));
    assert!(!x.tracks() && x.slot().is_none() && x.buffer().is_none());

    let turned = x.permuted(&[1, 0]);
    let (base, view) = turned.base_and_view();
    assert!(base == x && turned.name().is_none());
    assert!(matches!(view, View::Linear { .. }));
    assert_eq!((view.shape().as_slice(), turned.shape()), (&[3, 2][..], &[3, 2][..]));

    let leaf = data(&[1.0, 2.0], &[2]).as_leaf();
    assert!(leaf.tracks() && leaf.slot().is_some());
    let leaf = leaf.inner(); // what ops are built on
    let (sum, line) = (leaf + leaf, line!());
    assert!(sum.tracks() && sum.slot().is_none() && sum.buffer().is_none());
    assert_eq!((sum.at().file(), sum.at().line()), (file!(), line));
    crate::runtime::execute(std::slice::from_ref(&sum)).unwrap();
    assert_eq!(sum.buffer().unwrap().to_vec::<f32>("test").unwrap(), [2.0, 4.0]);
    assert_eq!(name(&sum), "add", "a gradient will ask how it was made");
}

#[test]
fn s3_11_sources() {
    let sources = [
        data(&[1.0], &[1]),
        Node::input("x", &[1], DType::F32).unwrap(),
        Node::full(&[], crate::dtype::Literal::F32(1.0)).unwrap(),
        Node::full(&[3], crate::dtype::Literal::F32(1.0)).unwrap(),
        Node::random_bits(&[3], 1, 0, 0).unwrap(),
        Node::positions(3).unwrap(),
    ];
    assert!(sources.iter().all(|node| node.inputs().is_empty()));
    assert_eq!(sources.each_ref().map(name), ["buffer", "input", "constant", "constant", "rand", "arange"]);

    let done = &sources[3] + &sources[3];
    assert_eq!((name(&done), done.inputs().len()), ("add", 2));
    crate::runtime::execute(std::slice::from_ref(&done)).unwrap();
    assert_eq!((name(&done), done.inputs().len()), ("executed", 0), "what led to the result is let go");
}

#[test]
fn s3_12_view_contiguous_and_clone_take_one_input() {
    let x = data(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let nodes = [x.permuted(&[1, 0]), x.permuted(&[1, 0]).contiguous(), x.fork()];
    assert_eq!(nodes.each_ref().map(name), ["permute", "contiguous", "fork"]);
    assert!(nodes.iter().all(|node| node.inputs().len() == 1));
    assert!(matches!(nodes[2].base_and_view(), (base, view) if base == x && view.is_contiguous()));
}

#[test]
fn s3_13_14_maps_reductions_and_concat_know_their_inputs_axes_and_keepdim() {
    let x = data(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let sum = (&x * 2.0).reduce("sum", ReduceKind::Sum, &[-1], true).unwrap();
    sum.with_op(|op| match op {
        Op::Reduce { kind, axes, keepdim, input } => {
            assert_eq!((*kind, axes.as_slice(), *keepdim, name(input)), (ReduceKind::Sum, &[1][..], true, "mul"));
        }
        other => panic!("{}", other.name()),
    });
    assert_eq!(sum.shape(), [2, 1]);
    let joined = Node::concat("concat", &[&x, &x, &sum], 1).unwrap();
    joined.with_op(|op| match op {
        Op::Concat { inputs, axis } => assert_eq!((inputs.len(), *axis), (3, 1)),
        other => panic!("{}", other.name()),
    });
    assert_eq!(joined.shape(), [2, 5]);
}

#[test]
fn s3_6_few_primitives_and_everything_else_is_composed_from_them() {
    let structural =
        ["buffer", "input", "constant", "arange", "rand", "contiguous", "cast", "concat", "gather", "scatter_add"];
    let reductions = ["sum", "prod", "max", "min"];
    let moves = ["permute", "expand", "reshape", "slice", "spread", "pad", "mask", "unfold", "place", "pick"];
    let handles = ["fork", "set_requires_grad", "detach", "custom"];
    let elementwise = ops::PRIMITIVES.iter().map(|primitive| primitive.name);
    let known: BTreeSet<&str> = elementwise.chain(structural).chain(reductions).chain(moves).chain(handles).collect();
    assert!(ops::PRIMITIVES.len() < 64, "{} primitives are not few", ops::PRIMITIVES.len());

    let x = data(&[1.0; 2 * 3 * 4 * 4], &[2, 3, 4, 4]);
    let weight = data(&[1.0; 3 * 3 * 2 * 2], &[3, 3, 2, 2]);
    let sliding = compose::convolution::Sliding {
        stride: [1, 1].as_slice().into(),
        padding: [1, 1].as_slice().into(),
        dilation: [1, 1].as_slice().into(),
    };
    let composed = [
        compose::norm::softmax(&x, -1).unwrap(),
        compose::norm::log_softmax(&x, 1).unwrap(),
        compose::norm::layer_norm(&x, &[4], None, None, 1e-5).unwrap(),
        compose::contraction::matmul(&x, &x).unwrap(),
        compose::convolution::conv("conv2d", &x, &weight, None, &sliding, 1).unwrap(),
        compose::reduction::std("std", &x, None, 1.0, false).unwrap(),
        compose::reduction::logsumexp("logsumexp", &x, None, false).unwrap(),
        compose::reduction::arg("argmax", ReduceKind::Max, &x, Some(1), false).unwrap(),
        compose::activation::gelu(&x).unwrap(),
        compose::activation::softplus(&x).unwrap(),
        compose::create::randn(&[4], DType::F32).unwrap(),
        compose::movement::triangle("tril", &x, 0).unwrap(),
    ];
    let used = kinds(&composed);
    assert!(used.is_subset(&known), "{:?} is no primitive", used.difference(&known));
    // Their gradients are made of the same primitives.
    for node in &composed[..7] {
        let grads = crate::grad::gradients(node, node.fill(1.0), std::slice::from_ref(&x)).unwrap();
        assert!(kinds(&grads).is_subset(&known), "{:?}", kinds(&grads).difference(&known));
    }
}

#[test]
fn s3_17_18_19_20_views_of_a_node_are_linear_index_expr_padded_or_masked() {
    let zero = crate::dtype::Literal::F32(0.0);
    let x = data(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let view = |node: &Node| node.base_and_view().1;
    assert!(matches!(view(&x.permuted(&[1, 0])), View::Linear { .. }));
    assert!(matches!(view(&x.padded(&[(1, 0), (0, 0)], zero).unwrap()), View::Padded { .. }));
    assert!(matches!(view(&x.masked(Expr::idx(0).le(Expr::idx(1)), zero).unwrap()), View::Masked { .. }));
    // Every other place of a row of three: the place is a division, so the position is an expression.
    let ranges = [SliceRange { start: 0, step: 1, len: 2 }, SliceRange { start: 0, step: 2, len: 2 }];
    match view(&x.spread(&ranges, &[2, 3]).unwrap()) {
        View::Masked { inner, .. } => assert!(matches!(*inner, View::IndexExpr { .. })),
        other => panic!("{other:?}"),
    }
}
