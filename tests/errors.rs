//! What users read when something does not fit: whole texts, with their own lines in them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use zither::{DType, Dim1, DynTensor, Error, ErrorKind, Literal, Result, Step, Tensor, Window, grad, no_grad};

/// "file:line" in this file.
fn at(line: u32) -> String {
    format!("{}:{line}", file!())
}

/// Asserts an error's whole text and its family.
#[track_caller]
fn check(error: &Error, kind: ErrorKind, text: &str) {
    assert_eq!(error.to_string(), text);
    assert_eq!(format!("{error:?}"), text, "unwrap() shows the same");
    assert_eq!(error.kind(), kind);
    assert!(text.starts_with(&format!("{}: ", error.op())));
}

/// What a `try_` op gave in place of a tensor.
#[track_caller]
fn failure<T>(result: Result<T>) -> Error {
    result.err().expect("an error")
}

#[test]
fn shapes_that_do_not_broadcast() {
    let (a, made_a) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let (b, made_b) = (Tensor::<f32, _>::zeros([4]), line!());
    let text = |op: &str| {
        format!(
            "{op}: shapes [2, 3] and [4] do not broadcast: axis 1 is 3 on the left and 4 on the right\n  \
             left made at {}, right made at {}",
            at(made_a),
            at(made_b)
        )
    };
    check(&failure(a.try_add(&b)), ErrorKind::Shape, &text("add"));
    check(&failure(a.try_div(&b)), ErrorKind::Shape, &text("div"));
    check(&failure(a.try_maximum(&b)), ErrorKind::Shape, &text("maximum"));
    check(&failure(a.try_lt(&b)), ErrorKind::Shape, &text("lt"));
    check(&failure(a.to_dynamic().try_mul(&b.to_dynamic())), ErrorKind::Shape, &text("mul"));
    check(&failure(a.zip_with(&b, |a, b| a + b)), ErrorKind::Shape, &text("zip_with"));
}

#[test]
fn matrices_that_do_not_multiply() {
    let (a, made_a) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let (b, made_b) = (Tensor::<f32, _>::zeros([4, 5]), line!());
    let made = format!("left made at {}, right made at {}", at(made_a), at(made_b));
    let text = format!(
        "matmul: shapes [2, 3] and [4, 5] do not multiply: axis 1 on the left is 3, axis 0 on the right is 4\n  {made}"
    );
    check(&failure(a.try_matmul(&b)), ErrorKind::Shape, &text);
    let (left, right) = (Tensor::<f32, _>::zeros([2, 7, 3]), Tensor::<f32, _>::zeros([5, 3, 7]));
    let text = failure(left.try_matmul(&right)).to_string();
    assert!(text.starts_with("matmul: batch axes [2] and [5] do not broadcast\n  left made at "), "{text}");
}

#[test]
fn an_axis_that_is_not_there() {
    let (a, made) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let text = |op: &str, axis: isize| {
        let made = at(made);
        format!("{op}: axis {axis} is out of range for shape [2, 3] (rank 2): use -2 to 1\n  tensor made at {made}")
    };
    check(&failure(a.try_sum(&[0, 2], false)), ErrorKind::Axis, &text("sum", 2));
    check(&failure(a.try_mean_axis(-3)), ErrorKind::Axis, &text("mean_axis", -3));
    check(&failure(a.try_softmax(5)), ErrorKind::Axis, &text("softmax", 5));
    check(&failure(a.try_transpose(0, 2)), ErrorKind::Axis, &text("transpose", 2));
    check(&failure(a.try_argmax(2)), ErrorKind::Axis, &text("argmax", 2));
    check(&failure(Tensor::try_concat(&[&a, &a], 2)), ErrorKind::Axis, &text("concat", 2));
    check(&failure(a.try_flip(&[-9])), ErrorKind::Axis, &text("flip", -9));
    let twice = format!("sum: axis 1 is given twice in [1, -1] for shape [2, 3]\n  tensor made at {}", at(made));
    check(&failure(a.try_sum(&[1, -1], false)), ErrorKind::Axis, &twice);
}

#[test]
fn a_reshape_to_another_number_of_elements() {
    let (a, made) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let made = at(made);
    let text = format!("reshape: shape [2, 3] has 6 elements, [4, 2] has 8\n  tensor made at {made}");
    check(&failure(a.try_reshape([4, 2])), ErrorKind::Shape, &text);
    let text = format!("reshape: 6 elements of shape [2, 3] do not divide into [-1, 4]\n  tensor made at {made}");
    check(&failure(a.try_reshape_dyn(&[-1, 4])), ErrorKind::Shape, &text);
    let text = format!("squeeze: axis 1 of shape [2, 3] has size 3, not 1\n  tensor made at {made}");
    check(&failure(a.try_squeeze(1)), ErrorKind::Shape, &text);
}

