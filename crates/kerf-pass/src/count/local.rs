//! Local rounding error: what one operation would lose in a narrower format, all others as they are.
//!
//! Sums, products, quotients and multiply-adds are computed once more from operands rounded to the format's
//! digits, and rounded to them again; of everything else the value is rounded. All of it is in f64, by Veltkamp's
//! splitting, so exponents have no limits here: ranges are recorded apart.
use super::fields::{FORMATS, LOCAL, LOCAL_VALUES, Local, MOST, PARTS, unit};
use super::values::{lanes, larger, operands, values};
use kerf_llvm::{Builder, Module, Opcode, RealPred, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

/// Rounds to the digits of a format.
fn round(b: &Builder, x: Value, f: Format) -> Value {
    let wide = b.float_ty(Format::F64);
    let factor = f64::from(53 - f.mantissa_bits()).exp2() + 1.0;
    let c = b.bin(Opcode::LLVMFMul, x, wide.real(factor));
    let rest = b.bin(Opcode::LLVMFSub, c, x);
    b.bin(Opcode::LLVMFSub, c, rest)
}

/// As an f64. Poison becomes some number.
pub(super) fn widened(b: &Builder, x: Value) -> Value {
    let wide = b.float_ty(Format::F64);
    let x = b.freeze(x);
    match x.ty().format() {
        Some(Format::F64) | None => x,
        Some(_) => b.cast(Opcode::LLVMFPExt, x, wide),
    }
}

/// Functions with more sites have the computation in functions of its own, one a kind of operation: in place
/// it is faster, as a loop over threads stays one that can be vectorised, but it takes long to compile.
const INLINE: usize = 96;

/// Of functions with more sites no local errors are taken, and values go straight into records: otherwise
/// compiling would take minutes.
pub(super) const MOST_SITES: usize = 200;

/// What is computed once more.
pub(super) fn kind(i: Value, op: &str) -> Option<Opcode> {
    match i.opcode()? {
        Opcode::LLVMCall => {
            (matches!(op, "fma" | "fmuladd") && i.args().len() == 3).then_some(Opcode::LLVMCall)
        }
        c @ (Opcode::LLVMFAdd | Opcode::LLVMFSub | Opcode::LLVMFMul | Opcode::LLVMFDiv) => Some(c),
        _ => None,
    }
}

/// A name for what is computed once more.
pub(super) fn name(kind: Option<Opcode>) -> &'static str {
    match kind {
        Some(Opcode::LLVMFAdd) => "add",
        Some(Opcode::LLVMFSub) => "sub",
        Some(Opcode::LLVMFMul) => "mul",
        Some(Opcode::LLVMFDiv) => "div",
        Some(_) => "fma",
        None => "value",
    }
}

/// The operation once more, from operands of one lane.
fn again(b: &Builder, kind: Option<Opcode>, x: &[Value]) -> Option<Value> {
    match *x {
        [x, y] => Some(b.bin(kind?, x, y)),
        [x, y, z] => {
            let wide = b.float_ty(Format::F64);
            Some(b.intrinsic("llvm.fma", &[wide], &[x, y, z]))
        }
        _ => None,
    }
}

/// Takes the errors of one value into a site's variables. `format` is the site's.
pub(super) fn take(
    b: &Builder,
    kind: Option<Opcode>,
    format: Format,
    value: Value,
    from: &[Value],
    slot: impl Fn(usize) -> Value,
) {
    let wide = b.float_ty(Format::F64);
    let i64t = b.int_ty(64);
    let add = |field: usize, v: Value| {
        let to = slot(field);
        let sum = b.add(b.load(i64t, to), b.zext_or_trunc(v, i64t));
        b.store(sum, to);
    };
    let mut counted = false;
    for (k, f) in FORMATS.into_iter().enumerate() {
        if f.mantissa_bits() >= format.mantissa_bits() {
            continue;
        }
        let rounded: Vec<Value> = from.iter().map(|x| round(b, *x, f)).collect();
        let result = again(b, kind, &rounded).unwrap_or(value);
        let off = b.bin(Opcode::LLVMFSub, round(b, result, f), value);
        let relative = b.bin(Opcode::LLVMFDiv, off, value);
        let relative = b.intrinsic("llvm.fabs", &[wide], &[relative]);
        // Neither of zero nor of what is not finite.
        let known = b.fcmp(RealPred::LLVMRealOLT, relative, wide.real(f64::INFINITY));
        let relative = b.select(known, relative, wide.real(0.0));
        let Local { largest, sum } = LOCAL[k];
        // Bits of positive numbers have their order.
        let bits = b.bitcast(relative, i64t);
        let to = slot(largest);
        b.store(larger(b, bits, b.load(i64t, to)), to);
        let units = b.bin(Opcode::LLVMFMul, relative, wide.real(PARTS / unit(f)));
        let most = wide.real(MOST * PARTS);
        let fits = b.fcmp(RealPred::LLVMRealOLT, units, most);
        let units = b.select(fits, units, most);
        add(sum, b.cast(Opcode::LLVMFPToSI, units, b.int_ty(32)));
        if !counted {
            counted = true;
            add(LOCAL_VALUES, known);
        }
    }
}

