//! Linear algebra on nodes: the numbers are read at once, and the result knows its derivative.

use super::lu::Lu;
use super::{cholesky as root, jacobi, qr as reflections};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::memory::Buffer;
use crate::ops::compose::contraction::matmul;
use crate::ops::compose::{diagonal, movement, together};
use crate::runtime;
use crate::shape::{Shape, broadcast_shapes};

/// The matrices of a node as plain numbers.
struct Matrices {
    data: Vec<f64>,
    batch: Shape,
    rows: usize,
    columns: usize,
    dtype: DType,
}

impl Matrices {
    fn read(op: &str, x: &Node) -> Result<Matrices> {
        if !matches!(x.dtype(), DType::F32 | DType::F64) {
            let message = format!("{} is not f32 or f64: cast it first", x.dtype());
            return Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()));
        }
        if x.rank() < 2 {
            let message = format!("shape {:?} has no rows and columns: two axes are needed", x.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
        }
        // A node of its own is read: `x` itself would let its history go, and a gradient may have to pass there.
        let copy = &x.detach().cast(DType::F64)? * 1.0;
        let data: Vec<f64> = runtime::read(&copy)?.to_vec(op)?;
        let (rows, columns) = (x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]);
        Ok(Matrices { data, batch: x.shape()[..x.rank() - 2].into(), rows, columns, dtype: x.dtype() })
    }

    fn square(op: &str, x: &Node) -> Result<Matrices> {
        let matrices = Matrices::read(op, x)?;
        if matrices.rows != matrices.columns {
            let message = format!("matrices of shape {:?} are not square", x.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
        }
        Ok(matrices)
    }

    /// Each matrix of the batch.
    fn each(&self) -> impl Iterator<Item = &[f64]> {
        let size = self.rows * self.columns;
        let count = self.batch.iter().product::<usize>();
        (0..count).map(move |k| &self.data[k * size..(k + 1) * size])
    }

    /// A node of one result for each matrix, all of the shape `each`.
    #[track_caller]
    fn node(&self, op: &str, data: Vec<f64>, each: &[usize]) -> Result<Node> {
        let shape: Shape = self.batch.iter().chain(each).copied().collect();
        Node::from_buffer(Buffer::from_vec(op, data)?, shape).cast(self.dtype)
    }
}

fn singular(op: &str, x: &Node, k: usize) -> Error {
    let message = format!("matrix {k} of shape {:?} is singular: it has no inverse", x.shape());
    Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at())
}

/// The last two axes exchanged.
#[track_caller]
fn turned(x: &Node) -> Node {
    x.swapped(x.rank() - 2, x.rank() - 1)
}

/// A node that depends on `x` in a way whose derivative is not built.
#[track_caller]
fn refusing(value: Node, op: &'static str, x: &Node) -> Node {
    value.with_shortcut(op, &[x], move |_, _, _| {
        let message = "its derivative is not built: detach() its input, or write the loss in another way";
        Err(Error::new(ErrorKind::Gradient, op, message))
    })
}

/// `a⁻¹ b`: matrices `[.., n, n]` and `[.., n, k]`, whose batches stretch; a rank-1 `b` is one column.
#[track_caller]
pub(crate) fn solve(a: &Node, b: &Node) -> Result<Node> {
    let op = "solve";
    together::one_dtype(op, a, b)?;
    if b.rank() == 1 {
        let column = solve(a, &b.reshaped(&[b.len(), 1]))?;
        return movement::squeeze(&column, -1);
    }
    if a.rank() < 2 || b.rank() < 2 || a.shape()[a.rank() - 1] != b.shape()[b.rank() - 2] {
        let message = format!("shapes {:?} and {:?} do not fit: give [.., n, n] and [.., n, k]", a.shape(), b.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).operands(a.at(), b.at()));
    }
    let batch = broadcast_shapes(op, &a.shape()[..a.rank() - 2], &b.shape()[..b.rank() - 2])
        .map_err(|error| error.operands(a.at(), b.at()))?;
    let whole = |x: &Node| {
        let shape: Shape = batch.iter().chain(&x.shape()[x.rank() - 2..]).copied().collect();
        x.broadcast_to(&shape)
    };
    let (a, b) = (whole(a)?, whole(b)?);
    let (left, right) = (Matrices::square(op, &a)?, Matrices::read(op, &b)?);
    let mut data = Vec::with_capacity(right.data.len());
    for (k, (matrix, columns)) in left.each().zip(right.each()).enumerate() {
        let lu = Lu::of(matrix, left.rows);
        if lu.is_singular() {
            return Err(singular(op, &a, k));
        }
        data.extend(lu.solve(columns, right.columns));
    }
    let value = right.node(op, data, &[right.rows, right.columns])?;
    Ok(value.with_shortcut(op, &[&a, &b], |g, x, _| {
        let slope = solve(&turned(&x[0]), g)?;
        let result = solve(&x[0], &x[1])?;
        Ok(vec![-&matmul(&slope, &turned(&result))?, slope])
    }))
}

