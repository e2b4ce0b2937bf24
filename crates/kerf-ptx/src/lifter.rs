//! Emits the IR of one asm statement: registers, guards and the way to each instruction family.
use super::constraint::Constraint;
use super::refusal::{Lifted, refuse};
use super::registers::{Binding, Registers, as_int, reinterpret, type_bits};
use super::syntax::{Instruction, Operand, Statement};
use super::types::Ty;
use kerf_llvm::{Builder, Type, Value, sys};
use std::collections::HashMap;

/// An asm statement, taken apart.
pub(super) struct Asm {
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Its operands.
    pub constraints: Vec<Constraint>,
    /// Does it have effects beyond its results (`asm volatile`)?
    pub side_effects: bool,
}

/// The emitter.
pub(super) struct Lifter {
    /// Inserts before the anchor.
    pub b: Builder,
    /// Instruction that the code goes before.
    pub anchor: Value,
    /// Registers.
    pub regs: Registers,
    /// Carry flag.
    pub carry: Option<Value>,
    /// Predicate under which results are kept.
    pub guard: Option<Value>,
    /// Is the statement volatile?
    pub side_effects: bool,
    /// Variables and parameters by name, where a whole function is lifted.
    pub symbols: Option<Symbols>,
}

/// Addresses of variables and parameters by name.
pub(super) type Symbols = HashMap<String, Value>;

/// Type of a register that a constraint names.
fn register_type(width: u32) -> Ty {
    if width == 1 {
        Ty::Pred
    } else {
        Ty::Bits(width)
    }
}

/// Emits `asm` before `anchor`; gives the values of its outputs as `results`.
pub(super) fn emit(
    asm: &Asm,
    anchor: Value,
    arguments: &[Value],
    results: &[Type],
) -> Lifted<Vec<Value>> {
    let mut l = Lifter {
        b: Builder::before(anchor),
        anchor,
        regs: Registers::default(),
        carry: None,
        guard: None,
        side_effects: asm.side_effects,
        symbols: None,
    };
    let outputs = l.bind(asm, arguments)?;
    if outputs.len() != results.len() {
        return refuse("outputs and result do not match");
    }
    for s in &asm.statements {
        match s {
            Statement::Open => l.regs.open(),
            Statement::Close => l.regs.close(),
            Statement::Registers(ty, names) => l.regs.declare(*ty, names),
            Statement::Do(i) => l.guarded(i.clone())?,
        }
    }
    outputs
        .iter()
        .zip(results)
        .map(|(i, t)| l.output(*i, *t))
        .collect()
}

impl Lifter {
    /// Binds operand numbers to registers; gives the registers of the outputs.
    fn bind(&mut self, asm: &Asm, arguments: &[Value]) -> Lifted<Vec<usize>> {
        let mut outputs = Vec::new();
        let mut rest = arguments.iter();
        for c in &asm.constraints {
            if let Constraint::Output(w) = *c {
                let i = self.regs.add(register_type(w), None);
                outputs.push(i);
                self.regs.arguments.push(Binding::Register(i));
                continue;
            }
            let Some(&v) = rest.next() else {
                return refuse("there are fewer arguments than constraints");
            };
            let binding = match *c {
                Constraint::Immediate => match v.const_int() {
                    Some(k) => Binding::Immediate(sign_extended(k, v.ty().int_bits())),
                    None => return refuse("an immediate operand is no integer constant"),
                },
                Constraint::Tied(n) => {
                    let i = self.regs.target(&Operand::Arg(n))?;
                    self.regs.all[i].value = Some(self.argument(v, self.regs.all[i].width)?);
                    Binding::Register(i)
                }
                Constraint::Input(w) | Constraint::Output(w) => {
                    let v = self.argument(v, w)?;
                    Binding::Register(self.regs.add(register_type(w), Some(v)))
                }
            };
            self.regs.arguments.push(binding);
        }
        Ok(outputs)
    }

    /// An argument as the content of a register; a narrower one leaves the upper bits open.
    fn argument(&self, v: Value, width: u32) -> Lifted<Value> {
        match type_bits(v.ty()) {
            Some(w) if w == width => Ok(v),
            Some(w) if w < width => Ok(self
                .b
                .zext_or_trunc(as_int(&self.b, v), self.b.int_ty(width))),
            _ => refuse(format!(
                "an argument of type {} does not fit",
                v.ty().print()
            )),
        }
    }

    fn output(&self, i: usize, t: Type) -> Lifted<Value> {
        let r = self.regs.all[i];
        match type_bits(t) {
            Some(w) if w == r.width => Ok(r.read(&self.b, t)),
            Some(w) if w < r.width => {
                let whole = r.read(&self.b, self.b.int_ty(r.width));
                let part = self.b.zext_or_trunc(whole, self.b.int_ty(w));
                Ok(reinterpret(&self.b, part, t))
            }
            _ => refuse(format!(
                "a result of type {} does not fit its register",
                t.print()
            )),
        }
    }

