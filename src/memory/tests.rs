//! What a buffer promises: alignment, dtype checks, sharing, errors instead of aborts, memory given back.

use super::pool::Pool;
use super::{Buffer, BufferMut};
use crate::dtype::{DType, Literal, f16};
use crate::error::ErrorKind;

#[test]
fn a_buffer_is_aligned_for_every_dtype_and_length() {
    for dtype in DType::ALL {
        for len in [0, 1, 2, 3, 63, 64, 65, 255, 256, 257, 10_000] {
            let buffer = Buffer::zeroed("zeros", dtype, len).unwrap();
            assert_eq!(buffer.as_ptr() as usize % 64, 0);
            assert_eq!((buffer.dtype(), buffer.len()), (dtype, len));
            assert_eq!((buffer.is_empty(), buffer.bytes()), (len == 0, len * dtype.size()));
            assert!((0..len).all(|i| buffer.literal(i) == Literal::zero(dtype)));
        }
    }
}

#[test]
fn values_come_back_as_they_went_in() {
    let floats = Buffer::from_vec("new", vec![1.5f32, -0.0, f32::NAN]).unwrap();
    assert_eq!(floats.as_slice::<f32>().unwrap()[..2], [1.5, 0.0]);
    assert_eq!(floats.literal(1), Literal::F32(-0.0));
    assert!(floats.to_vec::<f32>("to_vec").unwrap()[2].is_nan());
    let bools = Buffer::from_slice("new", &[true, false, true]).unwrap();
    assert_eq!(bools.as_slice::<bool>(), Some(&[true, false, true][..]));
    let halves = Buffer::filled("full", Literal::F16(f16::from_f32(0.5)), 3).unwrap();
    assert_eq!(halves.as_slice::<f16>(), Some(&[f16::from_f32(0.5); 3][..]));
    assert_eq!(Buffer::from_vec::<i64>("new", vec![]).unwrap().as_slice::<i64>(), Some(&[][..]));
}

#[test]
fn s4_4_the_wrong_dtype_is_an_error_that_names_expected_and_got() {
    let buffer = Buffer::from_vec("new", vec![1i32, 2]).unwrap();
    assert_eq!(buffer.as_slice::<u32>(), None);
    let error = buffer.try_as_slice::<f32>("to_vec1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DType);
    let text = error.to_string();
    assert!(text.contains("to_vec1") && text.contains("expected f32") && text.contains("got i32"), "{text}");
    let mut unfinished = Buffer::uninit("new", DType::I32, 2).unwrap();
    assert_eq!(unfinished.as_mut_slice::<i64>("new").unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(unfinished.as_uninit_slice::<i64>("new").unwrap_err().kind(), ErrorKind::DType);
}

#[test]
fn too_much_memory_is_an_error_that_names_the_bytes() {
    for len in [usize::MAX >> 6, usize::MAX / 4, usize::MAX / 4 + 1, usize::MAX] {
        let error = Buffer::uninit("zeros", DType::F32, len).unwrap_err();
        assert_eq!((error.kind(), error.op()), (ErrorKind::Memory, "zeros"));
        assert!(error.to_string().contains(&format!("{} bytes", len as u128 * 4)), "{error}");
    }
}

#[test]
fn dropping_the_last_clone_returns_live_bytes_to_the_previous_value() {
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(1 << 20)));
    let before = pool.stats().live_bytes;
    let mut filling = BufferMut::uninit_in(pool, "new", DType::F64, 100).unwrap();
    filling.as_mut_slice::<f64>("new").unwrap().fill(2.0);
    // SAFETY: all elements were written.
    let buffer = unsafe { filling.freeze() };
    let clone = buffer.clone();
    assert!(clone.shares_memory(&buffer));
    drop(buffer);
    assert_eq!(pool.stats().live_bytes, before + 800);
    assert_eq!(clone.literal(99), Literal::F64(2.0));
    drop(clone);
    assert_eq!(pool.stats().live_bytes, before);
    assert_eq!(pool.stats().peak_bytes, before + 800);
}

#[test]
fn the_last_owner_may_write_in_place() {
    let buffer = Buffer::from_vec("new", vec![1u8, 2, 3]).unwrap();
    let clone = buffer.clone();
    let buffer = buffer.into_mut().unwrap_err();
    drop(clone);
    let mut writing = buffer.into_mut().unwrap();
    writing.as_mut_slice::<u8>("assign").unwrap()[1] = 9;
    // SAFETY: it came out of a full buffer.
    let buffer = unsafe { writing.freeze() };
    assert_eq!(buffer.as_slice::<u8>(), Some(&[1, 9, 3][..]));
}

#[test]
fn reused_memory_reads_as_zeros_before_it_is_written() {
    drop(Buffer::filled("full", Literal::U8(7), 5000).unwrap());
    let mut fresh = Buffer::uninit("new", DType::U8, 5000).unwrap();
    assert!(fresh.as_mut_slice::<u8>("new").unwrap().iter().all(|&byte| byte == 0));
    let built = Buffer::build("new", 4, |out: &mut [u8]| {
        out[2] = 5;
        Ok(())
    });
    assert_eq!(built.unwrap().as_slice::<u8>(), Some(&[0, 0, 5, 0][..]));
}

#[test]
fn buffers_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Buffer>();
    is_send_and_sync::<BufferMut>();
}