#[test]
fn an_index_out_of_range_when_asked_and_when_run() {
    let (a, made) = (Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]), line!());
    let made_a = at(made);
    let text = format!("i: index 2 is out of range for axis 0 of shape [2, 3]\n  tensor made at {made_a}");
    check(&failure(a.try_i(2)), ErrorKind::Index, &text);
    let text = format!("i: index -4 is out of range for axis 1 of shape [2, 3]\n  tensor made at {made_a}");
    check(&failure(a.try_i((.., -4))), ErrorKind::Index, &text);
    let text = format!("i: 1..9 does not fit axis 1 of shape [2, 3]\n  tensor made at {made_a}");
    check(&failure(a.try_i((.., 1..9))), ErrorKind::Index, &text);
    let text = format!("i: .. by 0 does not fit axis 0 of shape [2, 3]\n  tensor made at {made_a}");
    check(&failure(a.try_i((..).by(0))), ErrorKind::Index, &text);
    let text = format!(
        "narrow: start + len > len: 1 + 5 is past the 2 elements (shape [2, 3], axis 0, start 1, len 5)\n  \
         tensor made at {made_a}"
    );
    check(&failure(a.try_narrow(0, 1, 5)), ErrorKind::Index, &text);

    // What an index tensor holds is only known when it runs: the lines are those of the op and of both operands.
    let (index, made) = (Tensor::new([0i32, 1, 7, -8]), line!());
    let made_index = at(made);
    let (taken, made) = (a.index_select(0, &index), line!());
    let text = format!(
        "index_select: index 7 is out of range for an axis of 2: use -2 to 1\n  \
         result made at {}\n  tensor made at {made_a}\n  index made at {made_index}",
        at(made)
    );
    check(&failure((taken * 2.0).data()), ErrorKind::Index, &text);
}

#[test]
fn dtypes_that_clash() {
    let (a, made_a) = (DynTensor::from_data(vec![1.0f32], &[1]), line!());
    let (b, made_b) = (DynTensor::from_data(vec![1i64], &[1]), line!());
    let (made_a, made_b) = (at(made_a), at(made_b));
    let text = format!(
        "add: dtypes f32 and i64 do not mix: cast one, as in x.cast(DType::F32)\n  \
         left made at {made_a}, right made at {made_b}"
    );
    check(&failure(a.try_add(&b)), ErrorKind::DType, &text);
    let text = format!("exp: i64 is not a float dtype (f16, bf16, f32, f64): cast it first\n  tensor made at {made_b}");
    check(&failure(b.try_exp()), ErrorKind::DType, &text);
    let text = format!("data: expected f32, got i64: cast it first\n  tensor made at {made_b}");
    check(&failure(b.data::<f32>()), ErrorKind::DType, &text);
    let text = format!("to_typed: expected i64, got f32: cast it first\n  tensor made at {made_a}");
    check(&failure(a.try_to_typed::<i64, Dim1>()), ErrorKind::DType, &text);
}

#[test]
fn a_gradient_that_cannot_flow() {
    let (x, made_x) = (Tensor::new([1.0f64, 2.0]).set_requires_grad(true), line!());
    let (place, cut) = (x.argmax(0), line!());
    let (output, made) = (place.cast::<f64>() * 2.0, line!());
    let reason = format!("argmax at {} stops it (a position does not change by a little)", at(cut));
    let text =
        format!("backward: nothing that requires a gradient is reached: {reason}\n  tensor made at {}", at(made));
    check(&failure(output.try_backward()), ErrorKind::Gradient, &text);
    let lines = format!("tensor made at {}\n  output made at {}", at(made_x), at(made));
    let text = format!("grad: no gradient reaches tensor 0: {reason}\n  {lines}");
    check(&failure(grad(&output, &[&x])), ErrorKind::Gradient, &text);

    let (stranger, made) = (Tensor::new([3.0f64]) * 2.0, line!());
    let text = format!(
        "backward: nothing this tensor is made from requires a gradient: \
         call set_requires_grad(true) on what should\n  tensor made at {}",
        at(made)
    );
    check(&failure(stranger.try_backward()), ErrorKind::Gradient, &text);
    let text = format!(
        "grad: the output does not depend on tensor 0 (or its history was let go when it was read: \
         call set_requires_grad(true) on the tensor to keep it)\n  tensor made at {}\n  output made at {}",
        at(made_x),
        at(made)
    );
    check(&failure(grad(&stranger, &[&x])), ErrorKind::Gradient, &text);

    let (paused, made) = (no_grad(|| &x + 1.0), line!());
    let text = format!(
        "backward: nothing that requires a gradient is reached: \
         no_grad at {0} stops it (nothing is recorded there)\n  tensor made at {0}",
        at(made)
    );
    check(&failure(paused.try_backward()), ErrorKind::Gradient, &text);
}

