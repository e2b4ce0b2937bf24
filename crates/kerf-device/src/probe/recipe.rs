//! How each operation of the catalogue is written in a probe, and which machine instruction it is
//! planned to be.
//!
//! A probe carries one value along. Where an operation maps its domain into itself the next one takes
//! its result as it is (*direct*); otherwise the result goes through `base ^ (result & mask)` with a
//! mask that is zero at run time, which no compiler knows (*masked*): every call then has the same
//! argument and still waits for the last.
mod conversion;
mod function;
mod memory;

use crate::operation::{FunctionVariant, Operation, OperationClass};
pub use conversion::round_trip;

/// The type in which a probe carries its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// `half` and `bfloat` in inline PTX.
    I16,
    /// 32-bit integers, packed halves, addresses in shared memory.
    I32,
    /// 64-bit integers and addresses.
    I64,
    /// `half` as LLVM knows it.
    Half,
    /// `bfloat` as LLVM knows it.
    Bfloat,
    /// f32.
    F32,
    /// f64.
    F64,
    /// A double word of f32.
    Dw32,
    /// A double word of f64.
    Dw64,
}

impl Carrier {
    /// In LLVM's words.
    pub fn ty(self) -> &'static str {
        match self {
            Carrier::I16 => "i16",
            Carrier::I32 => "i32",
            Carrier::I64 => "i64",
            Carrier::Half => "half",
            Carrier::Bfloat => "bfloat",
            Carrier::F32 => "float",
            Carrier::F64 => "double",
            Carrier::Dw32 => "<2 x float>",
            Carrier::Dw64 => "<2 x double>",
        }
    }
    /// The integer of the same size.
    pub fn bits(self) -> &'static str {
        match self {
            Carrier::I16 | Carrier::Half | Carrier::Bfloat => "i16",
            Carrier::I32 | Carrier::F32 => "i32",
            Carrier::I64 | Carrier::F64 | Carrier::Dw32 => "i64",
            Carrier::Dw64 => "i128",
        }
    }
    /// Size in bits.
    pub fn width(self) -> u32 {
        match self.bits() {
            "i16" => 16,
            "i32" => 32,
            "i64" => 64,
            _ => 128,
        }
    }
    /// Constraint letter of inline PTX.
    fn letter(self) -> char {
        match self {
            Carrier::I16 | Carrier::Half | Carrier::Bfloat => 'h',
            Carrier::I32 => 'r',
            Carrier::I64 => 'l',
            Carrier::F32 => 'f',
            _ => 'd',
        }
    }
}

/// What numbers a probe computes with; decides how they are written into its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeNumbers {
    /// f16, also packed twice.
    F16,
    /// bf16, also packed twice.
    Bf16,
    /// f32.
    F32,
    /// f64.
    F64,
    /// Double word of f32.
    Dw32,
    /// Double word of f64.
    Dw64,
    /// Integers.
    Int,
    /// Addresses that the host fills in.
    Address,
}

