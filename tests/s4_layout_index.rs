//! S4.1–32: dtypes, storage that is shared and never locked twice, layouts, indexing.

use zither::dtype::TensorDType;
use zither::{DType, DynTensor, Ellipsis, ErrorKind, NewAxis, Result, Step, Tensor, Var, bf16, f16};

#[test]
fn s4_1_5_thirteen_dtypes_from_one_table() -> Result<()> {
    let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
    let wanted = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];
    assert_eq!(names, wanted);
    let sizes: Vec<usize> = DType::ALL.iter().map(|dtype| dtype.size()).collect();
    assert_eq!(sizes, [1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8]);
    // What the table has, every part of the library knows: creation, casts, arithmetic, views, reading, printing.
    for dtype in DType::ALL {
        let ones = DynTensor::ones(&[2, 3], dtype);
        assert_eq!((ones.dtype(), ones.item().is_err()), (dtype, true));
        assert_eq!(total(&ones)?, 6.0, "{dtype}");
        for other in DType::ALL {
            assert_eq!(ones.cast(other).dtype(), other);
            assert!(ones.cast(other).literals()?.iter().all(|value| value.dtype() == other && value.to_f64() == 1.0));
        }
        assert!(format!("{ones}").contains('1') || format!("{ones}").contains("true"), "{ones}");
        assert!(DynTensor::concat(&[&ones, &ones.flip(&[1])], 0).shape() == [4, 3]);
    }
    Ok(())
}

/// The sum of all elements, counted in f64.
fn total(tensor: &DynTensor) -> Result<f64> {
    Ok(tensor.literals()?.iter().map(|value| value.to_f64()).sum())
}

#[test]
fn s4_3_from_f64_and_to_f64_of_every_dtype() {
    fn there_and_back<T: TensorDType>(values: &[(f64, f64)]) {
        for &(value, wanted) in values {
            let got = T::from_f64(value).to_f64();
            assert!(got == wanted || (got.is_nan() && wanted.is_nan()), "{value} as {} is {got}", T::DTYPE);
        }
    }
    let inf = f64::INFINITY;
    there_and_back::<u8>(&[(3.9, 3.0), (-1.0, 0.0), (300.0, 255.0), (f64::NAN, 0.0)]);
    there_and_back::<u16>(&[(65_535.5, 65_535.0), (-inf, 0.0)]);
    there_and_back::<u32>(&[(4_294_967_295.0, 4_294_967_295.0), (inf, 4_294_967_295.0)]);
    there_and_back::<u64>(&[(9_007_199_254_740_992.0, 9_007_199_254_740_992.0)]);
    there_and_back::<i8>(&[(-3.9, -3.0), (-1000.0, -128.0), (127.0, 127.0)]);
    there_and_back::<i16>(&[(-32_768.0, -32_768.0), (1e9, 32_767.0)]);
    there_and_back::<i32>(&[(-2_147_483_648.0, -2_147_483_648.0)]);
    there_and_back::<i64>(&[(-5.5, -5.0), (-9_007_199_254_740_992.0, -9_007_199_254_740_992.0)]);
    there_and_back::<f16>(&[(0.1, 0.099_975_585_937_5), (65_504.0, 65_504.0), (1e5, inf)]);
    there_and_back::<bf16>(&[(0.1, 0.100_097_656_25), (-2.0, -2.0)]);
    there_and_back::<f32>(&[(0.1, f64::from(0.1f32)), (1e300, inf), (f64::NAN, f64::NAN)]);
    there_and_back::<f64>(&[(0.1, 0.1), (-0.0, 0.0)]);
    there_and_back::<bool>(&[(0.0, 0.0), (0.5, 1.0), (-3.0, 1.0)]);
}

