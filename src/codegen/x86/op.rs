//! The vector instructions in use, by their encoding.
//!
//! One table makes the constants, and the list of their names and forms for listings and tests.

/// The part of an encoding that names the instruction: of VEX, for up to 256 bits and sixteen registers.
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
    /// What is different in EVEX, for up to 512 bits and thirty-two registers, where it has the instruction.
    pub(super) evex: Option<Evex>,
}

/// An instruction in EVEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evex {
    pub(super) w: u8,
    pub(super) memory: Memory,
}

/// The operand in memory of an instruction in EVEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// As wide as the instruction, so that short displacements count in such vectors.
    Full,
    /// As before; and the result is a mask register.
    FullToMask,
    Part,
    /// As before; and VEX does not have the instruction.
    FullOnly,
    PartOnly,
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

    /// Whether only EVEX has it.
    pub(super) fn needs_evex(self) -> bool {
        self.evex.is_some_and(|evex| matches!(evex.memory, Memory::FullOnly | Memory::PartOnly))
    }

    /// Whether it compares: in EVEX, the result is then a mask register.
    pub(super) fn compares(self) -> bool {
        matches!(self.evex, Some(Evex { memory: Memory::FullToMask, .. }))
    }
}

macro_rules! ops {
    ($($name:ident: $encoding:ident $(($extra:literal))? $map:literal $prefix:literal $w:literal $code:literal
       $widths:literal $($wide:literal $memory:ident)?;)*) => {
        $(pub(super) const $name: Op = Op {
            map: $map,
            prefix: $prefix,
            w: $w,
            code: $code,
            extension: 0 $(+ $extra)?,
            evex: { let evex: &[Evex] = &[$(Evex { w: $wide, memory: Memory::$memory })?]; evex.first().copied() },
        };)*
        /// Name, instruction, form, and the widths it is used in.
        pub(super) const ALL: &[(&str, Op, Encoding, &str)] =
            &[$((stringify!($name), $name, Encoding::$encoding, $widths)),*];
    };
}

