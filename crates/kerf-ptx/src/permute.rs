//! `prmt`: four bytes picked from eight.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, Value};

/// Selectors of the named modes, by the low two bits of the third operand.
const MODES: [(&str, [u64; 4]); 6] = [
    ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
    ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
    ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
    ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
    ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
    ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
];

impl Lifter {
    /// `prmt`
    pub fn permute(&mut self, i: &mut Instruction) -> Lifted<()> {
        let mode = MODES
            .iter()
            .find(|(n, _)| i.flag(n))
            .map(|(_, table)| table);
        let ty = i.ty()?;
        i.arity(4)?;
        if ty != Ty::Bits(32) {
            return i.unsupported();
        }
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let selector = self.read(&i.operand(3)?, ty)?;
        let selector = match mode {
            Some(table) => self.by_mode(table, selector),
            None => selector,
        };
        let v = match selector.const_int() {
            Some(s) => self.permute_by(x, y, s),
            None => self.permute_any(x, y, selector),
        };
        self.write(&i.operand(0)?, v, false)
    }

    fn by_mode(&self, table: &[u64; 4], which: Value) -> Value {
        let which = self.b.and(which, self.int_constant(32, 3));
        if let Some(k) = which.const_int() {
            return self.int_constant(32, table[(k & 3) as usize]);
        }
        let last = self.int_constant(32, table[3]);
        (0..3).fold(last, |rest, k| {
            let here = self
                .b
                .icmp(IntPred::LLVMIntEQ, which, self.int_constant(32, k));
            self.b
                .select(here, self.int_constant(32, table[k as usize]), rest)
        })
    }

    /// A known selector: plain moves of bytes.
    fn permute_by(&self, x: Value, y: Value, selector: u64) -> Value {
        let byte = self.b.int_ty(8);
        let bytes = byte.vector(4);
        let (x, y) = (self.b.bitcast(x, bytes), self.b.bitcast(y, bytes));
        let picked = (0..4).fold(bytes.poison(), |all, k| {
            let s = (selector >> (4 * k)) as u32 & 15;
            let v = self.b.lane(if s & 4 == 0 { x } else { y }, s & 3);
            // The fourth bit of a selector asks for copies of the byte's sign.
            let v = if s & 8 == 0 {
                v
            } else {
                self.b.bin(Opcode::LLVMAShr, v, byte.int(7))
            };
            self.b.set_lane(all, v, k)
        });
        self.b.bitcast(picked, self.b.int_ty(32))
    }

    fn permute_any(&self, x: Value, y: Value, selector: Value) -> Value {
        let (b, wide) = (&self.b, self.b.int_ty(64));
        let upper = b.shl(b.zext_or_trunc(y, wide), wide.int(32));
        let pool = b.or(upper, b.zext_or_trunc(x, wide));
        let selector = b.zext_or_trunc(selector, wide);
        let byte = b.int_ty(8);
        let picked = (0..4u32).fold(byte.vector(4).poison(), |all, k| {
            let s = b.lshr(selector, wide.int(u64::from(4 * k)));
            let shift = b.shl(b.and(s, wide.int(7)), wide.int(3));
            let v = b.zext_or_trunc(b.lshr(pool, shift), byte);
            let sign = b.bin(Opcode::LLVMAShr, v, byte.int(7));
            let signed = b.icmp(IntPred::LLVMIntNE, b.and(s, wide.int(8)), wide.zero());
            b.set_lane(all, b.select(signed, sign, v), k)
        });
        b.bitcast(picked, b.int_ty(32))
    }
}
