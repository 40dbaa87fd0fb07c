//! Rows l: lookups, scatters, running totals and sorting.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::{Near, near};
use crate::data::Input;
use crate::measure::OP;
use std::time::Instant;
use zither::{Dim1, Dim2, Tensor, grad, realize_all};

const WORDS: usize = 50_257;
const WIDTH: usize = 768;
const TOKENS: usize = 8192;
const SQUARE: usize = 4096;
const BINS: usize = 1000;
const MANY: usize = 4_000_000;
const LINES: usize = 1000;
const LENGTH: usize = 10_000;
const FIRST: usize = 50;

pub fn run(bench: &Bench) -> Outcome {
    if bench.wants_some("l_embedding") {
        embedding(bench)?;
    }
    if bench.wants_some("l_scatter_add") {
        scatter_add(bench)?;
    }
    if bench.wants_some("l_cumsum") {
        cumsum(bench)?;
    }
    if bench.wants_some("l_topk") || bench.wants_some("l_sort") {
        sort(bench)?;
    }
    Ok(())
}

/// Whole numbers below a limit.
fn indices(count: usize, below: usize) -> Vec<i64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    (0..count).map(|_| next() as i64).collect()
}

fn embedding(bench: &Bench) -> Outcome {
    let table = Input::<f32, 2>::random([WORDS, WIDTH]);
    let plain = indices(TOKENS, WORDS);
    let words: Tensor<i64, Dim1> = Tensor::from_data(plain.clone(), [TOKENS]);
    bench.row(
        "l_embedding_50257x768_8192",
        Unit::Milliseconds,
        [TOKENS, WIDTH],
        || table.tensor.embedding(&words),
        |[i, j]| Near::exact(table.at([plain[i] as usize, j])),
    )?;
    let weights = Input::<f32, 2>::random([TOKENS, WIDTH]);
    bench.row(
        "l_embedding_grad_50257x768_8192",
        Unit::Milliseconds,
        [WORDS, WIDTH],
        || {
            let found = table.tensor.embedding(&words);
            grad(&(found * &weights.tensor).sum_all(), &[&table.tensor]).expect("a gradient").remove(0)
        },
        |[i, j]| {
            let uses = (0..TOKENS).filter(|&k| plain[k] as usize == i);
            Near::sum(uses.map(|k| weights.at([k, j])))
        },
    )
}

fn scatter_add(bench: &Bench) -> Outcome {
    let plain = indices(MANY, BINS);
    let index: Tensor<i64, Dim1> = Tensor::from_data(plain.clone(), [MANY]);
    let source = Input::<f32, 1>::random([MANY]);
    let zeros = Tensor::<f32, Dim1>::zeros([BINS]).realize()?;
    let mut sums = vec![Vec::new(); BINS];
    plain.iter().zip(source.plain()).for_each(|(&bin, &value)| sums[bin as usize].push(f64::from(value)));
    bench.row(
        "l_scatter_add_4M_to_1000",
        Unit::Milliseconds,
        [BINS],
        || zeros.scatter_add(0, &index, &source.tensor),
        |[i]| Near::sum(sums[i].iter().copied()),
    )
}

fn cumsum(bench: &Bench) -> Outcome {
    let x = Input::<f32, 2>::random([SQUARE, SQUARE]);
    for axis in 0..2 {
        bench.row(
            &format!("l_cumsum_axis{axis}"),
            Unit::Milliseconds,
            [SQUARE, SQUARE],
            || x.tensor.cumsum(axis as isize),
            |[i, j]| match axis {
                0 => Near::sum((0..=i).map(|k| x.at([k, j]))),
                _ => Near::sum((0..=j).map(|k| x.at([i, k]))),
            },
        )?;
    }
    Ok(())
}

type Found = (Tensor<f32, Dim2>, Tensor<i64, Dim2>);

fn sort(bench: &Bench) -> Outcome {
    let x = Input::<f32, 2>::random([LINES, LENGTH]);
    let sorted: Vec<f32> = x
        .plain()
        .chunks(LENGTH)
        .flat_map(|line| {
            let mut line = line.to_vec();
            line.sort_by(f32::total_cmp);
            line
        })
        .collect();
    let rows: [(&str, usize, &dyn Fn() -> Found, bool); 2] = [
        ("l_topk_50_1000x10000", FIRST, &|| x.tensor.topk(FIRST, 1, true), true),
        ("l_sort_1000x10000", LENGTH, &|| x.tensor.sort(1, false), false),
    ];
    for (name, count, call, largest) in rows.into_iter().filter(|(name, ..)| bench.wants(name)) {
        // Values and positions are made in one go, as the peers do.
        let both = || -> zither::Result<Found> {
            let (values, places) = call();
            realize_all(&[&values.to_dynamic(), &places.to_dynamic()])?;
            Ok((values, places))
        };
        let begun = Instant::now();
        let (values, places) = both()?;
        let first = begun.elapsed().as_secs_f64();
        near(name, &values, [LINES, count], |[i, k]| {
            let place = if largest { LENGTH - 1 - k } else { k };
            Near::exact(f64::from(sorted[i * LENGTH + place]))
        })?;
        let gathered = x.tensor.gather(1, &places);
        near(name, &gathered, [LINES, count], |[i, k]| {
            let place = if largest { LENGTH - 1 - k } else { k };
            Near::exact(f64::from(sorted[i * LENGTH + place]))
        })?;
        bench.time(OP, name, Unit::Milliseconds, first, || both().map(drop))?;
    }
    Ok(())
}
