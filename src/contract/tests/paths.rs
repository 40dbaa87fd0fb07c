//! Which paths shapes take, and what they promise.

use super::naive::{Case, Layout};
use crate::contract::Product;
use crate::contract::plan::{Machine, Path, Read, product_on};
use crate::dtype::DType;

fn product(sizes: [usize; 3]) -> Product {
    Product::new(&Case::matrices(DType::F32, sizes, [Layout::Dense; 3]).c)
}

#[test]
fn a_small_product_is_one_part_without_shared_memory() {
    let product = product([6, 8, 64]);
    assert_eq!((product.phases(), product.parts(0), product.shared_bytes()), (1, 1, 0));
}

#[test]
fn a_large_product_has_parts_for_several_threads() {
    for sizes in [[128, 128, 128], [512, 512, 512], [1024, 1024, 1024], [64, 4096, 512], [4096, 64, 512]] {
        let product = product(sizes);
        let parts = product.parts(product.phases() - 1);
        assert!(parts >= 4 && parts.is_multiple_of(2), "{sizes:?}: {parts} parts");
    }
}

#[test]
fn an_empty_result_has_no_parts() {
    for sizes in [[0, 5, 7], [5, 0, 7], [0, 0, 0]] {
        let product = product(sizes);
        assert_eq!(product.parts(product.phases() - 1), 0);
    }
    assert_eq!(product([5, 7, 0]).parts(0), 1);
}

#[test]
fn eight_rows_at_a_time_are_read_where_they_are_unless_their_depths_crowd() {
    let left = |sizes: [usize; 3], layout: Layout| {
        let case = Case::matrices(DType::F32, sizes, [layout, Layout::Dense, Layout::Dense]);
        let machine = Machine::all().pop().filter(|machine| format!("{machine:?}") == "Avx512")?;
        let Path::Blocked(plan) = product_on(machine, &case.c).path else { panic!("there are blocks") };
        Some(plan.left)
    };
    let is = |read: Option<Read>, expected: Read| read.is_none_or(|read| read == expected);
    assert!(is(left([128, 128, 128], Layout::Dense), Read::Direct));
    assert!(is(left([384, 128, 2048], Layout::Turned), Read::Direct));
    // 2048 bytes from depth to depth.
    assert!(is(left([512, 128, 2048], Layout::Turned), Read::Local));
}
