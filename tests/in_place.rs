//! Inputs that are given away: results take their place where they may, and nobody can tell from the numbers.
//!
//! Buffers are counted in this process, so the tests take turns.

use std::sync::{Mutex, MutexGuard, PoisonError};
use zither::runtime::set_threads;
use zither::{Compiled, DynTensor, ErrorKind, Matrix, Result, Tensor, Vector, compile, memory};

/// Held by the test whose turn it is.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers by a formula.
fn data(shape: &[usize], seed: usize) -> DynTensor {
    let value = |k: usize| (((k + seed) * 7919 % 1009) as f32 - 504.0) / 200.0;
    DynTensor::from_data((0..shape.iter().product()).map(value).collect::<Vec<f32>>(), shape)
}

/// How many buffers have been taken, and how many bytes are in use.
fn buffers() -> (usize, usize) {
    let stats = memory::stats();
    (stats.fresh + stats.reused, stats.live_bytes)
}

fn bits(tensor: &DynTensor) -> Vec<u32> {
    tensor.data::<f32>().expect("numbers").into_iter().map(f32::to_bits).collect()
}

/// From two matrices of one square shape to others.
type Two = fn(&DynTensor, &DynTensor) -> Vec<DynTensor>;

/// How results may read the inputs, in whose place they could be written. The number says how many of them can be: what another stage of the kernel,
/// or another part of it, still reads is in the way.
const PROGRAMS: [(&str, usize, Two); 27] = [
    ("a map", 1, |x, _| vec![x * 2.0 + 1.0]),
    ("two operands", 1, |x, y| vec![x * y]),
    ("two results", 1, |x, y| vec![x - y * 0.1, y * 0.9 + x]),
    ("one operand twice", 1, |x, _| vec![x * x + x]),
    ("one input, two results", 1, |x, _| vec![x + 1.0, x - 1.0]),
    ("with its transpose", 1, |x, y| vec![x + x.transpose(0, 1), y.exp()]),
    ("a transposed operand", 1, |x, y| vec![x + y.transpose(0, 1)]),
    ("a transposed result", 1, |x, y| vec![x.transpose(0, 1).contiguous(), x + y]),
    ("upside down", 1, |x, y| vec![x.flip(&[0]) * y]),
    ("rolled", 2, |x, y| vec![x.roll(&[1], &[0]) + y, y.exp()]),
    ("its sum", 1, |x, _| vec![x / x.abs().sum_all()]),
    ("the sums of its rows", 1, |x, _| vec![x - x.mean(&[1], true)]),
    ("the sums of its columns", 1, |x, _| vec![x - x.mean(&[0], true)]),
    ("a softmax", 1, |x, _| vec![x.softmax(1)]),
    ("rows and a map", 1, |x, y| vec![x.softmax(1) + y, y - x.max(&[1], true)]),
    ("the same input, later", 1, |x, y| vec![x + y, (x * y).sum(&[0], true) + y]),
    ("a product", 0, |x, y| vec![x.matmul(y)]),
    ("a product and a map", 0, |x, y| vec![x - x.matmul(y)]),
    ("a product of what is computed", 0, |x, y| vec![x - y.matmul(&x.relu().transpose(0, 1))]),
    ("a product of both computed", 0, |x, y| {
        vec![(x - y.abs().transpose(0, 1).matmul(&(x * 2.0).transpose(0, 1))).exp()]
    }),
    ("a step against a product", 2, |x, y| {
        let slope = y.transpose(0, 1).matmul(y);
        vec![x - &slope * 0.1, y.exp(), slope.sum_all()]
    }),
    // What is ready first runs first: the last product takes the place of `y`.
    ("a chain of products", 1, |x, y| vec![x.matmul(y).matmul(x), y.matmul(x)]),
    ("an input as a result", 1, |x, y| vec![x.clone(), x + y]),
    ("a view of an input as a result", 1, |x, y| vec![x.reshape(&[-1]), x.transpose(0, 1), x * y]),
    ("running totals", 1, |x, y| vec![x.cumsum(0), x.cumsum(1) + y]),
    ("parts", 1, |x, y| {
        let n = x.shape()[0];
        let (first, rest) = (x.narrow(0, 0, n / 2), y.narrow(0, n / 2, n - n / 2));
        vec![DynTensor::concat(&[&(first * 2.0), &rest.exp()], 0), x + y]
    }),
    ("nothing of them", 0, |x, _| vec![x.zeros_like() + 3.0]),
];

