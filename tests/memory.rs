//! Memory goes when the last one who could ask for it goes.
//!
//! One test in a process of its own: the counts are the whole process's.

use zither::{Dim1, Tensor, Var, memory, no_grad};

/// `steps` of descent on x², reading only the loss; the live bytes after each.
fn descend(steps: usize, one_step: impl Fn(&Var<f64, Dim1>)) -> Vec<usize> {
    let x = Var::new(Tensor::<f64, Dim1>::full([1000], 1.0));
    let live = (0..steps).map(|_| {
        one_step(&x);
        memory::stats().live_bytes
    });
    live.collect()
}

fn loss(x: &Var<f64, Dim1>) -> Tensor<f64, zither::Dim0> {
    let x = x.get();
    (&x * &x * 0.5).sum_all()
}

#[test]
fn peer_candle_1241_and_harp_memory_is_returned() {
    let before = memory::stats().live_bytes;

    // Tensors that are dropped give their memory back, also when a gradient was computed and never read.
    {
        let x = Tensor::<f32, _>::rand([10_000]).set_requires_grad(true);
        let y = (&x * &x).sin();
        y.backward();
        assert!(y.data().is_ok());
        assert!(memory::stats().live_bytes > before);
    }
    assert_eq!(memory::stats().live_bytes, before, "x and y are gone, and with them the gradient");

    // A training loop holds as much after a hundred steps as after three, whichever way it is written.
    let with_grads = descend(100, |x| {
        let loss = loss(x);
        let grads = loss.backward();
        assert!(loss.item().is_ok());
        x.set(&no_grad(|| x.get() - grads.get(&x.get()).expect("x is reached") * 0.1));
    });
    assert_eq!(with_grads[99], with_grads[3]);
    let with_slots = descend(100, |x| {
        let loss = loss(x);
        loss.backward();
        assert!(loss.item().is_ok());
        x.set(&(x.get() - x.grad().expect("x is reached") * 0.1));
    });
    assert_eq!(with_slots[99], with_slots[3]);
    assert_eq!(memory::stats().live_bytes, before);
}
