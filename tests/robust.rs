//! Edges: nothing in a tensor, no axes, twelve axes, sizes beyond memory, many threads.

use zither::{
    Dim, Dim0, DimDyn, DynTensor, Error, ErrorKind, Expr, Gradients, PadValue, Result, Tensor, Var, Window, realize_all,
};

type Array = Tensor<f64, DimDyn>;

/// Ops that keep the shape, for any rank.
fn elementwise(x: &Array) -> Vec<Array> {
    vec![
        x + x,
        x - 1.0,
        x * &x.detach(),
        2.0 / x,
        -x,
        x.exp(),
        x.ln(),
        x.sqrt(),
        x.tanh(),
        x.gelu(),
        x.relu(),
        x.pow(2.5),
        x.powf(3.0),
        x.clamp(0.5, 1.5),
        x.maximum(x),
        x.minimum(1.0),
        x.gt(0.0).where_(x, &(x * 2.0)),
        x.cast::<f32>().cast(),
        x.cast::<i16>().cast(),
        x.contiguous(),
        x.fork(),
        x.mask(Expr::constant(1), PadValue::Zero),
        x.eq(x).cast(),
    ]
}

#[test]
fn tensors_without_elements_go_through_every_op() -> Result<()> {
    for shape in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 4], &[0, 0]] {
        let x = Array::zeros_dyn(shape).set_requires_grad(true);
        assert!(x.is_empty() && x.data()?.is_empty());
        for y in elementwise(&x) {
            assert_eq!((y.shape(), y.data()?.len()), (shape, 0));
        }
        assert_eq!(x.flip(&[-1]).data()?.len(), 0);
        assert_eq!(x.permute(&(0..shape.len() as isize).rev().collect::<Vec<_>>()).data()?.len(), 0);
        assert_eq!(Tensor::concat(&[&x, &x], 0).data()?.len(), 0);
        assert_eq!(Tensor::stack(&[&x, &x], 0).shape()[0], 2);
        assert_eq!((x.sum_all().item()?, x.prod_all().item()?), (0.0, 1.0));
        assert!(x.mean_all().item()?.is_nan());
        assert_eq!((x.any_all().item()?, x.all_all().item()?), (false, true));
        assert_eq!(x.logsumexp_all().item()?, f64::NEG_INFINITY);
        assert_eq!(x.try_max_all().unwrap_err().kind(), ErrorKind::Shape);
        assert_eq!(x.softmax(-1).shape(), shape);
        x.exp().sum_all().backward();
        assert_eq!(x.grad().expect("asked for").shape(), shape);
        assert!(format!("{x}").contains("[]"), "{x}");
    }
    let x = Tensor::<f32, _>::zeros([0, 3]);
    assert_eq!(x.sum_axis(0).data()?, [0.0; 3]);
    assert_eq!(x.prod_axis(0).data()?, [1.0; 3]);
    assert_eq!(x.sum_axis(1).shape(), [0]);
    assert_eq!(x.max_axis(1).shape(), [0], "nothing is asked of nothing");
    assert_eq!(x.pad(&[(1, 1), (0, 0)], PadValue::One).data()?, [1.0; 6]);
    assert_eq!(x.t().matmul(&x).data()?, [0.0; 9], "a sum of no products");
    assert_eq!(x.matmul(&x.t()).shape(), [0, 0]);
    assert_eq!(Tensor::concat(&[&x, &Tensor::ones([2, 3])], 0).data()?, [1.0; 6]);
    assert_eq!(x.index_select(1, &Tensor::new([2i64, 0])).shape(), [0, 2]);
    assert_eq!(Tensor::<f32, _>::ones([2, 3]).index_select(0, &Tensor::<i64, _>::zeros([0])).shape(), [0, 3]);
    assert_eq!((&x + &Tensor::<f32, _>::ones([1, 3])).shape(), [0, 3]);
    assert!(x.try_add(&Tensor::<f32, _>::ones([2, 3])).is_err());
    let empty = Tensor::<f32, _>::zeros([0, 2, 5, 5]);
    assert_eq!(empty.conv2d(&Tensor::ones([3, 2, 2, 2]), None, Window::default()).shape(), [0, 3, 4, 4]);
    Ok(())
}

