//! Sums of products become contractions, with what follows them on their tiles or rows.

use super::counts::{agrees, data, takes};
use super::*;
use crate::dtype::Literal;
use crate::grad;
use crate::graph::SliceRange;
use crate::graph::build::whole_ranges;
use crate::ops::compose::attention::{Attention, scaled_dot_product};
use crate::ops::compose::convolution::{Sliding, conv};
use crate::ops::compose::{activation, contraction, norm};
use crate::shape::Expr;

/// The forms of the kernels that make nodes.
fn forms(wanted: &[Node]) -> Vec<Form> {
    let bases: Vec<Node> = wanted.iter().map(|node| node.base()).collect();
    kernels(&bases).into_iter().map(|kernel| kernel.form).collect()
}

fn is_contraction(form: &Form) -> bool {
    matches!(form, Form::Contraction(_))
}

fn sliding(padding: usize) -> Sliding {
    let of = |size: usize| [size; 2].as_slice().into();
    Sliding { stride: of(1), padding: of(padding), dilation: of(1) }
}

#[test]
fn a_product_is_a_contraction_however_it_is_written() {
    let (a, b) = (data(&[40, 50], 1), data(&[60, 50], 2));
    let by_hand = |a: &Node, b: &Node| {
        let a = a.reshaped(&[40, 1, 50]).broadcast_to(&[40, 60, 50]).unwrap();
        let b = b.reshaped(&[1, 60, 50]).broadcast_to(&[40, 60, 50]).unwrap();
        (&a * &b).reduce("sum", ReduceKind::Sum, &[2], false).unwrap()
    };
    for product in [by_hand(&a, &b), contraction::matmul(&a, &b.swapped(0, 1)).unwrap()] {
        assert!(matches!(&forms(std::slice::from_ref(&product))[..], [form] if is_contraction(form)));
        takes(1, &[product]);
    }
    let mut every_other = whole_ranges(&[40, 100]);
    every_other[1] = SliceRange { start: 99, step: -2, len: 50 };
    let stepped = data(&[40, 100], 3).sliced(&every_other);
    takes(1, &[contraction::matmul(&stepped, &b.swapped(0, 1)).unwrap()]);
    let batches = data(&[1, 40, 50], 4).broadcast_to(&[3, 40, 50]).unwrap();
    takes(1, &[contraction::matmul(&batches, &data(&[3, 50, 20], 5)).unwrap()]);
}

#[test]
fn what_follows_a_product_element_by_element_is_the_same_kernel() {
    let (x, w, bias) = (data(&[70, 40], 1), data(&[90, 40], 2), data(&[90], 3));
    let linear = || contraction::linear(&x, &w, Some(&bias)).unwrap();
    takes(1, &[Node::map(&ops::GELU_TANH, &[&linear()]).unwrap()]);
    takes(1, &[&linear() + &data(&[70, 90], 4)]);
    takes(1, &[&linear() * &data(&[70, 1], 5)]);
    // What lies between is wanted too.
    let between = linear();
    takes(1, &[Node::map(&ops::GELU_TANH, &[&between]).unwrap(), between]);
    let sums = contraction::matmul(&x, &w.swapped(0, 1)).unwrap();
    takes(1, &[&sums + &bias, sums]);
    // Turned round, it is read column by column.
    agrees(&[&linear().swapped(0, 1) + 1.0]);
    agrees(&[&linear()
        .sliced(&[SliceRange { start: 3, step: 2, len: 30 }, SliceRange { start: 0, step: 1, len: 90 }])
        + 1.0]);
}

#[test]
fn gradients_of_a_product_are_contractions() {
    let (x, w) = (data(&[70, 40], 1), data(&[90, 40], 2));
    let y = contraction::linear(&x, &w, None).unwrap();
    let seed = data(&[70, 90], 3);
    let gradients = grad::gradients(&y, seed, &[x, w]).unwrap();
    assert!(forms(&gradients).iter().all(is_contraction));
    takes(2, &gradients);
}

#[test]
fn convolutions_and_their_gradients_are_contractions() {
    for padding in [0, 1, 4] {
        let (x, w, bias) = (data(&[2, 3, 9, 10], 1), data(&[16, 3, 3, 3], 2), data(&[16], 3));
        let y = conv("conv2d", &x, &w, Some(&bias), &sliding(padding), 1).unwrap();
        agrees(&[activation::relu(&y).unwrap()]);
        let y = conv("conv2d", &x, &w, None, &sliding(padding), 1).unwrap();
        let gradients = grad::gradients(&y, data(y.shape(), 4), &[x.clone(), w.clone()]).unwrap();
        agrees(&gradients);
    }
    let (x, w) = (data(&[2, 6, 9, 10], 1), data(&[8, 3, 3, 3], 2));
    agrees(&[conv("conv2d", &x, &w, None, &sliding(1), 2).unwrap()]);
}

#[test]
fn attention_is_one_kernel_without_its_scores_in_memory() {
    let [q, k, v] = [1, 2, 3].map(|seed| data(&[2, 3, 40, 16], seed));
    let scores = &contraction::matmul(&q, &k.swapped(2, 3)).unwrap() * 0.25;
    let lowest = Literal::F32(f32::NEG_INFINITY);
    let causal = scores.masked(Expr::idx(3).le(Expr::idx(2)), lowest).unwrap();
    let seen = contraction::matmul(&norm::softmax(&causal, -1).unwrap(), &v).unwrap();
    assert!(matches!(&forms(std::slice::from_ref(&seen))[..], [Form::Rows(_)]));
    takes(1, &[seen]);
}

