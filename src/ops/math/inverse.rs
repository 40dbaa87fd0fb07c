//! The inverse trigonometric functions.
//!
//! A result is a constant (0, π/4, π/2, π) plus or minus an arc that a polynomial gives; constants come in two parts, and what
//! the sum with the leading part loses is carried along, so that only the last sum rounds.

use super::{by_lane, copy_sign, polynomial};
use crate::ops::vector::{Emit, Lane, Val};

/// `(atan t - t) / t³` in `z = t²` on |t| ≤ √2 - 1. Degree 4 for f32, error 2^-28.8.
const ATAN_F32: [f64; 5] =
    [-0.33333319425582886, 0.19998528063297272, -0.14242859184741974, 0.10580598562955856, -0.06030909717082977];

/// The same for f64, degree 10, error 2^-57.3.
const ATAN_F64: [f64; 11] = [
    -0.3333333333333327,
    0.19999999999968918,
    -0.14285714281335796,
    0.11111110823980247,
    -0.09090898535353441,
    0.0769206835487254,
    -0.06663142836000709,
    0.05847845105153664,
    -0.050378722015781835,
    0.03800178266166239,
    -0.017814047979935122,
];

/// `(asin s - s) / s³` in `z = s²` on |s| ≤ 1/2. Degree 4 for f32, error 2^-27.3.
const ASIN_F32: [f64; 5] =
    [0.16666752099990845, 0.07495297491550446, 0.04547036066651344, 0.024179590865969658, 0.04216618090867996];

/// The same for f64, degree 11, error 2^-54.9.
const ASIN_F64: [f64; 12] = [
    0.1666666666666617,
    0.07500000000189498,
    0.0446428569267156,
    0.030381955906426672,
    0.02237181855285305,
    0.017359011560964373,
    0.013890221546703684,
    0.012147011456812993,
    0.006584548778481962,
    0.01946718997275902,
    -0.016256639164152743,
    0.0320113403230062,
];

/// π/2 in two parts. π and π/4 are these doubled and halved.
fn half_pi(lane: Lane) -> (f64, f64) {
    use std::{f32::consts as f32s, f64::consts as f64s};
    by_lane(lane, (f64::from(f32s::FRAC_PI_2), -4.371138828673793e-08), (f64s::FRAC_PI_2, 6.123233995736766e-17))
}

/// Arc tangent: above 1, `π/2 - atan(1/|x|)`.
pub(crate) fn atan(e: &mut Emit, x: Val) -> Val {
    let one = e.float(x.lane, 1.0);
    let size = e.abs(x);
    let steep = e.lt(one, size);
    let above = e.select(steep, one, size);
    let below = e.select(steep, size, one);
    let arc = arc_of_ratio(e, above, below);
    let start = chosen(e, steep, half_pi(x.lane), (0.0, 0.0), x.lane);
    let result = start_plus_arc(e, start, steep, arc);
    copy_sign(e, result, x)
}

/// The angle of the point (x, y), with the special cases of C99.
pub(crate) fn atan2(e: &mut Emit, y: Val, x: Val) -> Val {
    let lane = x.lane;
    let (rise, run) = (e.abs(y), e.abs(x));
    let steep = e.lt(run, rise);
    let above = e.select(steep, run, rise);
    let below = e.select(steep, rise, run);
    // Two infinities are like two ones, two zeros like 0 over anything.
    let (one, infinity) = (e.float(lane, 1.0), e.float(lane, f64::INFINITY));
    let (is_above, is_below) = (e.eq(above, infinity), e.eq(below, infinity));
    let both_infinite = e.and(is_above, is_below);
    let above = e.select(both_infinite, one, above);
    let below = e.select(both_infinite, one, below);
    let below = super::at_least(e, below, by_lane(lane, f64::from(f32::from_bits(1)), f64::from_bits(1)));
    // Room for the sum of two enormous numbers.
    let enormous = e.float(lane, by_lane(lane, 2f64.powi(120), 2f64.powi(1000)));
    let down = e.float(lane, 2f64.powi(-8));
    let is_enormous = e.lt(enormous, below);
    let scale = e.select(is_enormous, down, one);
    let (above, below) = (e.mul(above, scale), e.mul(below, scale));

    let arc = arc_of_ratio(e, above, below);
    let bits = e.bits(x);
    let no_bits = e.int(bits.lane, 0);
    let left = e.lt(bits, no_bits); // the sign bit, so that -0 counts
    let (half, half_rest) = half_pi(lane);
    let flat = chosen(e, left, (2.0 * half, 2.0 * half_rest), (0.0, 0.0), lane);
    let (half, half_rest) = (e.float(lane, half), e.float(lane, half_rest));
    let start = (e.select(steep, half, flat.0), e.select(steep, half_rest, flat.1));
    let backwards = e.xor(steep, left);
    let result = start_plus_arc(e, start, backwards, arc);
    copy_sign(e, result, y)
}

