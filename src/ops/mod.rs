//! The vocabulary: what each op means, in one place each.
//!
//! One file per primitive, with its record; [`PRIMITIVES`] lists them all. `compose` has what is built from them.

mod abs;
mod acos;
mod add;
mod asin;
mod atan;
mod atan2;
mod bitand;
mod bitnot;
mod bitor;
mod bitxor;
pub(crate) mod cast;
mod ceil;
pub(crate) mod compose;
mod cos;
mod cosh;
mod div;
mod eq;
mod erf;
mod erfc;
mod exp;
mod exp2;
mod exp_below;
mod expm1;
mod floor;
mod fmod;
mod gelu_tanh;
mod idiv;
mod le;
mod ln;
mod log10;
mod log1p;
mod log2;
mod lt;
pub(crate) mod math;
mod maximum;
mod minimum;
mod mul;
mod mul_add;
mod ne;
mod neg;
mod node;
mod pow;
pub(crate) mod random;
mod recip;
pub(crate) mod record;
mod rem;
mod round;
mod select;
mod shl;
mod shr;
mod sigmoid;
mod sign;
mod sin;
mod sinh;
mod sqrt;
mod sub;
mod tan;
mod tanh;
mod trunc;
pub(crate) mod vector;

pub(crate) use node::accumulator;
pub(crate) use record::{Grad, Primitive, Takes};

macro_rules! primitives {
    ($($file:ident $record:ident;)*) => {
        $(pub(crate) use $file::$record;)*

        /// Every primitive, for the table tests.
        #[cfg(test)]
        pub(crate) static PRIMITIVES: &[&Primitive] = &[$(&$record),*];
    };
}

primitives! {
    add ADD;
    sub SUB;
    mul MUL;
    div DIV;
    recip RECIP;
    neg NEG;
    maximum MAXIMUM;
    minimum MINIMUM;
    pow POW;
    idiv IDIV;
    rem REM;
    bitand BITAND;
    bitor BITOR;
    bitxor BITXOR;
    bitnot BITNOT;
    shl SHL;
    shr SHR;
    eq EQ;
    ne NE;
    lt LT;
    le LE;
    select SELECT;
    mul_add MUL_ADD;
    sqrt SQRT;
    exp EXP;
    exp_below EXP_BELOW;
    exp2 EXP2;
    expm1 EXPM1;
    ln LN;
    log2 LOG2;
    log1p LOG1P;
    sin SIN;
    cos COS;
    tan TAN;
    tanh TANH;
    sigmoid SIGMOID;
    gelu_tanh GELU_TANH;
    erf ERF;
    erfc ERFC;
    floor FLOOR;
    fmod FMOD;
    ceil CEIL;
    trunc TRUNC;
    round ROUND;
    abs ABS;
    sign SIGN;
    log10 LOG10;
    sinh SINH;
    cosh COSH;
    asin ASIN;
    acos ACOS;
    atan ATAN;
    atan2 ATAN2;
}
