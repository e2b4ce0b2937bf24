//! Math calls by functions made for a range: straight-line code where the argument is inside, the library's function where
//! it is not.
//!
//! A chosen call becomes a mark, `__nv_kerf.made.0.d`, as with other variants, and when all formats are settled the mark
//! becomes a call of a function that has the code: internal, and inlined when the program is finished. The code is computed
//! whatever the argument is (it can do no harm), and a branch around the library's call chooses: threads of a warp part only
//! where one of them is outside. Every step is one IEEE operation or integer work on bits, so that the bits are those of
//! [`StraightLineCode::evaluate`](kerf_num::made::StraightLineCode::evaluate) on both executors.
use crate::made_calls::MadeCallError;
use crate::site_format::SiteFormat;
use kerf_ir::prepare::MADE_FUNCTIONS;
use kerf_ir::sites::float_shape;
use kerf_llvm::{
    Builder, IntPred, Linkage, LlvmError, Module, Opcode, RealPred, Type, Value, space,
};
use kerf_num::Format;
use kerf_num::made::{ArgumentGuard, CodeStep, MadeFunction, WorkingFormat};
use std::collections::BTreeMap;

/// Before the names of marks.
const MARK: &str = "__nv_kerf.made.";

/// The function of libdevice that a call is of, named as in f64, where it takes and gives one number.
pub fn library_function(i: Value) -> Option<String> {
    if i.opcode() != Some(Opcode::LLVMCall) || i.args().len() != 1 {
        return None;
    }
    let name = i.callee_name()?;
    let name = name.strip_prefix("__nv_")?;
    let x = i.args()[0].ty();
    if x != i.ty() || x.is_vector() {
        return None;
    }
    match x.format()? {
        Format::F64 => Some(name.to_owned()),
        Format::F32 => Some(name.strip_suffix('f')?.to_owned()),
        _ => None,
    }
}

/// Whether a site can be computed by a made function in a format; the reason if not.
pub fn check(i: Value, made: &MadeFunction, format: SiteFormat) -> Result<(), MadeCallError> {
    if float_shape(i.ty()).is_some_and(|s| s.1 > 1) {
        return Err(MadeCallError::Vector);
    }
    let call = library_function(i).ok_or(MadeCallError::NoCall)?;
    if call != made.function {
        let made = made.function.clone();
        return Err(MadeCallError::OtherFunction { call, made });
    }
    if format.is_pair() {
        return Err(MadeCallError::Pair(format));
    }
    let needed = match format.word() {
        Format::F64 => WorkingFormat::F64,
        _ => WorkingFormat::F32,
    };
    match made.format() == needed {
        true => Ok(()),
        false => Err(MadeCallError::OtherFormat {
            format,
            needed: needed.name(),
            made: made.format().name(),
        }),
    }
}

/// Puts marks in the place of sites, each of which [`check`] has passed; numbers are those of the functions.
pub(crate) fn mark(m: &Module, sites: &[(Value, usize)]) -> Vec<(Value, Value)> {
    let marked = sites.iter().map(|(i, number)| {
        let x = i.args()[0];
        let end = match x.ty().format() {
            Some(Format::F64) => 'd',
            _ => 's',
        };
        let name = format!("{MARK}{number}.{end}");
        let f = m.declare(&name, i.ty().function(&[x.ty()]));
        f.mark_pure();
        let call = Builder::before(*i).call(f, &[x]);
        i.become_value(call);
        (*i, call)
    });
    marked.collect()
}

/// The number of the function that a mark stands for.
fn marked(i: Value) -> Option<usize> {
    let name = i.callee_name()?;
    let number = name.strip_prefix(MARK)?.split('.').next()?;
    number.parse().ok()
}