/// The inverse of each matrix.
#[track_caller]
pub(crate) fn inverse(x: &Node) -> Result<Node> {
    let op = "inverse";
    let matrices = Matrices::square(op, x)?;
    let n = matrices.rows;
    let one: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n.max(1) == at % n.max(1)))).collect();
    let mut data = Vec::with_capacity(matrices.data.len());
    for (k, matrix) in matrices.each().enumerate() {
        let lu = Lu::of(matrix, n);
        if lu.is_singular() {
            return Err(singular(op, x, k));
        }
        data.extend(lu.solve(&one, n));
    }
    let value = matrices.node(op, data, &[n, n])?;
    Ok(value.with_shortcut(op, &[x], |g, x, _| {
        let turned = turned(&inverse(&x[0])?);
        Ok(vec![-&matmul(&matmul(&turned, g)?, &turned)?])
    }))
}

/// A number for each matrix, stretched beside the matrices.
#[track_caller]
fn beside(number: &Node, matrices: &Node) -> Result<Node> {
    let mut shape = Shape::from_slice(number.shape());
    shape.extend([1, 1]);
    number.reshaped(&shape).broadcast_to(matrices.shape())
}

/// The determinant of each matrix.
#[track_caller]
pub(crate) fn det(x: &Node) -> Result<Node> {
    let op = "det";
    let matrices = Matrices::square(op, x)?;
    let data = matrices.each().map(|matrix| Lu::of(matrix, matrices.rows).det()).collect();
    let value = matrices.node(op, data, &[])?;
    Ok(value.with_shortcut(op, &[x], |g, x, _| {
        let scaled = g * &det(&x[0])?;
        Ok(vec![&beside(&scaled, &x[0])? * &turned(&inverse(&x[0])?)])
    }))
}

/// The sign of each determinant, and the logarithm of its size.
#[track_caller]
pub(crate) fn slogdet(x: &Node) -> Result<(Node, Node)> {
    let op = "slogdet";
    let matrices = Matrices::square(op, x)?;
    let (signs, logs) = matrices.each().map(|matrix| Lu::of(matrix, matrices.rows).slogdet()).unzip();
    let log = matrices.node(op, logs, &[])?;
    let log = log.with_shortcut(op, &[x], |g, x, _| Ok(vec![&beside(g, &x[0])? * &turned(&inverse(&x[0])?)]));
    Ok((matrices.node(op, signs, &[])?, log))
}

