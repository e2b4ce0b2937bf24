//! Accesses of memory: what the runtime is told of each, and the shadows that it keeps.
use super::{MemoryScope, Pass, Shadow, SiteKind, is_aggregate, runtime, shadow_type};
use kerf_llvm::{Builder, Opcode, Ordering, Type, Value, space};

/// One range of bytes that an instruction accesses.
struct Touched {
    address: Value,
    bytes: Value,
    kind: SiteKind,
    align: u32,
}

/// Whether an address is an object's, at a place that no run changes.
fn fixed(p: Value, object: Value) -> bool {
    let mut p = p;
    while p.0 != object.0 {
        let step = matches!(
            p.opcode(),
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast)
        );
        if p.is_constant() {
            return true;
        }
        if !step || p.operands()[1..].iter().any(|o| !o.is_constant()) {
            return false;
        }
        p = p.operand(0);
    }
    true
}

/// A variable's name for people: `cB` for `__const._Z3rk4Pdi.cB` and for `cB.i`.
fn named(object: Value) -> String {
    let symbol = object.variable_name().unwrap_or_else(|| object.name());
    let name = kerf_llvm::demangle(&symbol);
    let name = name.rsplit("::").next().unwrap_or(&name);
    let name = name
        .strip_prefix("__const.")
        .and_then(|n| n.rsplit('.').next())
        .unwrap_or(name);
    match name.split('.').next() {
        Some(n) if !n.is_empty() => n.to_owned(),
        _ => "a local array".to_owned(),
    }
}

/// Bytes that a function of the device library writes through each pointer argument; none: it writes nothing.
pub(super) fn library_result_bytes(callee: &str) -> Option<u64> {
    let name = callee.strip_prefix("__nv_")?;
    let of_float = name.ends_with('f');
    let stem = name.strip_suffix('f').unwrap_or(name);
    match stem {
        "frexp" | "remquo" => Some(4),
        "sincos" | "sincospi" | "fast_sincos" | "modf" | "mod" => Some(match of_float {
            // `modf` is the function of doubles, `modff` that of floats.
            true if name != "modf" => 4,
            _ => 8,
        }),
        _ => None,
    }
}

/// The pointer that casts between address spaces were made of.
fn uncast(p: Value) -> Value {
    match p.opcode() {
        Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast) => uncast(p.operand(0)),
        _ => p,
    }
}

/// Is the result an operand, with the same bits?
fn keeps_bits(i: Value) -> bool {
    match i.opcode() {
        Some(Opcode::LLVMPHI | Opcode::LLVMBitCast | Opcode::LLVMFreeze) => true,
        // __nv_float_as_int, __nv_longlong_as_double and the like
        Some(Opcode::LLVMCall) => {
            (i.callee_name()).is_some_and(|n| n.starts_with("__nv_") && n.contains("_as_"))
        }
        _ => false,
    }
}

/// The compare-and-swap of the same word whose first guess a load is (`old = *p; do { seen = old; old = atomicCAS(p,
/// seen, f(seen)); } while (old != seen);`). A guess that is out of date costs a round, not the result.
fn guessed_for(load: Value) -> Option<Value> {
    let (mut seen, mut work) = (vec![load], vec![load]);
    while let Some(v) = work.pop() {
        for u in v.users() {
            match u.opcode() {
                Some(Opcode::LLVMAtomicCmpXchg)
                    if u.operand(1) == v && uncast(u.operand(0)) == uncast(load.operand(0)) =>
                {
                    return Some(u);
                }
                Some(_) if keeps_bits(u) && !seen.contains(&u) => {
                    seen.push(u);
                    work.push(u);
                }
                _ => {}
            }
        }
    }
    None
}

fn scope_of(i: Value) -> Option<MemoryScope> {
    let plain = Ordering::LLVMAtomicOrderingNotAtomic;
    let atomic = match i.opcode() {
        Some(Opcode::LLVMLoad | Opcode::LLVMStore) => {
            if i.is_volatile() && i.ordering() == plain {
                return Some(MemoryScope::Device);
            }
            if i.opcode() == Some(Opcode::LLVMLoad)
                && let Some(swap) = guessed_for(i)
            {
                return scope_of(swap);
            }
            i.ordering() != plain
        }
        Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => true,
        Some(Opcode::LLVMCall) => {
            let n = i.callee_name()?;
            n.starts_with("llvm.nvvm.atomic.").then_some(())?;
            return Some(match n.contains(".cta") {
                true => MemoryScope::Block,
                false => MemoryScope::Device,
            });
        }
        _ => false,
    };
    atomic.then(|| match i.is_block_scoped() {
        true => MemoryScope::Block,
        false => MemoryScope::Device,
    })
}