/// Puts calls of the functions' code in the place of all marks.
pub(crate) fn expand(m: &Module, functions: &[&MadeFunction]) -> Result<(), LlvmError> {
    let instructions = m.functions().into_iter().flat_map(|f| f.instructions());
    let marks: Vec<(Value, usize)> = instructions.filter_map(|i| Some((i, marked(i)?))).collect();
    if marks.is_empty() {
        return Ok(());
    }
    let mut defined: BTreeMap<usize, Value> = BTreeMap::new();
    for (i, number) in marks {
        let made = functions.get(number).copied();
        let made = made.filter(|f| Some(number_format(f)) == i.ty().format());
        let made = made.ok_or_else(|| LlvmError(format!("no function for {}", i.print())))?;
        let f = *defined
            .entry(number)
            .or_insert_with(|| define(m, made, number));
        let call = Builder::before(i).call(f, &i.args());
        i.become_value(call);
    }
    for f in m.functions() {
        if f.name().starts_with(MARK) && f.users().is_empty() {
            f.delete_function();
        }
    }
    m.verify()
}

/// Which of a plan's functions a function of the program is the code of.
pub(crate) fn made_number(f: Value) -> Option<usize> {
    let name = f.name();
    let number = name.strip_prefix(MADE_FUNCTIONS)?.split('.').next()?;
    number.parse().ok()
}

fn number_format(made: &MadeFunction) -> Format {
    match made.format() {
        WorkingFormat::F64 => Format::F64,
        WorkingFormat::F32 => Format::F32,
    }
}

/// The function with the code of a made one.
fn define(m: &Module, made: &MadeFunction, number: usize) -> Value {
    let t = m.float_ty(number_format(made));
    let name = format!("{MADE_FUNCTIONS}{number}.{}", made.library_name());
    let f = m.add_function(&name, t.function(&[t]));
    f.set_linkage(Linkage::LLVMInternalLinkage);
    f.add_enum_attr("alwaysinline");
    f.mark_pure();
    let entry = m.append_block(f, "entry");
    let b = Builder::at_end(entry);
    let x = f.params()[0];
    let inside = admitted(&b, &made.guard, x);
    let value = Steps::new(m, &b, made, number).value(x);
    let (library, done) = (m.append_block(f, "library"), m.append_block(f, "done"));
    b.cond_br(inside, done, library);
    b.move_to_end(library);
    let g = m.declare(&format!("__nv_{}", made.library_name()), t.function(&[t]));
    if kerf_ir::prepare::is_pure_math(g) {
        g.mark_pure();
    }
    let other = b.call(g, &[x]);
    b.br(done);
    b.move_to_end(done);
    let result = b.phi(t);
    result.add_incoming(&[(value, entry), (other, library)]);
    b.ret(Some(result));
    f
}

/// Whether an argument is one that the code was made for; false of NaN.
fn admitted(b: &Builder, guard: &ArgumentGuard, x: Value) -> Value {
    let t = x.ty();
    let (from, to) = guard.ends();
    let x = match guard {
        ArgumentGuard::Between { .. } => x,
        ArgumentGuard::Magnitude { .. } => b.intrinsic("llvm.fabs", &[t], &[x]),
    };
    let above = b.fcmp(RealPred::LLVMRealOGE, x, t.real(from));
    let below = b.fcmp(RealPred::LLVMRealOLE, x, t.real(to));
    b.and(above, below)
}

/// Straight-line code as instructions.
struct Steps<'b> {
    m: &'b Module,
    b: &'b Builder,
    made: &'b MadeFunction,
    number: usize,
    float: Type,
    integer: Type,
    tables: BTreeMap<usize, Value>,
}

