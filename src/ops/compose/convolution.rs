//! Convolution: windows of the input times the kernel, summed. No copy of the windows is ever asked for.

use super::movement::unfold;
use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind, SliceRange, Window};
use crate::ops::record::Dtypes;
use crate::shape::Shape;
use smallvec::SmallVec;

/// Sizes along the spatial axes.
pub(crate) type Spatial = SmallVec<[usize; 3]>;

/// How a window moves over the spatial axes; one entry each.
#[derive(Clone, Debug)]
pub(crate) struct Sliding {
    pub(crate) stride: Spatial,
    pub(crate) padding: Spatial,
    pub(crate) dilation: Spatial,
}

impl Sliding {
    /// The same over an input that has its padding.
    fn without_padding(&self) -> Sliding {
        Sliding { padding: Spatial::from_elem(0, self.padding.len()), ..self.clone() }
    }
}

/// `[N, C, ..spatial]` and `[O, C / groups, ..kernel]` to `[N, O, ..windows]`.
#[track_caller]
pub(crate) fn conv(
    op: &str,
    x: &Node,
    weight: &Node,
    bias: Option<&Node>,
    sliding: &Sliding,
    groups: usize,
) -> Result<Node> {
    let spatial = sliding.stride.len();
    check(op, x, weight, bias, spatial, groups)?;
    let wide = crate::ops::accumulator(x.dtype());
    if wide != x.dtype() {
        // Sixteen bits are too few for products that will be added up, here and in the gradient.
        let bias = bias.map(|bias| bias.cast(wide)).transpose()?;
        return conv(op, &x.cast(wide)?, &weight.cast(wide)?, bias.as_ref(), sliding, groups)?.cast(x.dtype());
    }
    let (samples, channels, outputs) = (x.shape()[0], x.shape()[1], weight.shape()[0]);
    let kernel: Spatial = weight.shape()[2..].into();
    let padded = padded(op, x, &kernel, sliding)?;
    let windows = windows(op, &padded, &kernel, &sliding.without_padding())?; // [N, C, ..places, ..kernel]
    let places: Spatial = windows.shape()[2..2 + spatial].into();
    // Groups stand beside the outputs: [N, G, 1, C/G, ..places, ..kernel] · [1, G, O/G, C/G, 1.., ..kernel].
    let (inside, out) = (channels / groups, outputs / groups);
    let shape_of = |head: &[usize], places: &[usize]| -> Shape {
        head.iter().chain(places).chain(kernel.iter()).copied().collect()
    };
    let ones = SmallVec::<[usize; 3]>::from_elem(1, spatial);
    let left = windows.reshaped(&shape_of(&[samples, groups, 1, inside], &places));
    let right = weight.reshaped(&shape_of(&[1, groups, out, inside], &ones));
    let whole = shape_of(&[samples, groups, out, inside], &places);
    crate::shape::element_count(op, &whole, x.dtype())?;
    let product = &left.broadcast_to(&whole)? * &right.broadcast_to(&whole)?;
    let summed: SmallVec<[isize; 6]> =
        std::iter::once(3).chain(4 + spatial as isize..4 + 2 * spatial as isize).collect();
    let sum = product.reduce(op, ReduceKind::Sum, &summed, false)?;
    let shape: Shape = [samples, outputs].into_iter().chain(places).collect();
    let result = with_short_gradient(&sum.reshaped(&shape), x, weight, &padded, sliding, groups);
    match bias {
        None => Ok(result),
        Some(bias) => {
            let column: Shape = std::iter::once(outputs).chain(ones).collect();
            Ok(&result + &bias.reshaped(&column))
        }
    }
}

/// The convolution with a gradient of its input that is a convolution too, where windows overlap without gaps between them: the
/// gradients of all windows, to be added up, would be many times the input.
fn with_short_gradient(value: &Node, x: &Node, weight: &Node, padded: &Node, sliding: &Sliding, groups: usize) -> Node {
    if sliding.stride.iter().any(|&step| step != 1) || value.len() == 0 || x.len() == 0 {
        return value.clone();
    }
    let sliding = sliding.clone();
    value.with_shortcut_beside("conv", &[x, weight], &[padded], move |g, inputs, _| {
        let (x, weight, padded) = (&inputs[0], &inputs[1], &inputs[2]);
        Ok(vec![
            input_gradient(g, x.shape(), weight, &sliding, groups)?,
            weight_gradient(g, padded, weight, &sliding, groups)?,
        ])
    })
}

