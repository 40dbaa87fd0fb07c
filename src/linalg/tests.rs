//! Identities of the decompositions, at small sizes, and slopes against finite differences.

use super::nodes::*;
use super::*;
use crate::dtype::Literal;
use crate::error::Result;
use crate::grad;
use crate::graph::{Node, ReduceKind};
use crate::memory::Buffer;
use crate::runtime;

/// Numbers between -1 and 1, others for each seed.
fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

fn turned(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns).map(|at| a[at % rows * columns + at / rows]).collect()
}

#[track_caller]
fn near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() < 1e-11 * (1.0 + y.abs()), "element {k}: {x}, expected {y}");
    }
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect()
}

#[test]
fn decompositions_multiply_to_what_they_came_from() {
    for (rows, columns) in [(1, 1), (2, 2), (3, 3), (5, 3), (3, 5), (8, 8), (17, 9)] {
        let a = numbers(rows * columns, (rows * 31 + columns) as u64);
        let k = rows.min(columns);
        let (q, r) = qr::qr(&a, rows, columns);
        near(&product(&q, &r, rows, k, columns), &a);
        near(&product(&turned(&q, rows, k), &q, k, rows, k), &identity(k));
        let (u, s, vt) = jacobi::svd(&a, rows, columns);
        let scaled: Vec<f64> = (0..rows * k).map(|at| u[at] * s[at % k]).collect();
        near(&product(&scaled, &vt, rows, k, columns), &a);
        near(&product(&turned(&u, rows, k), &u, k, rows, k), &identity(k));
        near(&product(&vt, &turned(&vt, k, columns), k, columns, k), &identity(k));
        assert!(s.windows(2).all(|pair| pair[0] >= pair[1]), "{s:?}");
    }
    for n in [1, 2, 3, 8, 17] {
        let a = numbers(n * n, n as u64);
        near(&product(&a, &lu::Lu::of(&a, n).solve(&identity(n), n), n, n, n), &identity(n));
        let squares = product(&a, &turned(&a, n, n), n, n, n);
        let l = cholesky::cholesky(&squares, n).unwrap();
        near(&product(&l, &turned(&l, n, n), n, n, n), &squares);
        let (values, vectors) = jacobi::eigh(&squares, n);
        let scaled: Vec<f64> = (0..n * n).map(|at| vectors[at] * values[at % n]).collect();
        near(&product(&scaled, &turned(&vectors, n, n), n, n, n), &squares);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{values:?}");
        let det: f64 = values.iter().product();
        near(&[lu::Lu::of(&squares, n).det()], &[det]);
    }
    // A matrix of rank 1, and one of zeros.
    let (u, s, _) = jacobi::svd(&[1.0, 2.0, 2.0, 4.0], 2, 2);
    near(&s, &[5.0, 0.0]);
    near(&product(&turned(&u, 2, 2), &u, 2, 2, 2), &identity(2));
    let (u, s, _) = jacobi::svd(&[0.0; 6], 3, 2);
    assert_eq!(s, [0.0, 0.0]);
    near(&product(&turned(&u, 3, 2), &u, 2, 3, 2), &identity(2));
    assert_eq!(lu::Lu::of(&[1.0, 2.0, 2.0, 4.0], 2).det(), 0.0);
    assert_eq!(lu::Lu::of(&[], 0).det(), 1.0);
    assert!(cholesky::cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
}

type Function = fn(&Node) -> Result<Node>;

fn value(f: Function, data: &[f64], shape: &[usize]) -> (Node, Node) {
    let x = Node::from_buffer(Buffer::from_vec("test", data.to_vec()).unwrap(), shape.into());
    let y = f(&x).unwrap();
    let weights = Node::from_buffer(Buffer::from_vec("test", numbers(y.len(), 99)).unwrap(), y.shape().into());
    ((&y * &weights).reduce_all("sum", ReduceKind::Sum).unwrap(), x)
}

fn read(node: &Node) -> Vec<f64> {
    runtime::read(node).unwrap().to_vec("test").unwrap()
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    // Symmetric and positive definite, whatever comes in.
    fn definite(x: &Node) -> Result<Node> {
        let turned = x.swapped(1, 2);
        let squares = crate::ops::compose::contraction::matmul(x, &turned)?;
        Ok(&squares + &crate::ops::compose::create::eye(3, 3, x.dtype())?)
    }
    let functions: [(&str, Function); 8] = [
        ("inverse", |x| inverse(&definite(x)?)),
        ("det", |x| det(x)),
        ("slogdet", |x| Ok(slogdet(x)?.1)),
        ("cholesky", |x| cholesky(&definite(x)?)),
        ("solve", |x| solve(&definite(x)?, x)),
        ("solve one for all", |x| solve(&definite(x)?, &x.sliced(&ranges()))),
        ("eigh", |x| Ok(eigh(&definite(x)?)?.0)),
        ("svd", |x| Ok(svd(x)?.1)),
    ];
    let (data, shape) = (numbers(18, 5), [2, 3, 3]);
    for (name, f) in functions {
        let (y, x) = value(f, &data, &shape);
        let found = read(&grad::gradients(&y, Node::full(&[], Literal::F64(1.0)).unwrap(), &[x]).unwrap()[0]);
        for k in 0..data.len() {
            let at = |step: f64| {
                let mut moved = data.clone();
                moved[k] += step;
                read(&value(f, &moved, &shape).0)[0]
            };
            let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
            let close = (found[k] - expected).abs() < 1e-5 * (1.0 + expected.abs());
            assert!(close, "{name}, element {k}: {}, expected {expected}", found[k]);
        }
    }
}

/// The first matrix of a batch of two.
fn ranges() -> Vec<crate::graph::SliceRange> {
    let whole = |len: usize| crate::graph::SliceRange { start: 0, step: 1, len };
    vec![whole(1), whole(3), whole(3)]
}

#[test]
fn what_has_no_derivative_says_so() {
    let (y, x) = value(|x| Ok(qr(x)?.0), &numbers(9, 1), &[3, 3]);
    let error = grad::gradients(&y, Node::full(&[], Literal::F64(1.0)).unwrap(), &[x]).err().unwrap();
    assert!(error.to_string().starts_with("qr: its derivative is not built: detach() its input"), "{error}");
}

#[test]
fn curvature_of_an_inverse() {
    // d²/dx² of 1/x is 2/x³.
    let x = Node::from_buffer(Buffer::from_vec("test", vec![2.0f64]).unwrap(), [1, 1].as_slice().into());
    let one = |node: &Node| node.fill(1.0);
    let y = inverse(&x).unwrap();
    let slope = grad::gradients(&y, one(&y), std::slice::from_ref(&x)).unwrap().remove(0);
    let second = grad::gradients(&slope, one(&slope), std::slice::from_ref(&x)).unwrap().remove(0);
    assert_eq!(read(&second), [0.25]);
}
