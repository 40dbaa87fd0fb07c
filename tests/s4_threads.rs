//! S4.52: one op puts several threads to work. Alone in its file: it counts the threads of the process.
#![cfg(target_os = "linux")]

use zither::runtime::{set_threads, threads};
use zither::{Result, Tensor};

fn running() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux lists a process's threads").count()
}

#[test]
fn s4_52_one_op_starts_workers_and_small_work_does_not() -> Result<()> {
    set_threads(3);
    assert_eq!(threads(), 3);
    let before = running();
    let small = Tensor::<f32, _>::ones([4, 4]).realize()?;
    assert_eq!((&small + &small).data()?, [2.0; 16]);
    assert_eq!(running(), before, "16 elements are no work to share");

    let a = Tensor::<f32, _>::ones([32, 63, 12, 32]).realize()?;
    let b = Tensor::<f32, _>::ones([32, 1, 1, 32]).realize()?;
    let sum = (&a + &b).data()?;
    assert!(sum.len() == 32 * 63 * 12 * 32 && sum.iter().all(|&v| v == 2.0));
    assert_eq!(running(), before + 2, "the caller and two workers");
    Ok(())
}