/// The gradient of a convolution's input, the stride being 1: the output's gradient convolved with the kernel turned round.
fn input_gradient(g: &Node, shape: &[usize], weight: &Node, sliding: &Sliding, groups: usize) -> Result<Node> {
    let kernel: Spatial = weight.shape()[2..].into();
    let (outputs, inside) = (weight.shape()[0], weight.shape()[1]);
    // As many places around the gradient as let every element of the input meet every element of the kernel; where the padding was
    // wider than the kernel, places at the edge of the gradient met nothing but padding.
    let mut padding = SmallVec::<[(usize, usize); 6]>::from_elem((0, 0), g.rank());
    let mut ranges = crate::graph::build::whole_ranges(g.shape());
    for k in 0..kernel.len() {
        let reach = (kernel[k] - 1) * sliding.dilation[k];
        let around = reach.saturating_sub(sliding.padding[k]);
        let beyond = sliding.padding[k].saturating_sub(reach);
        padding[2 + k] = (around, around);
        ranges[2 + k].start = beyond;
        ranges[2 + k].len = g.shape()[2 + k].saturating_sub(2 * beyond);
    }
    let g = with_border(&g.sliced(&ranges), &padding)?;
    let mut turned = crate::graph::build::whole_ranges(weight.shape());
    for range in &mut turned[2..] {
        *range = SliceRange { start: range.len - 1, step: -1, len: range.len };
    }
    // [G, O/G, C/G, ..kernel] becomes [C, O/G, ..kernel].
    let grouped: Shape = [groups, outputs / groups, inside].into_iter().chain(kernel.iter().copied()).collect();
    let weight = weight.sliced(&turned).reshaped(&grouped).swapped(1, 2);
    let shape_of: Shape = [shape[1], outputs / groups].into_iter().chain(kernel.iter().copied()).collect();
    conv("conv", &g, &weight.reshaped(&shape_of), None, &sliding.without_padding(), groups)
}

/// The gradient of a convolution's kernel: windows of the input times the output's gradient, summed over samples and places.
fn weight_gradient(g: &Node, padded: &Node, weight: &Node, sliding: &Sliding, groups: usize) -> Result<Node> {
    let spatial = sliding.stride.len();
    let kernel: Spatial = weight.shape()[2..].into();
    let windows = windows("conv", padded, &kernel, &sliding.without_padding())?; // [N, C, ..places, ..kernel]
    let places = &windows.shape()[2..2 + spatial];
    let (samples, outputs, inside) = (padded.shape()[0], weight.shape()[0], weight.shape()[1]);
    let shape_of = |out: usize, inside: usize, kernel: &[usize]| -> Shape {
        [samples, groups, out, inside].iter().chain(places).chain(kernel).copied().collect()
    };
    let ones = Spatial::from_elem(1, spatial);
    let whole = shape_of(outputs / groups, inside, &kernel);
    let left = g.reshaped(&shape_of(outputs / groups, 1, &ones)).broadcast_to(&whole)?;
    let right = windows.reshaped(&shape_of(1, inside, &kernel)).broadcast_to(&whole)?;
    let summed: SmallVec<[isize; 6]> = std::iter::once(0).chain(4..4 + spatial as isize).collect();
    Ok((&left * &right).reduce("conv", ReduceKind::Sum, &summed, false)?.reshaped(weight.shape()))
}

/// The input with its border, as a copy: windows are read at strides then, many times over. Contractions do without the copy.
#[track_caller]
fn padded(op: &str, x: &Node, kernel: &[usize], sliding: &Sliding) -> Result<Node> {
    check_sliding(op, x, kernel, sliding)?;
    let amounts = sliding.padding.iter().map(|&amount| (amount, amount));
    let padding: SmallVec<[(usize, usize); 6]> = [(0, 0); 2].into_iter().chain(amounts).collect();
    with_border(x, &padding)
}

/// A border of zeros, as a copy; the schedule knows who can do without it.
#[track_caller]
fn with_border(x: &Node, padding: &[(usize, usize)]) -> Result<Node> {
    if padding.iter().all(|&amounts| amounts == (0, 0)) {
        return Ok(x.clone());
    }
    Ok(x.padded(padding, Literal::zero(x.dtype()))?.contiguous())
}

