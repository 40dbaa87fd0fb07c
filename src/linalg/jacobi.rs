//! Eigenvalues of symmetric matrices and singular values, by Jacobi's rotations: slow for large matrices, and exact.

/// The most rounds; a few are enough.
const ROUNDS: usize = 60;

/// Eigenvalues, smallest first, and the eigenvectors as columns. Only the lower half of `a` is looked at.
pub(super) fn eigh(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut m: Vec<f64> = (0..n * n).map(|at| (at / n, at % n)).map(|(i, j)| a[i.max(j) * n + i.min(j)]).collect();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|k| vectors[k * n + k] = 1.0);
    for _ in 0..ROUNDS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let (pp, qq, pq) = (m[p * n + p], m[q * n + q], m[p * n + q]);
                if pq.abs() <= f64::EPSILON * 1e-3 * (pp.abs() * qq.abs()).sqrt() || pq.abs() < f64::MIN_POSITIVE {
                    continue;
                }
                rotated = true;
                let (c, s) = rotation(pp, qq, pq);
                for k in 0..n {
                    turn(&mut m, k * n + p, k * n + q, c, s);
                }
                for k in 0..n {
                    turn(&mut m, p * n + k, q * n + k, c, s);
                }
                for k in 0..n {
                    turn(&mut vectors, k * n + p, k * n + q, c, s);
                }
            }
        }
        if !rotated {
            break;
        }
    }
    let values: Vec<f64> = (0..n).map(|k| m[k * n + k]).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let sorted = (0..n * n).map(|at| vectors[at / n * n + order[at % n]]).collect();
    (order.iter().map(|&k| values[k]).collect(), sorted)
}

/// Cosine and sine of the angle that makes the element beside the diagonal 0.
fn rotation(pp: f64, qq: f64, pq: f64) -> (f64, f64) {
    let theta = (qq - pp) / (2.0 * pq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    (c, t * c)
}

/// Two elements turned into each other.
fn turn(m: &mut [f64], p: usize, q: usize, c: f64, s: f64) {
    (m[p], m[q]) = (c * m[p] - s * m[q], s * m[p] + c * m[q]);
}

/// `a = U diag(s) Vᵀ`: U (rows × k), the singular values, largest first, and Vᵀ (k × columns), for `k` the smaller of rows and
/// columns.
pub(super) fn svd(a: &[f64], rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    if rows < columns {
        let turned: Vec<f64> = (0..rows * columns).map(|at| a[at % rows * columns + at / rows]).collect();
        let (u, s, vt) = svd(&turned, columns, rows);
        let k = rows;
        let left = (0..rows * k).map(|at| vt[at % k * rows + at / k]).collect();
        let right = (0..k * columns).map(|at| u[at % columns * k + at / columns]).collect();
        return (left, s, right);
    }
    let n = columns;
    let (mut u, mut v) = (a.to_vec(), vec![0.0; n * n]);
    (0..n).for_each(|k| v[k * n + k] = 1.0);
    for _ in 0..ROUNDS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let dot = |i: usize, j: usize| (0..rows).map(|k| u[k * n + i] * u[k * n + j]).sum::<f64>();
                let (pp, qq, pq) = (dot(p, p), dot(q, q), dot(p, q));
                if pq.abs() <= f64::EPSILON * (pp * qq).sqrt() || pq == 0.0 {
                    continue;
                }
                rotated = true;
                let (c, s) = rotation(pp, qq, pq);
                (0..rows).for_each(|k| turn(&mut u, k * n + p, k * n + q, c, s));
                (0..n).for_each(|k| turn(&mut v, k * n + p, k * n + q, c, s));
            }
        }
        if !rotated {
            break;
        }
    }
    let length = |j: usize| (0..rows).map(|k| u[k * n + j] * u[k * n + j]).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..n).map(length).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
    let values: Vec<f64> = order.iter().map(|&j| lengths[j]).collect();
    let mut left = vec![0.0; rows * n];
    for (place, &j) in order.iter().enumerate() {
        if lengths[j] > 0.0 {
            (0..rows).for_each(|k| left[k * n + place] = u[k * n + j] / lengths[j]);
        }
    }
    complete(&mut left, &values, rows, n);
    let right = (0..n * n).map(|at| v[at % n * n + order[at / n]]).collect();
    (left, values, right)
}

/// Columns for singular values of 0: any that are orthogonal to the others.
fn complete(u: &mut [f64], values: &[f64], rows: usize, n: usize) {
    for j in (0..n).filter(|&j| values[j] == 0.0) {
        let mut best = vec![0.0; rows];
        for axis in 0..rows {
            let mut v = vec![0.0; rows];
            v[axis] = 1.0;
            // Twice, since once loses digits.
            for _ in 0..2 {
                for other in 0..n {
                    let along: f64 = (0..rows).map(|k| v[k] * u[k * n + other]).sum();
                    (0..rows).for_each(|k| v[k] -= along * u[k * n + other]);
                }
            }
            let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
            if size(&v) > size(&best) {
                best = v;
            }
        }
        let length = best.iter().map(|x| x * x).sum::<f64>().sqrt();
        (0..rows).for_each(|k| u[k * n + j] = best[k] / length);
    }
}