/// Arc sine: above 1/2, `π/2 - 2 asin √((1 - |x|) / 2)`.
pub(crate) fn asin(e: &mut Emit, x: Val) -> Val {
    let Chord { far, chord, bend } = chord(e, x);
    let start = chosen(e, far, half_pi(x.lane), (0.0, 0.0), x.lane);
    let result = start_plus_chord(e, start, far, chord, bend);
    copy_sign(e, result, x)
}

/// Arc cosine: `π/2 - asin x` to 1/2, then `2 asin √((1 - |x|) / 2)` or what that leaves of π.
pub(crate) fn acos(e: &mut Emit, x: Val) -> Val {
    let lane = x.lane;
    let Chord { far, chord, bend } = chord(e, x);
    let zero = e.float(lane, 0.0);
    let left = e.lt(x, zero);
    let (half, half_rest) = half_pi(lane);
    let when_far = chosen(e, left, (2.0 * half, 2.0 * half_rest), (0.0, 0.0), lane);
    let (half, half_rest) = (e.float(lane, half), e.float(lane, half_rest));
    let start = (e.select(far, when_far.0, half), e.select(far, when_far.1, half_rest));
    let right = e.not(left);
    let backwards = e.xor(far, right); // near: right of 0; far: left of it
    start_plus_chord(e, start, backwards, chord, bend)
}

/// A constant in two parts, chosen by a mask.
fn chosen(e: &mut Emit, mask: Val, then: (f64, f64), otherwise: (f64, f64), lane: Lane) -> (Val, Val) {
    let (then_first, then_rest) = (e.float(lane, then.0), e.float(lane, then.1));
    let (else_first, else_rest) = (e.float(lane, otherwise.0), e.float(lane, otherwise.1));
    (e.select(mask, then_first, else_first), e.select(mask, then_rest, else_rest))
}

/// `atan(above / below)` for `0 ≤ above ≤ below`: above tan(π/8), `π/4 + atan((above - below) / (above + below))`.
fn arc_of_ratio(e: &mut Emit, above: Val, below: Val) -> Val {
    let lane = above.lane;
    let limit = e.float(lane, std::f64::consts::SQRT_2 - 1.0);
    let limit = e.mul(below, limit);
    let diagonal = e.lt(limit, above);
    let (less, more) = (e.sub(above, below), e.add(above, below));
    let above = e.select(diagonal, less, above);
    let below = e.select(diagonal, more, below);
    let t = e.div(above, below);
    let z = e.mul(t, t);
    let curve = polynomial(e, z, by_lane(lane, &ATAN_F32, &ATAN_F64));
    let cube = e.mul(t, z);
    let bend = e.mul(cube, curve);
    let (half, half_rest) = half_pi(lane);
    let start = chosen(e, diagonal, (half / 2.0, half_rest / 2.0), (0.0, 0.0), lane);
    sum_of(e, start, t, bend)
}

/// `start + arc`, or `start - arc` where `backwards`.
fn start_plus_arc(e: &mut Emit, start: (Val, Val), backwards: Val, arc: Val) -> Val {
    let minus = e.neg(arc);
    let arc = e.select(backwards, minus, arc);
    let arc = e.add(arc, start.1);
    e.add(start.0, arc)
}

/// `asin |x| = chord + bend`, or where `far` (above 1/2) `acos |x|` is that.
struct Chord {
    far: Val,
    chord: Val,
    bend: Val,
}

fn chord(e: &mut Emit, x: Val) -> Chord {
    let lane = x.lane;
    let (one, half) = (e.float(lane, 1.0), e.float(lane, 0.5));
    let size = e.abs(x);
    let far = e.lt(half, size);
    let left = e.sub(one, size);
    let halved = e.mul(left, half);
    let square = e.mul(size, size);
    let z = e.select(far, halved, square);
    let root = e.sqrt(halved); // NaN beyond 1
    let doubled = e.add(root, root);
    let chord = e.select(far, doubled, size);
    let curve = polynomial(e, z, by_lane(lane, &ASIN_F32, &ASIN_F64));
    let cube = e.mul(chord, z);
    let bend = e.mul(cube, curve);
    Chord { far, chord, bend }
}

/// `start + chord + bend`, or `start - chord - bend` where `backwards`.
fn start_plus_chord(e: &mut Emit, start: (Val, Val), backwards: Val, chord: Val, bend: Val) -> Val {
    let (minus_chord, minus_bend) = (e.neg(chord), e.neg(bend));
    let chord = e.select(backwards, minus_chord, chord);
    let bend = e.select(backwards, minus_bend, bend);
    sum_of(e, start, chord, bend)
}

/// `start + arc + small`, where `start` is 0 or the largest: what the first sum loses goes with the small parts.
fn sum_of(e: &mut Emit, start: (Val, Val), arc: Val, small: Val) -> Val {
    let sum = e.add(start.0, arc);
    let of_arc = e.sub(sum, start.0);
    let lost = e.sub(arc, of_arc);
    let small = e.add(small, start.1);
    let small = e.add(small, lost);
    e.add(sum, small)
}
