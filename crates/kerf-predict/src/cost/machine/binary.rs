//! Machine code of kernels, read from what the assembler writes: instructions with the scheduling that it put into them,
//! registers, and the line of the program that each instruction came from.
//!
//! The encoding is that of Volta to Hopper: 16 bytes an instruction, of which the upper bits tell how long its warp stalls,
//! which of six barriers it sets and which it waits for (Jia et al., Dissecting the NVIDIA Volta GPU Architecture via
//! Microbenchmarking). Opcodes were compared with NVIDIA's disassembler.
use super::elf::Elf;
use super::lines;
use std::collections::BTreeMap;

/// What an instruction does, as far as its cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    F64,
    F32,
    /// Integer multiply-add.
    Multiply,
    Half,
    /// Half-precision multiply-adds that ptxas puts on the unit for matrices.
    Matrix,
    Special,
    SharedLoad,
    SharedStore,
    Load,
    Store,
    LocalLoad,
    LocalStore,
    Shuffle,
    Atomic,
    ConstantLoad,
    SpecialRegister,
    Branch,
    /// Where threads that part are to come together.
    Meeting,
    Sync,
    Call,
    Exit,
    Barrier,
    Uniform,
    Nothing,
    Other,
}

/// One instruction.
#[derive(Debug, Clone)]
pub(super) struct Instruction {
    pub kind: Kind,
    /// Is it an addition, a multiplication or both, of floating-point numbers?
    pub arithmetic: bool,
    /// Is it a multiply-add in f64 of three registers?
    pub wide: bool,
    /// Does it run whatever its predicate?
    pub always: bool,
    pub stall: u32,
    /// Barrier that its result clears, six for none.
    pub sets: usize,
    /// Barrier that it clears when its operands were read.
    pub frees: usize,
    /// Barriers that it waits for, as bits.
    pub waits: u32,
    pub line: usize,
    /// Index of the instruction that it goes to.
    pub target: Option<usize>,
    /// Bytes that a thread moves, for accesses.
    pub bytes: f64,
}

/// One kernel.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    pub instructions: Vec<Instruction>,
    pub registers: u32,
}

/// Kind by the nine bits of an opcode that its operands do not change.
fn kind(op: u64) -> Kind {
    match op & 0x1ff {
        0x28..=0x2b => Kind::F64,
        0x20 | 0x21 | 0x23 => Kind::F32,
        0x24 | 0x25 | 0x27 => Kind::Multiply,
        0x30..=0x32 => Kind::Half,
        0x35 => Kind::Matrix,
        // The check before a division too.
        0x100 | 0x102 | 0x104..=0x109 | 0x110..=0x113 => Kind::Special,
        0x184 => Kind::SharedLoad,
        0x188 => Kind::SharedStore,
        0x180 | 0x181 => Kind::Load,
        0x185 | 0x186 => Kind::Store,
        0x183 => Kind::LocalLoad,
        0x187 => Kind::LocalStore,
        0x189 => Kind::Shuffle,
        0x1a8 | 0x1a3 | 0x18e | 0x1a6 | 0x18c | 0x18d => Kind::Atomic,
        0x182 => Kind::ConstantLoad,
        0x119 | 0x1c3 => Kind::SpecialRegister,
        0x147 => Kind::Branch,
        0x145 | 0x148 => Kind::Meeting,
        0x141 => Kind::Sync,
        0x143 | 0x144 => Kind::Call,
        0x14d | 0x150 => Kind::Exit,
        0x11d => Kind::Barrier,
        0x80..=0xbf => Kind::Uniform,
        0x118 => Kind::Nothing,
        _ => Kind::Other,
    }
}

