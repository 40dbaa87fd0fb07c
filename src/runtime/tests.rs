//! That one op's work is split, so that threads work inside it.

use crate::codegen;
use crate::graph::Node;
use crate::lower;
use crate::schedule::{self, Work};
use crate::tensor::{Dim4, Tensor};

/// How many parts the one kernel of a node is split into.
fn parts(node: &Node) -> usize {
    let plan = schedule::plan(std::slice::from_ref(node));
    assert_eq!(plan.kernels.len(), 1);
    match &plan.kernels[0].work {
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
