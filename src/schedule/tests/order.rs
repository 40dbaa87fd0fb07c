//! In which order kernels run.

use super::*;
use crate::ops::compose::contraction::matmul;

/// The place of the kernel that makes a node.
fn place(kernels: &[Kernel], node: &Node) -> usize {
    let makes = |kernel: &Kernel| kernel.all_stages().any(|stage| stage.node == *node);
    kernels.iter().position(makes).expect("a kernel makes it")
}

/// A chain of products of large matrices.
fn chain(x: &Node, weight: &Node, length: usize) -> Vec<Node> {
    let mut chain = vec![matmul(x, weight).unwrap()];
    for k in 1..length {
        chain.push(matmul(&chain[k - 1], weight).unwrap());
    }
    chain
}

#[test]
fn a_result_is_computed_as_soon_as_all_it_reads_is_there() {
    let (x, weight, narrow) = (input("x", &[256, 256]), input("w", &[256, 256]), input("n", &[256, 2]));
    let products = chain(&x, &weight, 4);
    let results: Vec<Node> = products.iter().map(|product| matmul(product, &narrow).unwrap()).collect();
    // Those that come last in the request read what is made first.
    let wanted: Vec<Node> = results.iter().rev().cloned().collect();
    let kernels = kernels(&wanted);
    let places: Vec<usize> = results.iter().map(|result| place(&kernels, result)).collect();
    for (k, product) in products.iter().enumerate().skip(1) {
        assert!(places[k - 1] < place(&kernels, product), "result {} before product {k}: {places:?}", k - 1);
    }
}

#[test]
fn a_new_version_of_an_input_waits_for_whoever_reads_the_old_one() {
    let (x, weight, change) = (input("x", &[256, 256]), input("w", &[256, 256]), input("c", &[256, 256]));
    let next = &weight - &change;
    let products = chain(&x, &weight, 3);
    let kernels = kernels(&[next.clone(), products[2].clone()]);
    let readers = products.iter().map(|product| place(&kernels, product)).max();
    assert!(Some(place(&kernels, &next)) > readers);
}

#[test]
fn new_versions_that_read_each_other_are_made_one_after_the_other() {
    let [a, b] = ["a", "b"].map(|name| input(name, &[64, 64]));
    let turned = |node: &Node| node.permuted(&[1, 0]);
    let wanted = [&(&a * &turned(&b)) + 1.0, &(&b * &turned(&a)) - 1.0];
    let made: Vec<Node> =
        kernels(&wanted).iter().flat_map(|kernel| kernel.all_stages().map(|stage| stage.node.clone())).collect();
    assert!(wanted.iter().all(|node| made.contains(node)));
}
