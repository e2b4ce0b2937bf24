//! Floating-point arithmetic, conversions and conditions, and what all instructions need.

use super::body::Type;
use super::inputs::half_bits;
use super::writer::Writer;

#[derive(Clone, Copy)]
enum Float {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Fma,
    Absolute,
    Root,
    Extremum,
    Clamp,
    CopySign,
    Round,
    Select,
    Convert,
    Assemble,
}

const FLOAT_PREDICATES: [(usize, &str); 16] = [
    (3, "oeq"),
    (6, "ogt"),
    (6, "oge"),
    (6, "olt"),
    (6, "ole"),
    (3, "one"),
    (3, "ord"),
    (3, "ueq"),
    (4, "ugt"),
    (4, "uge"),
    (4, "ult"),
    (4, "ule"),
    (3, "une"),
    (3, "uno"),
    (1, "true"),
    (1, "false"),
];

impl Writer<'_> {
    /// Writes an instruction with a result of any type and makes the result visible.
    pub(super) fn expression(&mut self) {
        let ty = self.plan.any(&mut self.random);
        self.expression_of(ty);
    }

    /// Writes an instruction of type `ty`, makes the result visible and returns it.
    pub(super) fn expression_of(&mut self, ty: Type) -> String {
        let value = if ty.is_float() {
            self.float_expression(ty)
        } else {
            self.integer_expression()
        };
        self.body.keep(ty, &value);
        value
    }

    /// Writes a floating-point instruction of format `ty` and returns the name of its result.
    pub(super) fn float(&mut self, ty: Type, instruction: &str) -> String {
        self.body.float_instructions += 1;
        self.note(ty);
        self.body.define(instruction)
    }

    /// Notes that the kernel computes with `ty`.
    pub(super) fn note(&mut self, ty: Type) {
        match ty {
            Type::F64 => self.uses.f64 = true,
            Type::F32 => self.uses.f32 = true,
            Type::F16 => self.uses.f16 = true,
            Type::I32 => {}
        }
    }

    /// A call of the function `name` on the given arguments, which it declares.
    pub(super) fn call(
        &mut self,
        name: &str,
        result: Type,
        arguments: &[(Type, String)],
    ) -> String {
        let typed: Vec<(&str, &str)> = arguments
            .iter()
            .map(|(ty, value)| (ty.ir(), value.as_str()))
            .collect();
        self.call_typed(name, result.ir(), &typed)
    }

    /// As [`Writer::call`], with types given by their names in IR.
    pub(super) fn call_typed(
        &mut self,
        name: &str,
        result: &str,
        arguments: &[(&str, &str)],
    ) -> String {
        let types: Vec<&str> = arguments.iter().map(|argument| argument.0).collect();
        self.declarations
            .insert(format!("declare {result} @{name}({})", types.join(", ")));
        let values: Vec<String> = arguments
            .iter()
            .map(|(ty, value)| format!("{ty} {value}"))
            .collect();
        format!("call {result} @{name}({})", values.join(", "))
    }

    /// A call of an intrinsic of the family `llvm.<name>` overloaded on `ty`, result included.
    pub(super) fn intrinsic(&mut self, name: &str, ty: Type, arguments: &[&str]) -> String {
        let arguments: Vec<(&str, &str)> =
            arguments.iter().map(|value| (ty.ir(), *value)).collect();
        let name = format!("llvm.{name}.{}", ty.suffix());
        self.call_typed(&name, ty.ir(), &arguments)
    }

    /// Writes a floating-point intrinsic call and returns the name of its result.
    fn float_intrinsic(&mut self, name: &str, ty: Type, arguments: &[&str]) -> String {
        let call = self.intrinsic(name, ty, arguments);
        self.float(ty, &call)
    }

    /// A visible value of type `ty`, or a constant if there is none.
    pub(super) fn value(&mut self, ty: Type) -> String {
        match self.body.pick(&mut self.random, ty) {
            Some(value) => value,
            None => self.constant(ty),
        }
    }

    /// A visible value of type `ty`, or a constant now and then.
    pub(super) fn operand(&mut self, ty: Type) -> String {
        if self.random.chance(12) {
            self.constant(ty)
        } else {
            self.value(ty)
        }
    }

    /// A visible value of type `ty` other than `first` if there is one nearby.
    pub(super) fn other_operand(&mut self, ty: Type, first: &str) -> String {
        for _ in 0..3 {
            let value = self.operand(ty);
            if value != first {
                return value;
            }
        }
        self.constant(ty)
    }

    /// A random constant of type `ty`.
    pub(super) fn constant(&mut self, ty: Type) -> String {
        if ty == Type::I32 {
            let value = match self.random.below(3) {
                0 => self.random.next() as i32,
                1 => self.random.below(64) as i32 - 16,
                _ => 1 << self.random.below(31),
            };
            return value.to_string();
        }
        let value = match self.random.weighted(&[(12, 0), (10, 1), (1, 2)]) {
            0 => self.random.choose(&[
                1.0,
                -1.0,
                0.5,
                2.0,
                -2.0,
                3.0,
                0.25,
                1.5,
                0.1,
                1e-3,
                100.0,
                1e4,
                1.0 / 3.0,
                -0.75,
                0.0,
            ]),
            1 => self.random.unit() * 8.0 - 4.0,
            _ => -0.0,
        };
        float_constant(ty, value)
    }

    fn float_expression(&mut self, ty: Type) -> String {
        let kind = self.random.weighted(&[
            (14, Float::Add),
            (12, Float::Subtract),
            (14, Float::Multiply),
            (6, Float::Divide),
            (3, Float::Negate),
            (12, Float::Fma),
            (3, Float::Absolute),
            (4, Float::Root),
            (5, Float::Extremum),
            (3, Float::Clamp),
            (3, Float::CopySign),
            (5, Float::Round),
            (7, Float::Select),
            (9, Float::Convert),
            (2, Float::Assemble),
        ]);
        let t = ty.ir();
        // Leaf expressions take no operand of their own type.
        match kind {
            Float::Convert => return self.convert(ty),
            Float::Assemble => return self.assemble(ty),
            _ => {}
        }
        let a = self.value(ty);
        match kind {
            Float::Add => self.binary(ty, "fadd", &a),
            Float::Subtract => self.binary(ty, "fsub", &a),
            Float::Multiply => self.binary(ty, "fmul", &a),
            Float::Divide => {
                let mut b = self.other_operand(ty, &a);
                if self.random.chance(55) {
                    b = self.magnitude(ty, &b);
                }
                self.float(ty, &format!("fdiv {t} {a}, {b}"))
            }
            Float::Negate => self.float(ty, &format!("fneg {t} {a}")),
            Float::Fma => {
                let b = self.other_operand(ty, &a);
                let c = self.operand(ty);
                self.float_intrinsic("fma", ty, &[&a, &b, &c])
            }
            Float::Absolute => self.float_intrinsic("fabs", ty, &[&a]),
            Float::Root => {
                let a = if self.random.chance(80) {
                    self.float_intrinsic("fabs", ty, &[&a])
                } else {
                    a
                };
                self.float_intrinsic("sqrt", ty, &[&a])
            }
            Float::Extremum => self.extremum(ty, &a),
            Float::Clamp => {
                let bound = self.random.choose(&[1.0, 3.5, 16.0, 1000.0]);
                self.clamp(ty, &a, bound)
            }
            Float::CopySign => {
                // The sign of a NaN is no part of its value, so none may become the sign of a
                // number.
                let sign = self.other_operand(ty, &a);
                let sign = self.without_nan(ty, &sign);
                self.float_intrinsic("copysign", ty, &[&a, &sign])
            }
            Float::Round => {
                let name = self
                    .random
                    .choose(&["floor", "ceil", "trunc", "rint", "nearbyint"]);
                self.float_intrinsic(name, ty, &[&a])
            }
            Float::Select | Float::Convert | Float::Assemble => {
                let condition = self.condition();
                let b = self.other_operand(ty, &a);
                self.float(ty, &format!("select i1 {condition}, {t} {a}, {t} {b}"))
            }
        }
    }

    fn binary(&mut self, ty: Type, operation: &str, a: &str) -> String {
        let b = self.other_operand(ty, a);
        self.float(ty, &format!("{operation} {} {a}, {b}", ty.ir()))
    }

    fn extremum(&mut self, ty: Type, a: &str) -> String {
        let name = self.random.choose(&["minnum", "maxnum"]);
        let b = self.other_operand(ty, a);
        let value = self.float_intrinsic(name, ty, &[a, &b]);
        // Which of two zeros of unlike sign comes out is not fixed; the sum makes either +0.
        let zero = float_constant(ty, 0.0);
        self.float(ty, &format!("fadd {} {value}, {zero}", ty.ir()))
    }

    /// `value` limited to magnitudes up to `bound`; a NaN becomes a bound.
    pub(super) fn clamp(&mut self, ty: Type, value: &str, bound: f64) -> String {
        // Neither bound is a zero, so the sign of the result is fixed.
        let low = float_constant(ty, -bound);
        let high = float_constant(ty, bound);
        let value = self.float_intrinsic("maxnum", ty, &[value, &low]);
        self.float_intrinsic("minnum", ty, &[&value, &high])
    }

    /// The magnitude of `value` plus a small constant.
    pub(super) fn magnitude(&mut self, ty: Type, value: &str) -> String {
        let value = self.float_intrinsic("fabs", ty, &[value]);
        let least = self.random.choose(&[0.5, 0.01, 1.0]);
        let least = float_constant(ty, least);
        self.float(ty, &format!("fadd {} {value}, {least}", ty.ir()))
    }

    /// `value`, or a constant where it is a NaN.
    pub(super) fn without_nan(&mut self, ty: Type, value: &str) -> String {
        if !value.starts_with('%') {
            // No constant is a NaN.
            return value.to_owned();
        }
        let t = ty.ir();
        let zero = float_constant(ty, 0.0);
        let substitute = float_constant(ty, self.random.choose(&[1.0, -1.0, 0.5]));
        let nan = self.float(ty, &format!("fcmp uno {t} {value}, {zero}"));
        self.body
            .define(&format!("select i1 {nan}, {t} {substitute}, {t} {value}"))
    }

    /// The bits of `value` as one `i32`, NaNs replaced; the halves of a double are mixed.
    pub(super) fn bits(&mut self, ty: Type, value: &str) -> String {
        let value = self.without_nan(ty, value);
        match ty {
            Type::F64 => {
                let (low, high) = self.halves(&value);
                let turned = self.body.define(&format!("mul i32 {high}, -1640531527"));
                self.body.define(&format!("xor i32 {low}, {turned}"))
            }
            Type::F32 => self.body.define(&format!("bitcast float {value} to i32")),
            _ => {
                let short = self.body.define(&format!("bitcast half {value} to i16"));
                let extension = self.random.choose(&["zext", "sext"]);
                self.body.define(&format!("{extension} i16 {short} to i32"))
            }
        }
    }

    /// The low and high 32 bits of a double that is no NaN.
    pub(super) fn halves(&mut self, value: &str) -> (String, String) {
        let wide = self.body.define(&format!("bitcast double {value} to i64"));
        let low = self.body.define(&format!("trunc i64 {wide} to i32"));
        let high = self.body.define(&format!("lshr i64 {wide}, 32"));
        let high = self.body.define(&format!("trunc i64 {high} to i32"));
        (low, high)
    }

    /// The double of which these are the low and high 32 bits.
    pub(super) fn join(&mut self, low: &str, high: &str) -> String {
        let low = self.body.define(&format!("zext i32 {low} to i64"));
        let high = self.body.define(&format!("zext i32 {high} to i64"));
        let high = self.body.define(&format!("shl i64 {high}, 32"));
        let wide = self.body.define(&format!("or i64 {low}, {high}"));
        self.body.define(&format!("bitcast i64 {wide} to double"))
    }

    /// A value of format `ty` converted from another type.
    fn convert(&mut self, ty: Type) -> String {
        let sources: Vec<Type> = self
            .plan
            .floats
            .iter()
            .copied()
            .filter(|&from| from != ty)
            .collect();
        let t = ty.ir();
        if sources.is_empty() || self.random.chance(35) {
            let mut value = self.value(Type::I32);
            if self.random.chance(if ty == Type::F16 { 75 } else { 40 }) {
                value = self.body.define(&format!("and i32 {value}, 2047"));
            }
            let operation = self.random.choose(&["sitofp", "uitofp"]);
            return self.float(ty, &format!("{operation} i32 {value} to {t}"));
        }
        let from = self.random.choose(&sources);
        self.note(from);
        let value = self.value(from);
        let operation = if from.bytes() > ty.bytes() {
            "fptrunc"
        } else {
            "fpext"
        };
        self.float(ty, &format!("{operation} {} {value} to {t}", from.ir()))
    }

    /// A finite value of format `ty` put together from the bits of an integer.
    fn assemble(&mut self, ty: Type) -> String {
        self.note(ty);
        let source = self.value(Type::I32);
        // The first mask leaves the sign, the significand and the low exponent bits; the second
        // sets exponent bits such that the field is neither zero nor that of infinities and NaNs.
        match ty {
            Type::F64 => {
                let second = self.value(Type::I32);
                let high = self.masked("i32", &second, 0x80ff_ffff_u32 as i32, 0x3f80_0000);
                self.join(&source, &high)
            }
            Type::F32 => {
                let value = self.masked("i32", &source, 0x83ff_ffff_u32 as i32, 0x3f00_0000);
                self.body.define(&format!("bitcast i32 {value} to float"))
            }
            _ => {
                let value = self.body.define(&format!("trunc i32 {source} to i16"));
                let value = self.masked("i16", &value, i32::from(0x9bff_u16 as i16), 0x2000);
                self.body.define(&format!("bitcast i16 {value} to half"))
            }
        }
    }

    fn masked(&mut self, integer: &str, value: &str, and: i32, or: i32) -> String {
        let value = self.body.define(&format!("and {integer} {value}, {and}"));
        self.body.define(&format!("or {integer} {value}, {or}"))
    }

    /// A condition on visible values.
    pub(super) fn condition(&mut self) -> String {
        match self.random.weighted(&[(60, 0), (25, 1), (15, 2)]) {
            0 => {
                let ty = self.plan.float(&mut self.random);
                let a = self.value(ty);
                let b = self.other_operand(ty, &a);
                let predicate = self.random.weighted(&FLOAT_PREDICATES);
                self.float(ty, &format!("fcmp {predicate} {} {a}, {b}", ty.ir()))
            }
            1 => {
                let a = self.value(Type::I32);
                self.integer_condition(&a)
            }
            _ => {
                let a = self.condition();
                let b = self.condition();
                let operation = self.random.choose(&["and", "or", "xor"]);
                self.body.define(&format!("{operation} i1 {a}, {b}"))
            }
        }
    }
}

/// The text of `value` as a constant of format `ty`, by its bits.
pub(super) fn float_constant(ty: Type, value: f64) -> String {
    match ty {
        Type::F64 => format!("0x{:016X}", value.to_bits()),
        // IR writes a float as the double of the same value.
        Type::F32 => format!("0x{:016X}", f64::from(value as f32).to_bits()),
        _ => format!("0xH{:04X}", half_bits(value)),
    }
}
