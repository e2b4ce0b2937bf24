//! What shadows in memory are kept by: functions of the CPU executor, or device code that is linked in.
use super::{Dd, Pass, ShadowRuntime, lanes};
use kerf_llvm::{Builder, Opcode, Ordering, Type, Value, space};
use kerf_num::Format;
use std::collections::BTreeMap;

/// Bits of the last argument of the device functions: see `device/shadow.cu`.
const MIXED: u32 = 16;
const VOLATILE: u32 = 32;
const SPACE: u32 = 8;

/// What the entries of a variable of the program are called, before its own name.
pub const VARIABLE_ENTRIES: &str = "kerf_entries_";

/// A place in memory.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub pointer: Value,
    /// Bytes from there.
    pub offset: u64,
    /// Other threads may write it meanwhile.
    pub is_volatile: bool,
}

impl Place {
    /// What a load or store of an instruction accesses.
    pub(super) fn accessed_by(i: Value, pointer: Value) -> Place {
        let atomic = i.ordering() != Ordering::LLVMAtomicOrderingNotAtomic;
        Place {
            pointer,
            offset: 0,
            is_volatile: i.is_volatile() || atomic,
        }
    }

    pub(super) fn plain(pointer: Value) -> Place {
        Place {
            pointer,
            offset: 0,
            is_volatile: false,
        }
    }

    pub(super) fn plus(self, bytes: u64) -> Place {
        Place {
            offset: self.offset + bytes,
            ..self
        }
    }
}

/// Where the shadow of a place is.
enum ShadowPlace {
    /// Nowhere: nobody writes there but the host.
    Exact,
    /// Beside a local array or a variable of the program.
    Beside { object: Value, shadow: Value },
    /// Found by the runtime, from the address and its space.
    Found { space: u32 },
}

/// What the device functions have to know of a module.
#[derive(Clone, Default)]
pub(super) struct DeviceLayout {
    /// log2 of the granule, and whether floats of several widths are in memory.
    layout: u32,
    /// Shadows of local arrays, and of variables of the program.
    beside: BTreeMap<Value, Value>,
}

/// Formats of the floats that a module reads from memory or writes to it. Entries are found by addresses that are
/// multiples of a float's size.
fn formats_in_memory(p: &Pass, f: Value) -> Vec<Format> {
    let mut all = Vec::new();
    for i in f.instructions() {
        if !is_aligned(i) {
            p.needs_host("floats at addresses that are no multiple of their size");
        }
        let t = match i.opcode() {
            Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW) => i.ty(),
            Some(Opcode::LLVMStore) => i.operand(0).ty(),
            // Results that a math function leaves in memory have the type of its argument.
            Some(Opcode::LLVMCall) if i.ty().is_void() && !i.args().is_empty() => i.args()[0].ty(),
            _ => continue,
        };
        let word = || t.is_int().then(|| p.read_later(i)).flatten();
        all.extend(lanes(t).or_else(word).map(|s| s.0));
        // A float in an integer that is stored is found when its fields are.
        if t.is_int() && i.opcode() == Some(Opcode::LLVMStore) {
            all.extend(p.made_of_bits(i.operand(0)));
        }
    }
    all
}

/// Does a load or store of floats have an address that is a multiple of a float's size? Others do.
fn is_aligned(i: Value) -> bool {
    let t = match i.opcode() {
        Some(Opcode::LLVMLoad) => i.ty(),
        Some(Opcode::LLVMStore) => i.operand(0).ty(),
        _ => return true,
    };
    lanes(t).is_none_or(|(f, _)| i.align() as usize >= f.bytes())
}

impl DeviceLayout {
    pub(super) fn for_functions(p: &Pass, functions: &[Value]) -> DeviceLayout {
        let formats = functions.iter().flat_map(|f| formats_in_memory(p, *f));
        let bytes: Vec<u32> = formats.map(|f| f.bytes() as u32).collect();
        let least = bytes.iter().min().copied().unwrap_or(8);
        let mixed = bytes.iter().any(|b| *b != least);
        DeviceLayout {
            layout: least.trailing_zeros() | if mixed { MIXED } else { 0 },
            beside: BTreeMap::new(),
        }
    }