/// How local errors get into a program.
pub(super) struct Locals<'m> {
    m: &'m Module,
    /// Functions of their own, by name.
    functions: BTreeMap<String, Value>,
}

impl<'m> Locals<'m> {
    pub(super) fn new(m: &'m Module) -> Locals<'m> {
        Locals {
            m,
            functions: BTreeMap::new(),
        }
    }

    /// Whether values of a format have digits to lose: in the narrowest there are none.
    pub(super) fn has_any(format: Format) -> bool {
        let mut all = FORMATS.iter();
        all.any(|f| f.mantissa_bits() < format.mantissa_bits())
    }

    /// Variables of a site: in the place of those from [`LOCAL`] on, parts of one array where functions are
    /// called with it.
    pub(super) fn variables(&self, entry: &Builder, slots: &mut [Value], sites: usize) {
        if sites <= INLINE || sites > MOST_SITES {
            return;
        }
        let i64t = self.m.int_ty(64);
        let (first, n) = (LOCAL[0].largest, LOCAL_VALUES + 1 - LOCAL[0].largest);
        let all = entry.alloca(i64t.array(n as u64));
        for (k, slot) in slots[first..=LOCAL_VALUES].iter_mut().enumerate() {
            *slot = entry.offset(all, entry.i64(8 * k as u64));
            entry.store(i64t.zero(), *slot);
        }
    }

    /// The function that takes the error of one kind of operation in one format.
    fn function(&mut self, kind: Option<Opcode>, format: Format, operands: usize) -> Value {
        let m = self.m;
        let name = format!("__kerf_count_local_{}_{format}", name(kind));
        *self.functions.entry(name.clone()).or_insert_with(|| {
            let wide = m.float_ty(Format::F64);
            let mut params = vec![m.ptr_ty(0)];
            params.extend((0..=operands).map(|_| wide));
            let f = m.add_function(&name, m.void_ty().function(&params));
            f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
            f.add_enum_attr("noinline");
            let b = Builder::at_end(m.append_block(f, "entry"));
            let args = f.params();
            let first = LOCAL[0].largest;
            let slot = |field: usize| b.offset(args[0], b.i64(8 * (field - first) as u64));
            take(&b, kind, format, args[1], &args[2..], slot);
            b.ret(None);
            f
        })
    }

    /// Takes the errors of a site's operation into its variables; `sites` are those of its function.
    pub(super) fn see(
        &mut self,
        b: &Builder,
        i: Value,
        op: &str,
        format: Format,
        slots: &[Value],
        sites: usize,
    ) {
        if !Locals::has_any(format) || sites > MOST_SITES {
            return;
        }
        for v in values(i) {
            let kind = kind(i, op).filter(|_| v == i);
            let from: Vec<Vec<Value>> = match kind {
                Some(_) => operands(i).into_iter().map(|x| lanes(b, x)).collect(),
                None => Vec::new(),
            };
            for (l, value) in lanes(b, v).into_iter().enumerate() {
                let value = widened(b, value);
                let from: Vec<Value> = from.iter().map(|x| widened(b, x[l])).collect();
                if sites <= INLINE {
                    take(b, kind, format, value, &from, |field| slots[field]);
                    continue;
                }
                let f = self.function(kind, format, from.len());
                let mut args = vec![slots[LOCAL[0].largest], value];
                args.extend(from);
                b.call(f, &args);
            }
        }
    }
}
