//! Random programs of every kind of node, executed and judged by the reference evaluator.

use crate::dtype::{DType, Literal};
use crate::graph::{IdMap, Lookup, Node, ReduceKind, ScanKind, SliceRange, Window};
use crate::memory::Buffer;
use crate::ops::compose::{contraction, indexing, join, movement};
use crate::ops::{self};
use crate::reference::Noise;
use crate::shape::{Expr, Shape};
use crate::{reference, runtime};

/// A small generator: SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn source(rng: &mut Rng, dtype: DType) -> Node {
    let rank = rng.below(4);
    // Most are small; some have rows enough, and long enough, to be run row by row.
    let most = if rng.chance(15) { 24 } else { 4 };
    let shape: Shape = (0..rank).map(|_| if rng.chance(4) { 0 } else { 1 + rng.below(most) }).collect();
    let len = shape.iter().product();
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, 5e-324];
    let literal = |rng: &mut Rng| match dtype {
        _ if dtype.is_float() && rng.chance(3) => Literal::from_f64(dtype, specials[rng.below(specials.len())]),
        // Quarters keep sums exact, so that their order does not matter.
        _ if dtype.is_float() => Literal::from_f64(dtype, rng.below(33) as f64 / 4.0 - 4.0),
        _ => Literal::from_integer(dtype, rng.next() as i128 >> rng.below(63)),
    };
    match rng.below(6) {
        0 => Node::full(&shape, literal(rng)).unwrap(),
        1 => Node::positions(len).unwrap().reshaped(&shape).cast(dtype).unwrap(),
        _ => crate::dtype::with_dtype!(dtype, T => {
            let values: Vec<T> = (0..len).map(|_| crate::dtype::TensorDType::from_literal(literal(rng)).unwrap()).collect();
            Node::from_buffer(Buffer::from_vec("test", values).unwrap(), shape)
        }),
    }
}

