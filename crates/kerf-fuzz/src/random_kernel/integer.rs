//! Integer arithmetic and conversions to integers.

use super::body::Type;
use super::writer::Writer;

#[derive(Clone, Copy)]
enum Integer {
    Binary,
    Shift,
    Divide,
    Intrinsic,
    FunnelShift,
    Select,
    FromFloat,
    FloatBits,
    FromCondition,
}

const INTEGER_PREDICATES: [&str; 10] = [
    "eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle",
];

impl Writer<'_> {
    /// A comparison of the integer `a` with a small constant or with another value.
    pub(super) fn integer_condition(&mut self, a: &str) -> String {
        let predicate = self.random.choose(&INTEGER_PREDICATES);
        if self.random.chance(40) {
            // Single bits split the threads about evenly whatever the magnitudes are.
            let bit = 1 << self.random.below(4);
            let masked = self.body.define(&format!("and i32 {a}, {bit}"));
            return self.body.define(&format!("icmp ne i32 {masked}, 0"));
        }
        let b = self.other_operand(Type::I32, a);
        self.body.define(&format!("icmp {predicate} i32 {a}, {b}"))
    }

    /// Writes an instruction of type `i32` and returns the name of its result.
    pub(super) fn integer_expression(&mut self) -> String {
        let kind = self.random.weighted(&[
            (26, Integer::Binary),
            (12, Integer::Shift),
            (8, Integer::Divide),
            (10, Integer::Intrinsic),
            (4, Integer::FunnelShift),
            (8, Integer::Select),
            (18, Integer::FromFloat),
            (8, Integer::FloatBits),
            (6, Integer::FromCondition),
        ]);
        match kind {
            Integer::FromFloat => return self.integer_from_float(),
            Integer::FloatBits => {
                let ty = self.plan.float(&mut self.random);
                let value = self.value(ty);
                return self.bits(ty, &value);
            }
            Integer::FromCondition => {
                let condition = self.condition();
                let extension = self.random.choose(&["zext", "sext"]);
                return self
                    .body
                    .define(&format!("{extension} i1 {condition} to i32"));
            }
            _ => {}
        }
        let a = self.value(Type::I32);
        let b = self.other_operand(Type::I32, &a);
        match kind {
            Integer::Shift => {
                let operation = self.random.choose(&["shl", "lshr", "ashr"]);
                let amount = self.body.define(&format!("and i32 {b}, 31"));
                self.body.define(&format!("{operation} i32 {a}, {amount}"))
            }
            Integer::Divide => {
                let operation = self.random.choose(&["udiv", "urem", "sdiv", "srem"]);
                // A small odd divisor: neither zero nor -1, which overflows on the least integer.
                let divisor = self.body.define(&format!("and i32 {b}, 1023"));
                let divisor = self.body.define(&format!("or i32 {divisor}, 1"));
                self.body.define(&format!("{operation} i32 {a}, {divisor}"))
            }
            Integer::Intrinsic => self.integer_intrinsic(&a, &b),
            Integer::FunnelShift => {
                let name = self.random.choose(&["fshl", "fshr"]);
                let c = self.operand(Type::I32);
                let call = self.intrinsic(name, Type::I32, &[&a, &b, &c]);
                self.body.define(&call)
            }
            Integer::Select => {
                let condition = self.condition();
                self.body
                    .define(&format!("select i1 {condition}, i32 {a}, i32 {b}"))
            }
            _ => {
                let operation = self
                    .random
                    .choose(&["add", "sub", "mul", "and", "or", "xor"]);
                self.body.define(&format!("{operation} i32 {a}, {b}"))
            }
        }
    }

    fn integer_intrinsic(&mut self, a: &str, b: &str) -> String {
        let call = match self.random.below(3) {
            0 => {
                let name = self.random.choose(&["smin", "smax", "umin", "umax"]);
                self.intrinsic(name, Type::I32, &[a, b])
            }
            1 => {
                let name = self.random.choose(&["ctpop", "bitreverse", "bswap"]);
                self.intrinsic(name, Type::I32, &[a])
            }
            _ => {
                // The flag says that the extreme argument gives a number and no poison.
                let name = self.random.choose(&["ctlz", "cttz", "abs"]);
                let name = format!("llvm.{name}.i32");
                self.call_typed(&name, "i32", &[("i32", a), ("i1", "false")])
            }
        };
        self.body.define(&call)
    }

    /// An integer converted from a float by an instruction defined for every argument.
    fn integer_from_float(&mut self) -> String {
        let ty = self.plan.float(&mut self.random);
        let value = self.value(ty);
        let name = if ty != Type::F16 && self.random.chance(50) {
            let letter = if ty == Type::F64 { "d" } else { "f" };
            let target = self.random.choose(&["i", "ui"]);
            let rounding = self
                .random
                .weighted(&[(6, "rz"), (2, "rn"), (1, "rm"), (1, "rp")]);
            format!("llvm.nvvm.{letter}2{target}.{rounding}")
        } else {
            let target = self.random.choose(&["fptosi", "fptoui"]);
            format!("llvm.{target}.sat.i32.{}", ty.suffix())
        };
        let call = self.call(&name, Type::I32, &[(ty, value)]);
        self.float(ty, &call)
    }
}