    /// Reads an operand as a type.
    pub fn read(&self, o: &Operand, ty: Ty) -> Lifted<Value> {
        let t = ty.llvm(&self.b);
        let constant = match o {
            Operand::Int(v) => *v,
            Operand::F16(v) if ty.width() == 16 => u64::from(*v),
            Operand::F32(v) if ty.width() == 32 => u64::from(*v),
            Operand::F64(v) if ty.width() == 64 => *v,
            // ptxas rounds literals of other widths to the instruction's type.
            Operand::F32(v) => return self.literal(f64::from(f32::from_bits(*v)), ty),
            Operand::F64(v) => return self.literal(f64::from_bits(*v), ty),
            Operand::Not(p) if ty == Ty::Pred => {
                let p = self.read(p, Ty::Pred)?;
                return Ok(self.b.xor(p, t.int(1)));
            }
            Operand::Beyond(..) => return self.symbol_address(o, ty),
            Operand::Name(_) | Operand::Arg(_) => match self.regs.find(o)? {
                Some(Binding::Immediate(v)) => v,
                Some(Binding::Register(i)) => return self.read_register(i, ty),
                None if self.symbol(o).is_some() => return self.symbol_address(o, ty),
                None => return self.special(o, ty),
            },
            _ => return refuse("an operand is of a kind that the instruction does not take"),
        };
        let typed = matches!(o, Operand::F16(_) | Operand::F32(_) | Operand::F64(_));
        if matches!(ty, Ty::Float(_)) && !typed {
            return refuse("an integer literal is an operand of a floating-point instruction");
        }
        Ok(reinterpret(
            &self.b,
            self.int_constant(ty.width(), constant),
            t,
        ))
    }

    fn literal(&self, v: f64, ty: Ty) -> Lifted<Value> {
        match ty {
            Ty::Float(f) => Ok(self.b.float_ty(f).real(v)),
            _ => refuse("a floating-point literal is an operand of an integer instruction"),
        }
    }

    fn read_register(&self, i: usize, ty: Ty) -> Lifted<Value> {
        let r = self.regs.all[i];
        let (have, want) = (r.width, ty.width());
        let mixed = (have == 1) != (ty == Ty::Pred);
        if mixed || have < want {
            return refuse(format!("a register of {have} bits is read as {want} bits"));
        }
        if have == want {
            return Ok(r.read(&self.b, ty.llvm(&self.b)));
        }
        let whole = r.read(&self.b, self.b.int_ty(have));
        let part = self.b.zext_or_trunc(whole, self.b.int_ty(want));
        Ok(reinterpret(&self.b, part, ty.llvm(&self.b)))
    }

    /// An integer constant of `width` bits.
    pub fn int_constant(&self, width: u32, v: u64) -> Value {
        let v = if width < 64 {
            v & ((1 << width) - 1)
        } else {
            v
        };
        self.b.int_ty(width).int(v)
    }

    /// The value of an operand that must be a constant.
    pub fn constant(&self, o: &Operand) -> Option<u64> {
        match o {
            Operand::Int(v) => Some(*v),
            _ => match self.regs.find(o).ok()? {
                Some(Binding::Immediate(v)) => Some(v),
                Some(Binding::Register(i)) => self.regs.all[i].value?.const_int(),
                None => None,
            },
        }
    }

    /// Writes a result; a wider register is filled up with zeros, or the sign.
    pub fn write(&mut self, o: &Operand, v: Value, signed: bool) -> Lifted<()> {
        if *o == Operand::Sink {
            return Ok(());
        }
        let i = self.regs.target(o)?;
        let r = self.regs.all[i];
        let v = match type_bits(v.ty()) {
            Some(w) if w == r.width => v,
            Some(w) if w < r.width && w > 1 => {
                let (v, t) = (as_int(&self.b, v), self.b.int_ty(r.width));
                if signed {
                    self.b.sext_or_trunc(v, t)
                } else {
                    self.b.zext_or_trunc(v, t)
                }
            }
            _ => {
                return refuse(format!(
                    "a result does not fit a register of {} bits",
                    r.width
                ));
            }
        };
        let v = match (self.guard, r.value) {
            (Some(p), Some(_)) => self.b.select(p, v, r.read(&self.b, v.ty())),
            _ => v,
        };
        self.regs.set(i, v);
        Ok(())
    }

