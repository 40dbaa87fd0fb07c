//! Memory comes back, and work is done once. The counts are the process's, so these tests take turns.

use std::sync::{Barrier, Mutex, PoisonError};
use zither::memory::stats;
use zither::{Result, Tensor};

static TURN: Mutex<()> = Mutex::new(());

#[test]
fn peer_harp_dropping_tensors_returns_their_memory() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = stats().live_bytes;
    for round in 0..5 {
        let x = Tensor::<f32, _>::rand([256, 256]).realize()?.set_requires_grad(true);
        let y = x.softmax(1).matmul(&x.t()).tanh().sum_all();
        y.backward();
        let grad = x.grad().expect("asked for");
        assert_eq!(grad.data()?.len(), 65_536);
        assert!(stats().live_bytes >= before + 2 * 4 * 65_536, "x and its gradient are alive");
        x.zero_grad();
        drop((x, y, grad));
        assert_eq!(stats().live_bytes, before, "round {round}");
    }
    // A view keeps its storage alive, and nothing else.
    let x = Tensor::<f32, _>::ones([1000]).realize()?;
    let part = x.narrow(0, 10, 1);
    drop(x);
    assert!(stats().live_bytes >= before + 4000);
    drop(part);
    assert_eq!(stats().live_bytes, before);
    Ok(())
}

#[test]
fn one_lazy_tensor_read_by_eight_threads_is_executed_once() -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let blocks = || stats().fresh + stats().reused;
    let x = Tensor::<f64, _>::arange(0.0, 50_000.0).realize()?;
    let alone = (&x * 1e-4).exp().sin();
    let before = blocks();
    let wanted = alone.data()?;
    let needed = blocks() - before;
    assert!(needed >= 1);

    let shared = (&x * 1e-4).exp().sin();
    let (before, start) = (blocks(), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                assert!(shared.data().expect("it runs") == wanted);
            });
        }
    });
    assert_eq!(blocks() - before, needed, "eight readers, one execution");
    assert!(shared.is_realized());
    Ok(())
}