fn instruction(low: u64, high: u64, index: usize, line: usize) -> Instruction {
    let op = low & 0xfff;
    let kind = kind(op);
    let control = high >> 41;
    let barrier = |shift: u32| (control >> shift & 7).min(6) as usize;
    // Offsets count four bytes, from the next instruction on.
    let target = (op == 0x947 || op == 0x944).then(|| {
        let far = low >> 34 | (high & 0x3ffff) << 30;
        let far = (far << 16) as i64 >> 16;
        let offset = (far << 8 | (low >> 16 & 0xff) as i64) * 4;
        (index as i64 + 1 + offset / 16).max(0) as usize
    });
    let also = kind != Kind::Branch || high >> 23 & 15 == 7;
    Instruction {
        kind,
        arithmetic: matches!(
            op & 0x1ff,
            0x20 | 0x21 | 0x23 | 0x28 | 0x29 | 0x2b | 0x30..=0x32 | 0x35
        ),
        wide: op == 0x22b,
        always: low >> 12 & 15 == 7 && also,
        stall: (control & 15).max(1) as u32,
        sets: barrier(5),
        frees: barrier(8),
        waits: (control >> 11 & 63) as u32,
        line,
        target,
        bytes: match high >> 9 & 7 {
            5 => 8.0,
            6 => 16.0,
            _ => 4.0,
        },
    }
}

/// Kernels of a binary, by symbol. None where it is not one that can be read.
pub(super) fn read(binary: &[u8]) -> Option<BTreeMap<String, Code>> {
    let elf = Elf::read(binary)?;
    let (registers, lines) = (elf.registers(), lines::read(&elf));
    let mut out = BTreeMap::new();
    for s in &elf.sections {
        let Some(symbol) = s.name.strip_prefix(".text.") else {
            continue;
        };
        let rows = lines.get(&s.name).map(Vec::as_slice).unwrap_or_default();
        let mut instructions = Vec::new();
        for k in 0..s.size / 16 {
            let word = |offset| elf.number(s.at + 16 * k + offset, 8);
            let row = rows.partition_point(|r| r.0 <= 16 * k as u64);
            let line = row.checked_sub(1).map_or(0, |r| rows[r].1);
            instructions.push(instruction(word(0)?, word(8)?, k, line));
        }
        let code = Code {
            instructions,
            registers: registers.get(symbol).copied().unwrap_or(0),
        };
        out.insert(symbol.to_owned(), code);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that ptxas 13.0 wrote for sm_90, as NVIDIA's disassembler reads them.
    #[test]
    fn instructions_are_read() {
        // DFMA R10, R2, R10, R2
        let i = instruction(0x0000000a020a722b, 0x000fd00000000002, 14, 3);
        assert_eq!((i.kind, i.stall, i.waits), (Kind::F64, 8, 0));
        assert!(i.arithmetic && i.always && i.wide);
        // LDG.E.64 R8, [R8.64], waits for barrier 2 and sets it
        let i = instruction(0x0000000408087981, 0x004ea2000c1e1b00, 7, 3);
        assert_eq!((i.kind, i.sets, i.waits, i.bytes), (Kind::Load, 2, 4, 8.0));
        // @P0 BRA, forward by six; @!P1 BRA, back to 6
        let i = instruction(0x0000000000180947, 0x000fea0001000000, 23, 3);
        assert_eq!(
            (i.kind, i.target, i.always),
            (Kind::Branch, Some(30), false)
        );
        let i = instruction(0xfffffffc00909947, 0x000fea000383ffff, 33, 3);
        assert_eq!((i.target, i.always), (Some(6), false));
    }

    /// Units that share what they are made of were told apart by probes of the H200.
    #[test]
    fn kinds_by_opcode() {
        for (op, wanted) in [
            (0x230, Kind::Half),            // HADD2
            (0x435, Kind::Matrix),          // HFMA2.MMA
            (0x23e, Kind::Other),           // F2FP
            (0x310, Kind::Special),         // F2F
            (0x302, Kind::Special),         // FCHK
            (0x890, Kind::Uniform),         // UIADD3
            (0x9c3, Kind::SpecialRegister), // S2UR
        ] {
            assert_eq!(kind(op), wanted, "{op:x}");
        }
    }

    /// HFMA2.MMA does what HFMA2 does.
    #[test]
    fn products_on_the_unit_for_matrices_are_arithmetic() {
        assert!(instruction(0x7435, 0, 0, 1).arithmetic);
        assert!(!instruction(0x723e, 0, 0, 1).arithmetic);
    }

    #[test]
    fn what_is_no_binary_is_refused() {
        assert!(read(b"").is_none());
        assert!(read(b"\x7fELF\x02\x01").is_none());
        assert!(read(&[0x7f; 300]).is_none());
    }
}
