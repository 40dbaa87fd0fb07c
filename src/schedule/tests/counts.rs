//! How many kernels whole operations take, and that those kernels give the numbers of the reference.

use super::*;
use crate::dtype::Literal;
use crate::graph::SliceRange;
use crate::graph::build::whole_ranges;
use crate::memory::Buffer;
use crate::ops::compose::convolution::Sliding;
use crate::ops::compose::loss::Reduction;
use crate::ops::compose::loss::classes::{self, CrossEntropy};
use crate::ops::compose::pool::Pooling;
use crate::ops::compose::pool::max::max_pool;
use crate::ops::compose::{activation, batch_norm, contraction, indexing, join, norm, reduction};
use crate::shape::Expr;
use crate::{grad, reference, runtime};

/// Numbers between -2 and 2, different for every `seed`.
pub(super) fn data(shape: &[usize], seed: u64) -> Node {
    let len = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 22) as f32) - 2.0
    };
    let values: Vec<f32> = (0..len).map(|_| next()).collect();
    Node::from_buffer(Buffer::from_vec("test", values).unwrap(), shape.into())
}

/// Asks for nodes at once: they take so many kernels, and have the reference's numbers.
#[track_caller]
pub(super) fn takes(expected: usize, wanted: &[Node]) {
    let kernels = count_of(wanted);
    assert_eq!(kernels, expected, "kernels of\n{}", crate::graph::listing(wanted));
    agrees(wanted);
}

/// The same, with at most so many kernels.
#[track_caller]
fn takes_at_most(most: usize, wanted: &[Node]) {
    let kernels = count_of(wanted);
    assert!(kernels <= most, "{kernels} kernels of\n{}", crate::graph::listing(wanted));
    agrees(wanted);
}

fn count_of(wanted: &[Node]) -> usize {
    let mut bases: Vec<Node> = Vec::new();
    for node in wanted {
        let base = node.base();
        if !bases.contains(&base) && base.buffer().is_none() {
            bases.push(base);
        }
    }
    kernels(&bases).len()
}

#[track_caller]
pub(super) fn agrees(wanted: &[Node]) {
    let expected: Vec<Vec<Literal>> = wanted.iter().map(|node| reference::evaluate(node).unwrap()).collect();
    runtime::execute(wanted).unwrap();
    for (node, expected) in wanted.iter().zip(expected) {
        let found = runtime::read(node).unwrap();
        for (k, expected) in expected.iter().enumerate() {
            let (a, b) = (found.literal(k).to_f64(), expected.to_f64());
            let near = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 2e-4 * b.abs().max(1.0);
            assert!(near, "element {k} of {:?} is {a}, the reference has {b}", node.shape());
        }
    }
}

#[test]
fn an_elementwise_chain_through_any_view_is_one_kernel() {
    let x = data(&[6, 8], 1);
    let e = || Node::map(&ops::EXP, &[&x]).unwrap();
    takes(1, &[&e().permuted(&[1, 0]) * &data(&[8, 6], 2)]);
    takes(1, &[&e().reshaped(&[4, 12]) * 0.3]);
    takes(1, &[&(&e().reshaped(&[2, 3, 8]).permuted(&[2, 0, 1]) - 1.5).swapped(0, 2) * &data(&[3, 2, 8], 3)]);
    let mut ranges = whole_ranges(&[6, 8]);
    ranges[0] = SliceRange { start: 5, step: -2, len: 3 };
    takes(1, &[&e().sliced(&ranges) + 1.0]);
    takes(1, &[&e().padded(&[(1, 2), (0, 3)], Literal::F32(7.0)).unwrap() + 1.0]);
    takes(1, &[&e().masked(Expr::idx(0).le(Expr::idx(1)), Literal::F32(-1.0)).unwrap() + 1.0]);
    takes(1, &[&e().spread(&[SliceRange { start: 1, step: 2, len: 6 }, ranges[1]], &[13, 8]).unwrap() + 1.0]);
    takes(1, &[&x * &(&data(&[8], 4) * 2.5)]);
    takes(1, &[&x + &(&data(&[6, 1], 5) * 2.5)]);
    takes(1, &[e().permuted(&[1, 0]).contiguous().sin()]);
    // What is stretched, or turned, and then flattened: the expression takes the shape from before.
    let stretched = &x * &data(&[8], 6);
    takes(1, &[&stretched.exp().reshaped(&[48]) * &data(&[48], 7)]);
    takes(1, &[e().permuted(&[1, 0]).reshaped(&[48]).sin()]);
    takes(1, &[&(&stretched + 1.5).reshaped(&[48]).sin().reshaped(&[2, 24]) * 2.5]);
    // Two movements of different kinds on top of each other, with work between them.
    let padded = (&e() * 2.0).padded(&[(1, 1), (1, 1)], Literal::F32(f32::NAN)).unwrap();
    takes(1, &[&padded.sin().permuted(&[1, 0]).reshaped(&[5, 16]) - 3.0]);
}

