//! Every derivative against finite differences in `f64`: first and second order, through every layout.

mod function;

use super::compare::Failures;
use super::composed::{Case, Input, Slope, cases};
use super::layouts::{LAYOUTS, Layout, Shows};
use super::sample::{Random, floats, node};
use crate::dtype::DType;
use crate::error::{ErrorKind, Result};
use crate::grad;
use crate::graph::{Node, ReduceKind};
use crate::ops::{self, Grad, PRIMITIVES, Primitive};
use function::{Function, Operand};

/// The shape of a primitive's operands.
const SHAPE: [usize; 2] = [3, 4];

/// The layouts through which a gradient passes to the data.
fn layouts() -> impl Iterator<Item = &'static Layout> {
    LAYOUTS.iter().filter(|layout| layout.shows != Shows::Nothing)
}

/// A primitive on `f64`; of a choice, the condition is known.
fn operands_of(primitive: &Primitive) -> Vec<Operand> {
    let dtypes = super::primitives::operand_dtypes(primitive, DType::F64);
    let ranges = primitive.sample.iter().zip(dtypes);
    ranges.map(|(range, dtype)| Operand { shape: &SHAPE, range: range.clone(), dtype }).collect()
}

fn operands_of_case(case: &Case) -> Vec<Operand> {
    let operand = |input: &Input| Operand {
        shape: input.shape,
        range: input.range.clone(),
        dtype: input.dtype.unwrap_or(DType::F64),
    };
    case.inputs.iter().map(operand).collect()
}

/// First order through every layout, second order through half of them.
fn differentiate(failures: &mut Failures, name: &str, operands: &[Operand], build: &dyn Fn(&[Node]) -> Result<Node>) {
    for (turn, layout) in layouts().enumerate() {
        let Some(function) = Function::new(name, layout, operands, build) else { continue };
        function.first_order(failures);
        let chosen = Random::of(name).below(2) == turn % 2;
        if turn == 0 || chosen {
            function.second_order(failures);
        }
    }
}

#[test]
fn every_primitive_has_the_slope_of_its_finite_differences() {
    let mut failures = Failures::default();
    for &primitive in PRIMITIVES {
        let build = |x: &[Node]| Node::map(primitive, &x.iter().collect::<Vec<_>>());
        match primitive.grad {
            Grad::Rules(rules) => {
                assert_eq!(rules.len(), primitive.takes.count(), "{} has a rule an operand", primitive.name);
                differentiate(&mut failures, primitive.name, &operands_of(primitive), &build);
            }
            Grad::Zero => differentiate(&mut failures, primitive.name, &operands_of(primitive), &build),
            Grad::None(why) => assert!(!why.is_empty(), "{} says why it has no gradient", primitive.name),
        }
    }
    failures.done(500);
}

#[test]
fn an_operand_that_stands_twice_gets_both_slopes() {
    let mut failures = Failures::default();
    for &primitive in PRIMITIVES.iter().filter(|primitive| matches!(primitive.grad, Grad::Rules(_))) {
        // One operand everywhere, drawn where all operands may be.
        let all = operands_of(primitive);
        let own: Vec<&Operand> = all.iter().filter(|operand| operand.dtype == DType::F64).collect();
        let range = own.iter().fold(f64::MIN..f64::MAX, |range, operand| {
            range.start.max(operand.range.start)..range.end.min(operand.range.end)
        });
        let chooses = own.len() < all.len();
        let mut operands = vec![Operand { shape: &SHAPE, range, dtype: DType::F64 }];
        if chooses {
            operands.push(Operand { shape: &SHAPE, range: 0.0..1.0, dtype: DType::Bool });
        }
        let build = |x: &[Node]| {
            let mut given = vec![&x[0]; own.len()];
            if chooses {
                given.insert(0, &x[1]);
            }
            // … and once more outside the primitive.
            Ok(&Node::map(primitive, &given)? * &x[0])
        };
        differentiate(&mut failures, &format!("{} of one operand", primitive.name), &operands, &build);
    }
    failures.done(300);
}

#[test]
fn every_flat_primitive_has_a_slope_of_zero() {
    for &primitive in PRIMITIVES.iter().filter(|primitive| matches!(primitive.grad, Grad::Zero)) {
        let x = Random::of(primitive.name).node(DType::F64, &primitive.sample[0], &SHAPE);
        let y = Node::map(primitive, &[&x]).expect("operands that fit");
        let slopes = grad::gradients(&y, y.fill(3.0), &[x]).expect("a gradient of zeros");
        let found = super::sample::read(&slopes[0]).expect("no fault");
        assert!(found.iter().all(|slope| slope.to_f64() == 0.0), "{}: {found:?}", primitive.name);
    }
}

#[test]
fn every_primitive_without_a_gradient_is_named_when_one_is_asked_for() {
    for &primitive in PRIMITIVES {
        let Grad::None(why) = primitive.grad else { continue };
        let float = primitive.dtypes.contains(DType::F64);
        let x = Random::of(primitive.name).node(DType::F64, &(1.0..2.0), &SHAPE);
        // Integers come from floats by a cast, and it is the cast that stops the gradient.
        let operand = if float { x.clone() } else { x.cast(DType::I64).expect("a cast") };
        let result = Node::map(primitive, &vec![&operand; primitive.takes.count()]).expect("operands that fit");
        let y = result.cast(DType::F64).expect("a cast");
        let error = grad::gradients(&y, y.fill(1.0), std::slice::from_ref(&x)).err();
        let error = error.unwrap_or_else(|| panic!("{}: a gradient was given", primitive.name));
        let name = if float { primitive.name } else { "cast" };
        let text = error.to_string();
        let named = text.contains(&format!(": {name} at ")) && text.contains(file!()) && (!float || text.contains(why));
        assert!(named && error.kind() == ErrorKind::Gradient, "{}: {error}", primitive.name);
        if result.dtype() != DType::F64 {
            let seed = Node::full(&SHAPE, crate::dtype::Literal::one(result.dtype())).expect("small");
            assert!(grad::gradients(&result, seed, &[x]).is_err(), "{} gives no float", primitive.name);
        }
    }
}

