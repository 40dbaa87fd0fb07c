//! What shares a kernel, and that it was decided when the op was called.

mod borders;
mod contractions;
mod counts;
mod order;
mod producers;

use super::*;
use crate::dtype::{DType, Literal};
use crate::graph::{Movement, Op, ReduceKind};
use crate::ops;

fn input(name: &str, shape: &[usize]) -> Node {
    Node::input(name, shape, DType::F32).unwrap()
}

fn sum(node: &Node, axes: &[isize]) -> Node {
    node.reduce("sum", ReduceKind::Sum, axes, false).unwrap()
}

/// The kernels of a request.
fn kernels(wanted: &[Node]) -> Vec<Kernel> {
    plan(wanted).kernels
}

/// The one kernel of a node, which is a map-reduce.
fn only(node: &Node) -> MapReduce {
    let mut kernels = kernels(std::slice::from_ref(node));
    assert_eq!(kernels.len(), 1);
    match kernels.remove(0).stages.remove(0).work {
        Work::MapReduce(map_reduce) => map_reduce,
        _ => panic!("not a map-reduce"),
    }
}

/// The words of an expression, for comparing kernels.
fn words(kernel: &MapReduce) -> Vec<String> {
    let word = |step: &Step| match step {
        Step::Load { slot, dtype } => format!("load {slot} {dtype}"),
        Step::Const(literal) => format!("const {literal}"),
        Step::Place { index, size, .. } => format!("place [{index}] {size}"),
        Step::Gather { slot, dtype, at } => format!("gather {slot} {dtype} [{at}]"),
        Step::Scalar { slot, dtype } => format!("scalar {slot} {dtype}"),
        Step::Index { value, dtype: DType::Bool } => format!("where {value}"),
        Step::Index { value, .. } => format!("index {value}"),
        Step::Rand { word, .. } => format!("rand {word}"),
        Step::Map { primitive, operands, .. } => format!("{} {:?}", primitive.name, operands.as_slice()),
        Step::Cast { from, to, operand } => format!("cast {from} {to} [{operand}]"),
    };
    kernel.expression.steps.iter().map(word).collect()
}

#[test]
fn s3_15_elementwise_cast_and_reduce_are_all_one_map_reduce_kernel() {
    let (a, b) = (input("a", &[2, 3]), input("b", &[2, 3]));
    let elementwise = only(&(&a + &b));
    assert!(elementwise.reduce.is_none());
    assert_eq!(words(&elementwise), ["load 0 f32", "load 1 f32", "add [0, 1]"]);

    let fused = only(&(&(&a + &b) * &a).exp());
    assert_eq!(words(&fused), ["load 0 f32", "load 1 f32", "add [0, 1]", "mul [2, 0]", "exp [3]"]);

    let cast = only(&a.cast(DType::I32).unwrap());
    assert_eq!((words(&cast), cast.dtype), (vec!["load 0 f32".to_string(), "cast f32 i32 [0]".into()], DType::I32));

    let reduced = only(&sum(&a, &[1]));
    assert_eq!(words(&reduced), ["load 0 f32"]);
    let (kind, axes) = reduced.reduce.expect("a reduction");
    assert_eq!((kind, axes.as_slice(), reduced.space.as_slice()), (ReduceKind::Sum, &[1][..], &[2, 3][..]));

    let both = only(&sum(&(&a * &b), &[0]));
    assert_eq!(words(&both), ["load 0 f32", "load 1 f32", "mul [0, 1]"]);
    assert!(both.reduce.is_some());
}

#[test]
fn s3_16_casts_fuse_on_both_sides() {
    let i = Node::input("i", &[4], DType::I32).unwrap();
    let half = &i.cast(DType::F32).unwrap() * 0.5;
    let there_and_back = sum(&half.sqrt().cast(DType::I64).unwrap(), &[0]);
    let kernel = only(&there_and_back);
    let wanted = ["load 0 i32", "cast i32 f32 [0]", "const 0.5", "mul [1, 2]", "sqrt [3]", "cast f32 i64 [4]"];
    assert_eq!((words(&kernel), kernel.dtype), (wanted.map(String::from).to_vec(), DType::I64));
}

