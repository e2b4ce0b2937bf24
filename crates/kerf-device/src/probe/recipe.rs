//! How each operation of the catalogue is written in a probe, and which machine instruction it is
//! planned to be.
//!
//! A probe carries one value along. Where an operation maps its domain into itself the next one takes
//! its result as it is (*direct*); otherwise the result goes through `base ^ (result & mask)` with a
//! mask that is zero at run time, which no compiler knows (*masked*): every call then has the same
//! argument and still waits for the last.
use crate::operation::{Class, Operation, Variant};

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
pub enum Numbers {
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
pub struct Recipe {
    /// Type carried.
    pub carrier: Carrier,
    /// Type of the result, where it differs.
    pub result: Carrier,
    /// Numbers in the carrier.
    pub numbers: Numbers,
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

fn native(format: &str) -> Option<(Carrier, Numbers, &'static str)> {
    Some(match format {
        "f16" => (Carrier::I16, Numbers::F16, "f16"),
        "bf16" => (Carrier::I16, Numbers::Bf16, "bf16"),
        "f16x2" => (Carrier::I32, Numbers::F16, "f16x2"),
        "bf16x2" => (Carrier::I32, Numbers::Bf16, "bf16x2"),
        "f32" => (Carrier::F32, Numbers::F32, "f32"),
        "f64" => (Carrier::F64, Numbers::F64, "f64"),
        "i32" => (Carrier::I32, Numbers::Int, "s32"),
        "i64" => (Carrier::I64, Numbers::Int, "s64"),
        _ => return None,
    })
}

/// Long enough that the loop around it costs under 1 %.
const NATIVE_UNROLL: usize = 512;

fn arithmetic(o: &Operation) -> Option<Recipe> {
    let (c, numbers, ty) = native(o.format)?;
    let x = (c, "%X");
    let (b, cc, p) = ((c, "%B"), (c, "%C"), (c, "%P"));
    let two = |name: &str, other| asm(&format!("{name}.{ty} $0, $1, $2;"), c, &[x, other]);
    let three = |name: &str| asm(&format!("{name}.{ty} $0, $1, $2, $3;"), c, &[x, b, cc]);
    let float = numbers != Numbers::Int;
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
    let half = matches!(numbers, Numbers::F16 | Numbers::Bf16);
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
    Some(Recipe {
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

fn double_word(o: &Operation) -> Option<Recipe> {
    let (c, numbers) = match o.format {
        "dw32" => (Carrier::Dw32, Numbers::Dw32),
        "dw64" => (Carrier::Dw64, Numbers::Dw64),
        _ => return None,
    };
    let name = format!(
        "kerf_{}_{}{}",
        o.format,
        o.function,
        if o.variant == Variant::Cmp {
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
    Some(Recipe {
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
        unroll: if o.class == Class::Arithmetic { 32 } else { 8 },
        library: true,
    })
}

/// libdevice's function, of the f32 kind with an `f` behind.
fn libdevice(o: &Operation, c: Carrier) -> (String, String) {
    let suffix = if c == Carrier::F32 { "f" } else { "" };
    let t = c.ty();
    let f = o.function;
    if f == "pow" {
        (
            format!("%OUT = call {t} @__nv_pow{suffix}({t} %X, {t} %B)"),
            format!("declare {t} @__nv_pow{suffix}({t}, {t})"),
        )
    } else {
        (
            format!("%OUT = call {t} @__nv_{f}{suffix}({t} %X)"),
            format!("declare {t} @__nv_{f}{suffix}({t})"),
        )
    }
}

/// One inline PTX line after another, in one block with registers of its own.
fn block(c: Carrier, operands: &[(Carrier, &str)], registers: &str, lines: &str) -> String {
    asm(&format!("{{ {registers} {lines} }}"), c, operands)
}

fn function(o: &Operation) -> Option<Recipe> {
    let f32_ = Carrier::F32;
    let f64_ = Carrier::F64;
    let sfu = o.variant == Variant::Sfu;
    let (c, numbers) = match o.format {
        "f32" => (f32_, Numbers::F32),
        "f64" => (f64_, Numbers::F64),
        "f16" if sfu => (Carrier::I16, Numbers::F16),
        "bf16" if sfu => (Carrier::I16, Numbers::Bf16),
        "f16" => (Carrier::Half, Numbers::F16),
        "bf16" => (Carrier::Bfloat, Numbers::Bf16),
        _ => return None,
    };
    let (x, b) = ((c, "%X"), (c, "%B"));
    let mut declares = Vec::new();
    let mut planned = Vec::new();
    let step = match (o.function, o.format, sfu) {
        ("div", "f32", false) => asm("div.rn.f32 $0, $1, $2;", c, &[b, x]),
        ("div", "f32", true) => {
            planned = vec![("MUFU.RCP", 1.0)];
            asm("div.approx.ftz.f32 $0, $1, $2;", c, &[b, x])
        }
        ("rcp", "f32", false) => asm("rcp.rn.f32 $0, $1;", c, &[x]),
        ("sqrt", "f32", false) => asm("sqrt.rn.f32 $0, $1;", c, &[x]),
        ("rsqrt", "f32", false) => block(
            c,
            &[x],
            ".reg .f32 t;",
            "sqrt.rn.f32 t, $1; rcp.rn.f32 $0, t;",
        ),
        ("rcp", "f32", true) => {
            planned = vec![("MUFU.RCP", 1.0)];
            asm("rcp.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("sqrt", "f32", true) => asm("sqrt.approx.ftz.f32 $0, $1;", c, &[x]),
        ("rsqrt", "f32", true) => {
            planned = vec![("MUFU.RSQ", 1.0)];
            asm("rsqrt.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("sin", "f32", true) => {
            planned = vec![("MUFU.SIN", 1.0)];
            asm("sin.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("cos", "f32", true) => {
            planned = vec![("MUFU.COS", 1.0)];
            asm("cos.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("tan", "f32", true) => block(
            c,
            &[x],
            ".reg .f32 s, t;",
            "sin.approx.ftz.f32 s, $1; cos.approx.ftz.f32 t, $1; div.approx.ftz.f32 $0, s, t;",
        ),
        ("tanh", "f32", true) => {
            planned = vec![("MUFU.TANH", 1.0)];
            asm("tanh.approx.f32 $0, $1;", c, &[x])
        }
        ("exp2", "f32", true) => {
            planned = vec![("MUFU.EX2", 1.0)];
            asm("ex2.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("log2", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0)];
            asm("lg2.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("exp", "f32", true) => {
            planned = vec![("MUFU.EX2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x],
                ".reg .f32 t;",
                "mul.rn.ftz.f32 t, $1, 0f3FB8AA3B; ex2.approx.ftz.f32 $0, t;",
            )
        }
        ("log", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x],
                ".reg .f32 t;",
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 $0, t, 0f3F317218;",
            )
        }
        ("pow", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0), ("MUFU.EX2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x, b],
                ".reg .f32 t;",
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 t, t, $2; ex2.approx.ftz.f32 $0, t;",
            )
        }
        ("div", "f64", false) => asm("div.rn.f64 $0, $1, $2;", c, &[b, x]),
        ("rcp", "f64", false) => asm("rcp.rn.f64 $0, $1;", c, &[x]),
        ("sqrt", "f64", false) => asm("sqrt.rn.f64 $0, $1;", c, &[x]),
        ("rsqrt", "f64", false) => block(
            c,
            &[x],
            ".reg .f64 t;",
            "sqrt.rn.f64 t, $1; rcp.rn.f64 $0, t;",
        ),
        ("rcp", "f64", true) => {
            planned = vec![("MUFU.RCP64H", 1.0)];
            asm("rcp.approx.ftz.f64 $0, $1;", c, &[x])
        }
        ("rsqrt", "f64", true) => {
            planned = vec![("MUFU.RSQ64H", 1.0)];
            asm("rsqrt.approx.ftz.f64 $0, $1;", c, &[x])
        }
        ("div", "f64", true) => {
            planned = vec![("MUFU.RCP64H", 1.0), ("DMUL", 1.0)];
            block(
                c,
                &[b, x],
                ".reg .f64 t;",
                "rcp.approx.ftz.f64 t, $2; mul.rn.f64 $0, t, $1;",
            )
        }
        ("sqrt", "f64", true) => {
            planned = vec![("MUFU.RSQ64H", 1.0), ("MUFU.RCP64H", 1.0)];
            block(
                c,
                &[x],
                ".reg .f64 t;",
                "rsqrt.approx.ftz.f64 t, $1; rcp.approx.ftz.f64 $0, t;",
            )
        }
        ("exp2", "f16", true) => asm("ex2.approx.f16 $0, $1;", c, &[x]),
        ("tanh", "f16", true) => asm("tanh.approx.f16 $0, $1;", c, &[x]),
        ("exp2", "bf16", true) => asm("ex2.approx.ftz.bf16 $0, $1;", c, &[x]),
        ("tanh", "bf16", true) => asm("tanh.approx.bf16 $0, $1;", c, &[x]),
        ("div", "f16" | "bf16", false) => {
            let t = c.ty();
            format!(
                "%Ta = fpext {t} %X to float\n  %Tb = fpext {t} %B to float\n  %Tc = call float asm \"div.rn.f32 $0, $1, $2;\", \"=f,f,f\"(float %Tb, float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
            )
        }
        ("sqrt", "f16" | "bf16", false) => {
            let t = c.ty();
            format!(
                "%Ta = fpext {t} %X to float\n  %Tc = call float asm \"sqrt.rn.f32 $0, $1;\", \"=f,f\"(float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
            )
        }
        (_, "f32" | "f64", false) => {
            let (step, declare) = libdevice(o, c);
            declares.push(declare);
            step
        }
        _ => return None,
    };
    // The divisor is what is carried: the reciprocal of a fixed one would be taken out of the loop.
    let values = match o.function {
        "div" => [1.25, 1.5, 0.0],
        "pow" => [1.5, 1.1, 0.0],
        _ => [0.7, 0.0, 0.0],
    };
    Some(Recipe {
        carrier: c,
        result: c,
        numbers,
        // The assembler knows that the approximate reciprocal undoes itself.
        direct: matches!(o.function, "div" | "sqrt" | "rsqrt" | "cos")
            || o.function == "rcp" && !sfu,
        multiplied: false,
        single: false,
        values,
        steps: same(step),
        declares,
        results: 1.0,
        planned,
        unroll: match (o.format, sfu) {
            (_, true) => 64,
            ("f64", false) if o.function == "pow" => 4,
            _ => 8,
        },
        library: false,
    })
}

fn conversion(o: &Operation) -> Option<Recipe> {
    let (from, numbers, from_ty) = native(o.format)?;
    let (to, _, to_ty) = native(o.to?)?;
    let (a, b) = (o.format, o.to?);
    let narrowing = |f: &str| ["i32", "i64"].contains(&f);
    let rank = |f: &str| ["bf16", "f16", "f32", "f64"].iter().position(|x| *x == f);
    let rounding = if narrowing(b) {
        ".rzi"
    } else if narrowing(a) || rank(b) < rank(a) || (a, b) == ("bf16", "f16") {
        ".rn"
    } else {
        ""
    };
    // A half lies in the lower part of a whole register, as the assembler would have it.
    let narrow = from == Carrier::I16;
    let carrier = if narrow { Carrier::I32 } else { from };
    let cvt = format!("cvt{rounding}.{to_ty}.{from_ty}");
    let text = if narrow {
        format!("{{ .reg .b16 h, u; mov.b32 {{h, u}}, $1; {cvt} $0, h; }}")
    } else {
        format!("{cvt} $0, $1;")
    };
    Some(Recipe {
        carrier,
        result: to,
        numbers,
        direct: false,
        // f16 is widened where integers are multiplied.
        multiplied: carrier.width() == 32 && a != "f16",
        single: false,
        values: [100.7, 0.0, 0.0],
        steps: same(asm(&text, to, &[(carrier, "%X")])),
        declares: vec![],
        results: 1.0,
        planned: vec![],
        unroll: 64,
        library: false,
    })
}

/// There and back in one step, for conversions from 64 bits: what feeds a 64-bit register otherwise
/// holds the converter up.
pub fn round_trip(o: &Operation) -> Option<Recipe> {
    let there = conversion(o)?;
    if there.carrier.width() != 64 {
        return None;
    }
    let back = conversion(&crate::operation::find(&format!(
        "convert.{}.{}",
        o.to?, o.format
    ))?)?;
    let instruction = |r: &Recipe| {
        let text = &r.steps[0];
        let at = text.find("cvt")?;
        text[at..].split(' ').next().map(str::to_owned)
    };
    let c = there.carrier;
    let text = format!(
        "{{ .reg .b{} t; {} t, $1; {} $0, t; }}",
        there.result.width(),
        instruction(&there)?,
        instruction(&back)?
    );
    Some(Recipe {
        result: c,
        direct: true,
        steps: same(asm(&text, c, &[(c, "%X")])),
        ..there
    })
}

fn select(o: &Operation) -> Option<Recipe> {
    let (c, numbers, ty) = native(o.format)?;
    let moved = match c {
        Carrier::I16 => "b16",
        Carrier::F64 => "f64",
        Carrier::F32 => "f32",
        _ => "b32",
    };
    Some(Recipe {
        carrier: c,
        result: c,
        numbers,
        direct: true,
        multiplied: false,
        single: matches!(o.format, "f16" | "bf16"),
        values: [0.5, 1.5, 0.25],
        steps: same(asm(
            &format!("{{ .reg .pred q; setp.lt.{ty} q, $1, $2; selp.{moved} $0, $3, $2, q; }}"),
            c,
            &[(c, "%X"), (c, "%B"), (c, "%C")],
        )),
        declares: vec![],
        results: 1.0,
        planned: vec![],
        unroll: 128,
        library: false,
    })
}

fn memory(o: &Operation) -> Option<Recipe> {
    let address32 = (Carrier::I32, "%X");
    let address64 = (Carrier::I64, "%X");
    let mut direct = true;
    let mut result = None;
    let (carrier, step, planned) = match (o.function, o.format) {
        ("shuffle", _) => (
            Carrier::I32,
            asm(
                "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;",
                Carrier::I32,
                &[address32],
            ),
            vec![("SHFL", 1.0)],
        ),
        ("load", "shared") => (
            Carrier::I32,
            asm("ld.shared.u32 $0, [$1];", Carrier::I32, &[address32]),
            vec![("LDS", 1.0)],
        ),
        ("load", "l1" | "dram") => (
            Carrier::I64,
            asm("ld.global.ca.u64 $0, [$1];", Carrier::I64, &[address64]),
            vec![("LDG", 1.0)],
        ),
        ("load", "l2") => (
            Carrier::I64,
            asm("ld.global.cg.u64 $0, [$1];", Carrier::I64, &[address64]),
            vec![("LDG", 1.0)],
        ),
        ("atomic_add", place) => {
            direct = false;
            let (to, ty) = match o.to? {
                "i32" => (Carrier::I32, "u32"),
                "f32" => (Carrier::F32, "f32"),
                _ => (Carrier::F64, "f64"),
            };
            result = Some(to);
            let one = match o.to? {
                "i32" => "1",
                "f32" => "0f3F800000",
                _ => "0d3FF0000000000000",
            };
            let (c, x) = if place == "shared" {
                (Carrier::I32, address32)
            } else {
                (Carrier::I64, address64)
            };
            // An atomic may not be dropped or moved.
            let text = format!("atom.{place}.add.{ty} $0, [$1], {one};");
            let line = asm(&text, to, &[x]).replace(" asm \"", " asm sideeffect \"");
            (c, line, vec![])
        }
        _ => return None,
    };
    Some(Recipe {
        carrier,
        result: result.unwrap_or(carrier),
        numbers: if o.function == "shuffle" {
            Numbers::Int
        } else {
            Numbers::Address
        },
        direct,
        multiplied: false,
        single: false,
        values: [1.0, 0.0, 0.0],
        steps: same(step),
        declares: vec![],
        results: 1.0,
        planned,
        unroll: 64,
        library: false,
    })
}

/// The recipe of an operation; none for what is not measured by a probe.
pub fn recipe(o: &Operation) -> Option<Recipe> {
    match o.class {
        _ if o.format.starts_with("dw") => double_word(o),
        Class::Arithmetic => arithmetic(o),
        Class::Function => function(o),
        Class::Conversion => conversion(o),
        Class::Select => select(o),
        Class::Memory => memory(o),
    }
}