#[test]
fn results_are_the_same_bits_whoever_has_the_inputs() -> Result<()> {
    let _turn = take_turn();
    for (name, _, program) in PROGRAMS {
        let run = compile(move |[x, y]: [DynTensor; 2]| program(&x, &y));
        for n in [0, 1, 2, 3, 17, 64, 129, 300] {
            let inputs = || [data(&[n, n], 1), data(&[n, n], 2)];
            let what = format!("{name}, {n}");
            let lent = inputs();
            let expected: Vec<_> = run.call(&lent)?.iter().map(bits).collect();
            let check = |results: Vec<DynTensor>, how: &str| {
                let same = results.iter().map(bits).eq(expected.iter().cloned());
                assert!(same, "{what}: {how}");
            };
            for threads in [1, 2, 3] {
                set_threads(threads);
                check(run.call(&lent)?, "lent");
                check(run.call_owned(inputs())?, "given");
                // What somebody has is not touched.
                check(run.call_owned(lent.clone())?, "given, and held");
                let [x, y] = inputs();
                check(run.call_owned([x.clone(), y])?, "one given, one held");
                check(run.call_owned([lent[0].clone(), data(&[n, n], 2)])?, "one held, one given");
                assert_eq!(bits(&x), bits(&lent[0]), "{what}");
            }
            set_threads(0);
            let unchanged = lent.iter().zip(inputs()).all(|(a, b)| bits(a) == bits(&b));
            assert!(unchanged, "{what}: an input that was held has changed");
        }
    }
    Ok(())
}

#[test]
fn results_take_the_places_that_they_may() -> Result<()> {
    let _turn = take_turn();
    for (name, places, program) in PROGRAMS {
        let run = compile(move |[x, y]: [DynTensor; 2]| program(&x, &y));
        let inputs = || [data(&[300, 300], 1), data(&[300, 300], 2)];
        let plan = run.explain(&inputs())?;
        // Blocks of memory come in sizes at most a quarter apart.
        let found = plan.in_place_bytes * 4 / (300 * 300 * 4) / 4;
        assert_eq!(found, places, "{name}: {} bytes\n{plan}", plan.in_place_bytes);
    }
    Ok(())
}

#[test]
fn a_step_against_a_product_of_any_kind_is_done_in_place() -> Result<()> {
    let _turn = take_turn();
    let step = compile(|[w, a, b]: [DynTensor; 3]| [w - a.matmul(&b) * 0.1, a.exp(), b.exp()]);
    // Batch, rows, columns and depth: tiny ones by the dozen, vectors, whole tiles and what is left over.
    for [batch, m, n, k] in [[1000, 3, 3, 3], [1, 300, 1, 200], [1, 1, 300, 200], [7, 33, 65, 17], [1, 513, 257, 129]] {
        let inputs = || [data(&[batch, m, n], 1), data(&[batch, m, k], 2), data(&[batch, k, n], 3)];
        let bytes = step.explain(&inputs())?.in_place_bytes;
        assert!(bytes >= 4 * batch * (m * n + m * k + k * n), "{bytes} bytes");
        let expected = step.call(&inputs())?.each_ref().map(bits);
        for threads in [1, 2, 3] {
            set_threads(threads);
            let found = step.call_owned(inputs())?.each_ref().map(bits);
            assert!(found == expected, "{batch} × {m} × {n} × {k}");
        }
        set_threads(0);
    }
    Ok(())
}

#[test]
fn a_state_stays_where_it_is() -> Result<()> {
    let _turn = take_turn();
    let step = compile(|[x, speed]: [DynTensor; 2]| {
        let speed = speed * 0.9 - &x * 0.1;
        [x + &speed, speed]
    });
    let mut state = [data(&[100, 50], 1), data(&[100, 50], 2)];
    state = step.call_owned(state)?;
    let (taken, live) = buffers();
    for _ in 0..10 {
        state = step.call_owned(state)?;
    }
    assert_eq!(buffers(), (taken, live), "no buffer was taken");
    // Whoever looks at a state keeps it, and the next ones are elsewhere.
    let seen = state.clone();
    let expected = seen.each_ref().map(bits);
    for _ in 0..3 {
        state = step.call_owned(state)?;
    }
    assert_eq!(seen.each_ref().map(bits), expected);
    assert_eq!(buffers(), (taken + 2, live + 2 * 100 * 50 * 4));
    drop(seen);
    assert_eq!(buffers().1, live);
    Ok(())
}

