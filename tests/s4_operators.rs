//! S4.34–55: operators that broadcast, gradients of a variable, reading, and threads inside one op.

use zither::{Dim1, Dim2, Result, Tensor, Var, f16};

#[test]
fn s4_34_binary_operators_broadcast() -> Result<()> {
    let a = Tensor::new([[1.0f32, 5.0, 9.0], [2.0, 4.0, 8.0]]);
    let row = Tensor::new([2.0f32, 4.0, 10.0]);
    let column = Tensor::new([[3.0f32], [6.0]]);
    let plain = |f: fn(f32, f32) -> f32, other: fn(usize, usize) -> f32| -> Vec<Vec<f32>> {
        let a = [[1.0f32, 5.0, 9.0], [2.0, 4.0, 8.0]];
        (0..2).map(|i| (0..3).map(|j| f(a[i][j], other(i, j))).collect()).collect()
    };
    let in_row: fn(usize, usize) -> f32 = |_, j| [2.0, 4.0, 10.0][j];
    let in_column: fn(usize, usize) -> f32 = |i, _| [3.0, 6.0][i];
    assert_eq!((&a + &row).to_vec2()?, plain(|a, b| a + b, in_row));
    assert_eq!((&a - &column).to_vec2()?, plain(|a, b| a - b, in_column));
    assert_eq!((&a * &row).to_vec2()?, plain(|a, b| a * b, in_row));
    assert_eq!((&a / &column).to_vec2()?, plain(|a, b| a / b, in_column));
    assert_eq!(a.minimum(&row).to_vec2()?, plain(f32::min, in_row));
    assert_eq!(a.maximum(&column).to_vec2()?, plain(f32::max, in_column));
    assert_eq!((&column + &row).to_vec2()?, [[5.0, 7.0, 13.0], [8.0, 10.0, 16.0]], "both sides stretch");
    assert_eq!(a.maximum(5.0).to_vec2()?, [[5.0, 5.0, 9.0], [5.0, 5.0, 8.0]]);
    Ok(())
}

#[test]
fn s4_36_comparisons_broadcast() -> Result<()> {
    let a = Tensor::new([[1i32, 2, 3], [3, 2, 1]]);
    let b = Tensor::new([2i32, 2, 2]);
    assert_eq!(a.eq(&b).to_vec2()?, [[false, true, false], [false, true, false]]);
    assert_eq!(a.ne(&b).to_vec2()?, [[true, false, true], [true, false, true]]);
    assert_eq!(a.lt(&b).to_vec2()?, [[true, false, false], [false, false, true]]);
    assert_eq!(a.le(&b).to_vec2()?, [[true, true, false], [false, true, true]]);
    assert_eq!(a.gt(&b).to_vec2()?, [[false, false, true], [true, false, false]]);
    assert_eq!(a.ge(2).to_vec2()?, [[false, true, true], [true, true, false]]);
    let nan = Tensor::new([f64::NAN]);
    let answers = [nan.eq(&nan), nan.lt(&nan), nan.le(&nan), nan.gt(&nan), nan.ge(&nan), nan.ne(&nan)];
    for (answer, wanted) in answers.iter().zip([false, false, false, false, false, true]) {
        assert_eq!(answer.item()?, wanted);
    }
    assert!(Tensor::new([u64::MAX]).gt(&Tensor::new([1u64])).item()?);
    Ok(())
}

#[test]
fn s4_43_affine() -> Result<()> {
    assert_eq!(Tensor::new([1.0f32, -2.0]).affine(3.0, 0.5).data()?, [3.5, -5.5]);
    assert_eq!(Tensor::new([4i64]).affine(-2, 1).data()?, [-7]);
    let x = f32::from_bits(0x3f80_0001); // 1 + ulp: two roundings, as with the operators
    assert_eq!(Tensor::new([x]).affine(x, -1.0).data()?, [x * x - 1.0]);
    Ok(())
}

#[test]
fn s4_46_47_gradients_of_a_variable() -> Result<()> {
    let x = Var::new(Tensor::new([3.0f32, 1.0, 4.0]));
    let x = x.get();
    let y = &x * &x + &x * 5.0 + 4.0;
    let grads = y.backward();
    let slope = grads.get(&x).expect("x requires a gradient");
    assert_eq!(x.to_vec1()?, [3.0, 1.0, 4.0]);
    assert_eq!(y.to_vec1()?, [28.0, 10.0, 40.0]);
    assert_eq!(slope.to_vec1()?, [11.0, 7.0, 13.0]);
    assert!(grads.get(&Tensor::new([1.0f32])).is_none(), "a stranger has none");
    Ok(())
}

