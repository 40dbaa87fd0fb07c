//! A function of some data, its gradient by the library, and its slope by finite differences.

use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::grad;
use crate::graph::{Node, ReduceKind};
use crate::shape::{Shape, ordinal_to_index};
use crate::table_tests::compare::Failures;
use crate::table_tests::layouts::Layout;
use crate::table_tests::sample::{Random, floats, inside, read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Half the distance between the two places a slope is measured at.
const STEP: f64 = 1e-5;
/// How many elements of an operand are moved one by one; all are moved together as well.
const MOST: usize = 8;

/// What a function takes: floats that may change, or something fixed.
pub(super) struct Operand {
    pub(super) shape: &'static [usize],
    pub(super) range: Range<f64>,
    pub(super) dtype: DType,
}

/// `Σ weight · build(layout(data))`, as a function of the data.
pub(super) struct Function<'a> {
    row: String,
    layout: &'a Layout,
    operands: &'a [Operand],
    build: &'a dyn Fn(&[Node]) -> Result<Node>,
    /// The shapes and numbers under the operands that change.
    data: Vec<(Shape, Vec<f64>)>,
    fixed: Vec<Node>,
    weights: Vec<f64>,
}

/// The nodes of one evaluation. They are made anew for each: reading lets go of what led to a result.
struct Made {
    leaves: Vec<Node>,
    result: Node,
}