/// The padded input's windows: `[N, C, ..places, ..kernel]`.
#[track_caller]
pub(crate) fn windows(op: &str, x: &Node, kernel: &[usize], sliding: &Sliding) -> Result<Node> {
    check_sliding(op, x, kernel, sliding)?;
    let spatial = kernel.len();
    let lead = x.rank() - spatial;
    let mut padding = SmallVec::<[(usize, usize); 6]>::from_elem((0, 0), x.rank());
    for (k, &amount) in sliding.padding.iter().enumerate() {
        padding[lead + k] = (amount, amount);
    }
    let mut view = x.padded(&padding, Literal::zero(x.dtype()))?;
    for k in 0..spatial {
        let reach = (kernel[k] - 1).saturating_mul(sliding.dilation[k]);
        if view.shape()[lead + k] <= reach {
            let message = format!(
                "a kernel of {kernel:?} does not fit into the padded input {:?}",
                &view.shape()[lead..lead + spatial]
            );
            return Err(Error::new(ErrorKind::Shape, op, message).made_at("input", x.at()));
        }
        view = unfold(&view, (lead + k) as isize, kernel[k], sliding.stride[k], sliding.dilation[k])?;
    }
    Ok(view)
}

/// Windows `[.., ..places, ..kernel]` added up where they came from: `[.., ..size]`, with the padding taken off.
#[track_caller]
pub(crate) fn fold(op: &str, x: &Node, size: &[usize], kernel: &[usize], sliding: &Sliding) -> Result<Node> {
    let spatial = size.len();
    let fail = |message: String| Err(Error::new(ErrorKind::Shape, op, message).made_at("windows", x.at()));
    if x.rank() < 2 * spatial || x.shape()[x.rank() - spatial..] != *kernel {
        return fail(format!("shape {:?} does not end in windows of {kernel:?}", x.shape()));
    }
    check_sliding(op, x, kernel, sliding)?;
    let lead = x.rank() - 2 * spatial;
    let mut result = x.clone();
    for k in (0..spatial).rev() {
        let n = size[k].saturating_add(sliding.padding[k].saturating_mul(2));
        let window = Window::new(lead + k, n, kernel[k], sliding.stride[k], sliding.dilation[k]);
        if window.count() != x.shape()[lead + k] {
            return fail(format!(
                "{} windows along spatial axis {k}, but size {} has {}",
                x.shape()[lead + k],
                size[k],
                window.count()
            ));
        }
        result = result.folded(window)?;
    }
    let mut ranges = crate::graph::build::whole_ranges(result.shape());
    for (k, &amount) in sliding.padding.iter().enumerate() {
        ranges[lead + k].start = amount;
        ranges[lead + k].len = size[k];
    }
    Ok(result.sliced(&ranges))
}

/// Windows have elements, and move.
fn check_sliding(op: &str, x: &Node, kernel: &[usize], sliding: &Sliding) -> Result<()> {
    if kernel.iter().chain(&sliding.stride).chain(&sliding.dilation).all(|&size| size > 0) {
        return Ok(());
    }
    let (stride, dilation) = (&sliding.stride, &sliding.dilation);
    let message = format!("kernel {kernel:?}, stride {stride:?} and dilation {dilation:?} must all be at least 1");
    Err(Error::new(ErrorKind::Value, op, message).made_at("input", x.at()))
}

fn check(op: &str, x: &Node, weight: &Node, bias: Option<&Node>, spatial: usize, groups: usize) -> Result<()> {
    let clash = |message: String| Error::new(ErrorKind::Shape, op, message).operands(x.at(), weight.at());
    Dtypes::Numeric.check(op, x)?;
    for (what, parameter) in [("weight", Some(weight)), ("bias", bias)] {
        if let Some(parameter) = parameter.filter(|parameter| parameter.dtype() != x.dtype()) {
            let message = format!("the input is {}, the {what} {}: cast one", x.dtype(), parameter.dtype());
            return Err(Error::new(ErrorKind::DType, op, message).operands(x.at(), parameter.at()));
        }
    }
    if x.rank() != spatial + 2 || weight.rank() != spatial + 2 {
        return Err(clash(format!(
            "input {:?} and weight {:?} must have rank {}: [samples, channels, ..] and [outputs, channels / groups, ..]",
            x.shape(),
            weight.shape(),
            spatial + 2
        )));
    }
    let (channels, outputs) = (x.shape()[1], weight.shape()[0]);
    if groups == 0 || channels % groups != 0 || outputs % groups != 0 {
        return Err(clash(format!("{groups} groups do not divide {channels} channels and {outputs} outputs")));
    }
    if weight.shape()[1] != channels / groups {
        return Err(clash(format!(
            "input {:?} has {channels} channels in {groups} groups, weight {:?} takes {}",
            x.shape(),
            weight.shape(),
            weight.shape()[1]
        )));
    }
    if let Some(bias) = bias.filter(|bias| bias.shape() != [outputs]) {
        let message = format!("bias has shape {:?}, not [{outputs}]", bias.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("bias", bias.at()));
    }
    Ok(())
}
