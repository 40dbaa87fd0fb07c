//! Elementary functions of one and two numbers that are composed from the primitives.

use super::together::pair;
use crate::error::Result;
use crate::graph::Node;
use crate::ops;
use crate::ops::record::Dtypes;
use std::f64::consts::{LN_2, PI};

/// Above this, `x² + 1` and `x²` are the same float, and their root is `x`.
const FAR: f64 = 1e8;

/// `ln(x + √(x² + 1))`, exact near 0.
#[track_caller]
pub(crate) fn asinh(x: &Node) -> Result<Node> {
    Dtypes::Float.check("asinh", x)?;
    let wide = super::reduction::wide(x)?;
    let size = wide.abs();
    let near = size.minimum(&size.fill(FAR));
    let square = &near * &near;
    let root = (&square + 1.0).sqrt();
    let close = (&near + &(&square / &(&root + 1.0))).log1p();
    let value = close.or_where_not(&size.lt(&size.fill(FAR)), &(&size.ln() + LN_2));
    let value = &value * &wide.sign();
    let value = value.with_shortcut("asinh", &[&wide], |g, x, _| Ok(vec![g / &(&(&x[0] * &x[0]) + 1.0).sqrt()]));
    value.cast(x.dtype())
}

/// `ln(x + √(x² - 1))` for `x ≥ 1`, NaN below.
#[track_caller]
pub(crate) fn acosh(x: &Node) -> Result<Node> {
    Dtypes::Float.check("acosh", x)?;
    let wide = super::reduction::wide(x)?;
    let near = &wide.minimum(&wide.fill(FAR)) - 1.0;
    let close = (&near + &(&(&near * &near) + &(&near * 2.0)).sqrt()).log1p();
    let value = close.or_where_not(&wide.gt(&wide.fill(FAR)).not(), &(&wide.ln() + LN_2));
    let value = value
        .with_shortcut("acosh", &[&wide], |g, x, _| Ok(vec![g / &(&(&x[0] - 1.0).sqrt() * &(&x[0] + 1.0).sqrt())]));
    value.cast(x.dtype())
}

/// `½ ln((1 + x) / (1 - x))`, exact near 0.
#[track_caller]
pub(crate) fn atanh(x: &Node) -> Result<Node> {
    Dtypes::Float.check("atanh", x)?;
    let wide = super::reduction::wide(x)?;
    let size = wide.abs();
    let value = &(&(&size * 2.0) / &(1.0 - &size)).log1p() * 0.5;
    let value = &value * &wide.sign();
    let value = value.with_shortcut("atanh", &[&wide], |g, x, _| Ok(vec![g / &(&(1.0 - &x[0]) * &(&x[0] + 1.0))]));
    value.cast(x.dtype())
}

/// `sin(πx) / (πx)`, and 1 at 0.
#[track_caller]
pub(crate) fn sinc(x: &Node) -> Result<Node> {
    Dtypes::Float.check("sinc", x)?;
    let zero = x.eq(&x.fill(0.0));
    // Near 0 by its series, whose derivatives are right there too.
    let angle = x * PI;
    let safe = angle.fill(1.0).or_where_not(&zero, &angle);
    let square = &angle * &angle;
    let series = 1.0 - &(&square / 6.0);
    Ok(series.or_where_not(&zero, &(&safe.sin() / &safe)))
}

/// Degrees as radians.
#[track_caller]
pub(crate) fn deg2rad(x: &Node) -> Result<Node> {
    Dtypes::Float.check("deg2rad", x)?;
    Ok(x * (PI / 180.0))
}

/// Radians as degrees.
#[track_caller]
pub(crate) fn rad2deg(x: &Node) -> Result<Node> {
    Dtypes::Float.check("rad2deg", x)?;
    Ok(x * (180.0 / PI))
}

/// `x - trunc(x)`.
#[track_caller]
pub(crate) fn frac(x: &Node) -> Result<Node> {
    Dtypes::Float.check("frac", x)?;
    Ok(x - &Node::map(&ops::TRUNC, &[x])?)
}

/// `ln(x / (1 - x))`, the inverse of sigmoid.
#[track_caller]
pub(crate) fn logit(x: &Node) -> Result<Node> {
    Dtypes::Float.check("logit", x)?;
    Ok(&x.ln() - &(-x).log1p())
}

/// `√(a² + b²)`, without overflow; its slopes at the origin are 0.
#[track_caller]
pub(crate) fn hypot(a: &Node, b: &Node) -> Result<Node> {
    Dtypes::Float.check("hypot", a)?;
    let (a, b) = pair("hypot", a, b)?;
    let (p, q) = (a.abs(), b.abs());
    let large = Node::map(&ops::MAXIMUM, &[&p, &q])?;
    let small = p.minimum(&q);
    let plain = large.gt(&large.fill(0.0)).and(&large.lt(&large.fill(f64::INFINITY)));
    let ratio = (&small / &large).keep_where(&plain);
    let length = &large * &(&(&ratio * &ratio) + 1.0).sqrt();
    // An infinity wins over NaN, as in C.
    let endless = Node::map(&ops::BITOR, &[&super::classify::isinf(&a)?, &super::classify::isinf(&b)?])?;
    let length = length.fill(f64::INFINITY).or_where_not(&endless, &length);
    Ok(length.with_shortcut("hypot", &[&a, &b], |g, x, y| {
        let there = y.gt(&y.fill(0.0));
        let safe = y.or_where_not(&there, &y.fill(1.0));
        Ok(x.iter().map(|x| g * &(x / &safe).keep_where(&there)).collect())
    }))
}

