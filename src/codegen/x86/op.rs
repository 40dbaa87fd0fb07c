//! The vector instructions in use, by their encoding.
//!
//! One table makes the constants, and the list of their names and forms for listings and tests.

/// The part of a VEX encoding that names the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Op {
    /// The opcode map: 1 is `0F`, 2 is `0F 38`, 3 is `0F 3A`.
    pub(super) map: u8,
    /// The mandatory prefix: none, `66`, `F3`, `F2`.
    pub(super) prefix: u8,
    pub(super) w: u8,
    pub(super) code: u8,
    /// More of the opcode, in the place of a register; 0 where there is none.
    pub(super) extension: u8,
}

/// Where an instruction has its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Destination, source (`reg`, `rm`).
    Rm,
    /// As before, with an immediate.
    Rmi,
    /// Destination, two sources (`reg`, `vvvv`, `rm`).
    Rvm,
    Rvmi,
    /// As before, with a third source in the immediate.
    Rvmr,
    /// Destination in `rm`, source in `reg`.
    Mr,
    Mri,
    /// Destination in `rm`, sources in `vvvv` and `reg`.
    Mvr,
    /// Destination in `vvvv`, source in `rm`, an immediate, and an extension in `reg`.
    Vmi,
}

impl Op {
    /// The name of its constant (the mnemonic without the `v`, `_STORE` behind it where there is also a load), and its form.
    pub(super) fn described(self) -> (&'static str, Encoding) {
        let found = ALL.iter().find(|(_, op, ..)| *op == self);
        found.map(|&(name, _, encoding, _)| (name, encoding)).expect("every instruction is in the table")
    }
}

macro_rules! ops {
    ($($name:ident: $encoding:ident $(($extra:literal))? $map:literal $prefix:literal $w:literal $code:literal $widths:literal;)*) => {
        $(pub(super) const $name: Op = Op { map: $map, prefix: $prefix, w: $w, code: $code, extension: 0 $(+ $extra)? };)*
        /// Name, instruction, form, and the widths it is used in.
        pub(super) const ALL: &[(&str, Op, Encoding, &str)] =
            &[$((stringify!($name), $name, Encoding::$encoding, $widths)),*];
    };
}