    /// A call of an intrinsic, if this LLVM has it.
    pub fn intrinsic(&self, name: &str, types: &[Type], args: &[Value]) -> Lifted<Value> {
        // SAFETY: the name is passed with its length.
        let id = unsafe { sys::LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) };
        if id == 0 {
            return refuse(format!("LLVM has no {name}"));
        }
        Ok(self.b.intrinsic(name, types, args))
    }

    /// How many arguments an intrinsic takes, if this LLVM has it; overloads are of `types`.
    pub fn intrinsic_arity(&self, name: &str, types: &[Type]) -> Option<usize> {
        // SAFETY: name and types are passed with their lengths; the context is that of the types of the function that is
        // being built.
        unsafe {
            let id = sys::LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            let context = sys::LLVMGetTypeContext(self.b.int_ty(32).0);
            let mut types: Vec<_> = types.iter().map(|t| t.0).collect();
            let whole =
                |t: &mut Vec<_>| sys::LLVMIntrinsicGetType(context, id, t.as_mut_ptr(), t.len());
            (id != 0).then(|| Type(whole(&mut types)).params().len())
        }
    }

    /// A floating-point constant of a type, in every lane of a vector.
    pub fn real(&self, t: Type, v: f64) -> Value {
        self.splat(t, t.element().real(v))
    }

    /// A scalar in every lane of `t`; the scalar itself where `t` is one.
    pub fn splat(&self, t: Type, v: Value) -> Value {
        if !t.is_vector() {
            return v;
        }
        (0..t.lanes()).fold(t.poison(), |a, i| self.b.set_lane(a, v, i))
    }

    /// Applies `f` to each lane of a vector, or to the scalar.
    pub fn lanewise(&self, v: Value, f: impl Fn(Value) -> Lifted<Value>) -> Lifted<Value> {
        if !v.ty().is_vector() {
            return f(v);
        }
        let mut out: Option<Value> = None;
        for i in 0..v.ty().lanes() {
            let x = f(self.b.lane(v, i))?;
            let all = out.unwrap_or_else(|| x.ty().vector(v.ty().lanes()).poison());
            out = Some(self.b.set_lane(all, x, i));
        }
        Ok(out.unwrap_or(v))
    }

    /// Emits an instruction, whose modifiers must all be understood.
    pub fn instruction(&mut self, mut i: Instruction) -> Lifted<()> {
        self.family(&mut i)?;
        i.finish()
    }

    fn family(&mut self, i: &mut Instruction) -> Lifted<()> {
        let opcode = i.opcode().to_owned();
        match opcode.as_str() {
            "mov" => self.mov(i),
            "add" | "sub" | "mul" | "mad" | "fma" | "addc" | "subc" | "madc" => {
                self.arithmetic(i, &opcode)
            }
            "mul24" | "mad24" => self.product24(i, &opcode),
            "div" | "rem" => self.divide(i, &opcode),
            "neg" | "abs" | "min" | "max" => self.sign_and_order(i, &opcode),
            "sad" => self.sad(i),
            "dp4a" | "dp2a" => self.dot(i, &opcode),
            "and" | "or" | "xor" | "not" | "cnot" => self.logic(i, &opcode),
            "shl" | "shr" => self.shift(i, &opcode),
            "shf" => self.funnel(i),
            "prmt" => self.permute(i),
            "lop3" => self.lop3(i),
            "bfe" => self.extract_field(i),
            "bfi" => self.insert_field(i),
            "popc" | "clz" | "brev" | "bfind" => self.count(i, &opcode),
            "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => {
                self.function(i, &opcode)
            }
            "copysign" => self.copysign(i),
            "testp" => self.testp(i),
            "set" => self.set(i),
            "setp" => self.setp(i),
            "selp" => self.selp(i),
            "slct" => self.slct(i),
            "cvt" if i.flag("pack") => self.convert_packed(i),
            "cvt" => match self.convert_small(i) {
                Some(done) => done,
                None => self.convert(i),
            },
            "cp" => self.async_copy(i),
            "mma" => self.multiply_matrices(i),
            "wmma" => self.wmma(i),
            "ldmatrix" | "stmatrix" => self.move_matrix(i, &opcode),
            "cvta" => self.cvta(i),
            "isspacep" => self.isspacep(i),
            "ld" | "ldu" => self.load(i),
            "st" => self.store(i),
            "atom" | "red" => self.atomic(i, &opcode),
            "membar" | "fence" => self.fence(i, &opcode),
            "bar" | "barrier" => self.barrier(i, &opcode),
            "shfl" => self.shuffle(i),
            "vote" => self.vote(i),
            "match" => self.matching(i),
            "activemask" => self.activemask(i),
            "redux" => self.redux(i),
            "trap" => self.intrinsic("llvm.trap", &[], &[]).map(|_| ()),
            "brkpt" => self.intrinsic("llvm.debugtrap", &[], &[]).map(|_| ()),
            "griddepcontrol" => self.grid_dependency(i),
            // Hints about time and caches: nothing that a result depends on.
            "nanosleep" | "prefetch" | "prefetchu" | "applypriority" => {
                i.modifiers.clear();
                Ok(())
            }
            _ if opcode.starts_with('v') && opcode.ends_with(['2', '4']) => self.video(i, &opcode),
            _ if opcode.starts_with('v') => self.video_scalar(i, &opcode),
            _ => i.unsupported(),
        }
    }
}

/// The low `width` bits of a constant, sign-extended: how it is printed into the text.
fn sign_extended(v: u64, width: u32) -> u64 {
    let shift = 64 - width.clamp(1, 64);
    (((v << shift) as i64) >> shift) as u64
}
