//! Linear algebra of small matrices, exact rather than fast.
//!
//! - `lu.rs`, `cholesky.rs`, `qr.rs`, `jacobi.rs`: plain numbers in `f64`, one matrix at a time, row-major.
//! - `nodes.rs`: the door. It reads the numbers of a node, calls the above for each matrix of a batch, and gives a node with its
//!   derivative.

mod cholesky;
mod jacobi;
mod lu;
pub(crate) mod nodes;
mod qr;

#[cfg(test)]
mod tests;

/// `a` (rows × inner) times `b` (inner × columns).
#[cfg(test)]
fn product(a: &[f64], b: &[f64], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
    let mut c = vec![0.0; rows * columns];
    for i in 0..rows {
        for k in 0..inner {
            for j in 0..columns {
                c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
            }
        }
    }
    c
}