#[test]
fn sizes_no_memory_can_hold() {
    let text = |op: &str| {
        format!("{op}: shape [1099511627776, 1099511627776] of f32 has more elements than memory can address")
    };
    let huge = [1usize << 40, 1 << 40];
    let made = |op: &str, line: u32| format!("{}\n  tensor made at {}", text(op), at(line));
    check(&failure(Tensor::<f32, _>::try_zeros(huge)), ErrorKind::Memory, &made("zeros", line!()));
    check(&failure(Tensor::<f32, _>::try_full(huge, 1.0)), ErrorKind::Memory, &made("full", line!()));
    check(&failure(Tensor::<f32, _>::try_input("x", huge)), ErrorKind::Memory, &made("input", line!()));
    let row = Tensor::new([[1.0f32]]);
    check(&failure(row.try_broadcast_as(huge)), ErrorKind::Memory, &text("broadcast_as"));
}

#[test]
fn an_input_that_was_never_given() {
    let (x, made) = (Tensor::<f32, _>::input("x", [2]), line!());
    let text = format!(
        "input: \"x\" (f32 of shape [2]) was read but never given: use realize_with(&[(\"x\", &data)])\n  \
         input made at {}",
        at(made)
    );
    check(&failure(x.data()), ErrorKind::Input, &text);
    check(&failure((&x + 1.0).sum_all().item()), ErrorKind::Input, &text);
    check(&failure(x.flip(&[0]).realize()), ErrorKind::Input, &text);
    let (other, made_other) = (Tensor::new([1i64, 2]).to_dynamic(), line!());
    let text = format!(
        "realize_with: \"x\" is f32 of shape [2], but was given i64 of shape [2]\n  \
         left made at {}, right made at {}",
        at(made),
        at(made_other)
    );
    check(&failure(x.realize_with(&[("x", &other)])), ErrorKind::Input, &text);
}

thread_local! {
    /// The last panic of this thread: its text and its place.
    static PANIC: RefCell<Option<(String, String, u32)>> = const { RefCell::new(None) };
}

/// Runs what must panic, and gives the panic's text, file and line.
fn panic_of<R>(f: impl FnOnce() -> R) -> (String, String, u32) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().expect("panics have a place");
            let text = info.payload().downcast_ref::<String>().cloned().unwrap_or_default();
            PANIC.set(Some((text, place.file().to_string(), place.line())));
            usual(info);
        }));
    });
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err(), "it should have panicked");
    PANIC.take().expect("the hook has seen it")
}