impl<'b> Steps<'b> {
    fn new(m: &'b Module, b: &'b Builder, made: &'b MadeFunction, number: usize) -> Steps<'b> {
        let format = number_format(made);
        Steps {
            m,
            b,
            made,
            number,
            float: b.float_ty(format),
            integer: b.int_ty(8 * format.bytes() as u32),
            tables: BTreeMap::new(),
        }
    }

    fn value(mut self, x: Value) -> Value {
        let code = &self.made.code;
        let mut values: Vec<Value> = Vec::new();
        for step in &code.steps {
            let v = self.step(step, x, &values);
            values.push(v);
        }
        values[code.result]
    }

    fn bits(&self, v: Value) -> Value {
        self.b.bitcast(v, self.integer)
    }

    /// The bits of a number, as a constant.
    fn bits_of(&self, x: f64) -> Value {
        self.word(self.made.format().bits(x))
    }

    fn word(&self, n: i64) -> Value {
        let bits = self.integer.int_bits();
        self.integer.int(n as u64 & (u64::MAX >> (64 - bits)))
    }

    fn number(&self, bits: Value) -> Value {
        self.b.bitcast(bits, self.float)
    }

    fn fma(&self, x: Value, y: Value, z: Value) -> Value {
        self.b.intrinsic("llvm.fma", &[self.float], &[x, y, z])
    }

    /// Is a bit of the integer of a shifted number set?
    fn has_bit(&self, shifted: Value, bit: i64) -> Value {
        let set = self.b.and(self.bits(shifted), self.word(bit));
        self.b.icmp(IntPred::LLVMIntNE, set, self.word(0))
    }

    /// How far the exponent of x is above that of `split`, in the place of the exponent field.
    fn above(&self, x: Value, split: f64) -> Value {
        self.b.sub(self.bits(x), self.bits_of(split))
    }

    fn step(&mut self, step: &CodeStep, x: Value, v: &[Value]) -> Value {
        use CodeStep::*;
        let b = self.b;
        let format = self.made.format();
        let fraction = self.word(format.fraction_bits().into());
        match *step {
            Argument => x,
            Constant(c) => self.float.real(c),
            Add(x, y) => b.bin(Opcode::LLVMFAdd, v[x], v[y]),
            Sub(x, y) => b.bin(Opcode::LLVMFSub, v[x], v[y]),
            Mul(x, y) => b.bin(Opcode::LLVMFMul, v[x], v[y]),
            Fma(x, y, z) => self.fma(v[x], v[y], v[z]),
            NegatedFma(x, y, z) => self.fma(b.fneg(v[x]), v[y], v[z]),
            Magnitude(x) => b.intrinsic("llvm.fabs", &[self.float], &[v[x]]),
            CopySign(x, y) => b.intrinsic("llvm.copysign", &[self.float], &[v[x], v[y]]),
            PowerOfTwo(k) => {
                let field = b.add(self.bits(v[k]), self.word(format.exponent_bias()));
                self.number(b.shl(field, fraction))
            }
            ShiftedExponent { x, split } => {
                let above = b.bin(Opcode::LLVMAShr, self.above(v[x], split), fraction);
                self.number(b.add(self.bits_of(format.integer_shift()), above))
            }
            Significand { x, split } => {
                let mask = self.word(-1 << format.fraction_bits());
                let exponent = b.and(self.above(v[x], split), mask);
                self.number(b.sub(self.bits(v[x]), exponent))
            }
            SelectOdd { shifted, odd, even } => {
                b.select(self.has_bit(v[shifted], 1), v[odd], v[even])
            }
            NegateBySecondBit { shifted, value } => {
                let negated = b.fneg(v[value]);
                b.select(self.has_bit(v[shifted], 2), negated, v[value])
            }
            TableEntry {
                table,
                shifted,
                first,
            } => self.entry(table, v[shifted], first),
        }
    }

    /// An entry of a table; some entry for arguments outside of the range, whose value nobody takes.
    fn entry(&mut self, table: usize, shifted: Value, first: i64) -> Value {
        let b = self.b;
        let (entries, global) = (&self.made.code.tables[table], self.table(table));
        let format = self.made.format();
        let first = format.bits(format.integer_shift()).wrapping_add(first);
        let index = b.sub(self.bits(shifted), self.word(first));
        let has = b.icmp(IntPred::LLVMIntULT, index, self.word(entries.len() as i64));
        let index = b.select(has, index, self.word(0));
        let index = b.zext_or_trunc(index, b.int_ty(64));
        let at = b.gep(self.float, global, &[index], true);
        b.load(self.float, at)
    }

    fn table(&mut self, table: usize) -> Value {
        if let Some(g) = self.tables.get(&table) {
            return *g;
        }
        let entries = &self.made.code.tables[table];
        let values: Vec<Value> = entries.iter().map(|x| self.float.real(*x)).collect();
        let name = format!("kerf_made_{}_table_{table}", self.number);
        let t = self.float.array(entries.len() as u64);
        let g = self.m.add_global(t, &name, space::GLOBAL);
        g.set_initializer(self.float.array_of(&values));
        g.set_constant_global(true);
        g.set_linkage(Linkage::LLVMInternalLinkage);
        g.set_align(16);
        self.tables.insert(table, g);
        g
    }
}
