//! The same value in fewer words, given how far each index goes.
//!
//! Sums are brought to a normal form, comparisons are decided by ranges, and `(a·k + b) / k` falls apart.

use super::range::range;
use super::sum::Sum;
use super::{Expr, floor_div};
use std::sync::Arc;

impl Expr {
    /// An expression with the same value wherever `0 ≤ Idx(i) < bounds[i]`.
    ///
    /// The result never has more divisions than the expression, and most often fewer nodes.
    pub fn simplify(self, bounds: &[usize]) -> Expr {
        simplify(&self, bounds)
    }
}

fn simplify(expr: &Expr, bounds: &[usize]) -> Expr {
    let of = |e: &Arc<Expr>| simplify(e, bounds);
    match expr {
        Expr::Const(value) => Expr::Const(*value),
        Expr::Idx(axis) if bounds.get(*axis).is_some_and(|&size| size <= 1) => Expr::Const(0),
        Expr::Idx(axis) => Expr::Idx(*axis),
        Expr::Add(a, b) => Sum::of(&Expr::Add(of(a).into(), of(b).into())).into_expr(),
        Expr::Sub(a, b) => Sum::of(&Expr::Sub(of(a).into(), of(b).into())).into_expr(),
        Expr::Mul(a, b) => Sum::of(&(of(a) * of(b))).into_expr(),
        Expr::Div(a, b) => match (of(a), of(b)) {
            (a, Expr::Const(k)) if k > 0 => divide(Sum::of(&a), k, bounds).unwrap_or_else(|| a / k),
            (a, b) => a / b,
        },
        Expr::Rem(a, b) => match (of(a), of(b)) {
            (a, Expr::Const(k)) if k > 0 => remainder(&Sum::of(&a), k, bounds).unwrap_or_else(|| a % k),
            (a, b) => a % b,
        },
        Expr::Lt(a, b) => less(of(a), of(b), bounds),
        Expr::Not(a) => negate(of(a), bounds),
        Expr::And(..) => conjunction(expr, bounds),
    }
}

/// `a < b`, with equal terms cancelled, positive factors on either side and the constant where it stands alone.
fn less(a: Expr, b: Expr, bounds: &[usize]) -> Expr {
    let (left, right) = (Sum::of(&a), Sum::of(&b));
    compare(&left, &right, bounds).unwrap_or_else(|| a.lt(b))
}

fn compare(left: &Sum, right: &Sum, bounds: &[usize]) -> Option<Expr> {
    // Only where neither side wraps is `a < b` the same as `a - b < 0`.
    left.range(bounds)?;
    right.range(bounds)?;
    let mut difference = left.clone();
    difference.add(right, -1);
    let (low, high) = difference.wide_range(bounds)?;
    if high < 0 {
        return Some(Expr::Const(1));
    }
    if low >= 0 {
        return Some(Expr::Const(0));
    }
    // Σ g·c·t + k < 0 is Σ c·t < ceil(-k / g).
    let divisor = difference.terms.iter().fold(0, |g, (_, factor)| gcd(g, factor.unsigned_abs()));
    let divisor = i64::try_from(divisor).ok().filter(|&g| g > 0)?;
    let limit = floor_div(difference.constant, divisor).checked_neg()?;
    let (mut left, mut right) = (Sum::constant(0), Sum::constant(0));
    for (term, factor) in difference.terms {
        let factor = factor / divisor;
        if factor > 0 { left.push(term, factor) } else { right.push(term, factor.checked_neg()?) }
    }
    if left.terms.is_empty() {
        left.constant = limit.checked_neg()?;
    } else {
        right.constant = limit;
    }
    left.range(bounds)?;
    right.range(bounds)?;
    Some(left.into_expr().lt(right.into_expr()))
}

/// Whether the expression is 0: `Not`.
fn negate(a: Expr, bounds: &[usize]) -> Expr {
    match (&a, range(&a, bounds)) {
        (_, Some((0, 0))) => Expr::Const(1),
        (_, Some((low, high))) if low > 0 || high < 0 => Expr::Const(0),
        (Expr::Not(inner), _) if is_truth(inner, bounds) => Expr::clone(inner),
        // !(x < y) is y < x + 1.
        (Expr::Lt(x, y), _) => {
            let mut next = Sum::of(x);
            next.add(&Sum::constant(1), 1);
            compare(&Sum::of(y), &next, bounds).unwrap_or_else(|| a.clone().not())
        }
        _ => a.not(),
    }
}

fn is_truth(expr: &Expr, bounds: &[usize]) -> bool {
    expr.is_truth() || range(expr, bounds).is_some_and(|(low, high)| low >= 0 && high <= 1)
}

/// All parts of nested `And`s at once: each part once, bounds on the same term merged.
fn conjunction(expr: &Expr, bounds: &[usize]) -> Expr {
    let mut parts: Vec<Expr> = Vec::new();
    if !gather(expr, bounds, &mut parts) {
        return Expr::Const(0);
    }
    match parts.len() {
        1 if !is_truth(&parts[0], bounds) => !!parts.remove(0),
        _ => parts.into_iter().reduce(|a, b| a.and(b)).unwrap_or(Expr::Const(1)),
    }
}

