//! Arguments at the edge of what numbers can say, and users who do several things at once.

use zither::{Step, Tensor, Window};

fn square() -> zither::Matrix {
    Tensor::arange(0.0, 16.0).reshape([4, 4])
}

#[test]
fn a_step_longer_than_the_axis_takes_one_element() -> zither::Result<()> {
    let x = square().set_requires_grad(true);
    assert_eq!(x.i((..).by(isize::MAX)).data()?, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(x.i((..).by(isize::MIN)).data()?, [12.0, 13.0, 14.0, 15.0]);
    x.i(((..).by(isize::MIN), (..).by(2))).backward();
    assert_eq!(x.grad().unwrap().i(3).data()?, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(x.grad().unwrap().i(..3).sum_all().item()?, 0.0);
    Ok(())
}

#[test]
fn a_window_that_steps_beyond_the_axis_is_alone() -> zither::Result<()> {
    let x = Tensor::new([1.0f32, 2.0, 3.0]).set_requires_grad(true);
    assert_eq!(x.unfold(0, 2, usize::MAX, 1).to_vec2()?, [[1.0, 2.0]]);
    assert_eq!(x.unfold(0, 1, 2, usize::MAX).to_vec2()?, [[1.0], [3.0]]);
    assert_eq!(x.unfold(0, 2, 1, usize::MAX).shape(), [0, 2]);
    assert_eq!(x.unfold(0, usize::MAX, 1, 2).shape(), [0, usize::MAX]);
    x.unfold(0, 2, usize::MAX, 1).backward();
    assert_eq!(x.grad().unwrap().data()?, [1.0, 1.0, 0.0]);
    let far = Window { stride: [usize::MAX], dilation: [usize::MAX], ..Window::default() };
    assert_eq!(Tensor::new([[7.0f32]]).fold1d([1], [1], far).data()?, [7.0]);
    let (image, kernel) = (Tensor::<f32, _>::ones([1, 1, 4]), Tensor::<f32, _>::ones([1, 1, 2]));
    assert_eq!(image.conv1d(&kernel, None, Window { stride: [usize::MAX], ..Window::default() }).data()?, [2.0]);
    assert!(image.try_conv1d(&kernel, None, Window { dilation: [usize::MAX], ..Window::default() }).is_err());
    Ok(())
}

#[test]
fn windows_that_do_not_move_are_refused_in_the_words_of_the_op() {
    let x = Tensor::<f32, _>::ones([1, 1, 4]);
    let error = x.try_conv1d(&x, None, Window { stride: [0], ..Window::default() }).unwrap_err();
    assert!(error.to_string().starts_with("conv1d: kernel [4], stride [0] and dilation [1] must all be at least 1"));
    let windows = Tensor::<f32, _>::ones([3, 2]);
    let error = windows.try_fold1d([4], [2], Window { stride: [0], ..Window::default() }).unwrap_err();
    assert!(error.to_string().starts_with("fold1d: kernel [2], stride [0]"), "{error}");
}

#[test]
fn a_diagonal_far_outside_the_matrix_keeps_all_or_nothing() -> zither::Result<()> {
    let x = square() + 1.0;
    let (all, nothing) = (x.data()?, vec![0.0; 16]);
    for far in [4, 5, isize::MAX - 1, isize::MAX] {
        assert_eq!((x.tril(far).data()?, x.triu(far).data()?), (all.clone(), nothing.clone()), "{far}");
    }
    for far in [-4, -5, isize::MIN + 1, isize::MIN] {
        assert_eq!((x.tril(far).data()?, x.triu(far).data()?), (nothing.clone(), all.clone()), "{far}");
    }
    Ok(())
}
