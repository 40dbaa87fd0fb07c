//! How fast machine code is beside the interpreter. Run it on a quiet machine:
//! `cargo test --release --lib how_fast -- --ignored --nocapture`.

use super::super::build::{Kind, Read, Spec};
use super::super::elements::Step;
use super::super::kernel::Kernel;
use super::jit;
use crate::codegen::Compiled;
use crate::codegen::block::tests::folds::matrix;
use crate::codegen::block::tests::words::map;
use crate::dtype::DType;
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::math;
use crate::ops::vector::{Emit, Val};
use std::time::Instant;

fn gelu(e: &mut Emit, x: Val) -> Val {
    let [half, one, scale, cubic] = [0.5, 1.0, 0.797_884_560_802_865_4, 0.044_715].map(|c| e.float(x.lane, c));
    let square = e.mul(x, x);
    let bend = e.mul(square, cubic);
    let bend = e.add(bend, one);
    let inner = e.mul(x, scale);
    let inner = e.mul(inner, bend);
    let tanh = math::tanh(e, inner);
    let sum = e.add(tanh, one);
    let halved = e.mul(x, half);
    e.mul(halved, sum)
}

/// The best time of one run, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    run();
    let (mut best, begun) = (f64::INFINITY, Instant::now());
    while begun.elapsed().as_millis() < 200 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64() * 1e9);
    }
    best
}

fn time(program: &LoopProgram, compiled: &Compiled, elements: usize) -> f64 {
    let length = 1 << 21;
    let operands: Vec<Vec<f64>> = program.loads.iter().map(|_| vec![0.37; length]).collect();
    let floats: Vec<Vec<f32>> =
        program.loads.iter().map(|_| (0..length).map(|i| (i % 13) as f32 * 0.3 - 2.0).collect()).collect();
    let loads: Vec<*const u8> = program
        .loads
        .iter()
        .zip(operands.iter().zip(&floats))
        .map(
            |(load, (wide, narrow))| if load.dtype.size() == 8 { wide.as_ptr().cast() } else { narrow.as_ptr().cast() },
        )
        .collect();
    let mut out = vec![0u64; length];
    // SAFETY: the operands and the output are longer than any program here asks.
    best(|| unsafe { compiled.run_all(&loads, out.as_mut_ptr().cast()).unwrap() }) / elements as f64
}

/// A spec that the cache does not know.
fn compile_time(program: &LoopProgram) -> f64 {
    let read = |load: &Load| Read { dtype: load.dtype, step: Step::Dense, stepped: false };
    let spec = Spec {
        words: program.words.clone(),
        result: program.result,
        stored: program.stored,
        operands: program.loads.iter().map(read).collect(),
        kind: Kind::Map,
    };
    best(|| drop(Kernel::new(&spec).unwrap())) / 1000.0
}

