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

/// One after the other: they count what the whole process takes.
#[test]
fn ops_and_requests_take_little_memory() -> Result<()> {
    an_op_is_one_piece_of_memory_and_a_number_beside_it_another()?;
    a_request_that_comes_again_takes_no_lists_of_its_own()
}

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

fn a_request_that_comes_again_takes_no_lists_of_its_own() -> Result<()> {
    let x = Tensor::<f32, _>::ones([64]).realize()?;
    let asked = |ops: usize| {
        let chain = (0..ops).fold(x.clone(), |y, _| y * 0.999 + 0.001);
        let start = count();
        chain.realize()?;
        Ok(count() - start)
    };
    // The first request of a kind is planned; later ones are only looked at.
    for ops in [3, OPS] {
        asked(ops)?;
        asked(ops)?;
    }
    let (few, many) = (asked(3)?, asked(OPS)?);
    assert!(many <= few + 8, "{few} for a few ops, {many} for a thousand");
    Ok(())
}