#[test]
fn s4_7_8_new_takes_scalars_slices_and_nested_arrays() -> Result<()> {
    assert_eq!((Tensor::new(3u32).shape(), Tensor::new(3u32).to_scalar()?), (&[][..], 3));
    let slice: &[f32] = &[1.0, 2.0];
    assert_eq!(Tensor::new(slice).to_vec1()?, [1.0, 2.0]);
    assert_eq!(Tensor::new(&[1i64, 2, 3]).to_vec1()?, [1, 2, 3]);
    assert_eq!(Tensor::new([[1u8, 2], [3, 4], [5, 6]]).to_vec2()?, [[1, 2], [3, 4], [5, 6]]);
    let deep = Tensor::new([[[[1.0f64, 2.0], [3.0, 4.0]]], [[[5.0, 6.0], [7.0, 8.0]]]]);
    assert_eq!((deep.shape(), deep.i((1, 0, 1, 0)).item()?), (&[2, 1, 2, 2][..], 7.0));
    assert_eq!(Tensor::new([[[1i8]]]).rank(), 3);
    assert_eq!(Tensor::new(vec![vec![1, 2], vec![3, 4]]).to_vec2()?, [[1, 2], [3, 4]]);
    let error = Tensor::try_new(vec![vec![1, 2], vec![3]]).unwrap_err();
    assert_eq!(error.to_string(), "new: row 0 has 2 elements and row 1 has 1: rows must be equally long");
    Ok(())
}

#[test]
fn s4_10_11_12_13_shape_only_ops_share_the_storage() -> Result<()> {
    let x = Tensor::<f32, _>::arange(0.0, 24.0).reshape([2, 3, 4]).realize()?;
    let parts = [
        x.permute(&[2, 0, 1]),
        x.transpose(0, 2),
        x.narrow(1, 1, 2),
        x.flip(&[0, 2]),
        x.slice(&[(0, 1), (0, 3), (2, 4)]),
        x.reshape([4, 3, 2]),
        x.i((.., 0..2, (..).by(2))),
        x.unsqueeze(0).squeeze(0),
        x.clone(),
        x.detach(),
    ];
    assert!(parts.iter().all(|part| part.shares_storage(&x)));
    assert!(parts.iter().all(|part| part.is_realized()), "their numbers are there as soon as the storage is");
    assert!(x.broadcast_as::<zither::Dim4, _>([5, 2, 3, 4]).shares_storage(&x));
    drop(x); // the storage lives as long as one view does
    assert_eq!(parts[2].i((1, 0, ..)).data()?, [16.0, 17.0, 18.0, 19.0]);
    assert_eq!(parts[3].i((0, 0, ..)).data()?, [15.0, 14.0, 13.0, 12.0]);
    Ok(())
}

#[test]
fn s4_14_15_x_times_x_cannot_deadlock_also_from_many_threads() -> Result<()> {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Tensor<f32, zither::Dim2>>();
    send_and_sync::<DynTensor>();
    send_and_sync::<Var<f32, zither::Dim1>>();

    for _ in 0..20 {
        let x = Tensor::<i64, _>::arange(0, 1000) + 1;
        let square = &x * &x;
        let both = &square + &x.flip(&[0]);
        std::thread::scope(|scope| {
            for k in 0..8 {
                let (x, square, both) = (&x, &square, &both);
                scope.spawn(move || {
                    // Each thread begins with another one, so that they meet in the middle.
                    for turn in 0..3 {
                        match (k + turn) % 3 {
                            0 => assert_eq!(x.data().unwrap()[999], 1000),
                            1 => assert_eq!(square.data().unwrap()[9], 100),
                            _ => assert_eq!(both.data().unwrap()[0], 1001),
                        }
                    }
                    let own = x * x;
                    assert_eq!((&own - &own).sum_all().item().unwrap(), 0);
                });
            }
        });
    }
    Ok(())
}

