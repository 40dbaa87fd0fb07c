//! Transposed convolution: the adjoint of convolution, as a layer. Each input is spread over a window of the output.

use super::contraction::matmul;
use super::convolution::{Sliding, Spatial};
use super::pad;
use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind, Window};
use crate::ops::compose::together::one_dtype;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, element_count, len_of};
use smallvec::SmallVec;

/// `[N, C, ..places]` and `[C, O / groups, ..kernel]` to `[N, O, ..size]`, where `size` is
/// `(places - 1) · stride - 2 · padding + dilation · (kernel - 1) + 1 + extra`.
#[track_caller]
pub(crate) fn conv_transpose(
    op: &str,
    x: &Node,
    weight: &Node,
    bias: Option<&Node>,
    sliding: &Sliding,
    extra: &[usize],
    groups: usize,
) -> Result<Node> {
    let spatial = sliding.stride.len();
    check(op, x, weight, bias, sliding, extra, groups)?;
    let wide = crate::ops::accumulator(x.dtype());
    if wide != x.dtype() {
        // Sixteen bits are too few for products that will be added up, here and in the gradient.
        let bias = bias.map(|bias| bias.cast(wide)).transpose()?;
        let (x_wide, weight) = (x.cast(wide)?, weight.cast(wide)?);
        return conv_transpose(op, &x_wide, &weight, bias.as_ref(), sliding, extra, groups)?.cast(x.dtype());
    }
    let (samples, channels) = (x.shape()[0], x.shape()[1]);
    let out = weight.shape()[1];
    let (places, kernel): (Spatial, Spatial) = (x.shape()[2..].into(), weight.shape()[2..].into());
    // Every input times every element of the kernel: [G, O/G · kernel, C/G] · [N, G, C/G, places].
    let inside = channels / groups;
    let (taps, count) = (out * len_of(&kernel), len_of(&places));
    let left = weight.reshaped(&[groups, inside, taps]).swapped(1, 2);
    let right = x.reshaped(&[samples, groups, inside, count]);
    let products = matmul(&left, &right)?;
    // [N, O, ..kernel, ..places] to [N, O, ..places, ..kernel], then each product to its place.
    let outputs = out * groups;
    let shape: Shape =
        [samples, outputs].into_iter().chain(kernel.iter().copied()).chain(places.iter().copied()).collect();
    let order: Shape = [0, 1].into_iter().chain(2 + spatial..2 + 2 * spatial).chain(2..2 + spatial).collect();
    let mut seen = products.reshaped(&shape).permuted(&order);
    let mut borders: Vec<(isize, isize)> = vec![(0, 0); 2 + spatial];
    for k in (0..spatial).rev() {
        let n = (places[k] - 1) * sliding.stride[k] + (kernel[k] - 1) * sliding.dilation[k] + 1;
        seen = seen.placed(Window {
            axis: 2 + k,
            n,
            size: kernel[k],
            step: sliding.stride[k],
            dilation: sliding.dilation[k],
        })?;
        let order: Shape = (0..2 + spatial).chain([seen.rank() - 1]).chain(2 + spatial..seen.rank() - 1).collect();
        seen = seen.permuted(&order);
        let padding = sliding.padding[k] as isize;
        borders[2 + k] = (-padding, extra[k] as isize - padding);
    }
    let inner: SmallVec<[isize; 6]> = (1..=spatial as isize).map(|k| -k).collect();
    let sum = seen.reduce(op, ReduceKind::Sum, &inner, false)?;
    let result = pad::constant(&sum, &borders, Literal::zero(sum.dtype()))?;
    match bias {
        None => Ok(result),
        Some(bias) => {
            let column: Shape = std::iter::once(outputs).chain(std::iter::repeat_n(1, spatial)).collect();
            Ok(&result + &bias.reshaped(&column))
        }
    }
}

fn check(
    op: &str,
    x: &Node,
    weight: &Node,
    bias: Option<&Node>,
    sliding: &Sliding,
    extra: &[usize],
    groups: usize,
) -> Result<()> {
    let spatial = sliding.stride.len();
    let clash = |message: String| Err(Error::new(ErrorKind::Shape, op, message).operands(x.at(), weight.at()));
    let fail = |message: String| Err(Error::new(ErrorKind::Value, op, message).made_at("input", x.at()));
    Dtypes::Numeric.check(op, x)?;
    one_dtype(op, x, weight)?;
    if x.rank() != spatial + 2 || weight.rank() != spatial + 2 {
        return clash(format!(
            "input {:?} and weight {:?} must have rank {}: [samples, channels, ..] and [channels, outputs / groups, ..]",
            x.shape(),
            weight.shape(),
            spatial + 2
        ));
    }
    let channels = x.shape()[1];
    if groups == 0 || !channels.is_multiple_of(groups) {
        return clash(format!("{groups} groups do not divide {channels} channels"));
    }
    if weight.shape()[0] != channels {
        return clash(format!(
            "input {:?} has {channels} channels, weight {:?} takes {}",
            x.shape(),
            weight.shape(),
            weight.shape()[0]
        ));
    }
    let outputs = weight.shape()[1].saturating_mul(groups);
    if let Some(bias) = bias {
        one_dtype(op, x, bias)?;
        if bias.shape() != [outputs] {
            let message = format!("bias has shape {:?}, not [{outputs}]", bias.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at("bias", bias.at()));
        }
    }
    let Sliding { stride, padding, dilation } = sliding;
    let kernel = &weight.shape()[2..];
    if kernel.iter().chain(stride).chain(dilation).any(|&size| size == 0) {
        return fail(format!("kernel {kernel:?}, stride {stride:?} and dilation {dilation:?} must all be at least 1"));
    }
    let mut shape: Shape = [x.shape()[0], outputs].as_slice().into();
    for k in 0..spatial {
        if extra[k] >= stride[k].max(dilation[k]) {
            return fail(format!(
                "output_padding {extra:?} must be less than stride {stride:?} or dilation {dilation:?}"
            ));
        }
        let places = x.shape()[2 + k];
        let reach = (kernel[k] - 1).saturating_mul(dilation[k]).saturating_add(1);
        let whole = places.saturating_sub(1).saturating_mul(stride[k]).saturating_add(reach).saturating_add(extra[k]);
        if places == 0 || padding[k].saturating_mul(2) > whole {
            return clash(format!(
                "input {:?} gives nothing along spatial axis {k} with padding {padding:?}",
                x.shape()
            ));
        }
        shape.push(whole - 2 * padding[k]);
    }
    element_count(op, &shape, x.dtype())?;
    Ok(())
}
