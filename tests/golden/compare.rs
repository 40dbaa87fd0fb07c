//! Whether numbers are what they should be.

use zither::DynTensor;

/// How close is close enough.
#[derive(Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) exact: bool,
}

/// An error with the first wrong element.
pub(crate) fn compare(what: &str, found: &DynTensor, expected: &DynTensor, tolerance: Tolerance) -> Result<(), String> {
    if found.shape() != expected.shape() {
        return Err(format!("{what}: shape {:?}, expected {:?}", found.shape(), expected.shape()));
    }
    if found.dtype() != expected.dtype() {
        return Err(format!("{what}: dtype {}, expected {}", found.dtype(), expected.dtype()));
    }
    let values = found.literals().map_err(|error| format!("{what}: {error}"))?;
    let wanted = expected.literals().map_err(|error| format!("{what}: {error}"))?;
    for (k, (x, e)) in values.iter().zip(&wanted).enumerate() {
        let (x, e) = (x.to_f64(), e.to_f64());
        let same = x == e || (x.is_nan() && e.is_nan());
        let near = !tolerance.exact && (x - e).abs() <= tolerance.absolute + tolerance.relative * e.abs();
        if !same && !near {
            return Err(format!("{what}: element {k} of {:?} is {x:e}, expected {e:e}", found.shape()));
        }
    }
    Ok(())
}
