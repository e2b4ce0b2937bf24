//! The cost of an instruction of the prepared IR, by the profile's key of the operation that it becomes.
use super::Unit;
use super::rates::{Cost, Rates};
use kerf_ir::prepare::is_made_function;
use kerf_ir::sites::{float_shape, math_name};
use kerf_llvm::{Opcode, Type, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

/// Words of 32 bits that a value takes.
fn words(t: Type) -> f64 {
    if t.is_int() {
        return f64::from(t.int_bits().div_ceil(32));
    }
    match t.is_ptr() {
        true => 2.0,
        false => float_shape(t).map_or(1.0, |(f, n)| f64::from(n) * f.bytes().div_ceil(4) as f64),
    }
}

/// Name of a number's type in conversions.
fn number(t: Type) -> String {
    let t = t.element();
    match t.format() {
        Some(f) => f.name().to_owned(),
        None if t.is_int() && t.int_bits() > 32 => "i64".into(),
        None => "i32".into(),
    }
}

/// Clocks from an integer instruction to a dependent one (Volta and later: Jia et al., Dissecting the NVIDIA Volta GPU
/// Architecture via Microbenchmarking).
const INTEGER_LATENCY: f64 = 4.0;

fn is_one(v: Value) -> bool {
    v.const_real() == Some(1.0)
}

fn math(r: &Rates, i: Value, name: &str, f: Format, lanes: f64) -> Cost {
    let single = |key: &str| r.cost(&format!("{key}.{f}")).vector(lanes);
    let integer = |n: f64| r.instructions(Unit::F32, n * lanes, INTEGER_LATENCY);
    // Names with a rounding: dadd_rz, fma.rn.d, sqrt.approx.f, and libdevice's fast versions.
    let base = name
        .split(['.', '_'])
        .find(|p| !p.is_empty())
        .unwrap_or(name);
    let approximate = name.contains("approx") || name.starts_with("fast_");
    if approximate {
        let function = match base {
            "fast" => name.trim_start_matches("fast_").trim_end_matches('f'),
            "ex2" => "exp2",
            "lg2" => "log2",
            b => b,
        };
        return r.cost(&format!("{function}.{f}.sfu")).vector(lanes);
    }
    match base {
        "fabs" | "fneg" => Cost::default(),
        "fma" | "fmuladd" | "fmaf" => single("fma"),
        "dadd" | "fadd" | "add" | "dsub" | "fsub" | "sub" => single("add"),
        "dmul" | "fmul" | "mul" => single("mul"),
        "ddiv" | "fdiv" | "div" => single("div"),
        "drcp" | "frcp" | "rcp" => single("rcp"),
        "dsqrt" | "fsqrt" | "sqrt" => single("sqrt"),
        "fmin" | "fmax" | "minnum" | "maxnum" | "minimumnum" | "maximumnum" | "fdim" => {
            single("min")
        }
        "copysign" | "isnan" | "isinf" | "isnand" | "isinfd" | "signbit" | "finite" => integer(1.0),
        "is" => integer(2.0),
        "floor" | "ceil" | "trunc" | "rint" | "nearbyint" | "round" | "roundeven" => {
            let to = if f == Format::F64 { "f32" } else { "i32" };
            r.cost(&format!("convert.{f}.{to}")).vector(lanes)
        }
        "ldexp" | "scalbn" | "ilogb" | "frexp" | "modf" => integer(6.0),
        // Halves of a number and moves between registers.
        "double2hiint" | "double2loint" | "hiloint2double" | "int" | "float" | "double"
        | "longlong" => integer(1.0),
        "int2double" | "int2float" | "double2int" | "float2int" => {
            let (a, b) = (number(i.args()[0].ty()), number(i.ty()));
            r.cost(&format!("convert.{a}.{b}"))
        }
        "pow" | "powi" => {
            match base == "powi" || i.args().get(1).is_some_and(|e| e.ty().is_int()) {
                true => single("powi"),
                false => single("pow"),
            }
        }
        function => single(function),
    }
}

fn call(r: &Rates, i: Value) -> Cost {
    let integer = |n: f64| r.instructions(Unit::F32, n, INTEGER_LATENCY);
    let Some(name) = i.callee_name() else {
        return match i.callee().is_inline_asm() {
            true => integer(1.0),
            false => integer(20.0),
        };
    };
    if is_made_function(i.callee()) {
        return made(r, i.callee());
    }
    if name.starts_with(DOUBLE_WORDS) && !i.callee().is_declaration() {
        return r.remembered(&name, || double_words(r, i.callee(), &name));
    }
    let Some(short) = math_name(&name) else {
        // A function of the program: its body is counted on its own.
        return integer(10.0);
    };
    let shape = float_shape(i.ty()).or_else(|| i.args().iter().find_map(|a| float_shape(a.ty())));
    if let Some(n) = name.strip_prefix("llvm.nvvm.") {
        if n.starts_with("read.ptx.sreg") {
            // Special registers are as far away as shared memory, and read once.
            return r.instructions(Unit::F32, 1.0, r.load_latency("shared"));
        }
        if n.starts_with("barrier") || n.starts_with("bar.") {
            return r.instructions(Unit::F32, 1.0, r.load_latency("shared"));
        }
        if n.starts_with("shfl") {
            return shuffle(r);
        }
        if n.starts_with("vote") || n.starts_with("match") || n.starts_with("membar") {
            return r.instructions(Unit::F32, 1.0, 12.0);
        }
    }
    let free = [
        "dbg",
        "lifetime",
        "assume",
        "experimental",
        "memcpy",
        "memset",
        "memmove",
    ];
    if name.starts_with("llvm.") && free.contains(&short.as_str()) {
        return Cost::default();
    }
    match shape {
        Some((f, lanes)) => math(r, i, &short, f, f64::from(lanes)),
        None => integer(words(i.ty()).max(1.0)),
    }
}

/// A function made for a range, on arguments inside: its first block, which all go through.
fn made(r: &Rates, f: Value) -> Cost {
    let first = f.blocks().into_iter().next();
    let steps = first.map(|b| b.instructions()).unwrap_or_default();
    steps
        .into_iter()
        .fold(Cost::default(), |sum, i| sum.plus(cost(r, i)))
}

/// Before the names of the double-word library's functions: `kerf_dw32_add`.
const DOUBLE_WORDS: &str = "kerf_dw";

/// A function of the double-word library. Straight-line code (sums, products, quotients, conversions) costs its instructions,
/// and its latency is that of its longest chain; functions with branches (exponential, sine) cost what the profile, or the H200's
/// instructions, say of them, and else all their blocks once.
fn double_words(r: &Rates, f: Value, name: &str) -> Cost {
    let blocks = f.blocks();
    let mut parts = name.trim_start_matches("kerf_").splitn(2, '_');
    if let (true, Some(format), Some(function)) = (blocks.len() > 1, parts.next(), parts.next())
        && let Some(known) = r.known(&format!("{function}.{format}"))
    {
        return known;
    }
    let mut all = Cost::default();
    let mut ready: BTreeMap<Value, f64> = BTreeMap::new();
    let mut last = 0.0f64;
    for i in blocks.into_iter().flat_map(|b| b.instructions()) {
        let own = cost(r, i);
        let from = i.operands().into_iter().filter_map(|o| ready.get(&o));
        let at = from.copied().fold(0.0, f64::max) + own.latency_clocks;
        last = last.max(at);
        ready.insert(i, at);
        all = all.plus(own);
    }
    all.latency_clocks = last;
    all
}

fn shuffle(r: &Rates) -> Cost {
    let mut c = r.cost("shuffle.b32");
    // It passes through the load-store unit, 4 bytes a lane.
    c.unit_clocks = r.instructions(Unit::LoadStore, 4.0, 0.0).unit_clocks;
    c.unit_clocks[Unit::Issue as usize] = 1.0 / r.unit(Unit::Issue);
    c
}

/// Cost of an instruction, without the time that loads and stores take in memory.
pub(super) fn cost(r: &Rates, i: Value) -> Cost {
    use Opcode::*;
    let Some(op) = i.opcode() else {
        return Cost::default();
    };
    let integers = |n: f64, latency: f64| r.instructions(Unit::F32, n, latency);
    let float = |name: &str, t: Type| match float_shape(t) {
        Some((f, lanes)) => r.cost(&format!("{name}.{f}")).vector(f64::from(lanes)),
        None => Cost::default(),
    };
    match op {
        LLVMFAdd | LLVMFSub => float("add", i.ty()),
        LLVMFMul => float("mul", i.ty()),
        LLVMFDiv if is_one(i.operand(0)) => float("rcp", i.ty()),
        LLVMFDiv => float("div", i.ty()),
        LLVMFRem => float("frem", i.ty()),
        // A compare is one instruction of the format's unit.
        LLVMFCmp => float("add", i.operand(0).ty()),
        LLVMSelect => integers(words(i.ty()), 4.0),
        LLVMFPExt | LLVMFPTrunc | LLVMSIToFP | LLVMUIToFP | LLVMFPToSI | LLVMFPToUI => {
            let (a, b) = (number(i.operand(0).ty()), number(i.ty()));
            let lanes = f64::from(i.ty().lanes());
            // The assembler packs two results into one instruction of the half-precision units, unlike in the probe of a
            // conversion alone.
            if a == "f32" && (b == "f16" || b == "bf16") {
                return r.instructions(Unit::Half, lanes, 6.0);
            }
            r.cost(&format!("convert.{a}.{b}")).vector(lanes)
        }
        LLVMICmp => integers(words(i.operand(0).ty()), 8.0),
        LLVMAdd | LLVMSub | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr | LLVMAShr => {
            let wide = words(i.ty());
            integers(wide, 4.0 * wide)
        }
        LLVMMul => {
            let wide = words(i.ty());
            // Half the rate of an addition, and four partial products for 64 bits.
            integers(2.0 * wide * wide, 5.0 * wide)
        }
        LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem => match i.operand(1).const_int() {
            Some(c) if c.is_power_of_two() => integers(1.0, 4.0),
            Some(_) => integers(5.0, 16.0),
            None => integers(22.0 * words(i.ty()), 70.0),
        },
        // One 64-bit multiply-add for each index that is not constant.
        LLVMGetElementPtr => {
            let indices = i.operands().into_iter().skip(1);
            let variable = indices.filter(|v| !v.is_constant()).count();
            integers(2.0 * variable as f64, 5.0)
        }
        LLVMBr | LLVMSwitch => integers(1.0, 8.0),
        LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg => {
            let mut c = Cost::default();
            c.unit_clocks[Unit::Issue as usize] = 1.0 / r.unit(Unit::Issue);
            c
        }
        LLVMCall => call(r, i),
        LLVMExtractElement | LLVMInsertElement | LLVMExtractValue | LLVMInsertValue => {
            Cost::default()
        }
        // Phis are registers; negations, extensions and casts are modifiers of other instructions.
        _ => Cost::default(),
    }
}