    /// log2 of the bytes that share an entry.
    pub(super) fn granule_log2(&self) -> u32 {
        self.layout & 15
    }

    /// How outputs are read: global memory.
    pub(super) fn of_buffers(&self) -> u32 {
        self.layout | 1 << SPACE
    }
}

impl Pass<'_> {
    fn on_device(&self) -> bool {
        self.runtime == ShadowRuntime::Device
    }

    /// Something that device code has no shadow for: the reference has to be taken on the CPU.
    pub(super) fn needs_host(&self, what: impl Into<String>) {
        if self.on_device() {
            self.obstacles.borrow_mut().insert(what.into());
        }
    }

    /// Lets an object whose entries lie beside it begin where the widest float may: device code looks for a wider float
    /// by the address (`end_wider`), and would find one before the object, outside of the entries.
    fn start_at_word(&self, object: Value, t: Type) {
        object.set_align(object.align().max(self.m.align_of(t)).max(8));
    }

    /// Gives the local arrays of a function shadows of their own.
    pub(super) fn shadow_locals(&mut self, f: Value) {
        if !self.on_device() {
            return;
        }
        for i in f.instructions() {
            let single = |v: Value| v.operand(0).const_int() == Some(1);
            if i.opcode() != Some(Opcode::LLVMAlloca) || !single(i) {
                continue;
            }
            let Some(next) = i.next() else { continue };
            let granule = self.device.granule_log2();
            let entries = (self.m.size_of(i.allocated_type()) >> granule) + 1;
            let b = Builder::before(next);
            self.start_at_word(i, i.allocated_type());
            let shadow = b.alloca(self.f64t.vector(2).array(entries));
            shadow.set_align(16);
            b.intrinsic(
                "llvm.memset",
                &[shadow.ty(), b.int_ty(64)],
                &[
                    shadow,
                    b.int_ty(8).zero(),
                    b.i64(16 * entries),
                    b.int_ty(1).zero(),
                ],
            );
            self.device.beside.insert(i, shadow);
        }
    }

    /// Gives the variables of the program shadows of their own: the host may copy computed values into them.
    pub(super) fn shadow_variables(&mut self) {
        if !self.on_device() {
            return;
        }
        for g in self.m.globals() {
            let bytes = self.m.size_of(g.global_type());
            let is_variable = matches!(g.ty().space(), space::GLOBAL | space::CONSTANT);
            if !is_variable
                || g.is_declaration()
                || g.is_constant_global() && !g.is_externally_initialized()
            {
                continue;
            }
            let entries = (bytes >> self.device.granule_log2()) + 1;
            let t = self.f64t.vector(2).array(entries);
            self.start_at_word(g, g.global_type());
            let name = format!("{VARIABLE_ENTRIES}{}", g.name());
            let shadow = self.m.add_global(t, &name, space::GLOBAL);
            shadow.set_initializer(t.zero());
            shadow.set_align(16);
            self.device.beside.insert(g, shadow);
        }
    }

    fn shadow_place(&self, p: Value) -> ShadowPlace {
        let root = p.underlying();
        if let Some(shadow) = self.device.beside.get(&root) {
            return ShadowPlace::Beside {
                object: root,
                shadow: *shadow,
            };
        }
        if self.exact_params.contains(&root) {
            return ShadowPlace::Exact;
        }
        let known = |v: Value| v.ty().is_ptr() && matches!(v.ty().space(), 1 | 3);
        let space = match root {
            r if self.global_params.contains(&r) => 1,
            r if known(r) => r.ty().space(),
            _ if known(p) => p.ty().space(),
            _ => 0,
        };
        ShadowPlace::Found { space }
    }

    fn flat(&self, b: &Builder, place: Place) -> Value {
        let p = place.pointer;
        let flat = match p.ty().space() {
            0 => p,
            _ => b.cast(Opcode::LLVMAddrSpaceCast, p, b.ptr_ty(0)),
        };
        match place.offset {
            0 => flat,
            n => b.offset(flat, b.i64(n)),
        }
    }

    /// Address, entry and description of a place for the device functions; none where nothing has a shadow.
    fn entry(&self, b: &Builder, place: Place) -> Option<[Value; 3]> {
        let i64t = b.int_ty(64);
        let mut layout = self.device.layout;
        if place.is_volatile {
            layout |= VOLATILE;
        }
        let address = self.flat(b, place);
        let entry = match self.shadow_place(place.pointer) {
            ShadowPlace::Exact => return None,
            ShadowPlace::Beside { object, shadow } => {
                let number = |p| b.cast(Opcode::LLVMPtrToInt, p, i64t);
                let start = self.flat(b, Place::plain(object));
                let at = b.sub(number(address), number(start));
                let at = b.lshr(at, b.i64(u64::from(self.device.granule_log2())));
                self.flat(b, Place::plain(b.index(self.f64t.vector(2), shadow, at)))
            }
            ShadowPlace::Found { space } => {
                layout |= space << SPACE;
                let (ptr, i32t) = (b.ptr_ty(0), b.int_ty(32));
                let f = self
                    .m
                    .declare("kerf_shadow_entry", ptr.function(&[ptr, i32t]));
                b.call(f, &[address, b.i32(layout)])
            }
        };
        Some([address, entry, b.i32(layout)])
    }

    /// A function of the device library, on pairs.
    pub(super) fn call_pair(&self, b: &Builder, name: &str, args: &[Value]) -> Dd {
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let f = self.m.declare(name, self.f64t.vector(2).function(&types));
        let r = b.call(f, args);
        Dd {
            hi: b.lane(r, 0),
            lo: b.lane(r, 1),
        }
    }

    pub(super) fn pair(&self, b: &Builder, s: Dd) -> Value {
        let v = b.set_lane(self.f64t.vector(2).undef(), s.hi, 0);
        b.set_lane(v, s.lo, 1)
    }

    /// The shadow of a float that was read from memory.
    pub(super) fn read_shadow(&self, b: &Builder, place: Place, v: Value) -> Dd {
        let format = self.fmt(b, v.ty());
        if !self.on_device() {
            let a = self.flat(b, place);
            return self.call_dd(b, "kerf_shadow_load", &[a, self.bits(b, v), format]);
        }
        let exact = self.exact(b, v);
        match self.entry(b, place) {
            None => exact,
            Some([_, e, layout]) => {
                self.call_pair(b, "kerf_shadow_load", &[e, exact.hi, format, layout])
            }
        }
    }

    /// Keeps the shadow of a float that is written to memory.
    pub(super) fn write_shadow(&self, b: &Builder, place: Place, v: Value, s: Dd) {
        let format = self.fmt(b, v.ty());
        if !self.on_device() {
            let a = self.flat(b, place);
            let args = [a, self.bits(b, v), format, s.hi, s.lo];
            return self.call_void(b, "kerf_shadow_store", &args);
        }
        if let Some([a, e, layout]) = self.entry(b, place) {
            let args = [a, e, format, s.hi, s.lo, layout];
            self.call_void(b, "kerf_shadow_store", &args);
        }
    }

    /// Bytes are written that are exact.
    pub(super) fn forget_shadows(&self, b: &Builder, place: Place, bytes: Value) {
        if !self.on_device() {
            let a = self.flat(b, place);
            return self.call_void(b, "kerf_shadow_clear", &[a, bytes]);
        }
        self.overwrite(b, place, bytes, false);
    }

    /// An integer is written: exact, or one that may hide a float (device).
    pub(super) fn overwrite(&self, b: &Builder, place: Place, bytes: Value, hides: bool) {
        if let Some([a, e, layout]) = self.entry(b, place) {
            let args = [a, e, bytes, b.i32(u32::from(hides)), layout];
            self.call_void(b, "kerf_shadow_overwrite", &args);
        }
    }

    /// Bytes are copied; their shadows go along.
    pub(super) fn copy_shadows(&self, b: &Builder, to: Place, from: Place, bytes: Value) {
        if !self.on_device() {
            let (d, s) = (self.flat(b, to), self.flat(b, from));
            return self.call_void(b, "kerf_shadow_copy", &[d, s, bytes]);
        }
        let none = b.ptr_ty(0).zero();
        let entry = |p: Place| self.entry(b, p).map_or(none, |[_, e, _]| e);
        let layout = b.i32(self.device.layout);
        let args = [self.flat(b, to), entry(to), entry(from), bytes, layout];
        self.call_void(b, "kerf_shadow_copy", &args);
    }

    /// An integer is written that was read elsewhere: the entries of what was read go along (device).
    pub(super) fn carry_entries(&self, b: &Builder, to: Place, load: Value) {
        let Some(next) = load.next() else { return };
        let early = Builder::before(next);
        let granule = 1 << self.device.granule_log2();
        let from = Place::accessed_by(load, load.operand(0));
        let empty = self.f64t.vector(2).zero();
        let bytes = self.m.size_of(load.ty());
        for at in (0..bytes).step_by(granule) {
            let x = self.entry(&early, from.plus(at)).map(|[_, e, layout]| {
                let d = self.call_pair(&early, "kerf_shadow_get", &[e, layout]);
                self.pair(&early, d)
            });
            if let Some([a, e, layout]) = self.entry(b, to.plus(at)) {
                let left = b.i32((bytes - at) as u32);
                // Only where the integer begins may a wider float begin before it.
                let layout = match (at, layout.const_int()) {
                    (1.., Some(l)) => b.i32(l as u32 & !MIXED),
                    _ => layout,
                };
                let args = [a, e, x.unwrap_or(empty), left, layout];
                self.call_void(b, "kerf_shadow_put", &args);
            }
        }
    }

    /// An integer that was read becomes a float, or part of one: if there was a float in memory, its shadow is lost.
    pub(super) fn check_word(&self, load: Value) {
        let Some(next) = load.next() else { return };
        let b = Builder::before(next);
        let bytes = self.m.size_of(load.ty());
        let place = Place::plain(load.operand(0));
        if let Some([_, e, layout]) = self.entry(&b, place) {
            self.call_void(&b, "kerf_shadow_check_word", &[e, b.i64(bytes), layout]);
        }
    }

    /// Blocks of a kernel with shared memory take a place for its shadows, and give it back.
    pub(super) fn bracket(&self, kernel: Value) {
        let shared = |v: &Value| v.ty().is_ptr() && v.ty().space() == 3;
        let globals = kerf_ir::kernels::used_globals(kernel);
        if !self.on_device() || !globals.iter().chain(&kernel.params()).any(shared) {
            return;
        }
        if let Some(first) = kernel.blocks().first().and_then(|b| b.first_non_phi()) {
            self.call_void(&Builder::before(first), "kerf_shadow_enter", &[]);
        }
        for b in kernel.blocks() {
            if let Some(t) = b.terminator()
                && t.opcode() == Some(Opcode::LLVMRet)
            {
                self.call_void(&Builder::before(t), "kerf_shadow_leave", &[]);
            }
        }
    }

    /// A comparison, and what it comes to in the program.
    pub(super) fn count_flip(&self, b: &Builder, numbers: [Value; 3], p: Dd, q: Dd) {
        let [site, predicate, original] = numbers;
        if self.on_device() {
            let args = [site, predicate, original, self.pair(b, p), self.pair(b, q)];
            return self.call_void(b, "kerf_shadow_compare", &args);
        }
        let args = [site, predicate, original, p.hi, p.lo, q.hi, q.lo];
        self.call_void(b, "kerf_shadow_compare", &args);
    }

    /// The value itself, without anything that was rounded away.
    pub(super) fn exact(&self, b: &Builder, v: Value) -> Dd {
        Dd {
            hi: self.widen(b, v),
            lo: self.zero(),
        }
    }

    /// A shadow that only the bits of a value can lead to: the CPU executor has a table of them; on a device it is exact
    /// where the bits come from no float, and refused where they may.
    pub(super) fn lost(&self, b: &Builder, v: Value) -> Dd {
        let from = self.provenance(v);
        if from.hides_float {
            self.needs_host(format!(
                "floats that travel as integers ({})",
                self.named(v)
            ));
        }
        for load in from.loads {
            self.check_word(load);
        }
        self.exact(b, v)
    }

    /// A value's source position, for messages.
    fn named(&self, v: Value) -> String {
        match kerf_ir::sites::location(v, &self.main) {
            Some(l) => format!("{}:{}", l.file, l.line),
            None => "made by the compiler".to_owned(),
        }
    }
}