/// One more node on top of `x`, or `None` if the draw does not fit.
fn grow(rng: &mut Rng, x: &Node, y: &Node) -> Option<Node> {
    let rank = x.rank();
    let axis = (rank > 0).then(|| rng.below(rank));
    let dtype = x.dtype();
    Some(match rng.below(28) {
        0 | 1 => {
            let exact =
                [&ops::ADD, &ops::SUB, &ops::MUL, &ops::MAXIMUM, &ops::MINIMUM, &ops::EQ, &ops::LT, &ops::BITXOR];
            let broadcast = y.cast(dtype).unwrap();
            Node::map(exact[rng.below(exact.len())], &[x, &broadcast]).ok()?
        }
        2 | 3 => {
            let exact = [&ops::NEG, &ops::ABS, &ops::SIGN, &ops::FLOOR, &ops::BITNOT, &ops::SQRT, &ops::RECIP];
            Node::map(exact[rng.below(exact.len())], &[x]).ok()?
        }
        4 => x.cast(DType::ALL[rng.below(13)]).unwrap(),
        5 => {
            let condition = y.cast(DType::Bool).unwrap();
            let other = x.fill(1.0);
            Node::map(&ops::SELECT, &[&condition, x, &other]).ok()?
        }
        6 | 7 => {
            let kinds = [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod];
            let mut axes: Vec<isize> = (0..rank as isize).collect();
            axes.retain(|_| rng.chance(50));
            let kind = kinds[rng.below(4)];
            if kind == ReduceKind::Prod && may_overflow(x) {
                return None;
            }
            x.reduce("test", kind, &axes, rng.chance(50)).ok()?
        }
        8 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            for k in (1..rank).rev() {
                axes.swap(k, rng.below(k + 1));
            }
            x.permuted(&axes)
        }
        9 | 10 => {
            let range = |&size: &usize| {
                let step: isize = [1, 1, 2, -1, -2, 3][rng.below(6)];
                let start = rng.below(size);
                let room = if step > 0 { size - start.min(size) } else { (start + 1).min(size) };
                let most = room.div_ceil(step.unsigned_abs());
                SliceRange { start, step, len: if most == 0 { 0 } else { rng.below(most + 1) } }
            };
            let ranges: Vec<SliceRange> = x.shape().iter().map(range).collect();
            x.sliced(&ranges)
        }
        11 => {
            let padding: Vec<(usize, usize)> = (0..rank).map(|_| (rng.below(3), rng.below(3))).collect();
            x.padded(&padding, Literal::from_f64(dtype, rng.below(3) as f64)).unwrap()
        }
        12 => {
            let condition = Expr::idx(axis?).rem(2).eq_expr(rng.below(2) as i64);
            x.masked(condition, Literal::one(dtype)).unwrap()
        }
        13 => {
            let axis = axis?;
            let (size, step, dilation) = (1 + rng.below(3), 1 + rng.below(2), 1 + rng.below(2));
            let window = Window { axis, n: x.shape()[axis], size, step, dilation };
            let unfolded = x.unfolded(window).unwrap();
            if rng.chance(50) && dtype != DType::Bool { unfolded.folded(window).unwrap() } else { unfolded }
        }
        14 => {
            let mut shape: Vec<isize> = x.shape().iter().map(|&size| size as isize).collect();
            match axis {
                Some(axis) if rng.chance(50) && rank > 1 && axis + 1 < rank => {
                    let size = shape.remove(axis);
                    shape[axis] *= size;
                }
                _ => shape.insert(rng.below(rank + 1), 1),
            }
            movement::reshape(x, &shape).unwrap()
        }
        15 => {
            let mut shape: Shape =
                x.shape().iter().map(|&size| if size == 1 { 1 + rng.below(3) } else { size }).collect();
            if rng.chance(30) {
                shape.insert(0, 2);
            }
            x.broadcast_to(&shape).unwrap()
        }
        16 => {
            let parts = [x, &x.fork(), x];
            if rng.chance(50) {
                join::stack(&parts, rng.below(rank + 1) as isize).unwrap()
            } else {
                Node::concat("test", &parts, axis? as isize).unwrap()
            }
        }
        17 => {
            let axis = axis?;
            let size = x.shape()[axis] as i64;
            let places: Vec<i64> = (0..rng.below(5)).map(|_| rng.below(2 * size as usize) as i64 - size).collect();
            if size == 0 {
                return None;
            }
            let len = places.len();
            let index = Node::from_buffer(Buffer::from_vec("test", places).unwrap(), [len].as_slice().into());
            indexing::index_select(x, axis as isize, &index).unwrap()
        }
        // A row against what it is reduced to.
        18 | 19 => {
            let kinds = [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min];
            let row = x.reduce("test", kinds[rng.below(3)], &[axis? as isize], true).ok()?;
            let exact = [&ops::SUB, &ops::MAXIMUM, &ops::LT];
            Node::map(exact[rng.below(exact.len())], &[x, &row]).ok()?
        }
        // Where an index is below another one.
        20 => {
            let places = |axis: usize| {
                let along: Shape = (0..rank).map(|k| if k == axis { x.shape()[axis] } else { 1 }).collect();
                Node::positions(x.shape()[axis]).unwrap().reshaped(&along)
            };
            let below = Node::map(&ops::LE, &[&places(axis?), &places(rng.below(rank))]).unwrap();
            Node::map(&ops::SELECT, &[&below, x, &x.fill(1.0)]).ok()?
        }
        21 => contraction::matmul(x, &x.swapped(rank.checked_sub(1)?, rank.checked_sub(2)?)).ok()?,
        22 => x.contiguous(),
        // Running totals; products only of what cannot overflow.
        23 => {
            let kinds =
                [ScanKind::Sum, ScanKind::Max, ScanKind::Min, ScanKind::ArgMax, ScanKind::ArgMin, ScanKind::Prod];
            let kind = kinds[rng.below(kinds.len())];
            if dtype == DType::Bool || (kind == ScanKind::Prod && may_overflow(x)) {
                return None;
            }
            x.scan(kind, None, axis?, rng.chance(50)).unwrap()
        }
        // What is sorted by comparing sums hangs on their last bits, so only sources and what is exact are.
        24 => {
            let axis = axis?;
            let order = x.order(axis, rng.chance(50), rng.below(x.shape()[axis] + 1)).unwrap();
            if order.len() == 0 {
                return None;
            }
            x.gather("test", &order, axis).unwrap()
        }
        // Numbers as places, checked on the way.
        25 => {
            let size = 1 + rng.below(5);
            let places = Node::map(
                &ops::REM,
                &[&x.cast(DType::I64).unwrap().abs(), &Node::full(x.shape(), Literal::I64(size as i64)).unwrap()],
            );
            let flat = places.ok()?.reshaped(&[x.len()]);
            Node::positions(size).unwrap().gather("test", &flat, 0).ok()?
        }
        _ => {
            let axis = axis?;
            let size = 1 + rng.below(4);
            let kinds = [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min];
            let along: Shape = (0..rank).map(|k| if k == axis { x.shape()[axis] } else { 1 }).collect();
            let places: Vec<i64> = (0..x.shape()[axis]).map(|_| rng.below(size) as i64).collect();
            let index = Node::from_buffer(Buffer::from_vec("test", places).unwrap(), along);
            let lookup = Lookup { name: "test", from_end: false };
            if dtype == DType::Bool {
                return None;
            }
            let mut shape = Shape::from_slice(x.shape());
            shape[axis] = size;
            x.scatter(kinds[rng.below(3)], lookup, &index.broadcast_to(x.shape()).unwrap(), axis, &shape).unwrap()
        }
    })
}

