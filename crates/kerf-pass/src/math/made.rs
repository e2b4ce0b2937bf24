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
use kerf_num::made::{ArgumentGuard, CallForm, CodeStep, MadeFunction, WorkingFormat};
use std::collections::BTreeMap;

/// Before the names of marks.
const MARK: &str = "__nv_kerf.made.";

/// Before the names of marks of functions that write two results.
const MARK_OF_TWO_RESULTS: &str = "__nv_kerf.sincos.made.";

/// Functions of two numbers that can be made, named as in f64.
const TWO_ARGUMENTS: [&str; 4] = ["pow", "hypot", "rhypot", "atan2"];

/// A call of a function of libdevice that a made function could compute.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryCall {
    /// The function, named as in f64.
    pub name: String,
    /// The numbers that it takes.
    pub arguments: Vec<Value>,
    /// How it is called.
    pub form: CallForm,
}

/// The function of libdevice that a call is of, where it takes one number and gives one, takes two of those that can be made, or is
/// sincos.
pub fn library_call(i: Value) -> Option<LibraryCall> {
    if i.opcode() != Some(Opcode::LLVMCall) {
        return None;
    }
    let name = i.callee_name()?;
    let name = name.strip_prefix("__nv_")?;
    let all = i.args();
    let x = all.first()?.ty();
    if x.is_vector() {
        return None;
    }
    let name = match x.format()? {
        Format::F64 => name,
        Format::F32 => name.strip_suffix('f')?,
        _ => return None,
    };
    let form = match all.as_slice() {
        [_] if x == i.ty() => CallForm::OneArgument,
        [_, y] if x == i.ty() && x == y.ty() && TWO_ARGUMENTS.contains(&name) => {
            CallForm::TwoArguments
        }
        [_, sine, cosine] if name == "sincos" && sine.ty().is_ptr() && cosine.ty().is_ptr() => {
            CallForm::TwoResults
        }
        _ => return None,
    };
    let numbers = if form == CallForm::TwoArguments { 2 } else { 1 };
    Some(LibraryCall {
        name: name.to_owned(),
        arguments: all[..numbers].to_vec(),
        form,
    })
}

/// Whether a site can be computed by a made function in a format; the reason if not.
pub fn check(i: Value, made: &MadeFunction, format: SiteFormat) -> Result<(), MadeCallError> {
    if float_shape(i.ty()).is_some_and(|s| s.1 > 1) {
        return Err(MadeCallError::Vector);
    }
    let call = library_call(i).ok_or(MadeCallError::NoCall)?;
    if call.name != made.function {
        return Err(MadeCallError::OtherFunction {
            call: call.name,
            made: made.function.clone(),
        });
    }
    if call.form != made.form() {
        return Err(MadeCallError::OtherForm(call.name));
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
        let args = i.args();
        let end = match args[0].ty().format() {
            Some(Format::F64) => 'd',
            _ => 's',
        };
        let mark = match i.ty().is_void() {
            true => MARK_OF_TWO_RESULTS,
            false => MARK,
        };
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let f = m.declare(&format!("{mark}{number}.{end}"), i.ty().function(&types));
        if kerf_ir::prepare::is_pure_math(f) {
            f.mark_pure();
        }
        let call = Builder::before(*i).call(f, &args);
        match i.ty().is_void() {
            true => i.erase(),
            false => i.become_value(call),
        }
        (*i, call)
    });
    marked.collect()
}

