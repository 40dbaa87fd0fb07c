//! Reads a tensor of any dtype into panels, as packing does: for what an operand is computed from.

#[cfg(target_arch = "x86_64")]
use super::kernel::{Avx2, Avx512};
use super::kernel::{Kernel, Plain};
use super::plan::{Machine, operand};
use super::{Operand, Side, Wanted};

/// Something that has the batch, lines and depth of an operand, but may have a dtype of its own.
pub(crate) struct Reader {
    operand: Operand,
    pack: unsafe fn(&Operand, *const u8, &Wanted, *mut u8),
}

impl Reader {
    /// A reader of elements of `size` bytes over batch, lines and depth of these sizes, into panels of `width` lines.
    pub(crate) fn new(size: usize, side: &Side, sizes: [&[usize]; 3], width: usize) -> Reader {
        let mut operand = operand(side, sizes);
        if let Some(border) = &mut operand.border {
            border.tabulate(width, &side.guards, sizes[2]);
        }
        Reader { operand, pack: pack_of(size) }
    }

    /// Whether lines lie side by side, at places that are not the same for every depth.
    pub(crate) fn is_along(&self) -> bool {
        self.operand.lines.inner() == 1 && !self.operand.depth.is_still()
    }

    /// Reads a block of the buffer at `base` into panels.
    ///
    /// # Safety
    /// The buffer covers what the side says, and there is room for whole panels.
    pub(crate) unsafe fn read(&self, base: *const u8, wanted: &Wanted, to: *mut u8) {
        // SAFETY: the caller's promise; the way of packing is one of this machine.
        unsafe { (self.pack)(&self.operand, base, wanted, to) }
    }
}

/// # Safety
/// As for [`Reader::read`]; the machine is of the kernel's kind.
unsafe fn pack<K: Kernel>(operand: &Operand, base: *const u8, wanted: &Wanted, to: *mut u8) {
    let Wanted { batch, lines, depth, width, panel } = wanted.clone();
    // SAFETY: the caller's promise.
    unsafe { operand.at::<K::Elem>(batch, base.cast()).pack::<K>(lines, depth, width, panel, to.cast()) }
}

/// How elements of so many bytes are packed on this machine. They are only moved.
fn pack_of(size: usize) -> unsafe fn(&Operand, *const u8, &Wanted, *mut u8) {
    match (Machine::best(), size) {
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx512, 4) => pack::<Avx512<f32>>,
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx512, 8) => pack::<Avx512<f64>>,
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx2 | Machine::Avx512, 1) => pack::<Avx2<u8>>,
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx2 | Machine::Avx512, 2) => pack::<Avx2<u16>>,
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx2, 4) => pack::<Avx2<f32>>,
        #[cfg(target_arch = "x86_64")]
        (Machine::Avx2, 8) => pack::<Avx2<f64>>,
        (_, 1) => pack::<Plain<u8>>,
        (_, 2) => pack::<Plain<u16>>,
        (_, 4) => pack::<Plain<u32>>,
        (_, 8) => pack::<Plain<u64>>,
        _ => unreachable!("elements have 1, 2, 4 or 8 bytes"),
    }
}
