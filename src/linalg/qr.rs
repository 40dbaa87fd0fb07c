//! `a = Q R` by Householder's reflections.

/// `Q` (rows × k) with orthonormal columns and `R` (k × columns) upper triangular, for `k` the smaller of rows and columns.
pub(super) fn qr(a: &[f64], rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
    let k = rows.min(columns);
    let mut r = a.to_vec();
    // Each reflection is its vector, with the squared length of that.
    let mut mirrors: Vec<(Vec<f64>, f64)> = Vec::new();
    for step in 0..k {
        let mut v: Vec<f64> = (step..rows).map(|i| r[i * columns + step]).collect();
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v[0] += if v[0] < 0.0 { -length } else { length };
        let square = v.iter().map(|x| x * x).sum::<f64>();
        reflect(&mut r, &v, square, step, columns);
        mirrors.push((v, square));
    }
    let mut q = vec![0.0; rows * k];
    (0..k).for_each(|j| q[j * k + j] = 1.0);
    for (step, (v, square)) in mirrors.iter().enumerate().rev() {
        reflect(&mut q, v, *square, step, k);
    }
    let upper = (0..k).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let r = upper.map(|(i, j)| if j < i { 0.0 } else { r[i * columns + j] }).collect();
    (q, r)
}

/// `m - 2 v (vᵀ m) / |v|²` on the rows from `first`.
fn reflect(m: &mut [f64], v: &[f64], square: f64, first: usize, columns: usize) {
    if square == 0.0 {
        return;
    }
    for j in 0..columns {
        let along: f64 = v.iter().enumerate().map(|(i, x)| x * m[(first + i) * columns + j]).sum();
        let factor = 2.0 * along / square;
        v.iter().enumerate().for_each(|(i, x)| m[(first + i) * columns + j] -= factor * x);
    }
}
