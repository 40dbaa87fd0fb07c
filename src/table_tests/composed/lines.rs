//! Rows of running totals and sorting.

use super::{ALL, Build, Case, Input, NUMBERS, Slope, exact, numeric, smooth, x};
use crate::graph::ScanKind;
use crate::ops::compose::{scan, sort};
use crate::table_tests::compare::Agreement;

/// Positions: `stops` is what refuses a gradient.
const fn places(name: &'static str, inputs: &'static [Input], stops: &'static str, build: Build) -> Case {
    Case { name, inputs, dtypes: ALL, agreement: Agreement::Exact, slope: Slope::Stops(stops), build }
}

pub(super) static CASES: &[Case] = &[
    numeric("scan::cumsum", 24.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| scan::cumsum(&x[0], 1)),
    numeric("scan::cumsum last", 24.0, &[x(&[3, 7], -2.0, 2.0)], |x, _| scan::cumsum(&x[0], -1)),
    numeric("scan::cumsum of one", 0.0, &[x(&[3, 1], -2.0, 2.0)], |x, _| scan::cumsum(&x[0], 1)),
    numeric("scan::cumprod", 24.0, &[x(&[2, 4, 2], -1.5, 1.5)], |x, _| scan::cumprod(&x[0], 1)),
    numeric("scan::cumprod last", 24.0, &[x(&[3, 5], -1.5, 1.5)], |x, _| scan::cumprod(&x[0], -1)),
    numeric("scan::cummax", 0.0, &[x(&[3, 5], -9.0, 9.0)], |x, _| Ok(scan::cummax(&x[0], 1)?.0)),
    numeric("scan::cummin", 0.0, &[x(&[3, 4, 2], -9.0, 9.0)], |x, _| Ok(scan::cummin(&x[0], 0)?.0)),
    Case {
        name: "scan::cummax places",
        inputs: &[x(&[3, 5], -2.0, 2.0)],
        dtypes: NUMBERS,
        agreement: Agreement::Exact,
        slope: Slope::Stops("cummax"),
        build: |x, _| Ok(scan::cummax(&x[0], 1)?.1),
    },
    Case {
        name: "scan::cummin places",
        inputs: &[x(&[4, 5], -2.0, 2.0)],
        dtypes: NUMBERS,
        agreement: Agreement::Exact,
        slope: Slope::Stops("cummin"),
        build: |x, _| Ok(scan::cummin(&x[0], 0)?.1),
    },
    smooth("scan::logcumsumexp", 16.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scan::logcumsumexp(&x[0], 1)),
    smooth("scan::logcumsumexp down", 16.0, &[x(&[4, 3], -3.0, 3.0)], |x, _| scan::logcumsumexp(&x[0], 0)),
    numeric("scan::linear_scan", 32.0, &[x(&[3, 4], -1.5, 1.5), x(&[3, 4], -1.5, 1.5)], |x, _| {
        scan::linear_scan(&x[0], &x[1], 1)
    }),
    numeric("scan::linear_scan down", 32.0, &[x(&[4, 3], -1.5, 1.5), x(&[4, 3], -1.5, 1.5)], |x, _| {
        scan::linear_scan(&x[0], &x[1], 0)
    }),
    numeric("lines::scan back", 24.0, &[x(&[3, 5], -2.0, 2.0)], |x, _| x[0].scan(ScanKind::Sum, None, 1, true)),
    numeric("lines::scan product back", 24.0, &[x(&[4, 3], -1.5, 1.5)], |x, _| {
        x[0].scan(ScanKind::Prod, None, 0, true)
    }),
    numeric("lines::scan linear back", 24.0, &[x(&[3, 4], -1.5, 1.5), x(&[3, 4], -1.5, 1.5)], |x, _| {
        x[0].scan(ScanKind::Linear, Some(&x[1]), 1, true)
    }),
    places("sort::argsort", &[x(&[3, 5], -2.0, 2.0)], "argsort", |x, _| sort::argsort(&x[0], 1, false)),
    places("sort::argsort down", &[x(&[5, 2, 3], -2.0, 2.0)], "argsort", |x, _| sort::argsort(&x[0], 0, true)),
    places("lines::order", &[x(&[3, 9], -2.0, 2.0)], "argsort", |x, _| x[0].order(1, false, 1)),
    exact("sort::sort", &[x(&[3, 5], -9.0, 9.0)], |x, _| Ok(sort::sort(&x[0], -1, false)?.0)),
    exact("sort::sort down", &[x(&[4, 2, 3], -9.0, 9.0)], |x, _| Ok(sort::sort(&x[0], 0, true)?.0)),
    exact("sort::topk", &[x(&[3, 5], -9.0, 9.0)], |x, _| Ok(sort::topk(&x[0], 2, 1, true)?.0)),
    exact("sort::topk smallest", &[x(&[9, 2], -9.0, 9.0)], |x, _| Ok(sort::topk(&x[0], 1, 0, false)?.0)),
    exact("sort::kthvalue", &[x(&[3, 5], -9.0, 9.0)], |x, _| Ok(sort::kthvalue("kthvalue", &x[0], 4, 1)?.0)),
    exact("sort::median", &[x(&[3, 4], -9.0, 9.0)], |x, _| Ok(sort::median(&x[0], 1)?.0)),
    places("sort::searchsorted", &[x(&[2, 5], -9.0, 9.0), x(&[2, 3], -9.0, 9.0)], "searchsorted", |x, _| {
        sort::searchsorted(&x[0], &x[1], false)
    }),
    places("sort::searchsorted in one", &[x(&[6], -9.0, 9.0), x(&[2, 3], -9.0, 9.0)], "searchsorted", |x, _| {
        sort::searchsorted(&sort::sort(&x[0], 0, false)?.0, &x[1], true)
    }),
    places("lines::search", &[x(&[6], -9.0, 9.0), x(&[4], -9.0, 9.0)], "searchsorted", |x, _| x[0].search(&x[1], true)),
    Case {
        name: "sort::begins_run",
        inputs: &[x(&[7], -2.0, 2.0)],
        dtypes: ALL,
        agreement: Agreement::Exact,
        slope: Slope::Stops("eq"),
        build: |x, _| sort::begins_run(&x[0]),
    },
    numeric("lines::scan largest back", 0.0, &[x(&[3, 5], -9.0, 9.0)], |x, _| x[0].scan(ScanKind::Max, None, 1, true)),
];
