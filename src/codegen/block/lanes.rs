//! One operation on every lane of a block: the loops LLVM vectorises, twice on x86-64.
//!
//! An [`Op`] says what happens to one lane. A [`Table`] holds its compiled loops: for every choice of which operands
//! are blocks and which are one value for all lanes, once for any machine and once for AVX2 with FMA. The lane
//! operations are exact, so both give the same bits; the second is only faster.

use std::mem::MaybeUninit;
use std::slice;

/// A loop over `n` lanes: (`n`, destination, three operands). An operand that the operation does not have may point anywhere.
///
/// Calling one is sound when `n > 0`, each operand holds `n` lanes of its type (one, where the variant takes a single value),
/// the destination has room for `n`, everything is aligned, and the destination overlaps no operand.
pub(super) type Kernel = unsafe fn(usize, *mut u8, *const u8, *const u8, *const u8);

/// What happens to one lane. Operations of fewer than three operands have `()` for the rest.
pub(super) trait Op {
    type A: Copy;
    type B: Copy;
    type C: Copy;
    type R: Copy;
    fn apply(a: Self::A, b: Self::B, c: Self::C) -> Self::R;
}

/// The loops of one operation. Bit k of the position says that operand k is one value for all lanes;
/// the loop in which all of them are is left out (run the first over one lane instead).
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) portable: &'static [Kernel],
    pub(super) avx2: &'static [Kernel],
}

impl Table {
    /// The loops for this machine; `vector` asks for AVX2 and FMA, see [`vector_unit`].
    pub(super) fn pick(self, vector: bool) -> &'static [Kernel] {
        if vector { self.avx2 } else { self.portable }
    }
}

/// Whether this machine has the vector unit for which the loops are compiled a second time.
pub(in crate::codegen) fn vector_unit() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The loop itself. Slices tell LLVM that the destination overlaps no operand.
#[inline(always)]
fn each<O: Op, const ONE: usize>(to: &mut [MaybeUninit<O::R>], a: &[O::A], b: &[O::B], c: &[O::C]) {
    let n = to.len();
    let (a0, b0, c0) = (a[0], b[0], c[0]);
    let a = if ONE & 1 == 0 { &a[..n] } else { a };
    let b = if ONE & 2 == 0 { &b[..n] } else { b };
    let c = if ONE & 4 == 0 { &c[..n] } else { c };
    for i in 0..n {
        let x = if ONE & 1 == 0 { a[i] } else { a0 };
        let y = if ONE & 2 == 0 { b[i] } else { b0 };
        let z = if ONE & 4 == 0 { c[i] } else { c0 };
        to[i].write(O::apply(x, y, z));
    }
}

/// [`each`] over raw blocks.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn over<O: Op, const ONE: usize>(n: usize, to: *mut u8, a: *const u8, b: *const u8, c: *const u8) {
    let length = |bit: usize| if ONE & bit == 0 { n } else { 1 };
    // SAFETY: the caller vouches for `n` lanes (or one) behind each pointer, and for no overlap with the destination.
    // An operand of type `()` has no bytes, and its pointer is not null.
    unsafe {
        each::<O, ONE>(
            slice::from_raw_parts_mut(to.cast(), n),
            slice::from_raw_parts(a.cast(), length(1)),
            slice::from_raw_parts(b.cast(), length(2)),
            slice::from_raw_parts(c.cast(), length(4)),
        );
    }
}

/// The loop for any machine.
///
/// # Safety
/// As for [`Kernel`].
pub(super) unsafe fn portable<O: Op, const ONE: usize>(
    n: usize,
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    c: *const u8,
) {
    // SAFETY: the caller's promise is the callee's.
    unsafe { over::<O, ONE>(n, to, a, b, c) }
}

/// The same loop where [`vector_unit`] says yes.
///
/// # Safety
/// As for [`Kernel`], on a machine with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn avx2<O: Op, const ONE: usize>(n: usize, to: *mut u8, a: *const u8, b: *const u8, c: *const u8) {
    // SAFETY: the caller's promise is the callee's.
    unsafe { over::<O, ONE>(n, to, a, b, c) }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable as avx2;

/// The [`Table`] of an operation written as a closure: `kernel!(|a: f32, b: f32| -> f32 { a + b })`.
macro_rules! kernel {
    (|$a:ident: $A:ty| -> $R:ty $body:block) => {
        $crate::codegen::block::lanes::kernel!(@table [0]; $a: $A, _b: (), _c: () => $R, $body)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $R:ty $body:block) => {
        $crate::codegen::block::lanes::kernel!(@table [0 1 2]; $a: $A, $b: $B, _c: () => $R, $body)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $R:ty $body:block) => {
        $crate::codegen::block::lanes::kernel!(@table [0 1 2 3 4 5 6]; $a: $A, $b: $B, $c: $C => $R, $body)
    };
    (@table [$($one:literal)*]; $a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty => $R:ty, $body:block) => {{
        struct It;
        impl $crate::codegen::block::lanes::Op for It {
            type A = $A;
            type B = $B;
            type C = $C;
            type R = $R;
            #[inline(always)]
            fn apply($a: $A, $b: $B, $c: $C) -> $R $body
        }
        use $crate::codegen::block::lanes::{Kernel, Table, avx2, portable};
        const PORTABLE: &[Kernel] = &[$(portable::<It, $one>),*];
        const AVX2: &[Kernel] = &[$(avx2::<It, $one>),*];
        Table { portable: PORTABLE, avx2: AVX2 }
    }};
}
pub(super) use kernel;
