//! The root of a positive definite matrix: `a = L Lᵀ`.

/// The lower triangle `L`; `None` where `a` is not positive definite. Only the lower half of `a` is looked at.
pub(super) fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - known;
            if i != j {
                l[i * n + j] = rest / l[j * n + j];
            } else if rest > 0.0 {
                l[i * n + i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(l)
}