#[test]
fn a_tensor_and_its_transpose_are_one_kernel() {
    let x = data(&[40, 40], 1);
    takes(1, &[&x + &x.swapped(0, 1)]);
    // What is cheap is computed on both ways.
    let scaled = &x * 1.7;
    takes(1, &[&scaled + &scaled.swapped(0, 1)]);
    // What is dear is not.
    let e = x.exp();
    takes(2, &[&e + &e.swapped(0, 1)]);
}

#[test]
fn a_reduction_takes_in_what_it_sees_through_views() {
    let (a, b) = (data(&[12, 20], 1), data(&[12, 20], 2));
    takes(1, &[sum(&(&a * &b).permuted(&[1, 0]), &[1])]);
    takes(1, &[sum(&(&a * &b).exp().reshaped(&[3, 4, 20]), &[1, 2])]);
    let padded = (&a * &b).padded(&[(0, 0), (2, 2)], Literal::F32(1.0)).unwrap();
    takes(1, &[padded.reduce("max", ReduceKind::Max, &[1], false).unwrap()]);
}

#[test]
fn indices_are_computed_where_they_are_used() {
    let x = data(&[9, 9], 1);
    let row = Node::positions(9).unwrap().reshaped(&[9, 1]);
    let below = Node::map(&ops::LE, &[&Node::positions(9).unwrap(), &row]).unwrap();
    takes(1, &[x.or_where_not(&below, &x.fill(f64::NEG_INFINITY))]);
    let random = Node::random_bits(&[8, 4], 3, 1, 0).unwrap();
    takes(1, &[&random.permuted(&[1, 0]).cast(DType::F32).unwrap() * 0.25]);
    takes(1, &[random.reduce("max", ReduceKind::Max, &[0], false).unwrap()]);
    takes_at_most(1, &[reduction::arg("argmax", ReduceKind::Max, &x, Some(1), false).unwrap()]);
}

#[test]
fn what_an_integer_is_divided_by_is_only_looked_at_where_it_is_shown() {
    let numbers = |values: &[i32]| {
        Node::from_buffer(Buffer::from_vec("test", values.to_vec()).unwrap(), [values.len()].as_slice().into())
    };
    let quotient = Node::map(&ops::IDIV, &[&numbers(&[7, 8, 9]), &numbers(&[1, 2, 3])]).unwrap();
    // Outside its border there is nothing to divide by, which is no fault.
    let padded = quotient.padded(&[(2, 2)], Literal::I32(5)).unwrap();
    agrees(&[Node::map(&ops::ADD, &[&padded, &padded.fill(1.0)]).unwrap()]);
    // A fault is one, also where it is not shown.
    let wrong = Node::map(&ops::IDIV, &[&numbers(&[7, 8, 9]), &numbers(&[1, 2, 0])]).unwrap();
    let part = wrong.sliced(&[SliceRange { start: 0, step: 1, len: 2 }]);
    assert!(runtime::execute(&[Node::map(&ops::NEG, &[&part]).unwrap()]).is_err());
}

