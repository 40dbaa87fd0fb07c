//! Rows `limit_*`: what the machine can do at most, by loops that do nothing else.
//!
//! Memory bandwidth, the cost of memory that is touched for the first time, and the rate of fused multiply-adds, on one
//! thread and on two. They are the machine's figures, not the library's, and are labelled so.
//!
//! Bytes are counted as the program asks for them: what a plain store reads first is not counted.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod loops;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod machine;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod pages;

use crate::bench::{Bench, note};

pub fn run(bench: &Bench) {
    if !bench.wants_some("limit_") {
        return;
    }
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return machine::run(bench);
    }
    note("limit_*", "left out, they are written for Linux on x86-64 with AVX2 and FMA");
}
