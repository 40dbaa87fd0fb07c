//! The strided kernels' facts, row by row (S0, S1, S4.6, S4.40/41), through the public API.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use zither::ErrorKind;
use zither::strided::{
    Path, Strided, broadcast_index, index_to_position, is_aligned, map, ordinal_to_index, path, reduce, tensor_map,
    tensor_reduce, tensor_zip, vec_ops, zip,
};

/// S1's function.
fn plus_100(x: i32) -> i32 {
    x + 100
}

#[test]
fn s0_1_the_loop_runs_exactly_size_times() {
    for (shape, strides) in
        [([2, 3, 4], [12, 4, 1]), ([4, 3, 2], [1, 4, 12]), ([50, 40, 30], [1200, 30, 1]), ([2, 0, 4], [0, 4, 1])]
    {
        let size: usize = shape.iter().product();
        let calls = AtomicUsize::new(0);
        let mut out = vec![0; size];
        let count = |x: i32| {
            calls.fetch_add(1, Relaxed);
            x
        };
        tensor_map(&mut out, &shape, &strides, &[7], &[1, 1, 1], &[0, 0, 0], count).unwrap();
        assert_eq!(calls.load(Relaxed), size);
        assert!(out.iter().all(|&x| x == 7));
    }
}

#[test]
fn s0_2_17_the_raw_kernel_writes_out_with_any_closure() {
    let words = ["strided", "map"];
    let captured = 10;
    let mut out = [0usize; 4];
    // The output takes every second position; the others stay.
    tensor_map(&mut out, &[2], &[2], &words, &[2], &[1], |word: &str| word.len() + captured).unwrap();
    assert_eq!(out, [17, 0, 13, 0]);
}

#[test]
fn s0_3_aligned_means_same_rank_shape_and_strides() {
    assert!(is_aligned(&[2, 3], &[3, 1], &[2, 3], &[3, 1]));
    assert!(!is_aligned(&[2, 3], &[3, 1], &[1, 2, 3], &[6, 3, 1]));
    assert!(!is_aligned(&[2, 3], &[3, 1], &[3, 2], &[3, 1]));
    assert!(!is_aligned(&[2, 3], &[3, 1], &[2, 3], &[1, 2]));
}

#[test]
fn s0_4_aligned_operands_take_the_linear_path() {
    let dense = Strided::new(&[2, 3, 4], &[12, 4, 1]);
    let columns = Strided::new(&[2, 3, 4], &[1, 2, 6]);
    let gaps = Strided::new(&[2, 3, 4], &[24, 8, 2]);
    assert_eq!(path(dense, [dense]).unwrap(), Path::Aligned);
    assert_eq!(path(columns, [columns, columns]).unwrap(), Path::Aligned);
    assert_eq!(path(dense, [columns]).unwrap(), Path::General);
    assert_eq!(path(gaps, [gaps]).unwrap(), Path::General);
    // The same linear position is read and written.
    let input: Vec<i32> = (0..24).collect();
    let mut out = [0; 24];
    tensor_map(&mut out, columns.shape, columns.strides, &input, columns.shape, columns.strides, plus_100).unwrap();
    assert!(out.iter().zip(&input).all(|(&out, &x)| out == x + 100));
}