/// Whether a product of some of the values may be too large on the way: whether a zero or the overflow comes first then
/// depends on the order, which is the library's own.
fn may_overflow(node: &Node) -> bool {
    let Ok(values) = reference::evaluate(node) else { return true };
    let size = |value: &Literal| value.to_f64().abs().max(1.0).log2();
    node.dtype().is_float() && values.iter().map(size).filter(|size| size.is_finite()).sum::<f64>() > 100.0
}

/// All of the nodes at once, each against the reference.
fn check(nodes: &[Node], seed: u64) {
    let expected: Vec<_> = nodes.iter().map(reference::evaluate).collect();
    let moved: Vec<Vec<Vec<Literal>>> = nodes.iter().map(moved).collect();
    let listing = crate::graph::listing(nodes);
    let whole = runtime::execute(nodes);
    if expected.iter().any(Result::is_err) {
        assert!(whole.is_err(), "program {seed}: the reference failed, the run did not");
        return;
    }
    for ((node, expected), moved) in nodes.iter().zip(expected).zip(moved) {
        check_one(node, expected, &moved, seed, &listing);
    }
}

/// The values of a node that is no float, with every float on the way moved by a few of its last bits, in two ways. What then comes
/// out otherwise (a comparison of nearly equal numbers) hangs on the order of a sum.
fn moved(node: &Node) -> Vec<Vec<Literal>> {
    let way = |way| reference::evaluate_from(node, &IdMap::default(), Some(Noise { bits: 4.0, way })).ok();
    if node.dtype().is_float() { Vec::new() } else { (0..2).filter_map(way).collect() }
}

fn check_one(node: &Node, expected: crate::Result<Vec<Literal>>, moved: &[Vec<Literal>], seed: u64, listing: &str) {
    let found = runtime::read(node);
    let (expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (expected, found),
        (Err(_), Err(_)) => return,
        (expected, found) => panic!("program {seed}: one failed: {:?} {:?}", expected.err(), found.err()),
    };
    assert_eq!(expected.len(), found.len(), "program {seed}");
    for (k, e) in expected.iter().enumerate() {
        let x = found.literal(k);
        let (a, b) = (x.to_f64(), e.to_f64());
        let near = node.dtype().is_float() && {
            let bits = match node.dtype() {
                DType::F16 => 2f64.powi(-9),
                DType::BF16 => 2f64.powi(-6),
                DType::F32 => 2f64.powi(-18),
                _ => 2f64.powi(-40),
            };
            (a - b).abs() <= bits * b.abs().max(1.0)
        };
        let same = x == *e || a == b || (a.is_nan() && b.is_nan());
        let undecided = moved.iter().any(|values| values[k] != *e);
        assert!(same || near || undecided, "program {seed}: element {k} is {x}, the reference has {e}\n{listing}");
    }
}

/// Programs whose values may cancel catastrophically or overflow are compared only while they stay tame.
fn is_tame(values: &[Literal]) -> bool {
    values.iter().all(|value| !value.dtype().is_float() || value.to_f64().abs() < 1e4 || !value.to_f64().is_finite())
}