/// The number of the function that a mark stands for.
fn marked(i: Value) -> Option<usize> {
    let name = i.callee_name()?;
    let mark = name.strip_prefix(MARK);
    let number = mark.or_else(|| name.strip_prefix(MARK_OF_TWO_RESULTS))?;
    number.split('.').next()?.parse().ok()
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
        let format = i.args().first().and_then(|x| x.ty().format());
        let made = made.filter(|f| Some(number_format(f)) == format);
        let made = made.ok_or_else(|| LlvmError(format!("no function for {}", i.print())))?;
        let f = *defined
            .entry(number)
            .or_insert_with(|| define(m, made, number));
        let call = Builder::before(i).call(f, &i.args());
        match i.ty().is_void() {
            true => i.erase(),
            false => i.become_value(call),
        }
    }
    for f in m.functions() {
        let name = f.name();
        let is_mark = name.starts_with(MARK) || name.starts_with(MARK_OF_TWO_RESULTS);
        if is_mark && f.users().is_empty() {
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

/// The function with the code of a made one. With two results it writes them on the way that is taken.
fn define(m: &Module, made: &MadeFunction, number: usize) -> Value {
    let t = m.float_ty(number_format(made));
    let form = made.form();
    let signature = match form {
        CallForm::OneArgument => t.function(&[t]),
        CallForm::TwoArguments => t.function(&[t, t]),
        CallForm::TwoResults => m.void_ty().function(&[t, m.ptr_ty(0), m.ptr_ty(0)]),
    };
    let name = format!("{MADE_FUNCTIONS}{number}.{}", made.library_name());
    let f = m.add_function(&name, signature);
    f.set_linkage(Linkage::LLVMInternalLinkage);
    f.add_enum_attr("alwaysinline");
    let entry = m.append_block(f, "entry");
    let b = Builder::at_end(entry);
    let params = f.params();
    let arguments = match form {
        CallForm::TwoArguments => &params[..2],
        _ => &params[..1],
    };
    let inside = admitted(&b, &made.guard, arguments);
    let values = Steps::new(m, &b, made, number).results(arguments);
    let library = m.declare(&format!("__nv_{}", made.library_name()), signature);
    if kerf_ir::prepare::is_pure_math(library) {
        library.mark_pure();
    }
    let outside = m.append_block(f, "library");
    if let [first, second] = values[..] {
        let code = m.append_block(f, "code");
        b.cond_br(inside, code, outside);
        b.move_to_end(code);
        b.store(first, params[1]);
        b.store(second, params[2]);
        b.ret(None);
        b.move_to_end(outside);
        b.call(library, &params);
        b.ret(None);
        return f;
    }
    f.mark_pure();
    let done = m.append_block(f, "done");
    b.cond_br(inside, done, outside);
    b.move_to_end(outside);
    let other = b.call(library, &params);
    b.br(done);
    b.move_to_end(done);
    let result = b.phi(t);
    result.add_incoming(&[(values[0], entry), (other, outside)]);
    b.ret(Some(result));
    f
}

/// Whether arguments are ones that the code was made for; false of NaN.
fn admitted(b: &Builder, guard: &ArgumentGuard, arguments: &[Value]) -> Value {
    let t = arguments[0].ty();
    let magnitude = |x: Value| b.intrinsic("llvm.fabs", &[t], &[x]);
    let at_least = |x: Value, from: f64| b.fcmp(RealPred::LLVMRealOGE, x, t.real(from));
    let within = |x: Value, [from, to]: [f64; 2]| {
        let below = b.fcmp(RealPred::LLVMRealOLE, x, t.real(to));
        b.and(at_least(x, from), below)
    };
    match (*guard, arguments) {
        (ArgumentGuard::Rectangle { x, y, larger_from }, [first, second]) => {
            let both = b.and(within(*first, x), within(*second, y));
            if larger_from <= 0.0 {
                return both;
            }
            let is_large = |x: Value| at_least(magnitude(x), larger_from);
            b.and(both, b.or(is_large(*first), is_large(*second)))
        }
        (ArgumentGuard::Magnitude { from, to }, _) => within(magnitude(arguments[0]), [from, to]),
        (ArgumentGuard::Between { from, to }, _) => within(arguments[0], [from, to]),
        // A guard of two numbers is that of a call of two.
        (ArgumentGuard::Rectangle { .. }, _) => {
            b.fcmp(RealPred::LLVMRealPredicateFalse, arguments[0], arguments[0])
        }
    }
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

    fn results(mut self, arguments: &[Value]) -> Vec<Value> {
        let code = &self.made.code;
        let mut values: Vec<Value> = Vec::new();
        for step in &code.steps {
            let v = self.step(step, arguments, &values);
            values.push(v);
        }
        let results = [Some(code.result), code.second_result];
        results.into_iter().flatten().map(|r| values[r]).collect()
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

    fn step(&mut self, step: &CodeStep, arguments: &[Value], v: &[Value]) -> Value {
        use CodeStep::*;
        let b = self.b;
        let format = self.made.format();
        let fraction = self.word(format.fraction_bits().into());
        match *step {
            Argument => arguments[0],
            // Only functions of two arguments have it.
            SecondArgument => arguments[arguments.len() - 1],
            Constant(c) => self.float.real(c),
            Add(x, y) => b.bin(Opcode::LLVMFAdd, v[x], v[y]),
            Sub(x, y) => b.bin(Opcode::LLVMFSub, v[x], v[y]),
            Mul(x, y) => b.bin(Opcode::LLVMFMul, v[x], v[y]),
            Fma(x, y, z) => self.fma(v[x], v[y], v[z]),
            NegatedFma(x, y, z) => self.fma(b.fneg(v[x]), v[y], v[z]),
            Quotient(x, y) => b.bin(Opcode::LLVMFDiv, v[x], v[y]),
            SquareRoot(x) => b.intrinsic("llvm.sqrt", &[self.float], &[v[x]]),
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
            SelectLess { x, y, less, other } => {
                let is_less = b.fcmp(RealPred::LLVMRealOLT, v[x], v[y]);
                b.select(is_less, v[less], v[other])
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