#[test]
#[ignore = "a measurement"]
fn how_fast() {
    let fused = |n| {
        map(n, &[(DType::F32, true); 3], DType::F32, |e| {
            let (a, b, c) = (e.load(0, DType::F32), e.load(1, DType::F32), e.load(2, DType::F32));
            let sum = e.add(a, b);
            e.mul(sum, c)
        })
    };
    let unary = |n, dtype, write: fn(&mut Emit, Val) -> Val| {
        map(n, &[(dtype, true)], dtype, |e| {
            let x = e.load(0, dtype);
            write(e, x)
        })
    };
    let copy = |n, strides: Vec<i64>| {
        let mut program = map(n, &[(DType::F32, true)], DType::F32, |e| e.load(0, DType::F32));
        program.outer = vec![1024, 1024];
        program.loads[0].access = Access::Strided { offset: 0, strides };
        program
    };
    let short_rows = |rows: usize, columns: usize| {
        let mut program = map(rows * columns, &[(DType::F32, true); 2], DType::F32, |e| {
            let (a, b) = (e.load(0, DType::F32), e.load(1, DType::F32));
            e.add(a, b)
        });
        program.outer = vec![rows, columns];
        program.loads[0].access = Access::Strided { offset: 0, strides: vec![columns as i64, 1] };
        program.loads[1].access = Access::Strided { offset: 0, strides: vec![0, 1] };
        program
    };
    let permuted = |inner: usize, middle: usize| {
        // The axes but the last two are turned round.
        let mut program = short_rows(64 * 64 * middle, inner);
        let (m, n) = (middle as i64, inner as i64);
        program.outer = vec![64, 64, middle, inner];
        program.loads[0].access = Access::Strided { offset: 0, strides: vec![m * n, 64 * m * n, 1, m] };
        program.loads[1].access = Access::Strided { offset: 0, strides: vec![1, 0, 0, 1] };
        program
    };
    let million = 1 << 20;
    let rows: Vec<(&str, LoopProgram, usize)> = vec![
        ("(a+b)*c f32, 4096", fused(4096), 4096),
        ("(a+b)*c f32, 1M", fused(million), million),
        ("gelu-tanh f32, 4096", unary(4096, DType::F32, gelu), 4096),
        ("gelu-tanh f32, 1M", unary(million, DType::F32, gelu), million),
        ("exp f32, 4096", unary(4096, DType::F32, math::exp), 4096),
        ("exp f64, 4096", unary(4096, DType::F64, math::exp), 4096),
        ("sin f32, 4096", unary(4096, DType::F32, math::sin), 4096),
        ("erf f64, 4096", unary(4096, DType::F64, math::erf), 4096),
        ("transpose f32, 1024x1024", copy(million, vec![1, 1024]), million),
        ("rows + row f32, 4096x16", short_rows(4096, 16), 1 << 16),
        ("rows + row f32, 8192x3", short_rows(8192, 3), 8192 * 3),
        ("rows + row f32, 8192x2", short_rows(8192, 2), 8192 * 2),
        ("rows + row f32, 8192x5", short_rows(8192, 5), 8192 * 5),
        ("turned f32, 64x64x2x2", permuted(2, 2), 64 * 64 * 4),
        ("turned f32, 64x64x4x4", permuted(4, 4), 64 * 64 * 16),
        ("turned f32, 64x64x2x16", permuted(16, 2), 64 * 64 * 32),
        ("turned f32, 64x64x16x2", permuted(2, 16), 64 * 64 * 32),
        ("sum f32 1024x1024, axis 1", matrix(1024, 1024, false, DType::F32, Fold::Sum), million),
        ("sum f32 1024x1024, axis 0", matrix(1024, 1024, true, DType::F32, Fold::Sum), million),
        ("sum f32 1M", matrix(1, million, false, DType::F32, Fold::Sum), million),
        ("max f32 1024x1024, axis 1", matrix(1024, 1024, false, DType::F32, Fold::Max), million),
        ("max f32 1024x1024, axis 0", matrix(1024, 1024, true, DType::F32, Fold::Max), million),
        ("sum f64 1024x1024, axis 1", matrix(1024, 1024, false, DType::F64, Fold::Sum), million),
        ("sum f64 1024x1024, axis 0", matrix(1024, 1024, true, DType::F64, Fold::Sum), million),
        ("sum f32 16384x32, axis 1", matrix(16384, 32, false, DType::F32, Fold::Sum), 1 << 19),
        ("sum f32 16384x48, axis 1", matrix(16384, 48, false, DType::F32, Fold::Sum), 16384 * 48),
    ];
    println!("{:28} {:>9} {:>12} {:>7}   ns an element", "", "machine", "interpreter", "ratio");
    for (name, program, elements) in rows {
        let Some(compiled) = jit(&program) else { continue };
        let (jit, interpreter) =
            (time(&program, &compiled, elements), time(&program, &Compiled::interpreted(&program, true), elements));
        println!("{name:28} {jit:9.4} {interpreter:12.4} {:7.2}", interpreter / jit);
    }
    for (name, program) in [
        ("(a+b)*c f32", fused(64)),
        ("gelu-tanh f32", unary(64, DType::F32, gelu)),
        ("exp f64", unary(64, DType::F64, math::exp)),
        ("sin f32", unary(64, DType::F32, math::sin)),
        ("random bits", map(64, &[], DType::U32, |e| crate::ops::random::write(e, 1, 2, 3))),
        (
            "pow f64",
            map(64, &[(DType::F64, true); 2], DType::F64, |e| {
                let (x, y) = (e.load(0, DType::F64), e.load(1, DType::F64));
                math::pow(e, x, y)
            }),
        ),
    ] {
        println!("compiling {name}: {:.1} µs for {} words", compile_time(&program), program.words.len());
        let (found, interpreted) = (best(|| drop(jit(&program))), best(|| drop(Compiled::interpreted(&program, true))));
        println!("  found again: {:.2} µs; for the interpreter: {:.2} µs", found / 1000.0, interpreted / 1000.0);
    }
}