/// `ln(eᵃ + eᵇ)`, without overflow.
#[track_caller]
pub(crate) fn logaddexp(a: &Node, b: &Node) -> Result<Node> {
    Dtypes::Float.check("logaddexp", a)?;
    let (a, b) = pair("logaddexp", a, b)?;
    let large = Node::map(&ops::MAXIMUM, &[&a, &b])?;
    let equal = a.eq(&b);
    // Equal infinities have no difference.
    let apart = (&a - &b).abs().keep_where(&equal.not());
    let value = &large + &(-&apart).exp_below().log1p();
    Ok(value.with_shortcut("logaddexp", &[&a, &b], |g, x, _| {
        let apart = (&x[0] - &x[1]).keep_where(&x[0].eq(&x[1]).not());
        let (up, down) = (Node::map(&ops::SIGMOID, &[&apart])?, Node::map(&ops::SIGMOID, &[&-&apart])?);
        Ok(vec![g * &up, g * &down])
    }))
}

/// `a · ln b`, and 0 where `a` is 0 (also for `b = 0`), as entropies want it.
#[track_caller]
pub(crate) fn xlogy(a: &Node, b: &Node) -> Result<Node> {
    Dtypes::Float.check("xlogy", a)?;
    let (a, b) = pair("xlogy", a, b)?;
    let counts = Node::map(&ops::BITOR, &[&a.ne(&a.fill(0.0)), &b.ne(&b)])?;
    let safe = b.or_where_not(&counts, &b.fill(1.0));
    Ok((&a * &safe.ln()).keep_where(&counts))
}

/// `a + weight · (b - a)`, from whichever end is nearer, so that 0 and 1 give `a` and `b` exactly.
#[track_caller]
pub(crate) fn lerp(a: &Node, b: &Node, weight: &Node) -> Result<Node> {
    Dtypes::Float.check("lerp", a)?;
    let (start, end) = pair("lerp", a, b)?;
    let (start, weight) = pair("lerp", &start, weight)?;
    let (end, _) = pair("lerp", &end, &weight)?;
    let way = &end - &start;
    let from_start = &start + &(&weight * &way);
    let from_end = &end - &(&way * &(1.0 - &weight));
    let near = weight.abs().lt(&weight.fill(0.5));
    Ok(from_start.or_where_not(&near, &from_end))
}

/// The remainder of `a / b` with the sign of `a`, exact, as C's `fmod`.
#[track_caller]
pub(crate) fn fmod(a: &Node, b: &Node) -> Result<Node> {
    let primitive = if a.dtype().is_integer() { &ops::REM } else { &ops::FMOD };
    Node::map(primitive, &[a, b])
}

/// The remainder of `a / b` with the sign of `b`, as Python's `%`.
#[track_caller]
pub(crate) fn remainder(a: &Node, b: &Node) -> Result<Node> {
    let op = "remainder";
    Dtypes::Numeric.check(op, a)?;
    let (a, b) = pair(op, a, b)?;
    if a.dtype().is_integer() {
        return turned(&Node::map(&ops::REM, &[&a, &b])?, &b);
    }
    let rest = turned(&Node::map(&ops::FMOD, &[&a, &b])?, &b)?;
    Ok(rest.with_shortcut(op, &[&a, &b], |g, x, _| {
        let whole = Node::map(&ops::FLOOR, &[&(&x[0] / &x[1])])?;
        Ok(vec![g.clone(), -&(g * &whole)])
    }))
}

/// A remainder with the sign of its dividend, moved to that of the divisor.
#[track_caller]
fn turned(rest: &Node, b: &Node) -> Result<Node> {
    let zero = rest.fill(0.0);
    let differs = rest.ne(&zero).and(&rest.lt(&zero).ne(&b.lt(&zero)));
    Ok((rest + b).or_where_not(&differs, rest))
}

/// 0 below zero, 1 above, and `at_zero` at it.
#[track_caller]
pub(crate) fn heaviside(x: &Node, at_zero: &Node) -> Result<Node> {
    Dtypes::Numeric.check("heaviside", x)?;
    let (x, at_zero) = pair("heaviside", x, at_zero)?;
    let zero = x.fill(0.0);
    let step = x.gt(&zero).cast(x.dtype())?;
    let step = Node::map(&ops::SELECT, &[&x.ne(&zero), &step, &at_zero])?;
    if !x.dtype().is_float() {
        return Ok(step);
    }
    // NaN stays.
    Ok(x.or_where_not(&x.ne(&x), &step))
}