/// One way to write a step.
#[derive(Debug, Clone)]
pub struct ProbeRecipe {
    /// Type carried.
    pub carrier: Carrier,
    /// Type of the result, where it differs.
    pub result: Carrier,
    /// Numbers in the carrier.
    pub numbers: ProbeNumbers,
    /// The result feeds the next step as it is.
    pub direct: bool,
    /// Otherwise: it goes through a multiply-add of integers instead of a logical operation, where
    /// the latter's unit is the operation's own.
    pub multiplied: bool,
    /// More than one stream would be packed into one instruction by the assembler.
    pub single: bool,
    /// First values: the carried one, then the operands `b` and `c`.
    pub values: [f64; 3],
    /// Lines of IR that compute `%OUT` from `%X` with `%B`, `%C`, `%P` (the step before) and
    /// temporaries that begin with `%T`; even and odd steps.
    pub steps: [String; 2],
    /// Functions to declare.
    pub declares: Vec<String>,
    /// Results of one operation: 2 where packed.
    pub results: f64,
    /// Opcodes planned for one operation, by prefix; empty when the expansion is the assembler's
    /// own affair and only recorded.
    pub planned: Vec<(&'static str, f64)>,
    /// Operations unrolled in a loop's body, before division by the number of streams.
    pub unroll: usize,
    /// The double-word library is needed.
    pub library: bool,
}

impl ProbeRecipe {
    /// Words of a register that feeding the next step goes through.
    pub fn fed_words(&self) -> u32 {
        self.carrier.width().min(self.result.width()).div_ceil(32)
    }
}

/// `%OUT = asm(...)` over operands.
fn asm(text: &str, result: Carrier, operands: &[(Carrier, &str)]) -> String {
    let mut constraints = format!("={}", result.letter());
    let mut args = Vec::new();
    for (c, name) in operands {
        constraints.push(',');
        constraints.push(c.letter());
        args.push(format!("{} {name}", c.ty()));
    }
    format!(
        "%OUT = call {} asm \"{text}\", \"{constraints}\"({})",
        result.ty(),
        args.join(", ")
    )
}

fn same(step: String) -> [String; 2] {
    [step.clone(), step]
}

fn native(format: &str) -> Option<(Carrier, ProbeNumbers, &'static str)> {
    Some(match format {
        "f16" => (Carrier::I16, ProbeNumbers::F16, "f16"),
        "bf16" => (Carrier::I16, ProbeNumbers::Bf16, "bf16"),
        "f16x2" => (Carrier::I32, ProbeNumbers::F16, "f16x2"),
        "bf16x2" => (Carrier::I32, ProbeNumbers::Bf16, "bf16x2"),
        "f32" => (Carrier::F32, ProbeNumbers::F32, "f32"),
        "f64" => (Carrier::F64, ProbeNumbers::F64, "f64"),
        "i32" => (Carrier::I32, ProbeNumbers::Int, "s32"),
        "i64" => (Carrier::I64, ProbeNumbers::Int, "s64"),
        _ => return None,
    })
}

/// Long enough that the loop around it costs under 1 %.
const NATIVE_UNROLL: usize = 512;

fn arithmetic(o: &Operation) -> Option<ProbeRecipe> {
    let (c, numbers, ty) = native(o.format)?;
    let x = (c, "%X");
    let (b, cc, p) = ((c, "%B"), (c, "%C"), (c, "%P"));
    let two = |name: &str, other| asm(&format!("{name}.{ty} $0, $1, $2;"), c, &[x, other]);
    let three = |name: &str| asm(&format!("{name}.{ty} $0, $1, $2, $3;"), c, &[x, b, cc]);
    let float = numbers != ProbeNumbers::Int;
    // Sums of a constant would be folded for integers; each step adds the one before instead.
    let steps = match (o.function, float) {
        ("add", true) => same(two("add.rn", b)),
        ("add", false) => same(two("add", p)),
        ("mul", true) => same(two("mul.rn", b)),
        ("mul", false) => same(two("mul.lo", b)),
        // Two registers, not three: the register file's ports are not what is measured.
        ("fma", true) => [b, cc].map(|k| asm(&format!("fma.rn.{ty} $0, $1, $2, $1;"), c, &[x, k])),
        ("fma", false) => same(three("mad.lo")),
        ("min", _) => [two("min", b), two("max", cc)],
        // A choice of bits, which cannot be folded with itself.
        ("logic", _) => same(asm("lop3.b32 $0, $1, $2, $3, 0x6a;", c, &[x, b, cc])),
        _ => return None,
    };
    let half = matches!(numbers, ProbeNumbers::F16 | ProbeNumbers::Bf16);
    let planned = match (o.function, o.format) {
        ("add", "f32") => vec![("FADD", 1.0)],
        ("mul", "f32") => vec![("FMUL", 1.0)],
        ("fma", "f32") => vec![("FFMA", 1.0)],
        ("min", "f32") => vec![("FMNMX", 1.0)],
        ("add", "f64") => vec![("DADD", 1.0)],
        ("mul", "f64") => vec![("DMUL", 1.0)],
        ("fma", "f64") => vec![("DFMA", 1.0)],
        ("min", "f64") => vec![],
        ("min", _) if half => vec![("HMNMX2", 1.0)],
        // The assembler may write a product or a sum as a multiply-add.
        (_, _) if half => vec![("H", 1.0)],
        ("add", "i32") => vec![("I", 1.0)],
        ("logic", _) => vec![("LOP3", 1.0)],
        ("mul" | "fma", "i32") => vec![("IMAD", 1.0)],
        _ => vec![],
    };
    Some(ProbeRecipe {
        carrier: c,
        result: c,
        numbers,
        direct: true,
        multiplied: false,
        single: matches!(o.format, "f16" | "bf16"),
        values: match (o.function, float) {
            ("mul", _) => [1.25, 1.0, 0.0],
            // Up and down again: the value neither grows nor settles.
            ("fma", true) => [0.75, 0.0625, -0.0625 / 1.0625],
            ("min", _) => [0.5, 1.5, 0.25],
            _ => [1.0, 0.015625, 0.0],
        },
        steps,
        declares: vec![],
        results: if o.format.ends_with("x2") { 2.0 } else { 1.0 },
        planned,
        unroll: NATIVE_UNROLL,
        library: false,
    })
}

fn double_word(o: &Operation) -> Option<ProbeRecipe> {
    let (c, numbers) = match o.format {
        "dw32" => (Carrier::Dw32, ProbeNumbers::Dw32),
        "dw64" => (Carrier::Dw64, ProbeNumbers::Dw64),
        _ => return None,
    };
    let name = format!(
        "kerf_{}_{}{}",
        o.format,
        o.function,
        if o.variant == FunctionVariant::Cmp {
            "_cmp"
        } else {
            ""
        }
    );
    let t = c.ty();
    let args = match o.function {
        "fma" => 3,
        "sqrt" | "exp" | "log" | "sin" | "cos" => 1,
        _ => 2,
    };
    // A fixed divisor's reciprocal would be taken out of the loop.
    let operands = match o.function {
        "div" => ["%B", "%X", "%C"],
        _ => ["%X", "%B", "%C"],
    };
    let call = operands[..args]
        .iter()
        .map(|a| format!("{t} {a}"))
        .collect::<Vec<_>>()
        .join(", ");
    let declare = format!("declare {t} @{name}({})", vec![t; args].join(", "));
    let direct = args > 1 || o.function == "sqrt";
    Some(ProbeRecipe {
        carrier: c,
        result: c,
        numbers,
        direct,
        multiplied: false,
        single: false,
        values: match o.function {
            "mul" => [1.25, 1.0, 0.0],
            "div" => [1.25, 1.5, 0.0],
            "fma" => [0.75, 0.5, 0.5],
            "min" => [0.5, 1.5, 0.25],
            "add" => [1.0, 0.015625, 0.0],
            _ => [0.7, 0.0, 0.0],
        },
        steps: same(format!("%OUT = call {t} @{name}({call})")),
        declares: vec![declare],
        results: 1.0,
        planned: vec![],
        unroll: if o.class == OperationClass::Arithmetic {
            32
        } else {
            8
        },
        library: true,
    })
}

/// The recipe of an operation; none for what is not measured by a probe.
pub fn recipe(o: &Operation) -> Option<ProbeRecipe> {
    match o.class {
        _ if o.format.starts_with("dw") => double_word(o),
        OperationClass::Arithmetic => arithmetic(o),
        OperationClass::Function => function::function(o),
        OperationClass::Conversion => conversion::conversion(o),
        OperationClass::Select => conversion::select(o),
        OperationClass::Memory => memory::memory(o),
    }
}