/// What is left to hold of a tensor that is given away.
type Hold = fn(&DynTensor) -> DynTensor;

#[test]
fn what_somebody_looks_at_is_never_overwritten() -> Result<()> {
    let _turn = take_turn();
    let holds: [(&str, Hold); 9] = [
        ("a clone", |x| x.clone()),
        ("a transpose", |x| x.transpose(0, 1)),
        ("a part", |x| x.narrow(0, 3, 2)),
        ("a row", |x| x.narrow(1, 0, 1)),
        ("another shape", |x| x.reshape(&[-1])),
        ("a detached one", |x| x.detach()),
        ("a wish", |x| x * 3.0),
        ("a wish for its sum", |x| x.transpose(0, 1).sum_all() + 1.0),
        ("one with a gradient", |x| x.clone().set_requires_grad(true)),
    ];
    let step = compile(|x: DynTensor| x * 2.0 + 1.0);
    for (name, hold) in holds {
        let x = data(&[40, 30], 1);
        let held = hold(&x);
        let expected = bits(&hold(&data(&[40, 30], 1)));
        let result = step.call_owned(x)?;
        assert_eq!(bits(&held), expected, "{name}");
        let again = step.call_owned(result)?;
        assert_eq!(bits(&again), bits(&((data(&[40, 30], 1) * 2.0 + 1.0) * 2.0 + 1.0)), "{name}");
    }
    Ok(())
}

#[test]
fn one_tensor_may_be_given_several_times() -> Result<()> {
    let _turn = take_turn();
    let step = compile(|[x, y]: [DynTensor; 2]| [&x + &y, &x * &y]);
    let expected = step.call(&[data(&[64, 64], 1), data(&[64, 64], 1)])?;
    let x = data(&[64, 64], 1);
    let twice = step.call_owned([x.clone(), x])?;
    assert_eq!(twice.each_ref().map(bits), expected.each_ref().map(bits));
    // Two shapes of the same numbers, and a view of one.
    let x = data(&[64, 64], 1);
    let views = step.call_owned([x.reshape(&[64, 64]), x])?;
    assert_eq!(views.each_ref().map(bits), expected.each_ref().map(bits));

    // Two results that are one buffer, and both are given back.
    let shapes = compile(|[x, y]: [DynTensor; 2]| {
        let sum = &x.reshape(&[-1]) + &y.reshape(&[-1]);
        [sum.reshape(&[64, 64]), sum]
    });
    let mut state = [data(&[64, 64], 1), data(&[4096], 1)];
    for factor in [2.0f32, 4.0, 8.0] {
        state = shapes.call_owned(state)?;
        let expected = bits(&(data(&[4096], 1) * f64::from(factor)));
        assert_eq!(state.each_ref().map(bits), [expected.clone(), expected]);
    }
    Ok(())
}

#[test]
fn what_a_function_captured_is_not_overwritten() -> Result<()> {
    let _turn = take_turn();
    let weight = data(&[50, 50], 3);
    let captured = weight.clone();
    let step = compile(move |x: DynTensor| (&x + &captured, captured.clone()));
    let (x, given) = step.call_owned(data(&[50, 50], 1))?;
    let expected = bits(&(&x + &weight));
    // The function's own tensor comes back as an input, and nobody else has it.
    drop(weight);
    let (sum, same) = step.call_owned(given)?;
    assert_eq!(bits(&sum), bits(&(data(&[50, 50], 3) * 2.0)));
    assert_eq!(bits(&same), bits(&data(&[50, 50], 3)));
    drop(same);
    assert_eq!(bits(&step.call_owned(x)?.0), expected);
    Ok(())
}

