//! A loop program cut into rows: the same loops over a few rows at a time.

use super::program::{Access, LoopProgram};

/// How a stage is run row by row.
pub(crate) struct RowProgram {
    program: LoopProgram,
    /// How many leading axes make the rows.
    lead: usize,
}

impl RowProgram {
    /// The rows of a program are its first `lead` axes; every access must be strided.
    pub(crate) fn new(program: LoopProgram, lead: usize) -> RowProgram {
        RowProgram { program, lead }
    }

    /// The program for `rows` consecutive rows. More than one needs rows that follow each other at one stride.
    pub(crate) fn for_rows(&self, rows: usize) -> LoopProgram {
        let mut program = self.program.clone();
        program.outer.splice(..self.lead, [rows]);
        for load in &mut program.loads {
            if let Access::Strided { strides, .. } = &mut load.access {
                let stride = row_stride(&self.program.outer[..self.lead], strides).unwrap_or(0);
                strides.splice(..self.lead, [stride]);
            }
        }
        program
    }

    /// Whether the rows of every operand follow each other at one stride.
    pub(crate) fn rows_are_even(&self) -> bool {
        self.strides().all(|strides| row_stride(&self.program.outer[..self.lead], strides).is_some())
    }

    /// By how many elements row `row` of operand `slot` lies behind row 0.
    pub(crate) fn shift(&self, slot: usize, row: usize) -> i64 {
        let Access::Strided { strides, .. } = &self.program.loads[slot].access else { return 0 };
        let mut rest = row;
        let mut shift = 0;
        for (&size, &stride) in self.program.outer[..self.lead].iter().zip(strides).rev() {
            shift += (rest % size.max(1)) as i64 * stride;
            rest /= size.max(1);
        }
        shift
    }

    /// The bytes of one element of operand `slot`.
    pub(crate) fn size_of_load(&self, slot: usize) -> usize {
        self.program.loads[slot].dtype.size()
    }

    /// The elements of one row of the output.
    pub(crate) fn row_len(&self) -> usize {
        self.program.outer[self.lead..].iter().product()
    }

    /// The elements computed for one row.
    pub(crate) fn row_work(&self) -> usize {
        self.row_len() * self.program.reduced.iter().product::<usize>()
    }

    fn strides(&self) -> impl Iterator<Item = &[i64]> {
        self.program.loads.iter().filter_map(|load| match &load.access {
            Access::Strided { strides, .. } => Some(&strides[..]),
            Access::Computed { .. } => None,
        })
    }
}

/// The stride from one row to the next, over row axes of these sizes; `None` if it is not always the same.
fn row_stride(sizes: &[usize], strides: &[i64]) -> Option<i64> {
    let mut long = sizes.iter().zip(strides).rev().filter(|(size, _)| **size != 1);
    let Some((&size, &stride)) = long.next() else { return Some(0) };
    let mut next = stride * size as i64;
    for (&size, &stride) in long {
        if stride != next {
            return None;
        }
        next *= size as i64;
    }
    Some(stride)
}
