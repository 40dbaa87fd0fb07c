//! A loop program as text.

use super::program::{Access, Fold, LoopProgram};
use crate::ops::vector::{Val, Word};
use std::fmt;

impl fmt::Display for LoopProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        for (k, size) in self.outer.iter().enumerate() {
            writeln!(f, "{}for i{k} in 0..{size} {{", indent(depth))?;
            depth += 1;
        }
        if let Some(fold) = self.fold {
            let start = match fold {
                Fold::Sum => "0",
                Fold::Prod => "1",
                Fold::Max => "lowest",
                Fold::Min => "highest",
            };
            writeln!(f, "{}acc = {start}", indent(depth))?;
        }
        let loops = depth;
        for (k, size) in self.reduced.iter().enumerate() {
            writeln!(f, "{}for i{} in 0..{size} {{", indent(depth), self.outer.len() + k)?;
            depth += 1;
        }
        for (k, (word, lane)) in self.words.iter().enumerate() {
            writeln!(f, "{}v{k}: {lane:?} = {}", indent(depth), self.describe(word))?;
        }
        let result = name(&self.result);
        if let Some(fold) = self.fold {
            writeln!(f, "{}acc = {}(acc, {result})", indent(depth), format!("{fold:?}").to_lowercase())?;
        }
        for depth in (loops..depth).rev() {
            writeln!(f, "{}}}", indent(depth))?;
        }
        let value = if self.fold.is_some() { "acc" } else { &result };
        let place: Vec<String> = (0..self.outer.len()).map(|k| format!("i{k}")).collect();
        writeln!(f, "{}out[{}] = {value} as {}", indent(loops), place.join(", "), self.stored)?;
        for depth in (0..loops).rev() {
            writeln!(f, "{}}}", indent(depth))?;
        }
        Ok(())
    }
}

impl LoopProgram {
    fn describe(&self, word: &Word) -> String {
        match word {
            Word::Load { slot, dtype } => match &self.loads[usize::from(*slot)].access {
                Access::Strided { offset, strides } => {
                    let position = crate::shape::Expr::from_affine(*offset, strides);
                    format!("load {dtype} in{slot}[{position}]")
                }
                Access::Computed { position, guards } => {
                    let guards: Vec<String> = guards
                        .iter()
                        .map(|guard| format!(" where {} else {}", guard.condition, guard.default))
                        .collect();
                    format!("load {dtype} in{slot}[{position}]{}", guards.concat())
                }
            },
            Word::Const { lane, bits } => format!("const {}", constant(*lane, *bits)),
            Word::Scalar(slot) => format!("scalar {slot}"),
            Word::Position => "position".to_string(),
            Word::Place { index, size, .. } => format!("place {} below {size}", name(index)),
            Word::Gather { slot, dtype, at } => {
                format!("{} + {}", self.describe(&Word::Load { slot: *slot, dtype: *dtype }), name(at))
            }
            Word::Index(which) => format!("index {}", self.indices[usize::from(*which)]),
            Word::Unary(unary, x) => format!("{} {}", lowercase(unary), name(x)),
            Word::Binary(binary, a, b) => format!("{} {} {}", lowercase(binary), name(a), name(b)),
            Word::Compare(compare, a, b) => format!("{} {} {}", lowercase(compare), name(a), name(b)),
            Word::Select(mask, a, b) => format!("select {} {} {}", name(mask), name(a), name(b)),
            Word::Fma(a, b, c) => format!("fma {} {} {}", name(a), name(b), name(c)),
            Word::Lookup { table, index, .. } => format!("lookup {table:?} {}", name(index)),
            Word::Rare { when, f, x, otherwise } => {
                format!("rare {} ? {}({}) : {}", name(when), f.name(), name(x), name(otherwise))
            }
        }
    }
}

fn constant(lane: crate::ops::vector::Lane, bits: u64) -> String {
    use crate::ops::vector::Lane;
    match lane {
        Lane::Mask => (bits != 0).to_string(),
        Lane::I32 => (bits as u32 as i32).to_string(),
        Lane::I64 => (bits as i64).to_string(),
        Lane::F32 => number(f32::from_bits(bits as u32)),
        Lane::F64 => number(f64::from_bits(bits)),
    }
}

/// A number with all its digits; with an exponent where it would be long.
fn number(value: impl fmt::Display + fmt::LowerExp) -> String {
    let plain = value.to_string();
    if plain.len() > 24 { format!("{value:e}") } else { plain }
}

fn name(val: &Val) -> String {
    format!("v{}", val.id)
}

fn lowercase(word: &impl fmt::Debug) -> String {
    format!("{word:?}").to_lowercase()
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}