#[test]
fn normalisations_are_one_kernel_forward_and_two_backward() {
    let (x, g) = (data(&[64, 48], 1), data(&[64, 48], 2));
    let (weight, bias) = (data(&[48], 3), data(&[48], 4));
    let forward: [fn(&Node) -> Node; 4] = [
        |x| norm::softmax(x, -1).unwrap(),
        |x| norm::log_softmax(x, 1).unwrap(),
        |x| reduction::logsumexp("logsumexp", x, Some(&[1]), false).unwrap(),
        |x| reduction::var("var", x, Some(&[1]), 1.0, false).unwrap(),
    ];
    for f in forward {
        takes(1, &[f(&x)]);
        let y = f(&x);
        let seed = g.sliced(&whole_ranges(&[64, 48])).reduce("sum", ReduceKind::Sum, &[1], false).unwrap();
        runtime::execute(std::slice::from_ref(&seed)).unwrap();
        let seed = if y.rank() == 1 { seed } else { g.clone() };
        takes_at_most(2, &grad::gradients(&y, seed, std::slice::from_ref(&x)).unwrap());
    }
    takes(1, &[norm::rms_norm(&x, &[48], Some(&weight), 1e-5).unwrap()]);
    let y = norm::rms_norm(&x, &[48], Some(&weight), 1e-5).unwrap();
    takes_at_most(2, &grad::gradients(&y, g.clone(), &[x.clone(), weight.clone()]).unwrap());
    takes(1, &[norm::layer_norm(&x, &[48], Some(&weight), Some(&bias), 1e-5).unwrap()]);
    let y = norm::layer_norm(&x, &[48], Some(&weight), Some(&bias), 1e-5).unwrap();
    takes_at_most(2, &grad::gradients(&y, g.clone(), &[x.clone(), weight.clone(), bias.clone()]).unwrap());
    // The mean and the variance of the same rows, at once.
    takes(
        1,
        &[
            reduction::mean("mean", &x, Some(&[1]), false).unwrap(),
            reduction::var("var", &x, Some(&[1]), 1.0, false).unwrap(),
        ],
    );
}

#[test]
fn adam_is_one_kernel() {
    let shape = [50, 30];
    let (p, g, m, v) = (data(&shape, 1), data(&shape, 2), data(&shape, 3), data(&shape, 4).abs());
    runtime::execute(std::slice::from_ref(&v)).unwrap();
    let first = &(&m * 0.9) + &(&g * 0.1);
    let second = &(&v * 0.999) + &(&(&g * &g) * 0.001);
    let step = &(&first / 0.19) / &(&(&second / 0.002).sqrt() + 1e-8);
    let next = &(&p * 0.9999) - &(&step * 0.003);
    takes(1, &[first, second, next]);
}

#[test]
fn a_diamond_computes_its_shared_part_once_in_one_kernel() {
    let x = data(&[30, 20], 1);
    let e = Node::map(&ops::EXP, &[&x]).unwrap();
    let diamond = &e.sin() * &e.cos();
    assert_eq!(only(&diamond).expression.op_count(), 4, "one expression, with one exponential");
    takes(1, &[diamond]);
    // Also when both arms are asked for.
    let e = Node::map(&ops::EXP, &[&x]).unwrap();
    takes(1, &[e.sin(), e.cos()]);
    let e = Node::map(&ops::EXP, &[&x]).unwrap();
    takes(1, &[&e * 3.5, sum(&e, &[1])]);
}