/// Sources, and tame nodes on top of them; the first number says how many are sources.
fn program(rng: &mut Rng) -> (usize, Vec<Node>) {
    let dtype = DType::ALL[rng.below(13)];
    let mut nodes = vec![source(rng, dtype), source(rng, dtype)];
    for _ in 0..1 + rng.below(8) {
        let (x, y) = (nodes[rng.below(nodes.len())].clone(), nodes[rng.below(nodes.len())].clone());
        let Some(node) = grow(rng, &x, &y) else { continue };
        if node.len() > 4000 || node.rank() > 8 {
            continue;
        }
        if !reference::evaluate(&node).is_ok_and(|values| is_tame(&values)) {
            continue;
        }
        nodes.push(node);
    }
    (2, nodes)
}

/// How many programs a test runs.
fn program_count() -> u64 {
    std::env::var("ZITHER_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

#[test]
fn random_programs_agree_with_the_reference() {
    for seed in 0..program_count() {
        let mut rng = Rng(seed);
        let (_, mut nodes) = program(&mut rng);
        // Often only the last; sometimes several are asked for at once.
        let mut wanted = nodes.split_off(nodes.len() - 1);
        wanted.extend(nodes.into_iter().filter(|_| rng.chance(15)));
        check(&wanted, seed);
    }
}

/// The same numbers, in a buffer that nobody else has.
fn copy(node: &Node) -> Node {
    let read = runtime::read(node).unwrap();
    crate::dtype::with_dtype!(node.dtype(), T => {
        let values = read.to_vec::<T>("test").unwrap();
        Node::from_buffer(Buffer::from_vec("test", values).unwrap(), node.shape().into())
    })
}

/// The bytes of some nodes' numbers.
fn all_bits(nodes: &[Node]) -> Vec<Vec<u64>> {
    let bits = |node: &Node| {
        let read = runtime::read(node).unwrap();
        (0..read.len()).map(|k| read.literal(k).bits()).collect()
    };
    nodes.iter().map(bits).collect()
}

#[test]
fn random_programs_give_the_same_bits_when_their_inputs_are_given_away() {
    let mut in_place = 0;
    for seed in 0..program_count() {
        let mut rng = Rng(seed ^ 0xA5A5);
        let (count, nodes) = program(&mut rng);
        let sources = &nodes[..count];
        // Like a step of training: results as large as what they replace are the rule.
        let mut wanted: Vec<Node> = nodes[nodes.len() - 1..].to_vec();
        wanted.extend(
            nodes.iter().filter(|node| rng.chance(if node.len() == sources[0].len() { 60 } else { 15 })).cloned(),
        );
        for source in sources {
            let op = [&ops::MAXIMUM, &ops::NE][usize::from(source.dtype() == DType::Bool)];
            wanted.extend(rng.chance(60).then(|| Node::map(op, &[source, &source.fill(0.0)]).unwrap()));
        }
        let place = |node: &Node| sources.iter().position(|source| source == node);
        let inputs: Vec<Node> =
            sources.iter().map(|source| Node::input("x", source.shape(), source.dtype()).unwrap()).collect();
        let outputs = crate::graph::replace(&wanted, |node| place(node).map(|at| inputs[at].clone())).unwrap();
        let program = runtime::Program::capture(&inputs, &outputs).unwrap();
        let call = |inputs: &mut [Node]| program.call(inputs, |results| results.collect::<Vec<Node>>());
        let held: Vec<Node> = sources.iter().map(copy).collect();
        let expected = match call(&mut held.clone()) {
            Ok(results) => all_bits(&results),
            Err(_) => {
                assert!(call(&mut sources.iter().map(copy).collect::<Vec<_>>()).is_err(), "program {seed}");
                continue;
            }
        };
        let listing = || crate::graph::listing(&wanted);
        in_place += usize::from(program.explain().in_place_bytes > 0);
        let given = call(&mut sources.iter().map(copy).collect::<Vec<_>>()).unwrap();
        assert!(all_bits(&given) == expected, "program {seed}: given away\n{}", listing());
        // One of them held, by a view.
        let one: Vec<Node> = sources.iter().map(copy).collect();
        let view = one[0].reshaped(&[one[0].len()]);
        let mixed = call(&mut { one }).unwrap();
        assert!(all_bits(&mixed) == expected, "program {seed}: one held\n{}", listing());
        assert!(
            all_bits(&held) == all_bits(sources),
            "program {seed}: an input that was held has changed\n{}",
            listing()
        );
        assert!(all_bits(&[view]) == all_bits(&sources[..1]), "program {seed}: a view has changed\n{}", listing());
    }
    assert!(in_place as u64 >= program_count() / 3, "{in_place} programs wrote in place");
}
