//! How fast it is: `cargo test --release speed -- --ignored --nocapture`. Results are checked before they are timed.

use super::folds::matrix;
use super::{Random, check};
use crate::codegen::{Compiled, compile};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::vector::Emit;
use std::time::Instant;

/// `(a + b) * c` over a matrix, each operand with its own strides.
fn add_multiply(rows: usize, columns: usize, strides: [[i64; 2]; 3]) -> LoopProgram {
    let mut emit = Emit::new();
    let [a, b, c] = [0, 1, 2].map(|slot| emit.load(slot, DType::F32));
    let sum = emit.add(a, b);
    let result = emit.mul(sum, c);
    let load = |strides: [i64; 2]| Load {
        dtype: DType::F32,
        access: Access::Strided { offset: 0, strides: strides.to_vec() },
    };
    LoopProgram {
        outer: vec![rows, columns],
        reduced: vec![],
        loads: strides.map(load).to_vec(),
        words: emit.finish(),
        result,
        fold: None,
        stored: DType::F32,
    }
}

fn time(name: &str, program: &LoopProgram, elements: usize) {
    let operands: Vec<Vec<f32>> = program.loads.iter().map(|_| vec![1.5f32; elements]).collect();
    let loads: Vec<*const u8> = operands.iter().map(|operand| operand.as_ptr().cast()).collect();
    let mut out = vec![0f32; program.outer.iter().product()];
    let compiled: Compiled = compile(program);
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let rounds = (4_000_000 / elements).max(1);
        let start = Instant::now();
        for _ in 0..rounds {
            // SAFETY: operands have all positions of the matrix, `out` has room for all outputs.
            unsafe { compiled.run_all(&loads, out.as_mut_ptr().cast()) }.unwrap();
        }
        best = best.min(start.elapsed().as_secs_f64() / (rounds * elements) as f64);
    }
    println!("{name:40} {:8.3} ns per element, {} parts", best * 1e9, compiled.parts());
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let mut random = Random::new(10);
    let small = add_multiply(7, 9, [[9, 1], [1, 7], [0, 1]]);
    let operands: Vec<_> =
        (0..3).map(|_| (0..63).map(|_| random.value(DType::F32)).collect::<Vec<Literal>>()).collect();
    check(&small, &operands);

    time("(a + b) * c, 1 × 1024", &add_multiply(1, 1024, [[0, 1]; 3]), 1024);
    time("(a + b) * c, 1 × 4096", &add_multiply(1, 4096, [[0, 1]; 3]), 4096);
    time("(a + b) * c, 1024 × 1024", &add_multiply(1024, 1024, [[1024, 1]; 3]), 1 << 20);
    time("(a + row) * column, 64 × 64", &add_multiply(64, 64, [[64, 1], [0, 1], [1, 0]]), 4096);
    time("(a + row) * column, 1024 × 1024", &add_multiply(1024, 1024, [[1024, 1], [0, 1], [1, 0]]), 1 << 20);
    time("(a + b) * transposed c, 1024 × 1024", &add_multiply(1024, 1024, [[1024, 1], [1024, 1], [1, 1024]]), 1 << 20);
    time(
        "(a + b) * transposed c, 1000 × 1000",
        &add_multiply(1000, 1000, [[1000, 1], [1000, 1], [1, 1000]]),
        1_000_000,
    );
    time("(a + b) * c, one element", &add_multiply(1, 1, [[1, 1]; 3]), 1);
    for (rows, columns) in [(1024, 1024), (1, 1 << 20), (1 << 17, 8), (1 << 20, 4), (64, 64)] {
        for over_rows in [false, true] {
            let program = matrix(rows, columns, over_rows, DType::F32, Fold::Sum);
            let axis = if over_rows { "rows" } else { "columns" };
            time(&format!("sum over the {axis} of {rows} × {columns}"), &program, rows * columns);
        }
    }
    time("max over the columns of 1024 × 1024", &matrix(1024, 1024, false, DType::F32, Fold::Max), 1 << 20);
    time("max over the rows of 1024 × 1024", &matrix(1024, 1024, true, DType::F32, Fold::Max), 1 << 20);
}
