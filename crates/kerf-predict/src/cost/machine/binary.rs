//! Machine code of kernels, read from the assembler's binary: instructions with their scheduling information, registers, and the
//! line of the program that each instruction came from.
//!
//! The encoding is that of Volta to Hopper: 16 bytes an instruction, of which the upper bits hold the stall count of its warp,
//! the one of six dependence barriers that it sets, and those that it waits for (Jia et al., Dissecting the NVIDIA Volta GPU Architecture via
//! Microbenchmarking). Opcodes were compared with NVIDIA's disassembler.
use super::lines;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolIndex};
use std::collections::BTreeMap;

/// Class of an instruction, as far as its cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    F64,
    F32,
    IntegerMultiply,
    Half,
    /// Half-precision multiply-adds that ptxas puts on the tensor unit (HFMA2.MMA).
    TensorHalf,
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
    /// Declares where lanes that diverge reconverge (BSSY).
    ConvergenceBarrier,
    /// Reconvergence (BSYNC).
    Reconverge,
    Call,
    Exit,
    BlockBarrier,
    Uniform,
    Nop,
    Other,
}

/// One instruction.
#[derive(Debug, Clone)]
pub(super) struct Instruction {
    pub kind: Kind,
    /// Is it an addition, a multiplication or both, of floating-point values?
    pub is_float_arithmetic: bool,
    /// Is it a multiply-add in f64 whose operands are three registers?
    pub is_three_register_f64: bool,
    /// Is its predicate the constant true?
    pub is_unpredicated: bool,
    pub stall_clocks: u32,
    /// Dependence barrier that clears with its result; 6 for none.
    pub result_barrier: usize,
    /// Dependence barrier that clears once its operands were read; 6 for none.
    pub operand_barrier: usize,
    /// Dependence barriers that it waits for, one bit each.
    pub wait_mask: u32,
    pub line: usize,
    /// Index of the instruction that it branches to.
    pub branch_target: Option<usize>,
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
        0x24 | 0x25 | 0x27 => Kind::IntegerMultiply,
        0x30..=0x32 => Kind::Half,
        0x35 => Kind::TensorHalf,
        // With the check before a division (FCHK).
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
        0x145 | 0x148 => Kind::ConvergenceBarrier,
        0x141 => Kind::Reconverge,
        0x143 | 0x144 => Kind::Call,
        0x14d | 0x150 => Kind::Exit,
        0x11d => Kind::BlockBarrier,
        0x80..=0xbf => Kind::Uniform,
        0x118 => Kind::Nop,
        _ => Kind::Other,
    }
}

/// How an instruction names the one that it branches to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchEncoding {
    /// Volta to Ada: an offset in words of four bytes.
    Offset48,
    /// Hopper: eight more bits of it, in bits 16 to 23, below the others.
    Offset56,
}

impl BranchEncoding {
    /// By the architecture in the low byte of a binary's flags (75, 86, 90).
    fn of_binary(flags: u32) -> BranchEncoding {
        match flags & 0xff {
            90.. => BranchEncoding::Offset56,
            _ => BranchEncoding::Offset48,
        }
    }

    /// Words of four bytes from the next instruction on.
    fn offset(self, low: u64, high: u64) -> i64 {
        let far = low >> 34 | (high & 0x3ffff) << 30;
        let far = (far << 16) as i64 >> 16;
        match self {
            BranchEncoding::Offset48 => far,
            BranchEncoding::Offset56 => far << 8 | (low >> 16 & 0xff) as i64,
        }
    }
}

fn instruction(
    (low, high): (u64, u64),
    branches: BranchEncoding,
    index: usize,
    line: usize,
) -> Instruction {
    let op = low & 0xfff;
    let kind = kind(op);
    let control = high >> 41;
    let barrier = |shift: u32| (control >> shift & 7).min(6) as usize;
    let branch_target = (op == 0x947 || op == 0x944).then(|| {
        let offset = 4 * branches.offset(low, high);
        (index as i64 + 1 + offset / 16).max(0) as usize
    });
    let unconditional = kind != Kind::Branch || high >> 23 & 15 == 7;
    Instruction {
        kind,
        is_float_arithmetic: matches!(
            op & 0x1ff,
            0x20 | 0x21 | 0x23 | 0x28 | 0x29 | 0x2b | 0x30..=0x32 | 0x35
        ),
        is_three_register_f64: op == 0x22b,
        is_unpredicated: low >> 12 & 15 == 7 && unconditional,
        stall_clocks: (control & 15).max(1) as u32,
        result_barrier: barrier(5),
        operand_barrier: barrier(8),
        wait_mask: (control >> 11 & 63) as u32,
        line,
        branch_target,
        bytes: match high >> 9 & 7 {
            5 => 8.0,
            6 => 16.0,
            _ => 4.0,
        },
    }
}