#[test]
fn attention_and_its_gradients_keep_no_scores() {
    for (causal, mask) in [(false, None), (true, None), (true, Some(data(&[48, 36], 7)))] {
        let (q, g) = (data(&[2, 3, 48, 16], 1), data(&[2, 3, 48, 20], 4));
        let (k, v) = (data(&[2, 3, 36, 16], 2), data(&[2, 3, 36, 20], 3));
        let settings = Attention { causal, scale: None };
        let attention = || scaled_dot_product(&q, &k, &v, mask.as_ref(), settings).unwrap();
        takes(1, &[attention()]);
        let y = attention();
        let gradients = grad::gradients(&y, g, &[q.clone(), k.clone(), v.clone()]).unwrap();
        let wanted: Vec<Node> = gradients.into_iter().chain([y]).collect();
        let bases: Vec<Node> = wanted.iter().map(|node| node.base()).collect();
        let kernels = kernels(&bases);
        let of_scores = |stage: &Stage| stage.node.len() == 2 * 3 * 48 * 36;
        for (at, kernel) in kernels.iter().enumerate() {
            let leaves = |node: &Node| kernels[at + 1..].iter().any(|later| later.reads().any(|read| read == node));
            assert!(!kernel.stages.iter().any(|stage| of_scores(stage) && leaves(&stage.node)));
        }
        agrees(&wanted);
    }
}

/// By stage of the kernels that make nodes, the size of the axis along which it leaves out what is hidden.
fn left_out(wanted: &[Node]) -> Vec<Vec<Option<usize>>> {
    let bases: Vec<Node> = wanted.iter().map(|node| node.base()).collect();
    let of_kernel = |kernel: &Kernel| {
        let Form::Rows(sizes) = &kernel.form else { return None };
        let read_later = |node: &Node| kernel.stages.iter().all(|stage| !stage.reads.contains(node));
        let hidden = Hidden::of(kernel, sizes.len(), read_later)?;
        let size = |(stage, axis): (&Stage, &Option<usize>)| match &stage.work {
            Work::MapReduce(work) => axis.map(|axis| work.space[axis]),
            _ => None,
        };
        Some(kernel.stages.iter().zip(&hidden.axes).map(size).collect())
    };
    kernels(&bases).iter().filter_map(of_kernel).collect()
}

#[test]
fn what_a_causal_mask_hides_is_left_out() {
    let [q, k, v] = [1, 2, 3].map(|seed| data(&[2, 100, 16], seed));
    let attention = |causal: bool, mask: Option<&Node>| {
        scaled_dot_product(&q, &k, &v, mask, Attention { causal, scale: None }).unwrap()
    };
    assert!(left_out(&[attention(false, None)]).is_empty());
    for mask in [None, Some(data(&[100, 100], 4)), Some(data(&[100, 100], 5).lt(&data(&[100, 100], 6)))] {
        // Scores, what the mask leaves of them, the largest, the weights, the second product and the total.
        let axes = left_out(&[attention(true, mask.as_ref())]).remove(0);
        assert!(axes.iter().flatten().count() >= 5 && axes.iter().flatten().all(|&size| size == 100), "{axes:?}");
    }
    // The weights are wanted themselves: all of them, zeros included.
    let scores = contraction::matmul(&q, &k.swapped(1, 2)).unwrap();
    let causal = scores.masked(Expr::idx(2).le(Expr::idx(1)), Literal::F32(f32::NEG_INFINITY)).unwrap();
    let weights = norm::softmax(&causal, -1).unwrap();
    let seen = contraction::matmul(&weights, &v).unwrap();
    agrees(&[seen, weights]);
    // A mask of zeros hides nothing from a sum of exponentials.
    let zeros = scores.masked(Expr::idx(2).le(Expr::idx(1)), Literal::F32(0.0)).unwrap();
    let seen = contraction::matmul(&norm::softmax(&zeros, -1).unwrap(), &v).unwrap();
    assert!(left_out(std::slice::from_ref(&seen)).is_empty());
    agrees(&[seen]);
}

#[test]
fn attention_that_leaves_out_columns_agrees_with_the_reference() {
    for (queries, keys) in [(1, 1), (33, 33), (64, 64), (96, 96), (130, 130), (130, 70), (70, 130)] {
        let (q, g) = (data(&[2, queries, 8], 1), data(&[2, queries, 12], 4));
        let (k, v) = (data(&[2, keys, 8], 2), data(&[2, keys, 12], 3));
        let y = scaled_dot_product(&q, &k, &v, None, Attention { causal: true, scale: None }).unwrap();
        let gradients = grad::gradients(&y, g, &[q, k, v]).unwrap();
        agrees(&gradients.into_iter().chain([y]).collect::<Vec<_>>());
    }
}

#[test]
fn a_constant_may_be_an_operand_of_a_contraction() {
    let (ones, w) = (data(&[40, 30], 1).fill(1.0), data(&[30, 50], 2));
    let y = contraction::matmul(&ones, &w).unwrap();
    let is_product =
        |stage: &Stage| matches!(&stage.work, Work::MapReduce(work) if super::super::contraction(work).is_some());
    assert!(kernels(&[y.base()]).iter().any(|kernel| kernel.stages.iter().any(is_product)));
    agrees(&[y]);
    // One that only scales is none.
    let scaled = (&data(&[100, 200], 3) * 2.0).reduce("sum", ReduceKind::Sum, &[1], false).unwrap();
    takes(1, &[scaled]);
}