ops! {
    // Moving
    MOVUPS: Rm 1 0 0 0x10 "xy";
    MOVUPS_STORE: Mr 1 0 0 0x11 "xy";
    MOVAPS: Rm 1 0 0 0x28 "xy";
    MOVNTPS_STORE: Mr 1 0 0 0x2b "xy";
    MOVSS_STORE: Mr 1 2 0 0x11 "x";
    MOVSD_STORE: Mr 1 3 0 0x11 "x";
    MOVD: Rm 1 1 0 0x6e "x";
    MOVQ: Rm 1 1 1 0x6e "x";
    MOVD_STORE: Mr 1 1 0 0x7e "x";
    MOVQ_STORE: Mr 1 1 0 0xd6 "x";
    MASKMOVPS: Rvm 2 1 0 0x2c "xy";
    MASKMOVPD: Rvm 2 1 0 0x2d "xy";
    MASKMOVPS_STORE: Mvr 2 1 0 0x2e "xy";
    MASKMOVPD_STORE: Mvr 2 1 0 0x2f "xy";
    BROADCASTSS: Rm 2 1 0 0x18 "xy";
    BROADCASTSD: Rm 2 1 0 0x19 "y";
    PBROADCASTB: Rm 2 1 0 0x78 "xy";
    PBROADCASTW: Rm 2 1 0 0x79 "xy";
    PBROADCASTQ: Rm 2 1 0 0x59 "xy";
    PINSRB: Rvmi 3 1 0 0x20 "x";
    PINSRW: Rvmi 1 1 0 0xc4 "x";
    PINSRD: Rvmi 3 1 0 0x22 "x";
    PINSRQ: Rvmi 3 1 1 0x22 "x";
    INSERTI128: Rvmi 3 1 0 0x38 "y";
    PEXTRB: Mri 3 1 0 0x14 "x";
    PEXTRW: Mri 3 1 0 0x15 "x";
    PEXTRD: Mri 3 1 0 0x16 "x";
    PEXTRQ: Mri 3 1 1 0x16 "x";
    EXTRACTI128: Mri 3 1 0 0x39 "y";
    SHUFPS: Rvmi 1 0 0 0xc6 "xy";
    PSHUFD: Rmi 1 1 0 0x70 "xy";
    PSHUFB: Rvm 2 1 0 0x00 "xy";
    PERMQ: Rmi 3 1 1 0x00 "y";
    // Floats
    ADDPS: Rvm 1 0 0 0x58 "xy";
    ADDPD: Rvm 1 1 0 0x58 "xy";
    MULPS: Rvm 1 0 0 0x59 "xy";
    MULPD: Rvm 1 1 0 0x59 "xy";
    SUBPS: Rvm 1 0 0 0x5c "xy";
    SUBPD: Rvm 1 1 0 0x5c "xy";
    MINPS: Rvm 1 0 0 0x5d "xy";
    MINPD: Rvm 1 1 0 0x5d "xy";
    DIVPS: Rvm 1 0 0 0x5e "xy";
    DIVPD: Rvm 1 1 0 0x5e "xy";
    MAXPS: Rvm 1 0 0 0x5f "xy";
    MAXPD: Rvm 1 1 0 0x5f "xy";
    SQRTPS: Rm 1 0 0 0x51 "xy";
    SQRTPD: Rm 1 1 0 0x51 "xy";
    ROUNDPS: Rmi 3 1 0 0x08 "xy";
    ROUNDPD: Rmi 3 1 0 0x09 "xy";
    CMPPS: Rvmi 1 0 0 0xc2 "xy";
    CMPPD: Rvmi 1 1 0 0xc2 "xy";
    FMADD132PS: Rvm 2 1 0 0x98 "xy";
    FMADD132PD: Rvm 2 1 1 0x98 "xy";
    FMADD213PS: Rvm 2 1 0 0xa8 "xy";
    FMADD213PD: Rvm 2 1 1 0xa8 "xy";
    FMADD231PS: Rvm 2 1 0 0xb8 "xy";
    FMADD231PD: Rvm 2 1 1 0xb8 "xy";
    ANDPS: Rvm 1 0 0 0x54 "xy";
    XORPS: Rvm 1 0 0 0x57 "xy";
    BLENDVPS: Rvmr 3 1 0 0x4a "xy";
    BLENDVPD: Rvmr 3 1 0 0x4b "xy";
    // Integers
    PADDD: Rvm 1 1 0 0xfe "xy";
    PADDQ: Rvm 1 1 0 0xd4 "xy";
    PSUBD: Rvm 1 1 0 0xfa "xy";
    PSUBQ: Rvm 1 1 0 0xfb "xy";
    PMULLD: Rvm 2 1 0 0x40 "xy";
    PMULUDQ: Rvm 1 1 0 0xf4 "xy";
    PMINSD: Rvm 2 1 0 0x39 "xy";
    PMAXSD: Rvm 2 1 0 0x3d "xy";
    PMINUD: Rvm 2 1 0 0x3b "xy";
    PMAXUD: Rvm 2 1 0 0x3f "xy";
    PAND: Rvm 1 1 0 0xdb "xy";
    PANDN: Rvm 1 1 0 0xdf "xy";
    POR: Rvm 1 1 0 0xeb "xy";
    PXOR: Rvm 1 1 0 0xef "xy";
    PCMPEQD: Rvm 1 1 0 0x76 "xy";
    PCMPEQQ: Rvm 2 1 0 0x29 "xy";
    PCMPGTD: Rvm 1 1 0 0x66 "xy";
    PCMPGTQ: Rvm 2 1 0 0x37 "xy";
    PSLLVD: Rvm 2 1 0 0x47 "xy";
    PSLLVQ: Rvm 2 1 1 0x47 "xy";
    PSRLVD: Rvm 2 1 0 0x45 "xy";
    PSRLVQ: Rvm 2 1 1 0x45 "xy";
    PSRAVD: Rvm 2 1 0 0x46 "xy";
    PSLLD: Vmi(6) 1 1 0 0x72 "xy";
    PSRLD: Vmi(2) 1 1 0 0x72 "xy";
    PSRAD: Vmi(4) 1 1 0 0x72 "xy";
    PSLLQ: Vmi(6) 1 1 0 0x73 "xy";
    PSRLQ: Vmi(2) 1 1 0 0x73 "xy";
    PBLENDD: Rvmi 3 1 0 0x02 "xy";
    PTEST: Rm 2 1 0 0x17 "xy";
    // Conversions
    CVTDQ2PS: Rm 1 0 0 0x5b "xy";
    CVTTPS2DQ: Rm 1 2 0 0x5b "xy";
    CVTPS2PD: Rm 1 0 0 0x5a "xy";
    CVTPD2PS: Rm 1 1 0 0x5a "xy";
    CVTDQ2PD: Rm 1 2 0 0xe6 "xy";
    CVTTPD2DQ: Rm 1 1 0 0xe6 "xy";
    CVTPH2PS: Rm 2 1 0 0x13 "xy";
    CVTPS2PH: Mri 3 1 0 0x1d "xy";
    PMOVSXBD: Rm 2 1 0 0x21 "xy";
    PMOVSXWD: Rm 2 1 0 0x23 "xy";
    PMOVSXDQ: Rm 2 1 0 0x25 "xy";
    PMOVZXBD: Rm 2 1 0 0x31 "xy";
    PMOVZXWD: Rm 2 1 0 0x33 "xy";
    PMOVZXDQ: Rm 2 1 0 0x35 "xy";
}
