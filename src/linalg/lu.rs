//! Gaussian elimination with the largest pivot of each column.

/// `P a = L U` in one square, with the order of the rows and the sign of that order.
pub(super) struct Lu {
    n: usize,
    both: Vec<f64>,
    order: Vec<usize>,
    sign: f64,
}

impl Lu {
    /// Eliminates below the diagonal. A column without a pivot is left as it is: the determinant is then 0.
    pub(super) fn of(a: &[f64], n: usize) -> Lu {
        let (mut both, mut order, mut sign) = (a.to_vec(), (0..n).collect::<Vec<_>>(), 1.0);
        for k in 0..n {
            let size = |row: usize| both[row * n + k].abs();
            let pivot = (k..n).fold(k, |best, row| if size(row) > size(best) { row } else { best });
            if both[pivot * n + k] == 0.0 {
                continue;
            }
            if pivot != k {
                (0..n).for_each(|j| both.swap(k * n + j, pivot * n + j));
                order.swap(k, pivot);
                sign = -sign;
            }
            for row in k + 1..n {
                let factor = both[row * n + k] / both[k * n + k];
                both[row * n + k] = factor;
                for j in k + 1..n {
                    both[row * n + j] -= factor * both[k * n + j];
                }
            }
        }
        Lu { n, both, order, sign }
    }

    fn pivots(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.n).map(|k| self.both[k * self.n + k])
    }

    /// Whether a pivot is 0.
    pub(super) fn is_singular(&self) -> bool {
        self.pivots().any(|pivot| pivot == 0.0)
    }

    /// The determinant.
    pub(super) fn det(&self) -> f64 {
        self.pivots().fold(self.sign, |det, pivot| det * pivot)
    }

    /// The sign of the determinant, and the logarithm of its size.
    pub(super) fn slogdet(&self) -> (f64, f64) {
        let sign = self.pivots().fold(self.sign, |sign, pivot| if pivot == 0.0 { 0.0 } else { sign * pivot.signum() });
        (sign, self.pivots().map(|pivot| pivot.abs().ln()).sum())
    }

    /// `a⁻¹ b` for `b` of so many columns.
    pub(super) fn solve(&self, b: &[f64], columns: usize) -> Vec<f64> {
        let n = self.n;
        let mut x: Vec<f64> =
            self.order.iter().flat_map(|&row| b[row * columns..(row + 1) * columns].iter().copied()).collect();
        for row in 0..n {
            for k in 0..row {
                let factor = self.both[row * n + k];
                (0..columns).for_each(|j| x[row * columns + j] -= factor * x[k * columns + j]);
            }
        }
        for row in (0..n).rev() {
            for k in row + 1..n {
                let factor = self.both[row * n + k];
                (0..columns).for_each(|j| x[row * columns + j] -= factor * x[k * columns + j]);
            }
            let pivot = self.both[row * n + row];
            (0..columns).for_each(|j| x[row * columns + j] /= pivot);
        }
        x
    }
}