ops! {
    // Moving
    MOVUPS: Rm 1 0 0 0x10 "xyz" 0 Full;
    MOVUPS_STORE: Mr 1 0 0 0x11 "xyz" 0 Full;
    MOVAPS: Rm 1 0 0 0x28 "xyz" 0 Full;
    MOVNTPS_STORE: Mr 1 0 0 0x2b "xyz" 0 Full;
    MOVSS_STORE: Mr 1 2 0 0x11 "x" 0 Part;
    MOVSD_STORE: Mr 1 3 0 0x11 "x" 1 Part;
    MOVD: Rm 1 1 0 0x6e "x" 0 Part;
    MOVQ: Rm 1 1 1 0x6e "x" 1 Part;
    MOVD_STORE: Mr 1 1 0 0x7e "x" 0 Part;
    MOVQ_STORE: Mr 1 1 0 0xd6 "x" 1 Part;
    MASKMOVPS: Rvm 2 1 0 0x2c "xy";
    MASKMOVPD: Rvm 2 1 0 0x2d "xy";
    MASKMOVPS_STORE: Mvr 2 1 0 0x2e "xy";
    MASKMOVPD_STORE: Mvr 2 1 0 0x2f "xy";
    BROADCASTSS: Rm 2 1 0 0x18 "xyz" 0 Part;
    BROADCASTSD: Rm 2 1 0 0x19 "yz" 1 Part;
    PBROADCASTB: Rm 2 1 0 0x78 "xyz" 0 Part;
    PBROADCASTW: Rm 2 1 0 0x79 "xyz" 0 Part;
    PBROADCASTQ: Rm 2 1 0 0x59 "xyz" 1 Part;
    PINSRB: Rvmi 3 1 0 0x20 "x";
    PINSRW: Rvmi 1 1 0 0xc4 "x";
    PINSRD: Rvmi 3 1 0 0x22 "x";
    PINSRQ: Rvmi 3 1 1 0x22 "x";
    INSERTI128: Rvmi 3 1 0 0x38 "y";
    PEXTRB: Mri 3 1 0 0x14 "x" 0 Part;
    PEXTRW: Mri 3 1 0 0x15 "x";
    PEXTRD: Mri 3 1 0 0x16 "x";
    PEXTRQ: Mri 3 1 1 0x16 "x";
    EXTRACTI128: Mri 3 1 0 0x39 "y" 0 Part;
    EXTRACTI64X4: Mri 3 1 1 0x3b "z" 1 PartOnly;
    INSERTF64X4: Rvmi 3 1 1 0x1a "z" 1 PartOnly;
    UNPCKLPS: Rvm 1 0 0 0x14 "z" 0 Full;
    UNPCKHPS: Rvm 1 0 0 0x15 "z" 0 Full;
    UNPCKLPD: Rvm 1 1 0 0x14 "z" 1 Full;
    UNPCKHPD: Rvm 1 1 0 0x15 "z" 1 Full;
    SHUFF64X2: Rvmi 3 1 1 0x23 "z" 1 FullOnly;
    SHUFPS: Rvmi 1 0 0 0xc6 "xy";
    PSHUFD: Rmi 1 1 0 0x70 "xy" 0 Full;
    PSHUFB: Rvm 2 1 0 0x00 "xy";
    PERMQ: Rmi 3 1 1 0x00 "y";
    PERMPS: Rvm 2 1 0 0x16 "yz" 0 Full;
    // Floats
    ADDPS: Rvm 1 0 0 0x58 "xyz" 0 Full;
    ADDPD: Rvm 1 1 0 0x58 "xyz" 1 Full;
    MULPS: Rvm 1 0 0 0x59 "xyz" 0 Full;
    MULPD: Rvm 1 1 0 0x59 "xyz" 1 Full;
    SUBPS: Rvm 1 0 0 0x5c "xyz" 0 Full;
    SUBPD: Rvm 1 1 0 0x5c "xyz" 1 Full;
    MINPS: Rvm 1 0 0 0x5d "xyz" 0 Full;
    MINPD: Rvm 1 1 0 0x5d "xyz" 1 Full;
    DIVPS: Rvm 1 0 0 0x5e "xyz" 0 Full;
    DIVPD: Rvm 1 1 0 0x5e "xyz" 1 Full;
    MAXPS: Rvm 1 0 0 0x5f "xyz" 0 Full;
    MAXPD: Rvm 1 1 0 0x5f "xyz" 1 Full;
    SQRTPS: Rm 1 0 0 0x51 "xyz" 0 Full;
    SQRTPD: Rm 1 1 0 0x51 "xyz" 1 Full;
    ROUNDPS: Rmi 3 1 0 0x08 "xyz" 0 Full;
    ROUNDPD: Rmi 3 1 0 0x09 "xyz" 1 Full;
    CMPPS: Rvmi 1 0 0 0xc2 "xyz" 0 FullToMask;
    CMPPD: Rvmi 1 1 0 0xc2 "xyz" 1 FullToMask;
    FMADD132PS: Rvm 2 1 0 0x98 "xyz" 0 Full;
    FMADD132PD: Rvm 2 1 1 0x98 "xyz" 1 Full;
    FMADD213PS: Rvm 2 1 0 0xa8 "xyz" 0 Full;
    FMADD213PD: Rvm 2 1 1 0xa8 "xyz" 1 Full;
    FMADD231PS: Rvm 2 1 0 0xb8 "xyz" 0 Full;
    FMADD231PD: Rvm 2 1 1 0xb8 "xyz" 1 Full;
    ANDPS: Rvm 1 0 0 0x54 "xyz" 0 Full;
    XORPS: Rvm 1 0 0 0x57 "xyz" 0 Full;
    BLENDVPS: Rvmr 3 1 0 0x4a "xy";
    BLENDVPD: Rvmr 3 1 0 0x4b "xy";
    // Integers
    PADDD: Rvm 1 1 0 0xfe "xyz" 0 Full;
    PADDQ: Rvm 1 1 0 0xd4 "xyz" 1 Full;
    PSUBD: Rvm 1 1 0 0xfa "xyz" 0 Full;
    PSUBQ: Rvm 1 1 0 0xfb "xyz" 1 Full;
    PMULLD: Rvm 2 1 0 0x40 "xyz" 0 Full;
    PMULUDQ: Rvm 1 1 0 0xf4 "xyz" 1 Full;
    PMINSD: Rvm 2 1 0 0x39 "xyz" 0 Full;
    PMAXSD: Rvm 2 1 0 0x3d "xyz" 0 Full;
    PMINUD: Rvm 2 1 0 0x3b "xyz" 0 Full;
    PMAXUD: Rvm 2 1 0 0x3f "xyz" 0 Full;
    PAND: Rvm 1 1 0 0xdb "xyz" 0 Full;
    PANDN: Rvm 1 1 0 0xdf "xyz" 0 Full;
    POR: Rvm 1 1 0 0xeb "xyz" 0 Full;
    PXOR: Rvm 1 1 0 0xef "xyz" 0 Full;
    PCMPEQD: Rvm 1 1 0 0x76 "xyz" 0 FullToMask;
    PCMPEQQ: Rvm 2 1 0 0x29 "xyz" 1 FullToMask;
    PCMPGTD: Rvm 1 1 0 0x66 "xyz" 0 FullToMask;
    PCMPGTQ: Rvm 2 1 0 0x37 "xyz" 1 FullToMask;
    PSLLVD: Rvm 2 1 0 0x47 "xyz" 0 Full;
    PSLLVQ: Rvm 2 1 1 0x47 "xyz" 1 Full;
    PSRLVD: Rvm 2 1 0 0x45 "xyz" 0 Full;
    PSRLVQ: Rvm 2 1 1 0x45 "xyz" 1 Full;
    PSRAVD: Rvm 2 1 0 0x46 "xyz" 0 Full;
    PSLLD: Vmi(6) 1 1 0 0x72 "xyz" 0 Full;
    PSRLD: Vmi(2) 1 1 0 0x72 "xyz" 0 Full;
    PSRAD: Vmi(4) 1 1 0 0x72 "xyz" 0 Full;
    PSLLQ: Vmi(6) 1 1 0 0x73 "xyz" 1 Full;
    PSRLQ: Vmi(2) 1 1 0 0x73 "xyz" 1 Full;
    PBLENDD: Rvmi 3 1 0 0x02 "xy";
    PTEST: Rm 2 1 0 0x17 "xy";
    // Conversions
    CVTDQ2PS: Rm 1 0 0 0x5b "xyz" 0 Full;
    CVTTPS2DQ: Rm 1 2 0 0x5b "xyz" 0 Full;
    CVTPS2PD: Rm 1 0 0 0x5a "xyz" 0 Part;
    CVTPD2PS: Rm 1 1 0 0x5a "xyz" 1 Full;
    CVTDQ2PD: Rm 1 2 0 0xe6 "xyz" 0 Part;
    CVTTPD2DQ: Rm 1 1 0 0xe6 "xyz" 1 Full;
    CVTPH2PS: Rm 2 1 0 0x13 "xyz" 0 Part;
    CVTPS2PH: Mri 3 1 0 0x1d "xyz" 0 Part;
    PMOVSXBD: Rm 2 1 0 0x21 "xyz" 0 Part;
    PMOVSXWD: Rm 2 1 0 0x23 "xyz" 0 Part;
    PMOVSXDQ: Rm 2 1 0 0x25 "xyz" 0 Part;
    PMOVZXBD: Rm 2 1 0 0x31 "xyz" 0 Part;
    PMOVZXWD: Rm 2 1 0 0x33 "xyz" 0 Part;
    PMOVZXDQ: Rm 2 1 0 0x35 "xyz" 0 Part;
    CVTQQ2PD: Rm 1 2 1 0xe6 "xyz" 1 FullOnly;
    CVTUQQ2PD: Rm 1 2 1 0x7a "xyz" 1 FullOnly;
    PMOVDB: Mr 2 2 0 0x31 "xyz" 0 PartOnly;
    PMOVDW: Mr 2 2 0 0x33 "xyz" 0 PartOnly;
    PMOVQD: Mr 2 2 0 0x35 "xyz" 0 PartOnly;
    SCALEFPS: Rvm 2 1 0 0x2c "xyz" 0 FullOnly;
    SCALEFPD: Rvm 2 1 1 0x2c "xyz" 1 FullOnly;
    // Choosing by bits
    PTERNLOGD: Rvmi 3 1 0 0x25 "xyz" 0 FullOnly;
}