#[test]
fn numbers_without_axes_go_through_every_op() -> Result<()> {
    let x: Array = Tensor::new(2.0f64).into_dyn().set_requires_grad(true);
    let wanted = [
        4.0,
        1.0,
        4.0,
        1.0,
        -2.0,
        2f64.exp(),
        2f64.ln(),
        2f64.sqrt(),
        2f64.tanh(),
        1.954_499_736_103_641_5,
        2.0,
        2f64.powf(2.5),
        8.0,
        1.5,
        2.0,
        1.0,
        2.0,
        2.0,
        2.0,
        2.0,
        2.0,
        2.0,
        1.0,
    ];
    for (y, wanted) in elementwise(&x).iter().zip(wanted) {
        assert_eq!(y.rank(), 0);
        assert!((y.item()? - wanted).abs() <= 4e-16 * wanted.abs(), "{} is not {wanted}", y.item()?);
    }
    assert_eq!((x.sum_all().item()?, x.max_all().item()?, x.mean(&[], false).item()?), (2.0, 2.0, 2.0));
    assert_eq!((x.argmax_all().item()?, x.flatten().shape()), (0, &[1][..]));
    assert_eq!(x.unsqueeze(0).expand(&[3]).data()?, [2.0; 3]);
    assert_eq!(x.reshape_dyn(&[1, 1]).shape(), [1, 1]);
    assert_eq!(x.permute(&[]).item()?, 2.0);
    assert_eq!(Tensor::stack(&[&x, &x], 0).data()?, [2.0, 2.0]);
    assert_eq!(x.try_sum(&[0], false).unwrap_err().kind(), ErrorKind::Axis);
    assert_eq!(Tensor::try_concat(&[&x, &x], 0).unwrap_err().kind(), ErrorKind::Axis);
    assert_eq!((&x + &Tensor::new([1.0f64, 2.0]).into_dyn()).data()?, [3.0, 4.0]);
    (&x * &x).backward();
    assert_eq!(x.grad().expect("asked for").item()?, 4.0);
    let number: Tensor<f64, Dim0> = Tensor::new(7.0);
    assert_eq!((number.t().item()?, number.fork().item()?), (7.0, 7.0));
    Ok(())
}