#[test]
fn s0_5_6_an_ordinal_is_a_mixed_radix_number_from_the_last_axis() {
    let mut index = [0; 3];
    ordinal_to_index(17, &[2, 3, 4], &mut index).unwrap();
    assert_eq!(index, [1, 1, 1]);
    let mut ordinal = 0;
    for i in 0..2 {
        for j in 0..3 {
            for k in 0..4 {
                ordinal_to_index(ordinal, &[2, 3, 4], &mut index).unwrap();
                assert_eq!(index, [i, j, k]);
                ordinal += 1;
            }
        }
    }
    assert_eq!(ordinal_to_index(24, &[2, 3, 4], &mut index).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(ordinal_to_index(0, &[5, 0, 4], &mut index).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(ordinal_to_index(0, &[2, 3], &mut index).unwrap_err().kind(), ErrorKind::Shape);
    assert!(ordinal_to_index(0, &[], &mut []).is_ok());
}

#[test]
fn s0_7_8_a_position_is_the_sum_of_index_times_stride() {
    assert_eq!(index_to_position(&[1, 1, 1], &[12, 4, 1]).unwrap(), 17);
    assert_eq!(index_to_position(&[1, 2], &[-4, 1]).unwrap(), -2);
    assert_eq!(index_to_position(&[], &[]).unwrap(), 0);
    assert_eq!(index_to_position(&[1], &[1, 2]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(
        index_to_position(&[usize::MAX, usize::MAX], &[isize::MIN, isize::MIN]).unwrap_err().kind(),
        ErrorKind::Index
    );
}

#[test]
fn s0_9_one_code_serves_every_view_of_one_flat_buffer() {
    // A 3 x 4 buffer: itself, its transpose, a corner, and upside down.
    let base: Vec<i32> = (0..12).collect();
    let views: [(Strided<'_>, &[i32]); 4] = [
        (Strided::new(&[3, 4], &[4, 1]), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (Strided::new(&[4, 3], &[1, 4]), &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
        (Strided::new(&[2, 2], &[4, 1]).at(6), &[6, 7, 10, 11]),
        (Strided::new(&[3, 4], &[-4, -1]).at(11), &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ];
    for (view, expected) in views {
        let mut out = vec![0; expected.len()];
        let dense = [view.shape[1] as isize, 1];
        map(&mut out, Strided::new(view.shape, &dense), &base, view, |x| x).unwrap();
        assert_eq!(out, expected);
    }
}

#[test]
fn s0_10_11_outputs_are_computed_in_parallel_and_do_not_depend_on_the_threads() {
    let input: Vec<f32> = (0..200_000).map(|i| i as f32 * 0.37).collect();
    let run = |threads| {
        zither::runtime::set_threads(threads);
        let mut out = vec![0f32; input.len()];
        tensor_map(&mut out, &[200, 1000], &[1000, 1], &input, &[200, 1000], &[1, 200], |x: f32| x.sin() * 2.0)
            .unwrap();
        out
    };
    let alone = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
    // Several threads take part. Another test's job may be on, and then ours runs on this thread: try again.
    let several = (0..100).any(|_| {
        zither::runtime::set_threads(4);
        let ids = Mutex::new(HashSet::new());
        let mut out = vec![0; 100_000];
        tensor_map(&mut out, &[100_000], &[1], &(0..100_000).collect::<Vec<_>>(), &[100_000], &[1], |x: i32| {
            if x % 5000 == 0 {
                std::thread::sleep(Duration::from_millis(1));
                ids.lock().unwrap().insert(std::thread::current().id());
            }
            x
        })
        .unwrap();
        assert!(out.iter().enumerate().all(|(i, &x)| x == i as i32));
        ids.into_inner().unwrap().len() > 1
    });
    zither::runtime::set_threads(0);
    assert!(several);
}

#[test]
fn s0_12_the_environment_sets_the_thread_count() {
    if std::env::var_os("ZITHER_TEST_CHILD").is_some() {
        return assert_eq!(zither::runtime::threads(), 3);
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "s0_12_the_environment_sets_the_thread_count"])
        .envs([("ZITHER_TEST_CHILD", "1"), ("ZITHER_THREADS", "3")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn s0_13_14_axes_of_size_1_read_index_0() {
    let mut index = [9; 3];
    broadcast_index(&[1, 2, 3], &[2, 3, 4], &[2, 1, 4], &mut index).unwrap();
    assert_eq!(index, [1, 0, 3]);
    broadcast_index(&[1, 2, 3], &[2, 3, 4], &[4], &mut index[..1]).unwrap();
    assert_eq!(index[0], 3);
    assert_eq!(broadcast_index(&[0, 0], &[2, 3], &[2, 2], &mut [0, 0]).unwrap_err().kind(), ErrorKind::Shape);
    let mut out = [0; 6];
    tensor_map(&mut out, &[2, 3], &[3, 1], &[1, 2], &[2, 1], &[1, 1], plus_100).unwrap();
    assert_eq!(out, [101, 101, 101, 102, 102, 102]);
    tensor_map(&mut out, &[2, 3], &[3, 1], &[1, 2, 3], &[3], &[1], plus_100).unwrap();
    assert_eq!(out, [101, 102, 103, 101, 102, 103]);
}

#[test]
fn s0_18_19_20_21_22_zip_aligns_all_three_or_broadcasts_each_input() {
    let (a, b) = ([10, 20, 30], [1, 2, 3, 4, 5, 6]);
    let (row, matrix) = (Strided::new(&[1, 3], &[3, 1]), Strided::new(&[2, 3], &[3, 1]));
    assert_eq!(path(matrix, [matrix, matrix]).unwrap(), Path::Aligned);
    assert_ne!(path(matrix, [row, matrix]).unwrap(), Path::Aligned);
    assert_ne!(path(matrix, [matrix, row]).unwrap(), Path::Aligned);
    let mut out = [0; 6];
    tensor_zip(&mut out, &[2, 3], &[3, 1], &b, &[2, 3], &[3, 1], &b, &[2, 3], &[3, 1], |x, y| x * y).unwrap();
    assert_eq!(out, [1, 4, 9, 16, 25, 36]);
    tensor_zip(&mut out, &[2, 3], &[3, 1], &a, &[1, 3], &[3, 1], &b, &[2, 3], &[3, 1], |x, y| x + y).unwrap();
    assert_eq!(out, [11, 22, 33, 14, 25, 36]);
    // Both broadcast: a row and a column.
    tensor_zip(&mut out, &[2, 3], &[3, 1], &a, &[3], &[1], &[1, 2], &[2, 1], &[1, 1], |x, y| x - y).unwrap();
    assert_eq!(out, [9, 19, 29, 8, 18, 28]);
}

#[test]
fn s0_23_zip_reads_a_stepped_slice_by_its_own_strides() {
    let base = [0, 1, 2, 3, 4, 5, 6, 7];
    let b = [10, 20, 30, 40];
    let mut out = [(0, 0); 4];
    tensor_zip(&mut out, &[2, 2], &[2, 1], &base, &[2, 2], &[4, 2], &b, &[2, 2], &[2, 1], |x, y| (x, y)).unwrap();
    // Ordinal 1 reads a[2] and b[1] and writes out[1].
    assert_eq!(out, [(0, 10), (2, 20), (4, 30), (6, 40)]);
}

#[test]
fn s0_25_the_reduced_axis_becomes_1() {
    let input: Vec<i32> = (0..24).collect();
    let mut out = [0; 8];
    tensor_reduce(&mut out, &[2, 1, 4], &[4, 4, 1], &input, &[2, 3, 4], &[12, 4, 1], 1, |sum, x| sum + x).unwrap();
    assert_eq!(out, [12, 15, 18, 21, 48, 51, 54, 57]);
    let wrong =
        tensor_reduce(&mut out, &[2, 4], &[4, 1], &input, &[2, 3, 4], &[12, 4, 1], 1, |sum, x| sum + x).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Shape);
    assert!(wrong.to_string().contains("make it [2, 1, 4]"), "{wrong}");
    let axis = tensor_reduce(&mut out, &[2, 1, 4], &[4, 4, 1], &input, &[2, 3, 4], &[12, 4, 1], 3, |sum, x| sum + x)
        .unwrap_err();
    assert_eq!(axis.kind(), ErrorKind::Axis);
}

#[test]
fn s0_27_28_any_binary_closure_starting_from_what_out_holds() {
    let input = [3, 1, 2, 9, 8, 7];
    let mut out = [100, 0];
    tensor_reduce(&mut out, &[2, 1], &[1, 1], &input, &[2, 3], &[3, 1], 1, |a: i32, x: i32| a - x).unwrap();
    assert_eq!(out, [94, -24]);
    // Neither commutative nor of one type: digits, in order.
    let mut texts = [0u64, 5];
    tensor_reduce(&mut texts, &[2, 1], &[1, 1], &input, &[2, 3], &[3, 1], 1, |a: u64, x: i32| a * 10 + x as u64)
        .unwrap();
    assert_eq!(texts, [312, 5987]);
    // An empty axis leaves the start.
    let mut start = [4, 5];
    tensor_reduce(&mut start, &[2, 1], &[1, 1], &[0; 0], &[2, 0], &[0, 1], 1, |a: i32, x: i32| a + x).unwrap();
    assert_eq!(start, [4, 5]);
}

#[test]
fn s0_29_30_31_32_33_outputs_in_parallel_each_folded_in_order_and_written_once() {
    // Long, wide, and in between; every axis; against the plainest loop.
    for shape in [[7, 300, 5], [3, 2, 70_000], [200, 129, 3], [1, 1, 1], [2, 100_000, 1]] {
        let [n, m, k] = shape;
        let strides = [(m * k) as isize, k as isize, 1];
        let input: Vec<u64> = (0..(n * m * k) as u64).map(|i| i * i % 1009).collect();
        for axis in 0..3 {
            let mut out_shape = shape;
            out_shape[axis] = 1;
            let [_, om, ok] = out_shape;
            let out_strides = [(om * ok) as isize, ok as isize, 1];
            // Order matters to this closure.
            let f = |a: u64, x: u64| a.wrapping_mul(31).wrapping_add(x);
            let mut expected = vec![1u64; n * m * k / shape[axis]];
            for (ordinal, &x) in input.iter().enumerate() {
                let mut i = [ordinal / (m * k), ordinal / k % m, ordinal % k];
                i[axis] = 0;
                let o = (i[0] * om + i[1]) * ok + i[2];
                expected[o] = f(expected[o], x);
            }
            for threads in [1, 4] {
                zither::runtime::set_threads(threads);
                let mut out = vec![1u64; expected.len()];
                tensor_reduce(&mut out, &out_shape, &out_strides, &input, &shape, &strides, axis, f).unwrap();
                assert!(out == expected, "{shape:?} axis {axis}");
            }
            zither::runtime::set_threads(0);
        }
    }
}

#[test]
fn s0_34_sum_of_the_rows() {
    let mut out = [0, 0];
    tensor_reduce(&mut out, &[2, 1], &[1, 1], &[1, 2, 3, 4, 5, 6], &[2, 3], &[3, 1], 1, |sum, x| sum + x).unwrap();
    assert_eq!(out, [6, 15]);
}

#[test]
fn s0_35_sum_of_the_rows_of_a_stepped_slice() {
    let base = [0, 1, 2, 3, 4, 5, 6, 7];
    let mut out = [0, 0];
    tensor_reduce(&mut out, &[2, 1], &[1, 1], &base, &[2, 2], &[4, 2], 1, |sum, x| sum + x).unwrap();
    assert_eq!(out, [2, 10]);
    // The same, of the slice's mirror image, which starts at the end.
    let mut out = [0, 0];
    reduce(&mut out, Strided::new(&[2, 1], &[1, 1]), &base, Strided::new(&[2, 2], &[-4, -2]).at(6), 1, |sum, x| {
        sum + x
    })
    .unwrap();
    assert_eq!(out, [10, 2]);
}

#[test]
fn s1_2_aligned() {
    let mut out = [0; 6];
    tensor_map(&mut out, &[2, 3], &[3, 1], &[0, 1, 2, 3, 4, 5], &[2, 3], &[3, 1], plus_100).unwrap();
    assert_eq!(out, [100, 101, 102, 103, 104, 105]);
}

#[test]
fn s1_3_broadcast() {
    let mut out = [0; 6];
    tensor_map(&mut out, &[2, 3], &[3, 1], &[10, 20, 30], &[1, 3], &[3, 1], plus_100).unwrap();
    assert_eq!(out, [110, 120, 130, 110, 120, 130]);
}

#[test]
fn s1_4_5_6_a_stepped_slice_is_a_view_and_its_result_is_dense() {
    let base = [0, 1, 2, 3, 4, 5, 6, 7];
    let mut out = [0; 4];
    // The slice is shape and strides over the same buffer: ordinals 0..4 lie at positions 0, 2, 4, 6.
    tensor_map(&mut out, &[2, 2], &[2, 1], &base, &[2, 2], &[4, 2], plus_100).unwrap();
    assert_eq!(out, [100, 102, 104, 106]);
    let mut index = [0; 2];
    ordinal_to_index(1, &[2, 2], &mut index).unwrap();
    assert_eq!(index_to_position(&index, &[4, 2]).unwrap(), 2);
}

#[test]
fn s4_6_slice_helpers() {
    assert_eq!((vec_ops::min(1.0, -2.0), vec_ops::max(1, 2)), (-2.0, 2));
    assert_eq!(vec_ops::dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap(), 32.0);
    assert_eq!(vec_ops::reduce_sum(&[1u8, 2, 3]), 6);
    assert_eq!((vec_ops::reduce_max(&[1, 5, 3]), vec_ops::reduce_min(&[4, 2, 3])), (Some(5), Some(2)));
}

#[test]
fn s4_40_41_contiguous_broadcast_in_blocks_and_general_strides() {
    let dense = Strided::new(&[4, 6, 5], &[30, 5, 1]);
    let a: Vec<i32> = (0..120).collect();
    let b: Vec<i32> = (0..1000).map(|i| i * 1000).collect();
    let cases = [
        (dense, Path::Aligned),
        (Strided::new(&[4, 1, 5], &[5, 5, 1]), Path::Blocks), // repeated along the middle
        (Strided::new(&[6, 1], &[1, 1]), Path::Blocks),       // one value to a row
        (Strided::new(&[], &[]), Path::Blocks),               // one value to all
        (Strided::new(&[4, 6, 5], &[1, 4, 24]), Path::General),
        (Strided::new(&[4, 6, 5], &[-1, 40, 7]).at(3), Path::General),
    ];
    for (view, expected_path) in cases {
        assert_eq!(path(dense, [dense, view]).unwrap(), expected_path);
        let (mut out, mut turned) = ([0; 120], [0; 120]);
        zip(&mut out, dense, &a, dense, &b, view, |x, y| x + y).unwrap();
        zip(&mut turned, dense, &b, view, &a, dense, |y, x| x + y).unwrap();
        assert_eq!(out, turned);
        for ordinal in 0..120 {
            let (mut index, mut of_b) = ([0; 3], [0; 3]);
            ordinal_to_index(ordinal, dense.shape, &mut index).unwrap();
            let of_b = &mut of_b[..view.shape.len()];
            broadcast_index(&index, dense.shape, view.shape, of_b).unwrap();
            let q = index_to_position(of_b, view.strides).unwrap() + view.offset as isize;
            assert_eq!(out[ordinal], a[ordinal] + b[q as usize]);
        }
    }
}