#[test]
fn s4_48_unary_ops_reading_reshape_and_broadcast_as() -> Result<()> {
    let x = Tensor::new([4.0f64, 0.25]);
    assert_eq!((-&x).to_vec1()?, [-4.0, -0.25]);
    assert_eq!((x.sqrt().to_vec1()?, x.recip().to_vec1()?), (vec![2.0, 0.5], vec![0.25, 4.0]));
    assert_eq!((x.square().to_vec1()?, (-&x).abs().to_vec1()?), (vec![16.0, 0.0625], vec![4.0, 0.25]));
    assert_eq!(
        (x.floor().to_vec1()?, x.ceil().to_vec1()?, x.round().to_vec1()?),
        (vec![4.0, 0.0], vec![4.0, 1.0], vec![4.0, 0.0])
    );
    assert_eq!((-&x).sign().to_vec1()?, [-1.0, -1.0]);
    assert!((x.gelu().to_vec1()?[0] - 3.999_873_314_9).abs() < 1e-9);
    assert_eq!(x.sum_all().to_scalar()?, 4.25);

    let y = Tensor::<i32, _>::arange(0, 24);
    assert_eq!(y.reshape([4, 6]).to_vec2()?[3], [18, 19, 20, 21, 22, 23]);
    assert_eq!(y.reshape([2, 3, 4]).to_vec3()?[1][0], [12, 13, 14, 15]);
    assert_eq!(y.reshape([2, 1, 3, 4]).to_vec4()?[1][0][2], [20, 21, 22, 23]);
    let stretched: Tensor<f64, Dim2> = x.broadcast_as([3, 2]);
    assert_eq!(stretched.to_vec2()?, [[4.0, 0.25]; 3]);
    assert!(x.try_broadcast_as::<Dim1, _>([3]).is_err());
    assert!(y.to_scalar().is_err(), "24 elements are not one");
    Ok(())
}

/// `a[i,j,k,l] + b[i,0,0,l]`, where every value is a whole number f32 holds exactly.
fn broadcast_add([n, h, w, c]: [usize; 4]) -> Result<()> {
    let a: Vec<f32> = (0..n * h * w * c).map(|k| (k % 8191) as f32).collect();
    let b: Vec<f32> = (0..n * c).map(|k| (k * 16) as f32).collect();
    let wanted = |k: usize| a[k] + b[k / (h * w * c) * c + k % c];
    let sum = Tensor::from_data(a.clone(), [n, h, w, c]) + Tensor::from_data(b.clone(), [n, 1, 1, c]);
    let got = sum.data()?;
    assert_eq!(got.len(), n * h * w * c);
    let wrong = got.iter().enumerate().find(|&(k, &value)| value != wanted(k));
    assert_eq!(wrong, None);
    Ok(())
}

#[test]
fn s4_49_50_51_52_broadcast_add_of_the_slow_case() -> Result<()> {
    broadcast_add([32, 630, 12, 32])
}

#[test]
fn s4_53_54_55_broadcast_add_of_awkward_sizes() -> Result<()> {
    for shape in [[1, 1, 1, 1], [3, 7, 5, 9], [2, 63, 3, 31], [5, 1, 17, 33], [1, 257, 1, 255]] {
        broadcast_add(shape)?;
    }
    // The same in other dtypes and the other way round.
    let a = Tensor::<i64, _>::arange(0, 2 * 63 * 3 * 8).reshape([2, 63, 3, 8]);
    let b = Tensor::<i64, _>::arange(0, 16).reshape([2, 1, 1, 8]);
    let got = (&b - &a).data()?;
    assert!(got.iter().enumerate().all(|(k, &v)| v == (k / (63 * 24) * 8 + k % 8) as i64 - k as i64));
    let halves = Tensor::<f16, _>::ones([4, 100, 3, 8]) + Tensor::<f16, _>::ones([4, 1, 1, 8]);
    assert!(halves.data()?.iter().all(|v| v.to_f32() == 2.0));
    Ok(())
}
