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

/// The bytes that a row cannot but move: of what it only reads, or of what it reads and what it writes together.
#[derive(Clone, Copy, Debug)]
pub enum Moved {
    Read(usize),
    Copied(usize),
}

/// The loop of a row's limit, as the rows `limit_read_64MiB_huge_2t` and `limit_copy_nt_64MiB_huge_2t` have it: called with how many turns it takes, it gives the
/// seconds in which the best of them would have moved so many bytes. `None` where there are no such rows.
pub fn turns(row: &str, moved: Moved) -> Option<Box<dyn FnMut(usize) -> f64>> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if has_instructions() {
        return Some(machine::turns(moved));
    }
    let _ = moved; // nothing counts it where there are no loops
    note(row, WHY_NOT);
    None
}

const WHY_NOT: &str = "left out, limits are written for Linux on x86-64 with AVX2 and FMA";

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn has_instructions() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

pub fn run(bench: &Bench) {
    if !bench.wants_some("limit_") {
        return;
    }
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if has_instructions() {
        return machine::run(bench);
    }
    note("limit_*", WHY_NOT);
}