#[test]
fn twelve_axes_go_through_every_op() -> Result<()> {
    const SHAPE: [usize; 12] = [2, 1, 3, 1, 2, 1, 1, 2, 1, 1, 3, 1];
    let values: Vec<f64> = (0..72).map(|k| 0.5 + f64::from(k) / 16.0).collect();
    let typed: Tensor<f64, Dim<12>> = Tensor::from_data(values.clone(), SHAPE);
    let x = typed.clone().into_dyn().set_requires_grad(true);
    let small: Array = Tensor::from_data(values.clone(), vec![72]);
    for (deep, flat) in elementwise(&x).iter().zip(elementwise(&small)) {
        assert_eq!(deep.shape(), SHAPE);
        assert_eq!(deep.data()?, flat.data()?);
    }
    let total: f64 = values.iter().sum();
    assert_eq!(x.sum_all().item()?, total);
    assert_eq!(x.sum(&[0, 2, 4, 7, 10], true).shape(), [1; 12]);
    assert_eq!(x.sum(&[-2], false).data()?, values.chunks(3).map(|three| three.iter().sum()).collect::<Vec<f64>>());
    let reversed: Vec<isize> = (0..12).rev().collect();
    let turned = x.permute(&reversed);
    assert_eq!((turned.shape()[1], turned.permute(&reversed).data()?), (3, values.clone()));
    assert_eq!(
        (&turned + &turned.contiguous()).permute(&reversed).data()?,
        values.iter().map(|v| v + v).collect::<Vec<_>>()
    );
    assert_eq!(x.flip(&[0, 10]).flip(&[0, 10]).data()?, values);
    assert_eq!(x.pad(&[(0, 1); 12], PadValue::Zero).sum_all().item()?, total);
    assert_eq!((&x + &Tensor::new(1.0f64)).shape(), SHAPE);
    let wider = typed.unsqueeze(0); // Dim<12>::Larger is DimDyn
    assert_eq!((wider.rank(), wider.sum_all().item()?), (13, total));
    x.square().sum_all().backward();
    assert_eq!(x.grad().expect("asked for").data()?, values.iter().map(|v| 2.0 * v).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn tensors_may_go_to_other_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Tensor<f32, DimDyn>>();
    send_and_sync::<Tensor<bool, Dim0>>();
    send_and_sync::<DynTensor>();
    send_and_sync::<Var<f64, Dim0>>();
    send_and_sync::<Gradients>();
    send_and_sync::<Error>();
}

#[test]
fn one_lazy_graph_read_in_parts_by_eight_threads() -> Result<()> {
    for round in 0..10 {
        let x = Tensor::<i64, _>::arange(0, 3000) + round;
        let middle = (&x * 3).flip(&[0]).contiguous().flip(&[0]); // more than one kernel
        let ends = [middle.sum_all(), (&middle + 1).max_all(), middle.min_all(), (&middle - &x).sum_all()];
        std::thread::scope(|scope| {
            for k in 0..8 {
                let (ends, middle) = (&ends, &middle);
                scope.spawn(move || {
                    let first: i64 = 3 * (0..3000).map(|v| v + round).sum::<i64>();
                    let wanted = [first, 3 * (2999 + round) + 1, 3 * round, first / 3 * 2];
                    for turn in 0..4 {
                        let which = (k + turn) % 4;
                        assert_eq!(ends[which].item().expect("it runs"), wanted[which]);
                    }
                    assert_eq!(middle.data().expect("it runs")[7], 3 * (7 + round));
                    let all: Vec<DynTensor> = ends.iter().map(|end| end.to_dynamic()).collect();
                    realize_all(&all.iter().collect::<Vec<_>>()).expect("it runs");
                });
            }
        });
        assert!(ends.iter().all(|end| end.is_realized()));
    }
    Ok(())
}

#[test]
fn sizes_are_checked_against_overflow_everywhere() {
    let row = Tensor::<u8, _>::zeros([1, 1]);
    let big = row.broadcast_as::<zither::Dim2, _>([1 << 31, 1 << 31]); // 2^62 elements that are one byte
    assert_eq!(big.len(), 1 << 62);
    let memory = |result: Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::Memory);
    memory(big.try_cast::<u16>().map(drop));
    memory(big.unsqueeze(0).try_expand(&[4, -1, -1]).map(drop));
    memory(Tensor::try_concat(&[&big, &big], 0).map(drop));
    memory(big.try_pad(&[(0, 1 << 31), (0, 0)], PadValue::Zero).map(drop));
    memory(row.try_pad(&[(usize::MAX, 1), (0, 0)], PadValue::Zero).map(drop));
    memory(big.try_unfold(0, 4, 1, 1).map(drop));
    memory(Tensor::<u64, _>::try_arange(0, u64::MAX).map(drop));
    memory(big.data().map(drop)); // it fits the address space, and no memory
    memory(row.try_broadcast_as::<zither::Dim2, _>([usize::MAX, usize::MAX]).map(drop));
    assert_eq!(row.try_reshape([usize::MAX, usize::MAX]).unwrap_err().kind(), ErrorKind::Memory);
    assert_eq!(row.try_reshape([1 << 32, 1 << 32]).unwrap_err().kind(), ErrorKind::Memory);
    assert!(row.try_narrow(0, usize::MAX, usize::MAX).is_err());
    assert!(
        row.try_i(usize::MAX).is_err() && row.try_i(isize::MIN).is_err() && row.try_i(isize::MIN..isize::MAX).is_err()
    );
    assert_eq!(Tensor::<f64, _>::zeros([1 << 40, 0, 1 << 40]).len(), 0, "nothing, however wide");
}
