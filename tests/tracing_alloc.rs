//! What it costs to write an op down: one piece of memory a node. In a process of its own: the count is the whole process's.

mod allocator;

use allocator::allocations as count;
use zither::{Dim1, Result, Tensor};

const OPS: usize = 1000;

/// Pieces of memory taken by `OPS` ops in a row, and by letting go of them.
fn pieces(x: &Tensor<f32, Dim1>, op: impl Fn(Tensor<f32, Dim1>) -> Tensor<f32, Dim1>) -> (usize, usize) {
    let start = count();
    let chain = (0..OPS).fold(x.clone(), |y, _| op(y));
    let traced = count();
    drop(chain);
    (traced - start, count() - traced)
}

#[test]
fn an_op_is_one_piece_of_memory_and_a_number_beside_it_another() -> Result<()> {
    let x = Tensor::<f32, _>::ones([64]).realize()?;
    let few = 8; // the list that graphs are dropped with
    let (traced, dropped) = pieces(&x, |y| y.exp());
    assert!(traced <= OPS && dropped <= few, "{traced} for a function, {dropped} to drop them");
    let (traced, dropped) = pieces(&x, |y| y + &x);
    assert!(traced <= OPS && dropped <= few, "{traced} for two tensors, {dropped} to drop them");
    let (traced, dropped) = pieces(&x, |y| y * 0.999);
    assert!(traced <= 2 * OPS && dropped <= few, "{traced} for a tensor and a number, {dropped} to drop them");
    Ok(())
}