#[test]
fn panicking_twins_report_the_users_line_with_the_text_of_the_error() {
    let (a, b) = (Tensor::<f32, _>::zeros([2, 3]), Tensor::<f32, _>::zeros([4]));
    let image = a.reshape([1, 1, 2, 3]);
    let kernel = Tensor::<f32, _>::zeros([1, 1, 3, 3]);
    let index = Tensor::<i64, _>::zeros([1, 1]).to_dynamic();
    let dynamic = a.to_dynamic();
    /// On one line each: `line!()` is where the macro is called, the panic's line is that of the op.
    macro_rules! twin {
        ($panicking:expr, $fallible:expr) => {
            let ((text, file, line), called) = (panic_of(|| $panicking), line!());
            assert_eq!((text, file.as_str(), line), (failure($fallible).to_string(), file!(), called));
        };
    }
    twin!(&a + &b, a.try_add(&b));
    twin!(&a - b.clone(), a.try_sub(&b));
    twin!(a.clone() * &b, a.try_mul(&b));
    twin!(a.clone() / b.clone(), a.try_div(&b));
    twin!(a.maximum(&b), a.try_maximum(&b));
    twin!(a.gt(&b), a.try_gt(&b));
    twin!(a.matmul(&b), a.try_matmul(&b));
    twin!(a.sum(&[7], false), a.try_sum(&[7], false));
    twin!(a.max_axis(2), a.try_max_axis(2));
    twin!(a.softmax(2), a.try_softmax(2));
    twin!(a.reshape([7]), a.try_reshape([7]));
    twin!(a.permute(&[0]), a.try_permute(&[0]));
    twin!(a.squeeze(0), a.try_squeeze(0));
    twin!(a.slice(&[(0, 9)]), a.try_slice(&[(0, 9)]));
    twin!(a.i((0, 3)), a.try_i((0, 3)));
    twin!(a.expand(&[5, 3]), a.try_expand(&[5, 3]));
    twin!(a.pow(&b), a.try_pow(&b));
    twin!(a.backward(), a.try_backward());
    twin!(a.cross_entropy(&Tensor::new([1i64])), a.try_cross_entropy(&Tensor::new([1i64])));
    twin!(image.conv2d(&kernel, None, Window::default()), image.try_conv2d(&kernel, None, Window::default()));
    twin!(Tensor::<f32, _>::zeros([1 << 40, 1 << 40]), Tensor::<f32, _>::try_zeros([1 << 40, 1 << 40]));
    twin!(Tensor::from_data(vec![1.0f32], [2]), Tensor::<f32, Dim1>::try_from_data(vec![1.0f32], [2]));
    twin!(Tensor::stack(&[&a, &a.t()], 0), Tensor::try_stack(&[&a, &a.t()], 0));
    twin!(&dynamic + &index, dynamic.try_add(&index));
    twin!(dynamic.index_select(0, &index), dynamic.try_index_select(0, &index));
    twin!(index.sqrt(), index.try_sqrt());
    // Those without a twin panic at the user's line too.
    let (text, file, line) = panic_of(|| &index / 2.0);
    assert_eq!((file.as_str(), line), (file!(), line!() - 1));
    assert!(text.starts_with("div: i64 does not take the float 2: write a whole number, or cast the tensor"), "{text}");
}

#[test]
fn tensors_that_cannot_be_made_name_the_line_that_asked() {
    const HUGE: usize = 1 << 40;
    let check = |(error, line): (Error, u32), kind: ErrorKind, text: &str| {
        check(&error, kind, &format!("{text}\n  tensor made at {}", at(line)));
    };
    let much = |op: &str, dtype: &str| {
        format!("{op}: shape [1099511627776, 1099511627776] of {dtype} has more elements than memory can address")
    };
    check((failure(Tensor::<f32, _>::try_zeros([HUGE, HUGE])), line!()), ErrorKind::Memory, &much("zeros", "f32"));
    check((failure(Tensor::<u8, _>::try_full([HUGE, HUGE], 3)), line!()), ErrorKind::Memory, &much("full", "u8"));
    check((failure(Tensor::<f32, _>::try_rand([HUGE, HUGE])), line!()), ErrorKind::Memory, &much("rand", "f64"));
    check((failure(Tensor::<i8, _>::try_input("x", [HUGE, HUGE])), line!()), ErrorKind::Memory, &much("input", "i8"));
    let dynamic = (failure(DynTensor::try_ones(&[HUGE, HUGE], DType::F16)), line!());
    check(dynamic, ErrorKind::Memory, &much("ones", "f16"));

    let text = "from_data: 3 elements do not fill shape [2, 2], which has 4";
    check((failure(Tensor::try_from_data(vec![1.0f32; 3], [2, 2])), line!()), ErrorKind::Shape, text);
    check((failure(DynTensor::try_from_data(vec![1.0f32; 3], &[2, 2])), line!()), ErrorKind::Shape, text);
    let text = "arange: no numbers from 0 to 3 by 0";
    check((failure(Tensor::try_arange_step(0, 3, 0)), line!()), ErrorKind::Value, text);
    let text = "randint: no whole numbers in 3..3";
    check((failure(Tensor::<i32, _>::try_randint([2], 3, 3)), line!()), ErrorKind::Value, text);
    let text = "bernoulli: 2 is not a probability: use 0 to 1";
    check((failure(Tensor::try_bernoulli([2], 2.0)), line!()), ErrorKind::Value, text);
    let text = "arange: f32, i64 and f32 are not one dtype of numbers";
    let mixed = failure(DynTensor::try_arange(Literal::F32(0.0), Literal::I64(3)));
    check((mixed, line!() - 1), ErrorKind::DType, text);
    let text = "rand: i32 is not a float dtype (f16, bf16, f32, f64): cast the result instead";
    check((failure(DynTensor::try_rand(&[2], DType::I32)), line!()), ErrorKind::DType, text);
}
