//! What it costs to write an op down: one piece of memory a node. In a process of its own: the count is the whole process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use zither::{Dim1, Result, Tensor};

struct Counting;

static PIECES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PIECES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const OPS: usize = 1000;

/// Pieces of memory taken by `OPS` ops in a row, and by letting go of them.
fn pieces(x: &Tensor<f32, Dim1>, op: impl Fn(Tensor<f32, Dim1>) -> Tensor<f32, Dim1>) -> (usize, usize) {
    let start = PIECES.load(Ordering::Relaxed);
    let chain = (0..OPS).fold(x.clone(), |y, _| op(y));
    let traced = PIECES.load(Ordering::Relaxed);
    drop(chain);
    (traced - start, PIECES.load(Ordering::Relaxed) - traced)
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