impl<'a> Function<'a> {
    /// A function at a place by chance; `None` where an operand that changes does not suit the layout.
    pub(super) fn new(
        name: &str,
        layout: &'a Layout,
        operands: &'a [Operand],
        build: &'a dyn Fn(&[Node]) -> Result<Node>,
    ) -> Option<Function<'a>> {
        let row = format!("{name} f64 [{}]", layout.name);
        let mut random = Random::of(&row);
        let mut data = Vec::new();
        let mut fixed = Vec::new();
        for operand in operands {
            if operand.dtype != DType::F64 {
                fixed.push(random.node(operand.dtype, &operand.range, operand.shape));
                continue;
            }
            if !layout.suits(operand.shape, &operand.range) {
                return None;
            }
            let base = (layout.base)(operand.shape)?;
            let values = (0..base.iter().product()).map(|_| random.float(&operand.range)).collect();
            data.push((base, values));
        }
        let mut function = Function { row, layout, operands, build, data, fixed, weights: Vec::new() };
        let len = function.make(&function.values()).result.len();
        function.weights = (0..len).map(|_| random.float(&(0.5..1.5))).collect();
        Some(function)
    }

    fn values(&self) -> Vec<Vec<f64>> {
        self.data.iter().map(|(_, values)| values.clone()).collect()
    }

    fn make(&self, values: &[Vec<f64>]) -> Made {
        let leaves: Vec<Node> = values.iter().zip(&self.data).map(|(values, (base, _))| floats(values, base)).collect();
        let (mut next, mut next_fixed) = (leaves.iter(), self.fixed.iter());
        let mut given = Vec::new();
        for operand in self.operands {
            if operand.dtype != DType::F64 {
                given.push(next_fixed.next().expect("one for each").clone());
                continue;
            }
            let value = inside(DType::F64, &operand.range);
            let leaf = next.next().expect("one for each");
            given.push((self.layout.view)(leaf, operand.shape, value).expect("a layout that suits"));
        }
        let result = (self.build)(&given).unwrap_or_else(|error| panic!("{}: {error}", self.row));
        Made { leaves, result }
    }

    /// The function's value.
    fn value(&self, values: &[Vec<f64>]) -> Result<f64> {
        let found = read(&self.make(values).result)?;
        Ok(found.iter().zip(&self.weights).map(|(value, weight)| value.to_f64() * weight).sum())
    }

    /// The function's gradient: one node for each operand that changes.
    fn gradient(&self, made: &Made) -> Result<Vec<Node>> {
        let seed = floats(&self.weights, made.result.shape());
        grad::gradients(&made.result, seed, &made.leaves)
    }

    /// `Σ weight · gradient`, with weights by chance: what second order differentiates.
    fn slope(&self, made: &Made) -> Result<Node> {
        let mut random = Random::of("weights of the second order");
        let mut total = Node::full(&[], Literal::F64(0.0))?;
        for slopes in self.gradient(made)? {
            let weights: Vec<f64> = (0..slopes.len()).map(|_| random.float(&(0.5..1.5))).collect();
            let weighted = &slopes * &floats(&weights, slopes.shape());
            total = &total + &weighted.reduce_all("sum", ReduceKind::Sum)?;
        }
        Ok(total)
    }

    /// Compares the gradient with finite differences of the value.
    pub(super) fn first_order(&self, failures: &mut Failures) {
        self.guarded(failures, "first order", |failures| {
            let gradient = self.gradient(&self.make(&self.values()))?;
            let gradient: Vec<Vec<f64>> = gradient.iter().map(numbers).collect::<Result<_>>()?;
            self.compare(failures, "first order", &gradient, 1e-6, &|values| self.value(values))
        });
    }

    /// Compares the gradient's gradient with finite differences of the gradient.
    pub(super) fn second_order(&self, failures: &mut Failures) {
        self.guarded(failures, "second order", |failures| {
            let mut second = Vec::new();
            for k in 0..self.data.len() {
                let made = self.make(&self.values());
                let slope = self.slope(&made)?;
                second.push(match grad::gradients(&slope, slope.fill(1.0), &made.leaves[k..=k]) {
                    Ok(found) => numbers(&found[0])?,
                    // A slope that is the same everywhere; the differences say whether that is so.
                    Err(error) if error.to_string().contains("no gradient reaches") => vec![0.0; made.leaves[k].len()],
                    Err(error) if error.to_string().contains("does not depend") => vec![0.0; made.leaves[k].len()],
                    Err(error) => return Err(error),
                });
            }
            let value = |values: &[Vec<f64>]| {
                let slope = self.slope(&self.make(values))?;
                Ok(numbers(&slope)?[0])
            };
            self.compare(failures, "second order", &second, 1e-5, &value)
        });
    }

    fn guarded(&self, failures: &mut Failures, order: &str, run: impl FnOnce(&mut Failures) -> Result<()>) {
        failures.rows += 1;
        match catch_unwind(AssertUnwindSafe(|| run(failures))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.add(format!("{} {order}: refused: {error}", self.row)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                failures.add(format!("{} {order}: panicked: {text}", self.row));
            }
        }
    }

    /// Moves elements one by one, and all of an operand together.
    fn compare(
        &self,
        failures: &mut Failures,
        order: &str,
        found: &[Vec<f64>],
        tolerance: f64,
        value: &dyn Fn(&[Vec<f64>]) -> Result<f64>,
    ) -> Result<()> {
        let mut random = Random::of(&self.row);
        for (k, (base, data)) in self.data.iter().enumerate() {
            if data.is_empty() {
                continue;
            }
            let mut check = |direction: &[f64], what: &dyn Fn() -> String| -> Result<()> {
                let at = |sign: f64| {
                    let mut values = self.values();
                    for (value, step) in values[k].iter_mut().zip(direction) {
                        *value += sign * STEP * step;
                    }
                    value(&values)
                };
                let expected = (at(1.0)? - at(-1.0)?) / (2.0 * STEP);
                let slope: f64 = found[k].iter().zip(direction).map(|(slope, step)| slope * step).sum();
                let size: f64 = found[k].iter().zip(direction).map(|(slope, step)| (slope * step).abs()).sum();
                let close = (slope - expected).abs() <= tolerance * (1.0 + size.max(expected.abs()));
                if !close {
                    failures.add(format!(
                        "{} {order}, operand {k} {}: expected {expected:e}, found {slope:e}",
                        self.row,
                        what()
                    ));
                }
                Ok(())
            };
            let all: Vec<f64> = (0..data.len()).map(|_| random.float(&(-1.0..1.0))).collect();
            check(&all, &|| "along a direction".to_owned())?;
            let first = random.below(data.len());
            for j in (0..data.len().min(MOST)).map(|j| (first + j * (data.len() / MOST).max(1)) % data.len()) {
                let mut one = vec![0.0; data.len()];
                one[j] = 1.0;
                check(&one, &|| format!("at {:?}", &ordinal_to_index(j, base)[..]))?;
            }
        }
        Ok(())
    }
}

fn numbers(node: &Node) -> Result<Vec<f64>> {
    Ok(read(node)?.iter().map(|value| value.to_f64()).collect())
}
