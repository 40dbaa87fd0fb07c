//! A program that goes on along the rows by itself.

use super::{jit_for, widths};
use crate::codegen::Next;
use crate::dtype::DType;
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::vector::{Emit, Lane, Unary};
use crate::shape::Expr;

const ROWS: usize = 12;
/// Rows of the first operand are so much longer than they are read.
const GAP: usize = 3;

/// `x · w + table + position`, of so many rows and columns at a time; the table's place is computed from the index.
fn program(rows: usize, columns: usize, fold: Option<Fold>) -> LoopProgram {
    let mut emit = Emit::new();
    let [x, w, table] = [0, 1, 2].map(|slot| emit.load(slot, DType::F64));
    let position = emit.position();
    let position = emit.convert(Unary::ToF64, position, Lane::F64);
    let product = emit.mul(x, w);
    let sum = emit.add(product, table);
    let result = emit.add(sum, position);
    let load = |access| Load { dtype: DType::F64, access };
    let strided = |row: usize| load(Access::Strided { offset: 0, strides: vec![row as i64, 1] });
    let computed = Expr::idx(0) * (columns as i64) + Expr::idx(1);
    let inner = columns as i64;
    LoopProgram {
        outer: if fold.is_some() { vec![rows] } else { vec![rows, columns] },
        store: if fold.is_some() { vec![1] } else { vec![inner, 1] },
        reduced: if fold.is_some() { vec![columns] } else { vec![] },
        loads: vec![strided(columns + GAP), strided(0), load(Access::Computed { position: computed, guards: vec![] })],
        indices: vec![],
        words: emit.finish(),
        result,
        fold,
        stored: DType::F64,
    }
}

/// Numbers whose sums and products are exact.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|k| ((k * 7 + seed) % 13) as f64 - 6.0).collect()
}

#[test]
fn runs_that_follow_each_other_are_where_they_should_be() {
    let mut went_on = 0;
    for (&full, columns) in widths().iter().flat_map(|full| [1, 5, 8, 40, 70].map(|columns| (full, columns))) {
        let pitch = columns + GAP;
        let (x, w, table) = (numbers(ROWS * pitch, 1), numbers(columns, 2), numbers(ROWS * columns, 3));
        let element = |row: usize, column: usize| {
            let place = row * columns + column;
            x[row * pitch + column] * w[column] + table[place] + place as f64
        };
        for (rows, fold) in [1, 3, 4].into_iter().flat_map(|rows| [(rows, None), (rows, Some(Fold::Sum))]) {
            let across = if fold.is_some() { 1 } else { columns };
            let Some(compiled) = jit_for(&program(rows, columns, fold), 0, full) else { continue };
            let mut out = vec![0f64; ROWS * across];
            let mut frame = vec![[0u64; 8]; compiled.repeated_bytes().div_ceil(64) + 1];
            let frame = frame.as_mut_ptr().cast::<u8>();
            let frame = frame.wrapping_add(frame.align_offset(64));
            let loads = [rows * pitch * 8, 0, 0].map(|bytes| bytes as i64);
            let next = Next { loads: &loads, output: (rows * across * 8) as i64, origin: rows };
            // SAFETY: the frame is aligned and has room; operands and output have all rows, of which each run takes its own.
            unsafe {
                let mut repeated = compiled.repeated(&[], frame, Some(&next));
                for row in (0..ROWS).step_by(rows) {
                    if row > 0 && repeated.run_next() {
                        went_on += 1;
                        continue;
                    }
                    let loads: [*const u8; 3] =
                        [x[row * pitch..].as_ptr(), w.as_ptr(), table.as_ptr()].map(|start| start.cast());
                    repeated.run(&loads, out[row * across..].as_mut_ptr().cast(), row).expect("nothing can fail");
                }
            }
            let row_of = |row: usize| (0..columns).map(move |column| element(row, column));
            let expected: Vec<f64> = match fold {
                Some(_) => (0..ROWS).map(|row| row_of(row).sum()).collect(),
                None => (0..ROWS).flat_map(row_of).collect(),
            };
            assert_eq!(out, expected, "{rows} rows of {columns} at a time, {fold:?}, {full:?}");
        }
    }
    assert!(widths().is_empty() || went_on > 100, "{went_on}");
}