#[test]
fn parts_of_a_concatenation_are_computed_in_their_places() {
    let (a, b) = (data(&[5, 7], 1), data(&[5, 4], 2));
    takes(1, &[Node::concat("concat", &[&a.exp(), &(&b * 2.5)], 1).unwrap()]);
    takes(1, &[Node::concat("concat", &[&a.exp(), &data(&[3, 7], 3)], 0).unwrap()]);
    takes(1, &[join::stack(&[&a.sin(), &a.cos(), &a], 2).unwrap()]);
    let empty = data(&[5, 0], 4);
    takes(1, &[Node::concat("concat", &[&empty, &b.exp(), &empty], 1).unwrap()]);
    takes(1, &[Node::concat("concat", &[&empty, &empty], 1).unwrap()]);
    let many: Vec<Node> = (0..40).map(|k| &data(&[2, 3], k) * 2.0).collect();
    agrees(&[Node::concat("concat", &many.iter().collect::<Vec<_>>(), 0).unwrap()]);
}

#[test]
fn a_masked_softmax_is_one_kernel() {
    let scores = data(&[2, 20, 20], 1);
    let lowest = Literal::F32(f32::NEG_INFINITY);
    let causal = (&scores * 0.125).masked(Expr::idx(2).le(Expr::idx(1)), lowest).unwrap();
    takes(1, &[norm::softmax(&causal, -1).unwrap()]);
    let row = Node::positions(20).unwrap().reshaped(&[20, 1]);
    let seen = Node::map(&ops::LE, &[&Node::positions(20).unwrap(), &row]).unwrap();
    let scaled = &scores * 0.125;
    let chosen = scaled.or_where_not(&seen, &scaled.fill(f64::NEG_INFINITY));
    takes(1, &[norm::softmax(&chosen, -1).unwrap()]);
    // Also where the scores are made on the way.
    let (q, k) = (data(&[20, 8], 3), data(&[8, 20], 4));
    let product = contraction::matmul(&q, &k).unwrap();
    let causal = (&product * 0.3).masked(Expr::idx(1).le(Expr::idx(0)), lowest).unwrap();
    takes(1, &[norm::softmax(&causal, -1).unwrap()]);
}

#[test]
fn a_loss_is_one_kernel() {
    let logits = data(&[64, 40], 1);
    let labels: Vec<i64> = (0..64).map(|k| (k * 7) % 40).collect();
    let target = Node::from_buffer(Buffer::from_vec("test", labels).unwrap(), [64].as_slice().into());
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        let settings = CrossEntropy { reduction, label_smoothing: 0.0, ignore_index: -100 };
        takes(1, &[classes::cross_entropy(&logits, &target, None, settings).unwrap()]);
        let smooth = CrossEntropy { label_smoothing: 0.1, ..settings };
        let losses = classes::cross_entropy(&logits, &target, None, smooth).unwrap();
        let seed = losses.fill(1.0);
        takes_at_most(2, &grad::gradients(&losses, seed, std::slice::from_ref(&logits)).unwrap());
        takes(1, &[classes::cross_entropy(&logits, &target, None, smooth).unwrap()]);
    }
    let squares = &logits - &data(&[64, 40], 2);
    takes(1, &[reduction::mean("mse", &(&squares * &squares), None, false).unwrap()]);
}