impl Pass<'_> {
    pub(super) fn flat(&self, b: &Builder, p: Value) -> Value {
        match p.ty().space() {
            0 => p,
            _ => b.cast(Opcode::LLVMAddrSpaceCast, p, b.ptr_ty(0)),
        }
    }

    /// Memory that nobody writes while kernels run: constants of the program, struct arguments.
    pub(super) fn is_constant_memory(&self, p: Value) -> bool {
        let object = p.underlying();
        let constant = object.is_global_var()
            && (object.ty().space() == space::CONSTANT || object.is_constant_global());
        constant || p.ty().space() == space::CONSTANT
    }

    /// Whether the optimiser may have moved a load to where the source has none: it takes the position away from such
    /// loads. The source would not have used the value, so that no store of another thread races with the load.
    fn is_speculated(&self, i: Value) -> bool {
        let is_load = i.opcode() == Some(Opcode::LLVMLoad);
        is_load && self.has_positions && i.location_chain().is_none()
    }

    fn touched(&self, i: Value) -> Vec<Touched> {
        use SiteKind::{Atomic, Load, Store};
        let m = self.m;
        let size = |t: Type| m.int_ty(64).int(m.size_of(t));
        let one = |address, bytes, kind, align| {
            vec![Touched {
                address,
                bytes,
                kind,
                align,
            }]
        };
        match i.opcode() {
            Some(Opcode::LLVMLoad) => one(i.operand(0), size(i.ty()), Load, i.align()),
            Some(Opcode::LLVMStore) => one(i.operand(1), size(i.operand(0).ty()), Store, i.align()),
            Some(Opcode::LLVMAtomicRMW) => {
                one(i.operand(0), size(i.ty()), Atomic, m.align_of(i.ty()))
            }
            Some(Opcode::LLVMAtomicCmpXchg) => {
                let t = i.operand(1).ty();
                one(i.operand(0), size(t), Atomic, m.align_of(t))
            }
            Some(Opcode::LLVMCall) => {
                let (Some(n), a) = (i.callee_name(), i.args()) else {
                    return Vec::new();
                };
                match a.as_slice() {
                    [to, from, bytes, ..]
                        if n.starts_with("llvm.memcpy.") || n.starts_with("llvm.memmove.") =>
                    {
                        let mut all = one(*from, *bytes, Load, 1);
                        all.extend(one(*to, *bytes, Store, 1));
                        all
                    }
                    [to, _, bytes, ..] if n.starts_with("llvm.memset.") => {
                        one(*to, *bytes, Store, 1)
                    }
                    [at, ..] if n.starts_with("llvm.nvvm.atomic.") => {
                        one(*at, size(i.ty()), Atomic, m.align_of(i.ty()))
                    }
                    all => library_result_bytes(&n).map_or_else(Vec::new, |bytes| {
                        let written = all.iter().filter(|v| v.ty().is_ptr());
                        let length = m.int_ty(64).int(bytes);
                        written
                            .flat_map(|p| one(*p, length, Store, bytes as u32))
                            .collect()
                    }),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Tells the runtime of every range that an instruction is about to access; gives the number of the last place.
    pub(super) fn announce(&mut self, b: &Builder, i: Value) -> Option<u32> {
        let mut last = None;
        for t in self.touched(i) {
            let object = t.address.underlying();
            let global = object.is_global_var();
            let own = object.opcode() == Some(Opcode::LLVMAlloca);
            let byval = object.is_byval_argument();
            let extent = match (global, own) {
                (true, _) => self.m.size_of(object.global_type()),
                (_, true) => {
                    self.m.size_of(object.allocated_type())
                        * object.operand(0).const_int().unwrap_or(0)
                }
                _ => 0,
            };
            let mut site = self.site(i, t.kind);
            site.align = t.align;
            site.extent = extent;
            site.private = own || byval || self.is_speculated(i);
            site.strong = scope_of(i);
            if global || own {
                site.object = Some(named(object));
            }
            let site = self.add(site);
            last = Some(site);
            self.used(b, t.address, site);
            // A struct argument, and the thread's own memory and constants at a place within them.
            let safe = byval
                || own && extent == 0
                || (own || global && object.ty().space() == 0) && fixed(t.address, object);
            if safe {
                continue;
            }
            let known = global || own || object.is_argument() && object.ty().is_ptr();
            let base = match known {
                true => self.flat(b, object),
                false => b.ptr_ty(0).zero(),
            };
            let bytes = b.zext_or_trunc(t.bytes, b.int_ty(64));
            let value = self.stored(b, i);
            let args = [self.flat(b, t.address), base, bytes, value, b.i32(site)];
            self.call(b, runtime::ACCESS, self.m.void_ty(), &args);
        }
        last
    }

    /// What a store writes, as bits, where these fit 64.
    fn stored(&self, b: &Builder, i: Value) -> Value {
        let i64t = b.int_ty(64);
        if i.opcode() != Some(Opcode::LLVMStore) {
            return i64t.zero();
        }
        let v = i.operand(0);
        let t = v.ty();
        if is_aggregate(t) || self.m.size_of(t) > 8 || t.is_vector() && t.element().is_ptr() {
            return i64t.zero();
        }
        if t.is_ptr() {
            return b.cast(Opcode::LLVMPtrToInt, v, i64t);
        }
        let bits = match t.is_int() {
            true => v,
            false => b.bitcast(v, b.int_ty((8 * self.m.size_of(t)) as u32)),
        };
        b.zext_or_trunc(bits, i64t)
    }

    /// An integer type of as many bytes as a type has in memory.
    fn memory_int(&self, b: &Builder, t: Type) -> Type {
        b.int_ty((8 * self.m.size_of(t)) as u32)
    }

    /// The shadow's bits as they are in memory.
    fn to_memory(&self, b: &Builder, bits: Value, t: Type) -> Value {
        let whole = self.memory_int(b, t);
        if is_aggregate(t) {
            let any = self.any(b, bits);
            return self.fill(b, any, whole);
        }
        let flat = match bits.ty().is_vector() {
            true => {
                let n = bits.ty().lanes() * bits.ty().element().int_bits();
                b.bitcast(bits, b.int_ty(n))
            }
            false => bits,
        };
        b.zext_or_trunc(flat, whole)
    }

    fn of_memory(&self, b: &Builder, whole: Value, t: Type) -> Value {
        let shadow = shadow_type(self.m, t);
        if is_aggregate(t) {
            let any = self.any(b, whole);
            return self.fill(b, any, shadow);
        }
        if shadow.is_vector() {
            let n = b.int_ty(shadow.lanes() * shadow.element().int_bits());
            return b.bitcast(b.zext_or_trunc(whole, n), shadow);
        }
        b.zext_or_trunc(whole, shadow)
    }

    /// The shadow of what is in memory, as a value of a type.
    pub(super) fn load_shadow(&self, b: &Builder, p: Value, t: Type, site: u32) -> Shadow {
        let whole = self.memory_int(b, t);
        let at = self.flat(b, p);
        let name = format!("{}i{}", runtime::LOAD, whole.int_bits());
        let bits = self.call(b, &name, whole, &[at]);
        let any = self.any(b, bits);
        let args = [any, at, b.i32(site)];
        let origin = self.call(b, runtime::LOAD_ORIGIN, b.int_ty(32), &args);
        Shadow {
            bits: self.of_memory(b, bits, t),
            origin,
        }
    }

    /// Sets the shadow of memory to a value's; none: it is defined.
    pub(super) fn store_shadow(&self, b: &Builder, p: Value, t: Type, s: Option<Shadow>) {
        let whole = self.memory_int(b, t);
        let at = self.flat(b, p);
        let bits = match s {
            Some(s) => self.to_memory(b, s.bits, t),
            None => whole.zero(),
        };
        let name = format!("{}i{}", runtime::STORE, whole.int_bits());
        self.call(b, &name, self.m.void_ty(), &[at, bits]);
        if let Some(s) = s {
            let any = self.any(b, bits);
            let args = [any, at, b.i64(self.m.size_of(t)), s.origin];
            self.call(b, runtime::STORE_ORIGIN, self.m.void_ty(), &args);
        }
    }

    /// An atomic operation: what was there is the result, and what is there then has undefined bits of both.
    pub(super) fn atomic_shadow(
        &self,
        b: &Builder,
        p: Value,
        t: Type,
        operands: &[Shadow],
        site: u32,
    ) -> Shadow {
        let old = self.load_shadow(b, p, t, site);
        let any = operands
            .iter()
            .map(|s| self.any(b, s.bits))
            .reduce(|x, y| b.or(x, y));
        let new = match any {
            Some(any) => {
                let filled = self.fill(b, any, old.bits.ty());
                let mut all = vec![old];
                all.extend(operands);
                Shadow {
                    bits: b.or(old.bits, filled),
                    origin: self.origin(b, &all),
                }
            }
            None => old,
        };
        self.store_shadow(b, p, t, Some(new));
        old
    }
}
