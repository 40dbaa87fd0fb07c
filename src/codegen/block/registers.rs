//! Which bytes of the scratch arena each value lives in: a linear scan over straight-line code.
//!
//! A register is a block of [`LANES`] lanes. A value takes one when it is made, before the registers of the values it is
//! made from are given back, so that no loop writes where it reads.

use super::LANES;

/// A value to be placed: its bytes per lane, the values it reads, and how often it is made.
pub(super) struct Definition {
    pub(super) width: usize,
    pub(super) operands: Vec<usize>,
    /// Code of a later stage runs many times for one run of an earlier one.
    pub(super) stage: u8,
}

/// The byte offset of each definition's register, and the size of the arena they need.
pub(super) struct Registers {
    pub(super) offsets: Vec<usize>,
    pub(super) bytes: usize,
}

/// The bytes of a register. The line on top keeps registers from lying a whole page apart, where the processor
/// mistakes a load from one for a read of what is being stored to another.
pub(in crate::codegen) fn register_bytes(width: usize) -> usize {
    LANES * width + 64
}

/// Places definitions, given in running order (operands are positions in it). `result` is read after all of them.
pub(super) fn allocate(definitions: &[Definition], result: Option<usize>) -> Registers {
    const FOREVER: usize = usize::MAX;
    let mut last_use: Vec<usize> = (0..definitions.len()).collect();
    for (at, definition) in definitions.iter().enumerate() {
        for &operand in &definition.operands {
            // A later stage will want it again in its next round.
            let crosses = definitions[operand].stage < definition.stage;
            last_use[operand] = if crosses { FOREVER } else { last_use[operand].max(at) };
        }
    }
    if let Some(result) = result {
        last_use[result] = FOREVER;
    }

    let mut free: [Vec<usize>; 9] = Default::default();
    let mut registers = Registers { offsets: Vec::with_capacity(definitions.len()), bytes: 0 };
    for (at, definition) in definitions.iter().enumerate() {
        let offset = free[definition.width].pop().unwrap_or_else(|| {
            let fresh = registers.bytes;
            registers.bytes += register_bytes(definition.width);
            fresh
        });
        registers.offsets.push(offset);
        let mut dead = definition.operands.clone();
        dead.push(at);
        dead.sort_unstable();
        dead.dedup();
        for value in dead {
            if last_use[value] == at {
                free[definitions[value].width].push(registers.offsets[value]);
            }
        }
    }
    registers
}
