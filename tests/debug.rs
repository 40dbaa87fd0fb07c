//! What `ZITHER_DEBUG` prints, by running a part of this file again.

use std::process::Command;
use zither::Tensor;

#[test]
fn some_sums() {
    let x = Tensor::arange(0f32, 1000.0);
    let y = (&x + x.exp()).sum_all();
    assert!(y.to_scalar().expect("one number") > 0.0);
}

/// What the sums print to standard error.
fn printed(level: &str, jit: &str) -> String {
    let itself = std::env::current_exe().expect("the path of this program");
    let mut again = Command::new(itself);
    again.args(["--exact", "some_sums", "--nocapture"]).env("ZITHER_DEBUG", level).env("ZITHER_JIT", jit);
    let output = again.output().expect("this program can be run again");
    assert!(output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn the_fourth_level_prints_machine_code() {
    let interpreted = printed("4", "off");
    assert!(interpreted.contains("(run by the block interpreter)"), "{interpreted}");
    assert!(!printed("3", "on").contains("vaddps"));
    #[cfg(all(target_arch = "x86_64", unix))]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
        let code = printed("4", "on");
        assert!(code.lines().any(|line| line.trim().starts_with("vaddps ")), "{code}");
        assert!(code.lines().any(|line| line.trim() == "ret"), "{code}");
    }
}