#[test]
fn s4_16_only_variables_change() -> Result<()> {
    let x = Tensor::new([1.0f32, 2.0]);
    let changed = x.slice_assign(0, &Tensor::new(9.0f32));
    assert_eq!((changed.data()?, x.data()?), (vec![9.0, 2.0], vec![1.0, 2.0]));
    let var = Var::new(x.clone());
    let before = var.get() * 10.0; // not yet executed
    var.set(&(var.get() + 1.0));
    assert_eq!(var.get().data()?, [2.0, 3.0]);
    assert_eq!((before.data()?, x.data()?), (vec![10.0, 20.0], vec![1.0, 2.0]), "what was made before stays");
    assert_eq!(var.try_set(&Tensor::new([1.0f32])).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn s4_25_26_27_indexing_a_matrix() -> Result<()> {
    let x = Tensor::<u32, _>::arange(0, 6).reshape([2, 3]);
    assert_eq!(x.i(1).to_vec1()?, [3, 4, 5]);
    assert_eq!(x.i((.., 2)).to_vec1()?, [2, 5]);
    assert_eq!(x.i(..).to_vec2()?, [[0, 1, 2], [3, 4, 5]]);
    assert_eq!(x.i((1, 2)).to_scalar()?, 5);
    assert_eq!(x.i(-1).to_vec1()?, [3, 4, 5]);
    let y = Tensor::<u32, _>::arange(0, 12).reshape([4, 3]);
    assert_eq!(y.i(1..3).to_vec2()?, [[3, 4, 5], [6, 7, 8]]);
    Ok(())
}

#[test]
fn s4_28_29_indexing_in_three_dimensions_with_all_bounds() -> Result<()> {
    let x = Tensor::<u32, _>::arange(0, 24).reshape([2, 3, 4]);
    assert_eq!(x.i((0, 1, 3)).to_scalar()?, 7);
    assert_eq!(x.i((0..2, 0, 0)).to_vec1()?, [0, 12]);
    assert_eq!(x.i((1, 1..=2, ..2)).to_vec2()?, [[16, 17], [20, 21]]);
    assert_eq!(x.i((.., 2.., ..=0)).to_vec3()?, [[[8]], [[20]]]);
    assert_eq!(x.i((Ellipsis, -1)).to_vec2()?, [[3, 7, 11], [15, 19, 23]]);
    assert_eq!(x.i((0, NewAxis, 0, (1..).by(2))).to_vec2()?, [[1, 3]]);
    assert_eq!(x.i((-1, -1, (..).by(-2))).to_vec1()?, [23, 21]);
    Ok(())
}

#[test]
fn s4_30_an_empty_range_is_an_empty_tensor() -> Result<()> {
    let x = Tensor::<u32, _>::arange(0, 6).reshape([2, 3]);
    let none = x.i(1..1);
    assert_eq!((none.shape(), none.data()?), (&[0, 3][..], vec![]));
    assert_eq!(none.sum_axis(0).data()?, [0, 0, 0]);
    assert_eq!(x.try_i(2).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(x.try_i(0..3).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(x.clone().into_dyn().try_i((0, 0, 0)).unwrap_err().kind(), ErrorKind::Index);
    Ok(())
}

#[test]
fn s4_31_index_tensors() -> Result<()> {
    let x = Tensor::<u32, _>::arange(0, 12).reshape([4, 3]);
    let rows = Tensor::new([2i64, 0, 2, -1]);
    assert_eq!(x.i(&rows).to_vec2()?, [[6, 7, 8], [0, 1, 2], [6, 7, 8], [9, 10, 11]]);
    assert_eq!(x.i((1.., &Tensor::new([2u8, 0]))).to_vec2()?, [[5, 3], [8, 6], [11, 9]]);
    assert_eq!(x.index_select(1, &Tensor::new([1i32])).to_vec2()?, [[1], [4], [7], [10]]);
    let wrong = x.i(&Tensor::new([4i64])).data().unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Index);
    Ok(())
}

#[test]
fn s4_32_slice_assign() -> Result<()> {
    let x = Tensor::<i32, _>::zeros([3, 4]);
    let y = x.slice_assign((1.., 1..3), &Tensor::new([[1, 2], [3, 4]]));
    assert_eq!(y.to_vec2()?, [[0, 0, 0, 0], [0, 1, 2, 0], [0, 3, 4, 0]]);
    let z = y.slice_assign((0, ..), &Tensor::new(7)); // broadcasts
    assert_eq!(z.to_vec2()?[0], [7; 4]);
    let stepped = x.slice_assign((.., (..).by(2)), &Tensor::new([[1], [2], [3]]));
    assert_eq!(stepped.to_vec2()?, [[1, 0, 1, 0], [2, 0, 2, 0], [3, 0, 3, 0]]);
    assert_eq!(x.data()?, [0; 12]);
    assert_eq!(x.try_slice_assign(3, &Tensor::new(1)).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(x.try_slice_assign((0, ..), &Tensor::new([1, 2])).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}