#[test]
fn a_gather_is_read_through() {
    let x = data(&[12, 5], 1);
    let places: Vec<i64> = vec![3, -1, 0, 11, 3, 3];
    let index = Node::from_buffer(Buffer::from_vec("test", places).unwrap(), [6].as_slice().into());
    let select = |x: &Node| indexing::index_select(x, 0, &index).unwrap();
    takes(1, &[select(&x)]);
    takes(1, &[&select(&x.exp()).sin() * &data(&[6, 5], 2)]);
    takes(1, &[sum(&select(&x.swapped(0, 1).contiguous().swapped(0, 1)), &[1])]);
    // What is shown more than once and is dear, is made once; so is what others need.
    let e = x.exp();
    takes_at_most(2, &[&select(&e) * 2.5, sum(&e, &[1])]);
    // A gather of a gather, and one whose places all have the same number.
    let twice = indexing::index_select(&select(&x), 1, &index.sliced(&[SliceRange { start: 0, step: 2, len: 2 }]));
    takes(1, &[&twice.unwrap() + 1.0]);
    takes(1, &[select(&data(&[1, 5], 3).broadcast_to(&[12, 5]).unwrap())]);
    let wrong = Node::from_buffer(Buffer::from_vec("test", vec![1i64, 12, 13]).unwrap(), [3].as_slice().into());
    let constant = Node::full(&[12, 5], Literal::F32(4.5)).unwrap();
    for x in [x.clone(), x.exp(), data(&[1, 5], 3).broadcast_to(&[12, 5]).unwrap(), constant] {
        let found = indexing::index_select(&x, 0, &wrong).unwrap();
        let error = runtime::execute(&[&found * 2.0]).unwrap_err().to_string();
        assert!(error.contains("index 12 is out of range for an axis of 12: use -12 to 11"), "{error}");
    }
}

#[test]
fn columns_are_summed_side_by_side_and_what_follows_comes_after() {
    let (x, y) = (data(&[300, 40], 1), data(&[300, 40], 2));
    let both = [sum(&x, &[0]), sum(&(&x * &y), &[0])];
    let plan = kernels(&both);
    assert_eq!((plan.len(), &plan[0].form), (1, &Form::Siblings));
    takes(1, &both);
    takes(1, &[&sum(&x, &[0]) * 2.5]);
    takes(1, &[&activation::relu(&x).unwrap().reduce_all("sum", ReduceKind::Sum).unwrap() / 7.0]);
}

#[test]
fn a_batch_norm_is_three_kernels_with_its_statistics_and_a_max_pool_is_one() {
    let (x, weight, bias) = (data(&[8, 6, 5, 5], 1), data(&[6], 2), data(&[6], 3));
    let normed = || batch_norm::train(&x, Some(&weight), Some(&bias), 1e-5).unwrap();
    takes_at_most(3, &[normed().output]);
    let all = normed();
    takes_at_most(3, &[all.output, &all.mean * 0.1, &all.var * 0.1]);
    let pooling = |kernel: usize, stride: usize, padding: usize| {
        let each = |size: usize| smallvec::SmallVec::from_elem(size, 2);
        let sliding = Sliding { stride: each(stride), padding: each(padding), dilation: each(1) };
        Pooling { kernel: each(kernel), sliding, ceil: false }
    };
    for pooling in [pooling(2, 2, 0), pooling(3, 2, 1), pooling(3, 1, 1)] {
        let largest = max_pool("max_pool2d", &x, &pooling).unwrap();
        takes(1, std::slice::from_ref(&largest));
        let largest = max_pool("max_pool2d", &x, &pooling).unwrap();
        // Where the largest are, and what comes back to them.
        let seed = data(largest.shape(), 4);
        runtime::execute(std::slice::from_ref(&largest)).unwrap();
        takes_at_most(2, &grad::gradients(&largest, seed, std::slice::from_ref(&x)).unwrap());
    }
}

#[test]
fn a_batch_norm_of_images_and_its_gradients_are_one_kernel_channel_by_channel() {
    // As many samples as channels; a channel that is longer than other rows may be.
    for shape in [[8, 6, 6, 7], [6, 6, 6, 6], [2, 32, 182, 182]] {
        let channels = [shape[1]];
        let (x, weight, bias) = (data(&shape, 1), data(&channels, 2), data(&channels, 3));
        let normed = batch_norm::train(&x, Some(&weight), Some(&bias), 1e-5).unwrap();
        let inputs = [x, weight, bias];
        let mut all = grad::gradients(&normed.output, data(&shape, 4), &inputs).unwrap();
        all.extend([normed.output, normed.mean, normed.var]);
        let plan = kernels(&all);
        assert_eq!((plan.len(), &plan[0].form), (1, &Form::Rows(channels.as_slice().into())));
        assert!(plan[0].stages.iter().any(|stage| stage.led_by == Some(1)));
        agrees(&all);
    }
}