#[test]
fn s3_30_whether_a_node_joins_its_consumer_is_decided_when_the_op_is_called() {
    let a = input("a", &[2, 3]);
    let joins = [
        &a + &a,
        a.exp(),
        a.cast(DType::F64).unwrap(),
        Node::full(&[2], Literal::F32(1.0)).unwrap(),
        Node::positions(2).unwrap(),
        Node::random_bits(&[2], 0, 0, 0).unwrap(),
    ];
    assert!(joins.iter().all(Node::joins));
    let index = Node::input("i", &[2, 3], DType::I64).unwrap();
    let stands_alone = [
        sum(&a, &[0]),
        Node::concat("concat", &[&a, &a], 0).unwrap(),
        a.gather("gather", &index, 1).unwrap(),
        a.permuted(&[1, 0]).contiguous(),
        a.clone(),
    ];
    assert!(stands_alone.iter().all(|node| !node.joins()));
}

#[test]
fn s3_31_elementwise_into_elementwise_is_one_kernel_also_through_views() {
    let (a, b) = (input("a", &[2, 3]), input("b", &[3]));
    let chain = (0..20).fold(&a + &b, |x, _| &x.sin() * 2.0);
    assert_eq!(only(&chain).expression.op_count(), 41);
    let through_views = &a.permuted(&[1, 0]) * &b.reshaped(&[3, 1]);
    let kernel = only(&through_views);
    assert_eq!(words(&kernel), ["load 0 f32", "load 1 f32", "mul [0, 1]"]);
    let layouts: Vec<_> = kernel.loads.iter().map(|load| load.view.layout().unwrap().strides().to_vec()).collect();
    assert_eq!(layouts, [vec![1, 3], vec![1, 0]], "views are strides, not copies");
    // A subexpression used twice in one kernel is computed once.
    let shared = a.exp();
    let square = &shared * &shared;
    assert_eq!(words(&only(&square)), ["load 0 f32", "exp [0]", "mul [1, 1]"]);
}

#[test]
fn s3_32_elementwise_into_reduce_is_one_kernel() {
    let (a, b) = (input("a", &[2, 3, 4]), input("b", &[4]));
    for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2], &[-1]] {
        let kernel = only(&sum(&(&a * &b).exp(), axes));
        assert_eq!(words(&kernel), ["load 0 f32", "load 1 f32", "mul [0, 1]", "exp [2]"]);
        assert!(kernel.reduce.is_some());
        let largest = only(&a.abs().reduce("max", ReduceKind::Max, axes, true).unwrap());
        assert_eq!(words(&largest), ["load 0 f32", "abs [0]"]);
    }
}

#[test]
fn s3_33_what_follows_a_reduction_reads_its_result() {
    let a = input("a", &[2, 3]);
    let total = sum(&a, &[1]);
    // Row by row under one loop, with the sum of a row in scratch.
    let kernels = kernels(&[&total * 2.0]);
    assert_eq!(kernels.len(), 1);
    assert_eq!(kernels[0].form, Form::Rows([2].as_slice().into()));
    assert!(kernels[0].stages[1].reads.contains(&total));
    // Matrix products are one kernel: the products are never in memory.
    let product = crate::ops::compose::contraction::matmul(&input("l", &[4, 5]), &input("r", &[5, 6])).unwrap();
    assert_eq!(plan(&[product.base()]).kernels.len(), 1);
}

#[test]
fn s3_34_owned_and_borrowed_operands_give_the_same_kernels() {
    use crate::tensor::{Dim1, Tensor};
    let (x, y) = (Tensor::<f32, Dim1>::input("x", [4]), Tensor::<f32, Dim1>::input("y", [4]));
    let borrowed = (&(&x + &y) * 2.0).sum_all();
    let owned = ((x + y) * 2.0).sum_all();
    assert_eq!(words(&only(borrowed.node())), words(&only(owned.node())));
    assert_eq!(words(&only(owned.node())), ["load 0 f32", "load 1 f32", "add [0, 1]", "const 2", "mul [2, 3]"]);
}