/// Registers of a thread by kernel: attribute 0x2f of `.nv.info` has a symbol and its registers.
fn registers(elf: &ElfFile64) -> Option<BTreeMap<String, u32>> {
    let data = elf.section_by_name(".nv.info")?.data().ok()?;
    let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let (mut out, mut at) = (BTreeMap::new(), 0);
    while let Some(header) = word(at) {
        // Format 4 has a size in bytes, the others have a value in its place.
        let is_sized = header & 0xff == 4;
        if header & 0xffff == 0x2f04 {
            let symbol = SymbolIndex(word(at + 4)? as usize);
            let name = elf.symbol_by_index(symbol).ok()?.name().ok()?;
            out.insert(name.to_owned(), word(at + 8)?);
        }
        at += 4 + if is_sized { (header >> 16) as usize } else { 0 };
    }
    Some(out)
}

/// Kernels of a binary, by symbol. None where it is not one that can be read.
pub(super) fn read(binary: &[u8]) -> Option<BTreeMap<String, Code>> {
    let elf = ElfFile64::parse(binary).ok()?;
    let registers = registers(&elf).unwrap_or_default();
    let lines = lines::read(&elf);
    let flags = elf.elf_header().e_flags.get(elf.endian());
    let branches = BranchEncoding::of_binary(flags);
    let mut out = BTreeMap::new();
    for s in elf.sections() {
        let Some(symbol) = s.name().ok()?.strip_prefix(".text.") else {
            continue;
        };
        let rows = lines.get(&s.index().0).map(Vec::as_slice);
        let rows = rows.unwrap_or_default();
        let mut instructions = Vec::new();
        for (k, bytes) in s.data().ok()?.chunks_exact(16).enumerate() {
            let word = u128::from_le_bytes(bytes.try_into().ok()?);
            let row = rows.partition_point(|r| r.0 <= 16 * k as u64);
            let line = row.checked_sub(1).map_or(0, |r| rows[r].1);
            let words = (word as u64, (word >> 64) as u64);
            instructions.push(instruction(words, branches, k, line));
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
    use super::BranchEncoding::{Offset48, Offset56};
    use super::*;

    /// Words that ptxas 13.0 wrote for sm_90, as NVIDIA's disassembler reads them.
    #[test]
    fn instructions_are_read() {
        // DFMA R10, R2, R10, R2
        let i = instruction((0x0000000a020a722b, 0x000fd00000000002), Offset56, 14, 3);
        assert_eq!((i.kind, i.stall_clocks, i.wait_mask), (Kind::F64, 8, 0));
        assert!(i.is_float_arithmetic && i.is_unpredicated && i.is_three_register_f64);
        // LDG.E.64 R8, [R8.64], waits for barrier 2 and sets it
        let i = instruction((0x0000000408087981, 0x004ea2000c1e1b00), Offset56, 7, 3);
        assert_eq!(
            (i.kind, i.result_barrier, i.wait_mask, i.bytes),
            (Kind::Load, 2, 4, 8.0)
        );
        // @P0 BRA, forward by six; @!P1 BRA, back to 6
        let i = instruction((0x0000000000180947, 0x000fea0001000000), Offset56, 23, 3);
        assert_eq!(
            (i.kind, i.branch_target, i.is_unpredicated),
            (Kind::Branch, Some(30), false)
        );
        let i = instruction((0xfffffffc00909947, 0x000fea000383ffff), Offset56, 33, 3);
        assert_eq!((i.branch_target, i.is_unpredicated), (Some(6), false));
    }

    /// Words that ptxas 13.0 wrote for sm_89: forward from 19 to 307, and a branch to itself.
    #[test]
    fn branches_before_hopper_have_shorter_offsets() {
        let i = instruction((0x000011f000008947, 0x000fea0003800000), Offset48, 19, 3);
        assert_eq!(i.branch_target, Some(307));
        let i = instruction((0xfffffff000007947, 0x000fc0000383ffff), Offset48, 28, 3);
        assert_eq!(i.branch_target, Some(28));
        for (flags, wanted) in [
            (0x4b054b, Offset48),
            (0x560556, Offset48),
            (0x590559, Offset48),
            (0x5a055a, Offset56),
        ] {
            assert_eq!(BranchEncoding::of_binary(flags), wanted, "{flags:x}");
        }
    }

    /// Which pipe each is on was probed on the H200.
    #[test]
    fn kinds_by_opcode() {
        for (op, wanted) in [
            (0x230, Kind::Half),            // HADD2
            (0x435, Kind::TensorHalf),      // HFMA2.MMA
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
    fn products_on_the_tensor_unit_are_arithmetic() {
        assert!(instruction((0x7435, 0), Offset56, 0, 1).is_float_arithmetic);
        assert!(!instruction((0x723e, 0), Offset56, 0, 1).is_float_arithmetic);
    }

    #[test]
    fn what_is_no_binary_is_refused() {
        assert!(read(b"").is_none());
        assert!(read(b"\x7fELF\x02\x01").is_none());
        assert!(read(&[0x7f; 300]).is_none());
    }
}