#[test]
fn inputs_may_be_lazy_or_views() -> Result<()> {
    let _turn = take_turn();
    let step = compile(|x: DynTensor| x * 2.0 + 1.0);
    let expected = bits(&(data(&[30, 40], 1).transpose(0, 1) * 2.0 + 1.0));
    let base = data(&[30, 40], 1);
    assert_eq!(bits(&step.call_owned(base.transpose(0, 1))?), expected);
    assert_eq!(bits(&base), bits(&data(&[30, 40], 1)));
    assert_eq!(bits(&step.call_owned(base.transpose(0, 1))?), expected);
    drop(base);
    assert_eq!(bits(&step.call_owned(data(&[30, 40], 1).transpose(0, 1) + 0.0)?), expected);
    assert_eq!(bits(&step.call_owned(data(&[30, 40], 1).transpose(0, 1).contiguous())?), expected);
    let ones = step.call_owned(DynTensor::from_data(vec![1f32], &[1]).expand(&[40, 30]))?;
    assert_eq!(bits(&ones), [3f32.to_bits(); 1200]);
    Ok(())
}

#[test]
fn every_dtype_and_its_like() -> Result<()> {
    let _turn = take_turn();
    let halves = compile(|x: DynTensor| (x.cast(zither::DType::F16), x + 1.0));
    let (half, more) = halves.call_owned(data(&[200], 1))?;
    assert_eq!(half.cast(zither::DType::F32).data::<f32>()?.len(), 200);
    assert_eq!(bits(&more), bits(&(data(&[200], 1) + 1.0)));
    // As many bytes, but another dtype: 1.5 is no integer.
    let rounds = compile(|x: Vector<f32>| -> Vector<i32> { (x * 2.0).cast() });
    assert_eq!(rounds.call_owned(Tensor::new([1.5, -2.0]))?.data()?, [3, -4]);
    let flips = compile(|x: Vector<bool>| !x);
    assert_eq!(flips.call_owned(Tensor::new([true, false, true]))?.data()?, [false, true, false]);
    let counts = compile(|[a, b]: [Vector<i64>; 2]| [&a / &b, a % b]);
    let [quotient, rest] = counts.call_owned([Tensor::new([7, -7, 9]), Tensor::new([2, 2, 3])])?;
    let expected = counts.call(&[Tensor::new([7, -7, 9]), Tensor::new([2, 2, 3])])?;
    assert_eq!((quotient.data()?, rest.data()?), (expected[0].data()?, expected[1].data()?));
    Ok(())
}

#[test]
fn a_call_that_fails_leaves_what_others_hold_and_can_be_called_again() -> Result<()> {
    let _turn = take_turn();
    let divide = compile(|[a, b]: [Vector<i64>; 2]| &a / &b);
    let a = Tensor::from_data((0..5000).collect(), [5000]);
    let zeros = Tensor::from_data((0..5000).map(|k| 4999 - k).collect(), [5000]);
    let error = divide.call_owned([a.clone(), zeros]).unwrap_err();
    assert!(error.to_string().contains("zero"), "{error}");
    assert_eq!(a.data()?, (0..5000).collect::<Vec<i64>>());
    assert!(divide.call_owned([a.clone(), Tensor::zeros([5000])]).is_err());
    let halves = divide.call_owned([a, Tensor::full([5000], 2)])?;
    assert_eq!(halves.data()?, (0..5000).map(|k| k / 2).collect::<Vec<i64>>());
    let slope = compile(|x: Matrix<f32>| x * 2.0);
    let wants = Tensor::new([[1.0f32]]).set_requires_grad(true);
    assert_eq!(slope.call_owned(wants).unwrap_err().kind(), ErrorKind::Gradient);
    assert_eq!(slope.call_owned(Tensor::new([[1.0]]))?.data()?, [2.0]);
    Ok(())
}

#[test]
fn many_threads_may_give_inputs_at_once() -> Result<()> {
    let _turn = take_turn();
    let step: Compiled<[DynTensor; 2], [DynTensor; 2]> =
        compile(|[x, y]: [DynTensor; 2]| [&x - &y * 0.1, &y * 0.9 + &x]);
    let start = || [data(&[70, 70], 1), data(&[70, 70], 2)];
    let mut expected = start();
    for _ in 0..20 {
        expected = step.call(&expected)?;
    }
    let expected = expected.each_ref().map(bits);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let mut state = start();
                    for _ in 0..20 {
                        state = step.call_owned(state).expect("a step");
                    }
                    assert_eq!(state.each_ref().map(bits), expected);
                }
            });
        }
    });
    Ok(())
}