#[test]
fn every_reduction_has_the_slope_of_its_finite_differences() {
    let mut failures = Failures::default();
    for kind in super::reductions::KINDS {
        let shapes: [(&[usize], &[isize]); 6] =
            [(&[3, 4], &[1]), (&[3, 4], &[0]), (&[3, 4], &[0, 1]), (&[2, 3, 2], &[0, 2]), (&[2, 3], &[]), (&[], &[])];
        for (shape, axes) in shapes {
            for keepdim in [false, true] {
                let name = format!("{} {shape:?} over {axes:?} keepdim {keepdim}", kind.name());
                let operands = [Operand { shape, range: 0.3..1.6, dtype: DType::F64 }];
                let build = |x: &[Node]| x[0].reduce(kind.name(), kind, axes, keepdim);
                differentiate(&mut failures, &name, &operands, &build);
                let square = |x: &[Node]| (&x[0] * &x[0]).reduce(kind.name(), kind, axes, keepdim);
                differentiate(&mut failures, &format!("{name} of squares"), &operands, &square);
            }
        }
    }
    failures.done(400);
}

#[test]
fn the_slope_of_a_product_is_exact_among_zeros() {
    for zeros in 0..4 {
        let values: Vec<f64> = (0..4).map(|k| if k < zeros { 0.0 } else { k as f64 + 1.0 }).collect();
        let x = floats(&values, &[4]);
        let y = x.reduce("prod", ReduceKind::Prod, &[0], false).expect("a product");
        let slopes = grad::gradients(&y, y.fill(1.0), &[x]).expect("a gradient");
        let found: Vec<f64> = super::sample::read(&slopes[0]).expect("no fault").iter().map(|v| v.to_f64()).collect();
        let others = |k: usize| (0..4).filter(|&j| j != k).map(|j| values[j]).product::<f64>();
        assert_eq!(found, (0..4).map(others).collect::<Vec<_>>(), "with {zeros} zeros");
    }
}

#[test]
fn equal_extremes_share_the_slope() {
    for (kind, values) in [(ReduceKind::Max, [1.0, 5.0, 5.0, 2.0]), (ReduceKind::Min, [9.0, 5.0, 5.0, 8.0])] {
        let x = floats(&values, &[4]);
        let y = x.reduce(kind.name(), kind, &[0], false).expect("a choice");
        let slopes = grad::gradients(&y, y.fill(6.0), &[x]).expect("a gradient");
        let found: Vec<f64> = super::sample::read(&slopes[0]).expect("no fault").iter().map(|v| v.to_f64()).collect();
        assert_eq!(found, [0.0, 3.0, 3.0, 0.0], "{}", kind.name());
    }
}

#[test]
fn every_composed_op_has_the_slope_of_its_finite_differences() {
    let mut failures = Failures::default();
    for case in cases().filter(|case| case.slope == Slope::Smooth) {
        let operands = operands_of_case(case);
        differentiate(&mut failures, case.name, &operands, &|x| (case.build)(x, DType::F64));
        let twice = |x: &[Node]| {
            let again = x.iter().find(|x| x.dtype() == DType::F64).expect("an operand that changes");
            let more = (again * again).reduce_all("sum", ReduceKind::Sum)?;
            Node::map(&ops::ADD, &[&(case.build)(x, DType::F64)?, &more])
        };
        let contiguous = &LAYOUTS[0];
        let name = format!("{} and its operand again", case.name);
        if let Some(function) = Function::new(&name, contiguous, &operands, &twice) {
            function.first_order(&mut failures);
            function.second_order(&mut failures);
        }
    }
    failures.done(1500);
}

#[test]
fn composed_ops_without_a_gradient_say_which_part_stops_it() {
    for case in cases() {
        let Slope::Stops(name) = case.slope else { continue };
        let mut random = Random::of(case.name);
        let operands: Vec<Node> =
            case.inputs.iter().map(|input| random.node(DType::F64, &input.range, input.shape)).collect();
        let y = (case.build)(&operands, DType::F64).and_then(|y| y.cast(DType::F64)).expect("operands that fit");
        let error = grad::gradients(&y, y.fill(1.0), &operands[..1]).err();
        let error = error.unwrap_or_else(|| panic!("{}: a gradient was given", case.name));
        assert!(error.to_string().contains(&format!(": {name} at ")), "{}: {error}", case.name);
    }
}

#[test]
fn a_node_the_result_does_not_depend_on_is_refused() {
    let x = floats(&[1.0, 2.0], &[2]);
    let other = node(DType::F64, &[crate::dtype::Literal::F64(1.0)], &[1]);
    let error = grad::gradients(&(&x * &x), x.fill(1.0), &[other]).err().expect("refused");
    assert!(error.to_string().contains("does not depend on tensor 0"), "{error}");
}