/// Adds the parts of a conjunction; `false` if it can never hold.
fn gather(expr: &Expr, bounds: &[usize], parts: &mut Vec<Expr>) -> bool {
    if let Expr::And(a, b) = expr {
        return gather(a, bounds, parts) && gather(b, bounds, parts);
    }
    let part = simplify(expr, bounds);
    if let Expr::And(a, b) = &part {
        return gather(a, bounds, parts) && gather(b, bounds, parts);
    }
    match range(&part, bounds) {
        Some((0, 0)) => return false,
        Some((low, high)) if low > 0 || high < 0 => return true,
        _ => {}
    }
    // `!!x` inside a conjunction says no more than `x`.
    let part = match &part {
        Expr::Not(a) => match &**a {
            Expr::Not(b) => Expr::clone(b),
            _ => part,
        },
        _ => part,
    };
    if parts.contains(&part) {
        return true;
    }
    if let Some((term, limit, above)) = bound(&part) {
        for have in parts.iter_mut() {
            let Some((other, other_limit, other_above)) = bound(have) else { continue };
            if other != term {
                continue;
            }
            if above == other_above {
                // Both below a limit, or both above one: the tighter of the two stays.
                if (above && limit > other_limit) || (!above && limit < other_limit) {
                    *have = part;
                }
                return true;
            }
            let (least, most) = if above { (limit, other_limit) } else { (other_limit, limit) };
            if least >= most.saturating_sub(1) {
                return false;
            }
        }
    }
    parts.push(part);
    true
}

/// `(term, limit, above)` of `term < limit` or `limit < term`.
fn bound(part: &Expr) -> Option<(&Expr, i64, bool)> {
    let Expr::Lt(a, b) = part else { return None };
    match (&**a, &**b) {
        (Expr::Const(limit), term) => Some((term, *limit, true)),
        (term, Expr::Const(limit)) => Some((term, *limit, false)),
        _ => None,
    }
}

/// `sum / k` rounded down, k > 0: what is a multiple of k comes out, and what stays below k goes away.
fn divide(sum: Sum, k: i64, bounds: &[usize]) -> Option<Expr> {
    sum.range(bounds)?;
    let (mut quotient, mut rest) = split(&sum, k);
    let (low, high) = rest.range(bounds)?;
    quotient.range(bounds)?;
    if floor_div(low, k) == floor_div(high, k) {
        quotient.add(&Sum::constant(floor_div(low, k)), 1);
        return Some(quotient.into_expr());
    }
    // (g·a + b) / (g·m) is a / m where 0 <= b < g.
    for (_, factor) in &rest.terms {
        let common = i64::try_from(gcd(factor.unsigned_abs(), k.unsigned_abs())).ok()?;
        let (high, low) = split(&rest, common);
        if common > 1 && low.range(bounds).is_some_and(|(least, most)| least >= 0 && most < common) {
            let inner = divide(high, k / common, bounds)?;
            quotient.add(&Sum::of(&inner), 1);
            return Some(quotient.into_expr());
        }
    }
    if let [(Expr::Div(x, j), 1)] = rest.terms.as_slice()
        && let (Expr::Const(j @ 1..), 0) = (&**j, rest.constant)
    {
        let inner = divide(Sum::of(x), j.checked_mul(k)?, bounds)?;
        quotient.add(&Sum::of(&inner), 1);
        return Some(quotient.into_expr());
    }
    // A constant between -k and k is shorter left alone.
    if sum.constant.unsigned_abs() < k.unsigned_abs() {
        quotient.constant = 0;
        rest.constant = sum.constant;
    }
    rest.range(bounds)?;
    quotient.push(rest.into_expr() / k, 1);
    Some(quotient.into_expr())
}

/// `sum % k`, k > 0: multiples of k go away, and what stays below k stays.
fn remainder(sum: &Sum, k: i64, bounds: &[usize]) -> Option<Expr> {
    sum.range(bounds)?;
    let (_, mut rest) = split(sum, k);
    let (low, high) = rest.range(bounds)?;
    let block = floor_div(low, k);
    if block == floor_div(high, k) {
        rest.add(&Sum::constant(block), k.checked_neg()?);
        return (!rest.wrapped).then(|| rest.into_expr());
    }
    if sum.constant.unsigned_abs() < k.unsigned_abs() {
        rest.constant = sum.constant;
    }
    rest.range(bounds)?;
    Some(rest.into_expr() % k)
}

/// `(q, r)` with `sum = q·k + r`, where r holds the terms that are no multiples of k, and a constant of 0 to k - 1.
fn split(sum: &Sum, k: i64) -> (Sum, Sum) {
    let mut quotient = Sum::constant(sum.constant.div_euclid(k));
    let mut rest = Sum::constant(sum.constant.rem_euclid(k));
    for (term, factor) in &sum.terms {
        if factor % k == 0 {
            quotient.push(term.clone(), factor / k);
        } else {
            rest.push(term.clone(), *factor);
        }
    }
    (quotient, rest)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
