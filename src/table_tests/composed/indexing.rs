//! Rows of reading and writing by index tensors.

use super::{ALL, Case, Input, NUMBERS, Slope, condition, exact, index, numeric, smooth, x};
use crate::dtype::{DType, Literal};
use crate::graph::{Lookup, Node, ReduceKind};
use crate::ops::compose::indexing::{chosen, embedding, gather, masked_fill, one_hot, take};
use crate::ops::compose::scatter::{
    Combine, bincount, index_add, index_copy, index_fill, put, scatter, scatter_add, scatter_reduce,
};
use crate::table_tests::compare::Agreement;

const THERE: Lookup = Lookup { name: "scatter", from_end: true };

/// A tensor, an index and a source.
const THREE: &[Input] = &[x(&[3, 4], -2.0, 2.0), index(&[2, 3], -4.0, 3.0), x(&[2, 5], -2.0, 2.0)];

const fn whole(name: &'static str, inputs: &'static [Input], build: super::Build) -> Case {
    Case { name, inputs, dtypes: NUMBERS, agreement: Agreement::Exact, slope: Slope::Nothing, build }
}

pub(super) static CASES: &[Case] = &[
    exact("indexing::gather", &[x(&[3, 4], -2.0, 2.0), index(&[3, 2], -4.0, 3.0)], |x, _| gather(&x[0], 1, &x[1])),
    exact("indexing::gather down", &[x(&[3, 4, 2], -2.0, 2.0), index(&[5, 2, 2], -3.0, 2.0)], |x, _| {
        gather(&x[0], 0, &x[1])
    }),
    exact("indexing::gather in the middle", &[x(&[2, 3, 4], -2.0, 2.0), index(&[2, 5, 3], 0.0, 2.0)], |x, _| {
        gather(&x[0], -2, &x[1])
    }),
    exact("indexing::take", &[x(&[3, 4], -2.0, 2.0), index(&[2, 2], -12.0, 11.0)], |x, _| take(&x[0], &x[1])),
    exact("indexing::embedding", &[x(&[5, 3], -2.0, 2.0), index(&[2, 4], 0.0, 4.0)], |x, _| embedding(&x[0], &x[1])),
    exact("indexing::embedding of one", &[x(&[5, 3], -2.0, 2.0), index(&[], 0.0, 4.0)], |x, _| embedding(&x[0], &x[1])),
    whole("indexing::one_hot", &[index(&[2, 3], 0.0, 4.0)], |x, _| one_hot(&x[0], 5)),
    numeric("indexing::one_hot in a product", 8.0, &[x(&[5], -2.0, 2.0), index(&[2, 3], 0.0, 4.0)], |x, dtype| {
        (&one_hot(&x[1], 5)?.cast(dtype)? * &x[0]).reduce("sum", ReduceKind::Sum, &[-1], false)
    }),
    Case {
        name: "indexing::masked_fill",
        inputs: &[x(&[3, 4], -2.0, 2.0), condition(&[4])],
        dtypes: ALL,
        agreement: Agreement::Exact,
        slope: Slope::Smooth,
        build: |x, dtype| masked_fill(&x[0], &x[1], Literal::one(dtype)),
    },
    exact("indexing::chosen", &[x(&[3, 4], -2.0, 2.0), index(&[5], 0.0, 11.0)], |x, _| chosen("take", &x[0], &x[1])),
    numeric("compute::scatter down", 8.0, &[x(&[4, 3], -2.0, 2.0), index(&[4, 3], -2.0, 1.0)], |x, _| {
        x[0].scatter(ReduceKind::Sum, THERE, &x[1], 0, &[2, 5])
    }),
    numeric("compute::scatter rows", 8.0, &[x(&[4, 3], -2.0, 2.0), index(&[4], 0.0, 1.0)], |x, _| {
        let rows = x[1].reshaped(&[4, 1]).broadcast_to(&[4, 3])?;
        x[0].scatter(ReduceKind::Sum, THERE, &rows, 0, &[2, 3])
    }),
    numeric("compute::scatter largest", 0.0, &[x(&[3, 4], -9.0, 9.0), index(&[3, 4], 0.0, 2.0)], |x, _| {
        finite(x[0].scatter(ReduceKind::Max, THERE, &x[1], 1, &[3, 3])?)
    }),
    numeric("compute::scatter smallest", 0.0, &[x(&[3, 4], -9.0, 9.0), index(&[3, 4], 0.0, 2.0)], |x, _| {
        finite(x[0].scatter(ReduceKind::Min, THERE, &x[1], 1, &[3, 3])?)
    }),
    numeric("compute::scatter product", 16.0, &[x(&[3, 4], 0.5, 1.5), index(&[3, 4], 0.0, 2.0)], |x, _| {
        x[0].scatter(ReduceKind::Prod, THERE, &x[1], 1, &[3, 3])
    }),
    whole("compute::as_places", &[x(&[3, 4], 0.0, 9.0)], |x, _| x[0].cast(DType::U64)?.as_places("test")),
    exact("scatter::scatter", THREE, |x, _| scatter(&x[0], 1, &x[1], &x[2])),
    exact(
        "scatter::scatter down",
        &[x(&[4, 4], -2.0, 2.0), index(&[3, 2], -4.0, 3.0), x(&[3, 2], -2.0, 2.0)],
        |x, _| scatter(&x[0], 0, &x[1], &x[2]),
    ),
    numeric("scatter::scatter_add", 8.0, THREE, |x, _| scatter_add(&x[0], 1, &x[1], &x[2])),
    numeric("scatter::scatter_reduce sum", 8.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Add, false)
    }),
    numeric("scatter::scatter_reduce mean", 8.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Mean, true)
    }),
    numeric("scatter::scatter_reduce mean of others", 8.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Mean, false)
    }),
    numeric("scatter::scatter_reduce product", 16.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Prod, true)
    }),
    numeric("scatter::scatter_reduce largest", 0.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Max, true)
    }),
    numeric("scatter::scatter_reduce smallest of others", 0.0, THREE, |x, _| {
        scatter_reduce(&x[0], 1, &x[1], &x[2], Combine::Min, false)
    }),
    numeric(
        "scatter::index_add",
        8.0,
        &[x(&[3, 4], -2.0, 2.0), index(&[5], -3.0, 2.0), x(&[5, 4], -2.0, 2.0)],
        |x, _| index_add(&x[0], 0, &x[1], &x[2]),
    ),
    numeric(
        "scatter::index_add in the middle",
        8.0,
        &[x(&[2, 3, 2], -2.0, 2.0), index(&[4], -3.0, 2.0), x(&[2, 4, 2], -2.0, 2.0)],
        |x, _| index_add(&x[0], 1, &x[1], &x[2]),
    ),
    exact("scatter::index_copy", &[x(&[3, 4], -2.0, 2.0), index(&[2], -4.0, 3.0), x(&[3, 2], -2.0, 2.0)], |x, _| {
        index_copy(&x[0], 1, &x[1], &x[2])
    }),
    exact("scatter::index_fill", &[x(&[3, 4], -2.0, 2.0), index(&[2], -4.0, 3.0)], |x, dtype| {
        index_fill(&x[0], 1, &x[1], Literal::one(dtype))
    }),
    exact("scatter::put", &[x(&[3, 4], -2.0, 2.0), index(&[2, 2], -12.0, 11.0), x(&[2, 2], -2.0, 2.0)], |x, _| {
        put(&x[0], &x[1], &x[2], false)
    }),
    numeric("scatter::put add", 8.0, &[x(&[2, 2], -2.0, 2.0), index(&[6], -4.0, 3.0), x(&[6], -2.0, 2.0)], |x, _| {
        put(&x[0], &x[1], &x[2], true)
    }),
    smooth("scatter::bincount weights", 8.0, &[x(&[6], -2.0, 2.0), index(&[6], 0.0, 3.0)], |x, _| {
        bincount(&x[1], Some(&x[0]), 4)
    }),
    whole("scatter::bincount", &[index(&[9], 0.0, 3.0)], |x, _| bincount(&x[0], None, 5)),
];

/// What is not finite, where nothing went, as 0.
fn finite(x: Node) -> crate::error::Result<Node> {
    let is_finite = x.abs().lt(&x.fill(f64::INFINITY));
    Ok(if x.dtype().is_float() { x.keep_where(&is_finite) } else { x })
}
