//! Between memory and lanes: how an element of each dtype becomes a lane, and a lane an element.

use super::half;
use super::lanes::{Kernel, Op, Table, avx2, portable};
use crate::dtype::DType;

/// Reads elements of one dtype into a block of lanes.
#[derive(Clone, Copy)]
pub(super) struct Loader {
    /// Elements that lie side by side; then: one element for every lane.
    pub(super) dense: Table,
    /// Elements a constant step apart.
    pub(super) strided: Strided,
    /// Elements at given positions.
    pub(super) gather: Gather,
    /// An element is its own lane, so that a dense run needs no copy.
    pub(super) direct: bool,
}

/// (`n`, destination, first element, step in elements): sound when the destination has room for `n` lanes and
/// the `n` elements can be read.
pub(super) type Strided = unsafe fn(usize, *mut u8, *const u8, isize);

/// (`n`, destination, base, what to read): lanes that are not to be read become 0. Sound when the destination has room
/// for `n` lanes, there are `n` picks, and every position to be read is that of an element behind the base.
pub(super) type Gather = unsafe fn(usize, *mut u8, *const u8, Picks);

/// The position of each lane's element, and whether it is to be read at all. A step of 0 stands for one value for all lanes.
#[derive(Clone, Copy)]
pub(super) struct Picks {
    pub(super) positions: *const i64,
    pub(super) position_step: usize,
    /// Masks, or null: everything is read.
    pub(super) valid: *const u8,
    pub(super) valid_step: usize,
}

/// Writes a block of lanes as elements of one dtype: side by side, then one lane to every element.
#[derive(Clone, Copy)]
pub(super) struct Storer {
    pub(super) dense: Table,
    /// A lane is its own element, so that results can be computed in place.
    pub(super) direct: bool,
}

/// An [`Op`] of one operand, and its loops over a block and from a single value.
macro_rules! conversion {
    (|$x:ident: $A:ty| -> $R:ty $body:block => $It:ident) => {
        struct $It;
        impl Op for $It {
            type A = $A;
            type B = ();
            type C = ();
            type R = $R;
            #[inline(always)]
            fn apply($x: $A, _b: (), _c: ()) -> $R $body
        }
        const PORTABLE: &[Kernel] = &[portable::<$It, 0>, portable::<$It, 1>];
        const AVX2: &[Kernel] = &[avx2::<$It, 0>, avx2::<$It, 1>];
    };
}

macro_rules! loader {
    (|$x:ident: $A:ty| -> $R:ty $body:block, direct: $direct:literal) => {{
        conversion!(|$x: $A| -> $R $body => It);
        Loader {
            dense: Table { portable: PORTABLE, avx2: AVX2 },
            strided: strided::<It>,
            gather: gather::<It>,
            direct: $direct,
        }
    }};
}

macro_rules! storer {
    (|$x:ident: $A:ty| -> $R:ty $body:block, direct: $direct:literal) => {{
        conversion!(|$x: $A| -> $R $body => It);
        Storer { dense: Table { portable: PORTABLE, avx2: AVX2 }, direct: $direct }
    }};
}

/// # Safety
/// As for [`Strided`].
unsafe fn strided<O: Op<B = (), C = ()>>(n: usize, to: *mut u8, from: *const u8, step: isize) {
    let (to, from) = (to.cast::<O::R>(), from.cast::<O::A>());
    for i in 0..n {
        // SAFETY: lane `i` of `n` has room, and the caller vouches for element `i`.
        unsafe { to.add(i).write(O::apply(from.offset(i as isize * step).read(), (), ())) };
    }
}

/// # Safety
/// As for [`Gather`].
unsafe fn gather<O: Op<B = (), C = ()>>(n: usize, to: *mut u8, base: *const u8, picks: Picks) {
    let (to, base) = (to.cast::<O::R>(), base.cast::<O::A>());
    for i in 0..n {
        // SAFETY: lane `i` of `n` has room and a pick; what is to be read is an element. A lane of zeros is a number.
        unsafe {
            if picks.valid.is_null() || *picks.valid.add(i * picks.valid_step) != 0 {
                let position = *picks.positions.add(i * picks.position_step);
                to.add(i).write(O::apply(base.offset(position as isize).read(), (), ()));
            } else {
                to.add(i).write_bytes(0, 1);
            }
        }
    }
}

/// How a dtype is read.
pub(super) fn loader(dtype: DType) -> Loader {
    match dtype {
        DType::Bool => loader!(|x: u8| -> u8 { x }, direct: true),
        DType::I8 => loader!(|x: i8| -> i32 { i32::from(x) }, direct: false),
        DType::I16 => loader!(|x: i16| -> i32 { i32::from(x) }, direct: false),
        DType::U8 => loader!(|x: u8| -> i32 { i32::from(x) }, direct: false),
        DType::U16 => loader!(|x: u16| -> i32 { i32::from(x) }, direct: false),
        DType::F16 => loader!(|x: u16| -> f32 { half::from_f16(x) }, direct: false),
        DType::BF16 => loader!(|x: u16| -> f32 { half::from_bf16(x) }, direct: false),
        DType::I32 | DType::U32 | DType::F32 => loader!(|x: u32| -> u32 { x }, direct: true),
        DType::I64 | DType::U64 | DType::F64 => loader!(|x: u64| -> u64 { x }, direct: true),
    }
}

/// How a dtype is written. Integers are cut to their width; half floats round to nearest even.
pub(super) fn storer(dtype: DType) -> Storer {
    match dtype {
        DType::Bool => storer!(|x: u8| -> u8 { x }, direct: true),
        DType::I8 | DType::U8 => storer!(|x: u32| -> u8 { x as u8 }, direct: false),
        DType::I16 | DType::U16 => storer!(|x: u32| -> u16 { x as u16 }, direct: false),
        DType::F16 => storer!(|x: f32| -> u16 { half::to_f16(x) }, direct: false),
        DType::BF16 => storer!(|x: f32| -> u16 { half::to_bf16(x) }, direct: false),
        DType::I32 | DType::U32 | DType::F32 => storer!(|x: u32| -> u32 { x }, direct: true),
        DType::I64 | DType::U64 | DType::F64 => storer!(|x: u64| -> u64 { x }, direct: true),
    }
}