#[test]
fn an_embedding_with_its_positions_is_one_kernel() {
    let (table, positions) = (data(&[30, 16], 1), data(&[5, 16], 2));
    let words: Vec<i64> = (0..20).map(|k| (k * 7) % 30).collect();
    let words = Node::from_buffer(Buffer::from_vec("test", words).unwrap(), [4, 5].as_slice().into());
    takes(1, &[&indexing::embedding(&table, &words).unwrap() + &positions]);
}

#[test]
fn a_one_hot_is_never_stored_where_a_product_or_a_reduction_takes_it() {
    let classes: Vec<i64> = (0..12).map(|k| (k * 5) % 9).collect();
    let classes = Node::from_buffer(Buffer::from_vec("test", classes).unwrap(), [12].as_slice().into());
    let hot = || indexing::one_hot(&classes, 9).unwrap().cast(DType::F32).unwrap();
    let scores = data(&[12, 9], 1);
    let taken = [
        sum(&hot(), &[0]),
        sum(&(&hot() * &scores), &[1]),
        sum(&(&hot() * &norm::log_softmax(&scores, 1).unwrap()), &[1]),
        contraction::matmul(&hot(), &data(&[9, 7], 2)).unwrap(),
        contraction::matmul(&hot().swapped(0, 1), &data(&[12, 7], 3)).unwrap(),
    ];
    for node in taken {
        let plan = kernels(&[node.base()]);
        let mut made = plan.iter().flat_map(|kernel| &kernel.stages).map(|stage| &stage.node);
        let is_hot = |node: &Node| node.len() == 12 * 9 && ["eq", "cast"].contains(&node.with_op(|op| op.name()));
        assert!(!made.any(is_hot), "stored for\n{}", crate::graph::listing(&[node]));
        agrees(&[node]);
    }
}

#[test]
fn what_is_one_cheap_step_from_one_large_operand_is_never_stored() {
    // Numbers are broadcast by ops; each difference is summed and, with the sums, used again.
    let (x, y, row) = (data(&[20, 64], 1), data(&[20, 64], 2), data(&[20, 1], 3));
    let twice = |centred: &Node| centred * &(centred * centred).reduce("sum", ReduceKind::Sum, &[1], true).unwrap();
    let stored = |node: Node| {
        let node = node.base();
        let plan = kernels(std::slice::from_ref(&node));
        agrees(&[node]);
        plan.iter().flat_map(|kernel| &kernel.stages).filter(|stage| stage.node.len() == 20 * 64).count() - 1
    };
    assert_eq!(stored(twice(&(&x - &row))), 0);
    assert_eq!(stored(twice(&(&x - &y))), 1, "two large operands");
    assert_eq!(stored(twice(&(&x - &row).exp())), 1, "a dear step");
    assert_eq!(stored(norm::layer_norm(&x, &[64], None, None, 1e-5).unwrap()), 0, "what is centred");
}

#[test]
fn windows_are_no_folds() {
    let pooled = |sizes: &[usize]| only(&input("x", sizes).reduce("max", ReduceKind::Max, &[2, 4], false).unwrap());
    assert!(pooled(&[16, 8, 2, 8, 2]).reduce.is_none(), "four elements each");
    assert!(pooled(&[16, 8, 4, 8, 8]).reduce.is_some(), "too many for one expression");
    assert!(pooled(&[2, 2, 2, 2, 2]).reduce.is_some(), "too few results");
    let product = contraction::matmul(&input("x", &[40, 5]), &input("y", &[5, 40])).unwrap();
    assert!(only(&product).reduce.is_some(), "a contraction");
}