#[test]
fn s3_35_36_a_fork_is_a_branch_that_costs_no_kernel_and_never_repeats_work() {
    let (x, y) = (input("x", &[4]), input("y", &[4]));
    let a = &x + &y;
    let a2 = a.fork();
    let b = sum(&a, &[0]);
    let c = &a2 * 2.0;
    assert!(a2.with_op(|op| matches!(op, Op::View { movement: Movement::Fork, .. })));
    // One branch alone: everything is one kernel, the fork included.
    assert_eq!(words(&only(&c)), ["load 0 f32", "load 1 f32", "add [0, 1]", "const 2", "mul [2, 3]"]);
    // Both together: the sum x + y is not computed twice.
    let both = kernels(&[b, c]);
    let adds = both.iter().flat_map(|kernel| &kernel.stages).filter(|stage| match &stage.work {
        Work::MapReduce(kernel) => words(kernel).iter().any(|word| word.starts_with("add")),
        _ => false,
    });
    assert_eq!(adds.count(), 1);
}

#[test]
fn a_plan_computes_shared_work_once_however_it_is_asked_for() {
    let x = input("x", &[8]);
    let shared = Node::map(&ops::EXP, &[&x]).unwrap();
    let wanted = [&shared + 1.0, &shared * 2.0, sum(&shared, &[0])];
    let exps: usize = kernels(&wanted)
        .iter()
        .flat_map(|kernel| &kernel.stages)
        .map(|stage| match &stage.work {
            Work::MapReduce(kernel) => words(kernel).iter().filter(|word| word.starts_with("exp")).count(),
            _ => 0,
        })
        .sum();
    assert_eq!(exps, 1);
}

/// How many kernels a node takes.
fn count(node: &Node) -> usize {
    kernels(&[node.base()]).len()
}

#[test]
fn what_runs_row_by_row_is_one_kernel() {
    use crate::ops::compose::{norm, reduction};
    let x = input("x", &[8192, 1024]);
    assert_eq!(count(&norm::softmax(&x, 1).unwrap()), 1);
    assert_eq!(count(&norm::log_softmax(&x, -1).unwrap()), 1);
    assert_eq!(count(&reduction::logsumexp("logsumexp", &x, Some(&[1]), false).unwrap()), 1);
    assert_eq!(count(&reduction::var("var", &x, Some(&[1]), 1.0, false).unwrap()), 1);
    let (weight, bias) = (input("w", &[1024]), input("b", &[1024]));
    assert_eq!(count(&norm::layer_norm(&x, &[1024], Some(&weight), Some(&bias), 1e-5).unwrap()), 1);
    assert_eq!(count(&norm::rms_norm(&x, &[1024], Some(&weight), 1e-5).unwrap()), 1);
    // Over several leading axes, also of a permuted tensor.
    let heads = input("h", &[4, 16, 8, 32]).permuted(&[0, 2, 1, 3]);
    assert_eq!(count(&norm::softmax(&heads, -1).unwrap()), 1);
}

#[test]
fn what_needs_other_rows_stands_alone() {
    let x = input("x", &[64, 32]);
    let shared = Node::map(&ops::EXP, &[&x]).unwrap();
    // Every row of the result needs every row of the exponentials.
    let columns = sum(&shared, &[0]);
    assert_eq!(kernels(&[&shared / &columns]).len(), 3);
    // A transpose reads columns.
    let square = input("s", &[32, 32]);
    let e = Node::map(&ops::EXP, &[&square]).unwrap();
    assert_eq!(kernels(&[&e + &e.swapped(0, 1)]).len(), 2);
    // A flip along the rows reads another row; along the columns it does not.
    let turned = |axis: usize| {
        let mut ranges = crate::graph::build::whole_ranges(&[32, 32]);
        ranges[axis] = crate::graph::SliceRange { start: 31, step: -1, len: 32 };
        kernels(&[&e + &e.sliced(&ranges)]).len()
    };
    assert_eq!((turned(0), turned(1)), (2, 1));
}
