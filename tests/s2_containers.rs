//! S2: vectors, matrices and tensors as containers of numbers.

use zither::{Matrix, Result, Tensor, Vector};

#[test]
fn s2_1_a_vector_is_one_dimensional() -> Result<()> {
    let v = Vector::new([1.0f64, 2.0, 3.0, 4.0]);
    assert_eq!((v.rank(), v.shape(), v.len()), (1, &[4][..], 4));
    assert_eq!(v.to_vec1()?, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(v.i(2).item()?, 3.0);
    let squared: Vector<f64> = &v * &v; // it is the Tensor type, so it can do all that tensors do
    assert_eq!(squared.sum_all().item()?, 30.0);
    Ok(())
}

#[test]
fn s2_2_3_a_matrix_is_row_major() -> Result<()> {
    let m = Matrix::new([[1.0f64, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!((m.rows(), m.cols(), m.shape()), (2, 3, &[2, 3][..]));
    let data = m.data()?;
    assert_eq!(data, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for row in 0..m.rows() {
        for col in 0..m.cols() {
            assert_eq!(m.i((row, col)).item()?, data[row * m.cols() + col]);
        }
    }
    assert_eq!((m.i((1, 2)).item()?, data[5]), (6.0, 6.0));
    let from_data = Matrix::from_data(vec![1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
    assert_eq!(from_data.to_vec2()?, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    Ok(())
}

#[test]
fn s2_4_5_6_7_shape_strides_and_position_of_a_tensor() -> Result<()> {
    let t = Tensor::<i64, _>::arange(0, 24).reshape([2, 3, 4]);
    let layout = t.layout().expect("strides say it all");
    assert_eq!((layout.shape(), layout.strides(), layout.start_offset()), (&[2, 3, 4][..], &[12, 4, 1][..], 0));
    assert_eq!(layout.position(&[1, 2, 3]), 23);
    assert_eq!(t.i((1, 2, 3)).item()?, 23); // element k holds k
    Ok(())
}

#[test]
fn s2_8_transpose_permutes_shape_and_strides_without_a_copy() -> Result<()> {
    let t = Tensor::new([[[1i32, 2], [3, 4], [5, 6]]]); // 1, 3, 2
    let turned = t.permute(&[2, 0, 1]);
    let layout = turned.layout().expect("strides say it all");
    assert_eq!((layout.shape(), layout.strides()), (&[2, 1, 3][..], &[1, 6, 2][..]));
    assert!(turned.shares_storage(&t));
    assert_eq!(turned.to_vec3()?, [[[1, 3, 5]], [[2, 4, 6]]]);
    Ok(())
}

#[test]
fn s2_9_10_sub_tensors_share_one_buffer() -> Result<()> {
    let t = Tensor::from_data((0..12).collect::<Vec<i32>>(), [3, 4]);
    let part = t.slice(&[(1, 3), (1, 3)]);
    let row = t.i(2);
    assert!(part.shares_storage(&t) && row.shares_storage(&t) && row.shares_storage(&part));
    assert_eq!(part.layout().expect("linear").start_offset(), 5);
    assert_eq!((part.to_vec2()?, row.to_vec1()?), (vec![vec![5, 6], vec![9, 10]], vec![8, 9, 10, 11]));
    let turned = part.t();
    assert_eq!(turned.layout().expect("linear").strides(), [1, 4]);
    assert!(turned.shares_storage(&t));
    Ok(())
}

#[test]
fn s2_11_12_13_strides_slices_and_reshapes_keep_the_data() -> Result<()> {
    let t = Tensor::<u16, _>::arange(0, 60).reshape([3, 4, 5]);
    assert_eq!(t.layout().expect("linear").strides(), [20, 5, 1]);
    let part = t.slice(&[(1, 2), (0, 4), (2, 4)]);
    assert_eq!(part.data()?, [22, 23, 27, 28, 32, 33, 37, 38]);
    let flat = t.reshape([6, 10]);
    assert!(flat.shares_storage(&t));
    assert_eq!(flat.i((1, ..)).data()?, (10..20).collect::<Vec<u16>>());
    assert_eq!(part.reshape([8]).data()?, part.data()?); // no strides can say it: the order is kept all the same
    Ok(())
}
