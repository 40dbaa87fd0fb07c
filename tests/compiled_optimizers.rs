//! Steps of every optimiser through `compile`: the same numbers as without it, and the state goes in and out as tensors.

use zither::optim::{Adagrad, Adam, AdamW, Optimizer, RmsProp, Sgd, State};
use zither::{DynTensor, ErrorKind, Matrix, Tensor, compile, realize_all};

const STEPS: u64 = 6;

/// A parameter, and what the gradient is made with.
fn start() -> (Matrix<f64>, Matrix<f64>) {
    let value = |seed: f64| Tensor::linspace(-1.0f64, 1.3, 12).reshape([3, 4]).sin() * seed;
    (value(1.0).realize().unwrap(), value(-0.7).realize().unwrap())
}

fn gradient(x: &Matrix<f64>, towards: &Matrix<f64>) -> Matrix<f64> {
    (x - towards) * 0.6 + x.cos() * 0.1
}

fn same(compiled: &[f64], plain: &[f64], what: &str) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * (1.0 + b.abs());
    assert!(compiled.len() == plain.len() && compiled.iter().zip(plain).all(close), "{what}: {compiled:?}, {plain:?}");
}

/// Takes the same steps both ways.
fn check(name: &str, optimizer: impl Optimizer + Clone + Send + Sync + 'static) {
    let (begin, towards) = start();
    let (mut x, mut state) = (begin.clone(), optimizer.start());
    let compiled = {
        let (optimizer, towards) = (optimizer.clone(), towards.clone());
        compile(move |(x, state): (Matrix<f64>, State)| optimizer.step(&x, &gradient(&x, &towards), &state))
    };
    let mut owned = (begin, optimizer.start());
    for step in 1..=STEPS {
        (x, state) = optimizer.step(&x, &gradient(&x, &towards), &state);
        realize_all(&[&x.to_dynamic()]).unwrap();
        // Lent in every other step, given away in the others.
        owned = if step % 2 == 0 { compiled.call(&owned).unwrap() } else { compiled.call_owned(owned).unwrap() };
        same(&owned.0.data().unwrap(), &x.data().unwrap(), &format!("{name}, step {step}"));
        assert_eq!((owned.1.steps(), state.steps()), (step, step), "{name}");
    }
    assert_eq!(owned.1.tensors().len(), state.tensors().len(), "{name}");
    let slots = owned.1.tensors().iter().zip(state.tensors());
    slots.for_each(|(a, b)| same(&a.data().unwrap(), &b.data().unwrap(), &format!("{name}, state")));

    // What comes out of a compiled function goes on without it, and the other way round.
    let (after, _) = optimizer.step(&owned.0, &gradient(&owned.0, &towards), &owned.1);
    let (again, counted) = compiled.call(&(x, state)).unwrap();
    same(&after.data().unwrap(), &again.data().unwrap(), &format!("{name}, after"));
    assert_eq!(counted.steps(), STEPS + 1);
    let kept = State::restore(counted.steps(), counted.tensors().to_vec());
    assert_eq!(kept.steps(), STEPS + 1);
}

#[test]
fn every_optimiser_takes_the_same_steps_compiled() {
    check("Sgd", Sgd { lr: 0.1, ..Sgd::default() });
    check("Sgd with momentum", Sgd { lr: 0.1, momentum: 0.9, dampening: 0.2, ..Sgd::default() });
    check("Sgd, Nesterov", Sgd { lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01, ..Sgd::default() });
    check("Adam", Adam { lr: 0.1, ..Adam::default() });
    check("Adam with amsgrad", Adam { lr: 0.1, amsgrad: true, weight_decay: 0.1, maximize: true, ..Adam::default() });
    check("AdamW", AdamW { lr: 0.1, ..AdamW::default() });
    check("RmsProp", RmsProp { lr: 0.1, momentum: 0.5, centered: true, ..RmsProp::default() });
    check("Adagrad", Adagrad { lr: 0.1, ..Adagrad::default() });
    check("Adagrad with decay", Adagrad { lr: 0.1, lr_decay: 0.3, initial: 0.1, ..Adagrad::default() });
}

#[test]
fn narrow_and_dynamic_parameters_take_the_same_steps() {
    let adam = Adam { lr: 0.01, ..Adam::default() };
    let x = Tensor::new([1.0f32, -0.5, 2.0]);
    let step = compile(move |(x, state): (DynTensor, State)| adam.step_dyn(&x, &(&x * 0.5), &state));
    let (mut compiled, mut plain) = ((x.to_dynamic(), adam.start()), (x, adam.start()));
    for _ in 0..20 {
        compiled = step.call_owned(compiled).unwrap();
        plain = adam.step(&plain.0, &(&plain.0 * 0.5), &plain.1);
        realize_all(&[&plain.0.to_dynamic()]).unwrap();
    }
    let (a, b) = (compiled.0.data::<f32>().unwrap(), plain.0.data().unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-6), "{a:?} and {b:?}");
}

#[test]
fn the_number_of_steps_cannot_be_read_while_a_function_is_traced() {
    let sgd = Sgd::default();
    let read = compile(move |(x, state): (Matrix<f64>, State)| {
        assert_eq!(state.try_steps().unwrap_err().kind(), ErrorKind::Input);
        sgd.step(&x, &x, &state)
    });
    let (x, _) = start();
    read.call(&(x, sgd.start())).unwrap();
}
