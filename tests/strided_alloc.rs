//! The strided kernels take no memory for each element: counted with an allocator that counts.

mod allocator;

use allocator::allocations as count;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use zither::strided::{Strided, map, reduce, zip};

/// The allocations of a run: the fewest of several, since the test harness has threads of its own.
fn allocations(mut run: impl FnMut()) -> usize {
    run(); // the library's threads start here
    let count = |_| {
        let before = count();
        run();
        count() - before
    };
    (0..10).map(count).min().unwrap()
}

#[test]
fn s0_16_24_no_heap_allocation_at_all_for_up_to_eight_axes() {
    for side in [4usize, 40] {
        // Transposed and broadcast operands: nothing is aligned, every axis counts.
        let (out_shape, out_strides) = ([side, side, side, 2], [2 * side * side, 2 * side, 2, 1].map(|s| s as isize));
        let out_view = Strided::new(&out_shape, &out_strides);
        let turned = [2, 2 * side, 2 * side * side, 1].map(|s| s as isize);
        let turned = Strided::new(&out_shape, &turned);
        let row = Strided::new(&[2], &[1]);
        let input: Vec<f32> = (0..2 * side.pow(3)).map(|i| i as f32).collect();
        let mut out = vec![0f32; input.len()];
        let calls = AtomicUsize::new(0);
        let count = |x: f32| {
            calls.fetch_add(1, Relaxed);
            x
        };
        assert_eq!(allocations(|| map(&mut out, out_view, &input, turned, count).unwrap()), 0);
        // Time: one call for each element, in each of the eleven runs.
        assert_eq!(calls.load(Relaxed), 11 * input.len());
        let add = |x: f32, y: f32| x + y;
        assert_eq!(allocations(|| zip(&mut out, out_view, &input, turned, &input, row, add).unwrap()), 0);
        let (sum_shape, sum_strides) = ([side, 1, side, 2], [2 * side, 0, 2, 1].map(|s| s as isize));
        let sum_view = Strided::new(&sum_shape, &sum_strides);
        assert_eq!(allocations(|| reduce(&mut out, sum_view, &input, turned, 1, add).unwrap()), 0);
    }
}
