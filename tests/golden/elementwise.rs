//! Elementwise ops and activations of the golden set that are composed from others.

use crate::ops::{Outcome, axis, one};
use serde_json::Value;
use zither::{DType, DynTensor};

/// The outputs of an op; `None` if it is not one of these.
pub(crate) fn apply(op: &str, x: &[DynTensor], kw: &Value) -> Option<Outcome> {
    let a = &x[0];
    Some(match op {
        "elu" => one(a.try_elu(1.0)),
        "fmod" => one(a.try_fmod(&x[1]).map(|rest| as_vectorised(a, &x[1], &rest))),
        "glu" => one(a.try_glu(axis(kw, "dim"))),
        "hardswish" => one(a.try_hardswish()),
        "isinf" => one(a.try_isinf()),
        "isnan" => one(a.try_isnan()),
        "leaky_relu" => one(a.try_leaky_relu(0.01)),
        "lerp" => one(a.try_lerp(&x[1], &x[2])),
        "logsigmoid" => one(a.try_logsigmoid()),
        "mish" => one(a.try_mish()),
        "relu6" => one(a.try_relu6()),
        "remainder" => one(a.try_remainder(&x[1]).map(|rest| as_vectorised(a, &x[1], &rest))),
        "softsign" => one(a.try_softsign()),
        _ => return None,
    })
}

/// PyTorch's vector code divides first, and gives NaN where the quotient is beyond every `f32` (unless the divisor is
/// denormal: that it scales); zither gives the remainder.
fn as_vectorised(a: &DynTensor, b: &DynTensor, rest: &DynTensor) -> DynTensor {
    if a.dtype() != DType::F32 {
        return rest.clone();
    }
    let normal = b.abs().ge(f64::from(f32::MIN_POSITIVE));
    let beyond = &(a / b).isinf() & &normal;
    beyond.where_(&(&rest.detach() * f64::NAN), rest)
}