/// The lower triangle `L` of each positive definite matrix, `L Lᵀ`. Only its lower half is looked at.
#[track_caller]
pub(crate) fn cholesky(x: &Node) -> Result<Node> {
    let op = "cholesky";
    let matrices = Matrices::square(op, x)?;
    let n = matrices.rows;
    let mut data = Vec::with_capacity(matrices.data.len());
    for (k, matrix) in matrices.each().enumerate() {
        let Some(lower) = root::cholesky(matrix, n) else {
            let message = format!("matrix {k} of shape {:?} is not positive definite", x.shape());
            return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
        };
        data.extend(lower);
    }
    let value = matrices.node(op, data, &[n, n])?;
    Ok(value.with_shortcut(op, &[x], |g, x, _| {
        // L⁻ᵀ Φ(Lᵀ g) L⁻¹, made symmetric; Φ keeps the lower half, with half of the diagonal.
        let lower = cholesky(&x[0])?;
        let inner = matmul(&turned(&lower), &movement::triangle("tril", g, 0)?)?;
        let half = &diagonal::diag_embed(&diagonal::diagonal(&inner, 0, -2, -1)?, 0)? * 0.5;
        let kept = &movement::triangle("tril", &inner, 0)? - &half;
        let left = solve(&turned(&lower), &kept)?;
        let slope = turned(&solve(&turned(&lower), &turned(&left))?);
        Ok(vec![&(&slope + &turned(&slope)) * 0.5])
    }))
}

/// `Q` with orthonormal columns and `R` upper triangular: `x = Q R`.
#[track_caller]
pub(crate) fn qr(x: &Node) -> Result<(Node, Node)> {
    let op = "qr";
    let matrices = Matrices::read(op, x)?;
    let (rows, columns) = (matrices.rows, matrices.columns);
    let k = rows.min(columns);
    let (mut q, mut r) = (Vec::new(), Vec::new());
    for matrix in matrices.each() {
        let (one, other) = reflections::qr(matrix, rows, columns);
        q.extend(one);
        r.extend(other);
    }
    let (q, r) = (matrices.node(op, q, &[rows, k])?, matrices.node(op, r, &[k, columns])?);
    Ok((refusing(q, op, x), refusing(r, op, x)))
}

/// Eigenvalues, smallest first, and eigenvectors (columns) of symmetric matrices; only the lower half is looked at.
#[track_caller]
pub(crate) fn eigh(x: &Node) -> Result<(Node, Node)> {
    let op = "eigh";
    let matrices = Matrices::square(op, x)?;
    let n = matrices.rows;
    let (mut values, mut vectors) = (Vec::new(), Vec::new());
    for matrix in matrices.each() {
        let (value, vector) = jacobi::eigh(matrix, n);
        values.extend(value);
        vectors.extend(vector);
    }
    let vectors = refusing(matrices.node(op, vectors, &[n, n])?, op, x);
    let values = matrices.node(op, values, &[n])?.with_shortcut(op, &[x], |g, x, _| {
        // V diag(g) Vᵀ.
        let vectors = eigh(&x[0])?.1;
        let mut row = Shape::from_slice(g.shape());
        row.insert(g.rank() - 1, 1);
        Ok(vec![matmul(&(&vectors * &g.reshaped(&row)), &turned(&vectors))?])
    });
    Ok((values, vectors))
}

/// `x = U diag(s) Vᵀ`: `U`, the singular values, largest first, and `Vᵀ`.
#[track_caller]
pub(crate) fn svd(x: &Node) -> Result<(Node, Node, Node)> {
    let op = "svd";
    let matrices = Matrices::read(op, x)?;
    let (rows, columns) = (matrices.rows, matrices.columns);
    let k = rows.min(columns);
    let (mut u, mut s, mut vt) = (Vec::new(), Vec::new(), Vec::new());
    for matrix in matrices.each() {
        let (left, values, right) = jacobi::svd(matrix, rows, columns);
        u.extend(left);
        s.extend(values);
        vt.extend(right);
    }
    let u = refusing(matrices.node(op, u, &[rows, k])?, op, x);
    let vt = refusing(matrices.node(op, vt, &[k, columns])?, op, x);
    let s = matrices.node(op, s, &[k])?.with_shortcut(op, &[x], |g, x, _| {
        // U diag(g) Vᵀ.
        let (u, _, vt) = svd(&x[0])?;
        let mut row = Shape::from_slice(g.shape());
        row.insert(g.rank() - 1, 1);
        Ok(vec![matmul(&(&u * &g.reshaped(&row)), &vt)?])
    });
    Ok((u, s, vt))
}
