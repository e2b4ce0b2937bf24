//! Math variants: chosen functions and divisions by the special-function unit, nothing else changed.
//!
//! A chosen site first becomes a call of a function that only Kerf knows, `__nv_kerf.exp.approx.s`, so
//! that the passes that change formats treat it as they treat libdevice's; when they are done, [`expand`]
//! puts the instructions in its place, in whatever format the site then has.
mod emit;
mod function;
mod made;
mod refusal;
mod variant;

use crate::engine::places;
use crate::site_format::SiteFormat;
use function::Function;
use kerf_ir::sites::float_shape;
use kerf_llvm::{Builder, LlvmError, Module, Opcode, PassOptions, TargetMachine, Type, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

pub use made::{LibraryCall, check as check_made, library_call};
pub(crate) use made::{expand as expand_made, made_number, mark as mark_made};
pub use refusal::MathRefusal;
pub use variant::{MathVariant, ParseMathVariantError};

/// Before the names of Kerf's own functions.
const PREFIX: &str = "__nv_kerf.";

/// Does a divisor stay the same in the innermost loop around the division? The reason if not.
fn invariant(i: Value, divisor: Value) -> Result<(), MathRefusal> {
    if divisor.is_constant() || divisor.is_argument() {
        return Ok(());
    }
    let f = i.block().function();
    let depth: BTreeMap<_, u32> = f.blocks().into_iter().zip(f.loop_depths()).collect();
    match (depth[&divisor.block()], depth[&i.block()]) {
        (_, 0) => Err(MathRefusal::NoLoop),
        (d, own) if d < own => Ok(()),
        _ => Err(MathRefusal::DivisorChanges),
    }
}

/// Whether a site can be computed by a variant in a format; the reason if not.
pub fn check(i: Value, variant: MathVariant, format: SiteFormat) -> Result<(), MathRefusal> {
    if variant == MathVariant::Accurate {
        return Ok(());
    }
    let Some((f, args)) = function::computed_by(i) else {
        return Err(MathRefusal::NoVariants);
    };
    if format.is_pair() {
        return Err(MathRefusal::Pair(format));
    }
    let own = float_shape(args[0].ty()).map(|s| SiteFormat::from(s.0));
    if args[0].ty().is_vector() && own != Some(format) {
        return Err(MathRefusal::Vector);
    }
    let function = f.name();
    let double = format.word() == Format::F64;
    match variant {
        MathVariant::Reciprocal if f == Function::Divide => invariant(i, args[1]),
        MathVariant::Reciprocal => Err(MathRefusal::NotDivision),
        v if double && v.steps().is_none() => Err(MathRefusal::SingleOnly { function }),
        v if !double && v.steps().is_some() => Err(MathRefusal::DoubleOnly),
        MathVariant::Newton0 | MathVariant::Newton1 | MathVariant::Newton2 => match f {
            Function::Reciprocal | Function::Divide | Function::Sqrt | Function::Rsqrt => Ok(()),
            _ => Err(MathRefusal::NoSeed { function }),
        },
        MathVariant::ApproxFtz if f == Function::Tanh => Err(MathRefusal::TanhFlush),
        MathVariant::Full | MathVariant::FullFtz
            if !matches!(f, Function::Divide | Function::Reciprocal) =>
        {
            Err(MathRefusal::FullDivision)
        }
        _ => Ok(()),
    }
}

/// The variants that a site can have in a format, but for the accurate one.
pub fn variants(i: Value, format: SiteFormat) -> Vec<MathVariant> {
    MathVariant::ALL
        .into_iter()
        .skip(1)
        .filter(|v| check(i, *v, format).is_ok())
        .collect()
}

/// The function that stands for a variant, without libdevice's prefix: in f32 with `s` at its end.
pub(crate) fn single(name: &str) -> Option<String> {
    let base = name.strip_prefix(&PREFIX["__nv_".len()..]).map(|_| name)?;
    let base = base
        .strip_suffix(".d")
        .or_else(|| base.strip_suffix(".s"))?;
    Some(format!("{base}.s"))
}

fn parse(name: &str) -> Option<(Function, MathVariant)> {
    let n = name.strip_prefix(PREFIX)?;
    let n = n.strip_suffix(".d").or_else(|| n.strip_suffix(".s"))?;
    let (f, v) = n.split_once('.')?;
    Some((Function::named(f)?, v.parse().ok()?))
}

/// Puts marks in the place of sites, each of which [`check`] has passed; gives what stands for each.
pub(crate) fn mark(
    m: &Module,
    sites: &[(Value, MathVariant)],
) -> Result<BTreeMap<Value, Value>, LlvmError> {
    let mut out = BTreeMap::new();
    for (i, v) in sites {
        let none = || LlvmError(format!("{} has no variant {v}", i.print()));
        let (f, args) = function::computed_by(*i).ok_or_else(none)?;
        let b = Builder::before(*i);
        if args[0].ty().is_vector() {
            let new = lanes(&b, f, *v, &args).ok_or_else(none)?;
            i.become_value(new);
            continue;
        }
        let end = match args[0].ty().format() {
            Some(Format::F64) => 'd',
            _ => 's',
        };
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let g = m.declare(
            &format!("{PREFIX}{}.{v}.{end}", f.name()),
            i.ty().function(&types),
        );
        if kerf_ir::prepare::is_pure_math(g) {
            g.mark_pure();
        }
        let call = b.call(g, &args);
        match i.ty().is_void() {
            true => i.erase(),
            false => i.become_value(call),
        }
        out.insert(*i, call);
    }
    Ok(out)
}

fn lanes(b: &Builder, f: Function, v: MathVariant, args: &[Value]) -> Option<Value> {
    let t = args[0].ty();
    (0..t.lanes()).try_fold(t.poison(), |all, k| {
        let a: Vec<Value> = args.iter().map(|x| b.lane(*x, k)).collect();
        let r = match v {
            MathVariant::Reciprocal => by_reciprocal(b, a[0], a[1]),
            _ => emit::scalar(b, f, v, &a)?,
        };
        Some(b.set_lane(all, r, k))
    })
}

fn by_reciprocal(b: &Builder, x: Value, y: Value) -> Value {
    let r = b.bin(Opcode::LLVMFDiv, y.ty().real(1.0), y);
    b.bin(Opcode::LLVMFMul, x, r)
}

/// A mark and what it stands for.
fn marked(i: Value) -> Option<(Function, MathVariant)> {
    parse(&i.callee_name()?)
}

/// The argument of a square root whose only use is as the divisor of marked divisions, all of which can
/// be products with its inverse.
fn root(divisor: Value) -> Option<Value> {
    let (Function::Sqrt, v) = marked(divisor)? else {
        return None;
    };
    let fits = |u: &Value| {
        let Some((f, w)) = marked(*u) else {
            return false;
        };
        let kind = |v: MathVariant| {
            (
                v.steps().is_some(),
                matches!(v, MathVariant::Approx | MathVariant::ApproxFtz),
            )
        };
        kind(v) == kind(w)
            && match f {
                Function::Divide => u.operand(1) == divisor && u.operand(0) != divisor,
                Function::Reciprocal => true,
                _ => false,
            }
    };
    divisor.users().iter().all(fits).then(|| divisor.operand(0))
}

/// Puts instructions in the place of all marks.
pub(crate) fn expand(m: &Module) -> Result<(), LlvmError> {
    let mut marks: Vec<(Value, Function, MathVariant)> = Vec::new();
    for f in m.functions() {
        let found = f.instructions().into_iter();
        marks.extend(found.filter_map(|i| marked(i).map(|(f, v)| (i, f, v))));
    }
    if marks.is_empty() {
        return Ok(());
    }
    // Divisions first: they look at square roots that are still marked.
    let division = |f: Function| matches!(f, Function::Divide | Function::Reciprocal);
    marks.sort_by_key(|k| !division(k.1));
    let mut reciprocals: BTreeMap<(Value, Value), Value> = BTreeMap::new();
    let mut gone = Vec::new();
    for (i, f, v) in marks {
        let b = Builder::before(i);
        let args = i.args();
        let none = || LlvmError(format!("no instructions for {}", i.print()));
        let new = if v == MathVariant::Reciprocal {
            let key = (i.block().function(), args[1]);
            let r = match reciprocals.get(&key) {
                Some(r) => *r,
                None => {
                    let at = crate::engine::after(args[1]).unwrap_or(i);
                    let at = if args[1].is_constant() { i } else { at };
                    let one = args[1].ty().real(1.0);
                    Builder::before(at).bin(Opcode::LLVMFDiv, one, args[1])
                }
            };
            reciprocals.insert(key, r);
            b.bin(Opcode::LLVMFMul, args[0], r)
        } else if let Some(x) = args.last().filter(|_| division(f)).and_then(|d| root(*d)) {
            let y = emit::scalar(&b, Function::Rsqrt, v, &[x]).ok_or_else(none)?;
            match f {
                Function::Divide => b.bin(Opcode::LLVMFMul, args[0], y),
                _ => y,
            }
        } else {
            emit::scalar(&b, f, v, &args).ok_or_else(none)?
        };
        if !i.ty().is_void() {
            i.replace_with(new);
        }
        // Erased at the end, so that no new instruction gets the place of one that is remembered.
        gone.push(i);
    }
    gone.into_iter().for_each(Value::erase);
    let made: Vec<Value> = reciprocals
        .into_values()
        .filter(|r| r.is_instruction())
        .collect();
    places::settle(&made);
    for f in m.functions() {
        if f.name().starts_with(PREFIX) && f.users().is_empty() {
            f.delete_function();
        }
    }
    // Square roots that became part of their divisions.
    TargetMachine::nvptx("sm_70")?.run_passes(m, "function(dce)", PassOptions::default())?;
    m.verify()
}
