//! A finished NVPTX module becomes x86 code with SIMT semantics.
//!
//! Special registers become loads from the context, shared variables become offsets into the
//! block's shared memory, barriers and warp operations become calls into the runtime, and every
//! remaining `llvm.nvvm.*` operation becomes ordinary IR or a runtime call. A kernel without
//! barriers or warp operations gets a loop over the threads of a block, marked parallel; the others
//! get one entry per thread, run as coroutines.
use super::context::offset;
use super::intrinsics;
use super::regions;
use kerf_ir::kernels::reachable;
use kerf_ir::llvm::{
    Builder, HostJit, IntPred, LlvmError, Machine, Module, Opcode, PassOptions, Type, TypeKind,
    Value, space,
};
use kerf_ir::obstacles::{Scope, obstacles};
use std::collections::BTreeMap;

/// How the threads of a block are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One call runs all threads in a loop.
    Loop,
    /// One call runs one thread; a coroutine each.
    Coroutine,
    /// Split at block barriers: one call runs one region for all threads (see [`super::regions`]).
    Regions,
}

/// What the executor must know about a lowered kernel.
#[derive(Debug, Clone)]
pub struct LoweredKernel {
    /// Symbol of the kernel in the source module.
    pub symbol: String,
    /// Symbol of the entry in the object.
    pub entry: String,
    /// How it is run.
    pub mode: Mode,
    /// Does what depends on order (floating-point atomics, compare-and-swap loops, old values of
    /// atomics, printing): blocks then run in order, so that results repeat.
    pub ordered: bool,
    /// Stack bytes that one thread may need.
    pub stack_bytes: usize,
    /// Operations that are modelled, not exact, on the CPU.
    pub modelled: Vec<String>,
    /// Number of regions, in that mode.
    pub regions: usize,
    /// Bytes of the frame, in that mode.
    pub frame_bytes: u64,
}

/// A memory access that `--memcheck` watches.
#[derive(Debug, Clone)]
pub struct AccessSite {
    /// Where in the source.
    pub location: String,
    /// Kernel or function.
    pub function: String,
    /// `load`, `store` or `atomic`.
    pub kind: &'static str,
    /// Required alignment.
    pub align: u32,
    /// Variable that the address derives from, where that is known at compile time.
    pub object: Option<String>,
}

/// A variable of the program that memcheck has to know.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Symbol in the object.
    pub symbol: String,
    /// Size.
    pub bytes: usize,
    /// Bytes of one element.
    pub element: usize,
}

/// The result: an object file and what is in it.
pub struct Lowered {
    /// Object file for this machine.
    pub object: Vec<u8>,
    /// Kernels.
    pub kernels: Vec<LoweredKernel>,
    /// Bytes of static shared memory; dynamic shared memory follows.
    pub static_shared: u64,
    /// Watched accesses, by number.
    pub accesses: Vec<AccessSite>,
    /// Variables that accesses may meet without naming them, where accesses are watched.
    pub variables: Vec<Variable>,
}

/// Options of the lowering.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowerOptions {
    /// Check every access.
    pub memcheck: bool,
    /// Run every kernel with barriers as coroutines, none split into regions.
    pub no_regions: bool,
}

/// Leading parameters of every lowered function.
pub(super) struct Lead {
    pub ctx: Value,
    pub tid: [Value; 3],
}

impl Lead {
    fn of(f: Value) -> Lead {
        let p = f.params();
        Lead {
            ctx: p[0],
            tid: [p[1], p[2], p[3]],
        }
    }
    pub fn all(&self) -> Vec<Value> {
        vec![self.ctx, self.tid[0], self.tid[1], self.tid[2]]
    }
}

/// A field of the context; constant while a block runs.
pub(super) fn field(b: &Builder, ctx: Value, at: u64, ty: Type) -> Value {
    let p = b.offset(ctx, b.i64(at));
    let v = b.load(ty, p);
    v.mark("invariant.load");
    v
}

fn is_collective(name: &str) -> bool {
    let Some(n) = name.strip_prefix("llvm.nvvm.") else {
        return false;
    };
    [
        "barrier",
        "bar.",
        "shfl.",
        "vote.",
        "match.",
        "activemask",
        "redux.",
        "elect.",
    ]
    .iter()
    .any(|p| n.starts_with(p))
}

fn needs_coroutines(kernel: Value) -> bool {
    reachable(kernel).iter().any(|f| {
        f.instructions()
            .iter()
            .any(|i| i.callee_name().is_some_and(|n| is_collective(&n)))
    })
}

fn order_matters(kernel: Value) -> bool {
    reachable(kernel)
        .iter()
        .flat_map(|f| f.instructions())
        .any(|i| match i.opcode() {
            Some(Opcode::LLVMAtomicRMW) => {
                // A ticket (the old value of a counter) tells who came first.
                let ticket = !i.users().is_empty();
                ticket
                    || i.ty().element().is_float()
                    || i.rmw_op() == kerf_ir::llvm::RmwOp::LLVMAtomicRMWBinOpXchg
            }
            Some(Opcode::LLVMAtomicCmpXchg) => true,
            _ => i.callee_name().is_some_and(|n| {
                n.starts_with("llvm.nvvm.atomic")
                    || matches!(n.as_str(), "kerf_shadow_atomic" | "vprintf" | "printf")
            }),
        })
}

fn stack_need(m: &Module, kernel: Value) -> usize {
    let fs = reachable(kernel);
    let recursive = fs.iter().any(|f| {
        reachable(*f)
            .iter()
            .skip(1)
            .any(|g| g.instructions().iter().any(|i| i.operands().contains(f)))
            || f.instructions().iter().any(|i| i.operands().contains(f))
    });
    let locals: u64 = fs
        .iter()
        .flat_map(|f| f.instructions())
        .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
        .map(|i| m.size_of(i.allocated_type()) * i.operand(0).const_int().unwrap_or(1))
        .sum();
    let base = 48 * 1024 + 2 * locals as usize;
    if recursive { base + 1024 * 1024 } else { base }
}

/// Gives every defined function the four leading parameters, and rewrites all calls.
fn add_lead(m: &Module) {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let lead = [ptr, i32t, i32t, i32t];
    let old: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .collect();
    let mut map = BTreeMap::new();
    for f in old {
        // byval becomes a plain pointer: the caller of a kernel owns the copy.
        let byval: Vec<(u32, Type)> = (0..f.params().len() as u32)
            .filter_map(|i| Some((i, f.byval(i)?)))
            .collect();
        let n = f.prepend_params(&lead);
        n.set_call_conv(0);
        for (i, t) in byval {
            // Each thread may write its own copy of a struct argument.
            if let Some(first) = n.blocks().first().and_then(|b| b.first_non_phi()) {
                let b = Builder::before(first);
                let p = n.params()[4 + i as usize];
                let copy = b.alloca(t);
                copy.set_align(16);
                p.replace_with(copy);
                b.memcpy(copy, p, m.size_of(t), 1);
            }
        }
        map.insert(f, n);
    }
    for n in map.values() {
        let lead_values = Lead::of(*n).all();
        for i in n.instructions() {
            if i.opcode() != Some(Opcode::LLVMCall) {
                continue;
            }
            let callee = i.callee();
            if let Some(new) = map.get(&callee) {
                let c = i.prepend_args(*new, new.global_type(), &lead_values);
                c.set_instr_call_conv(0);
            } else if !callee.is_function() && !callee.is_inline_asm() {
                let t = i.called_type();
                let mut params = lead.to_vec();
                params.extend(t.params());
                i.prepend_args(callee, t.ret().function(&params), &lead_values);
            }
        }
    }
    for (f, n) in &map {
        f.replace_with(*n);
        f.delete_function();
    }
}

/// Gives every shared variable its place in the block's shared memory; returns the static size.
fn place_shared(m: &Module) -> u64 {
    let shared: Vec<Value> = m
        .globals()
        .into_iter()
        .filter(|g| g.ty().space() == space::SHARED)
        .collect();
    let mut end = 0u64;
    let mut places = Vec::new();
    for g in &shared {
        let bytes = m.size_of(g.global_type());
        let dynamic = g.is_declaration() || bytes == 0;
        if !dynamic {
            let align = u64::from(g.align().max(m.align_of(g.global_type())).max(16));
            end = end.next_multiple_of(align);
            places.push((*g, end, false));
            end += bytes;
        } else {
            places.push((*g, 0, true));
        }
    }
    let end = end.next_multiple_of(128);
    for (g, at, dynamic) in places {
        let at = if dynamic { end } else { at };
        g.expand_constant_users();
        let mut bases: BTreeMap<Value, Value> = BTreeMap::new();
        for u in g.users() {
            if !u.is_instruction() {
                continue;
            }
            let f = u.block().function();
            let base = *bases.entry(f).or_insert_with(|| {
                let first = f.blocks()[0].instructions()[0];
                let b = Builder::before(first);
                let sh = field(&b, f.params()[0], offset::SHARED, b.ptr_ty(0));
                let p = b.offset(sh, b.i64(at));
                b.cast(Opcode::LLVMAddrSpaceCast, p, g.ty())
            });
            for (k, op) in u.operands().into_iter().enumerate() {
                if op == g {
                    u.set_operand(k as u32, base);
                }
            }
        }
        if g.users().is_empty() {
            g.delete_global();
        }
    }
    end
}

/// Declares that `ctaid * ntid + tid` does not wrap: launches with more than 2^31-1 threads in one
/// dimension are refused, and address analysis needs to know.
fn no_wrap_global_index(f: Value) {
    let is = |v: Value, what: &str| v.callee_name().is_some_and(|n| n.contains(what));
    for i in f.instructions() {
        if i.opcode() == Some(Opcode::LLVMMul) {
            let (a, b) = (i.operand(0), i.operand(1));
            let product = (is(a, "sreg.ctaid.") && is(b, "sreg.ntid."))
                || (is(b, "sreg.ctaid.") && is(a, "sreg.ntid."));
            if product && i.ty().int_bits() == 32 {
                i.set_no_wrap();
                for u in i.users() {
                    if u.opcode() == Some(Opcode::LLVMAdd)
                        && u.operands().iter().any(|o| is(*o, "sreg.tid."))
                    {
                        u.set_no_wrap();
                    }
                }
            }
        }
    }
}

/// The entry that runs all threads of a block in loops over z, y, x.
fn loop_entry(m: &Module, body: Value, name: &str) -> Value {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let f = m.add_function(name, m.void_ty().function(&[ptr, ptr]));
    let (ctx, args) = (f.params()[0], f.params()[1]);
    let entry = m.append_block(f, "entry");
    let b = Builder::at_end(entry);
    let bounds: Vec<Value> = (0..3)
        .map(|d| field(&b, ctx, offset::NTID + 4 * d, i32t))
        .collect();
    let values = load_args(&b, body, args);
    let zero = b.i32(0);
    let heads: Vec<_> = ["z", "y", "x"].iter().map(|n| b.new_block(f, n)).collect();
    let latches: Vec<_> = ["z.next", "y.next", "x.next"]
        .iter()
        .map(|n| b.new_block(f, n))
        .collect();
    let exit = b.new_block(f, "exit");
    b.br(heads[0]);
    let mut indices = Vec::new();
    for level in 0..3 {
        b.move_to_end(heads[level]);
        let i = b.phi(i32t);
        i.add_incoming(&[(zero, if level == 0 { entry } else { heads[level - 1] })]);
        indices.push(i);
        if level < 2 {
            b.br(heads[level + 1]);
        }
    }
    let mut call_args = vec![ctx, indices[2], indices[1], indices[0]];
    call_args.extend(values);
    b.call(body, &call_args);
    b.br(latches[2]);
    for level in (0..3).rev() {
        b.move_to_end(latches[level]);
        let n = b.add(indices[level], b.i32(1));
        n.set_no_wrap();
        indices[level].add_incoming(&[(n, latches[level])]);
        let more = b.icmp(IntPred::LLVMIntULT, n, bounds[2 - level]);
        let done = if level == 0 { exit } else { latches[level - 1] };
        let br = b.cond_br(more, heads[level], done);
        if level == 2 {
            br.mark_parallel(body);
        }
    }
    b.move_to_end(exit);
    b.ret(None);
    f
}

/// The entry that runs one thread.
fn thread_entry(m: &Module, body: Value, name: &str) -> Value {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let f = m.add_function(name, m.void_ty().function(&[ptr, ptr, i32t, i32t, i32t]));
    let p = f.params();
    let b = Builder::at_end(m.append_block(f, "entry"));
    let mut call_args = vec![p[0], p[2], p[3], p[4]];
    call_args.extend(load_args(&b, body, p[1]));
    b.call(body, &call_args);
    b.ret(None);
    f
}

/// Arguments of a kernel: `args[i]` points at the storage of argument i.
fn load_args(b: &Builder, body: Value, args: Value) -> Vec<Value> {
    let ptr = b.ptr_ty(0);
    body.params()
        .iter()
        .skip(4)
        .enumerate()
        .map(|(i, p)| {
            let slot = b.index(ptr, args, b.i64(i as u64));
            let at = b.load(ptr, slot);
            at.mark("invariant.load");
            if body_param_is_struct(body, i) {
                return at;
            }
            let v = b.load(p.ty(), at);
            v.mark("invariant.load");
            v
        })
        .collect()
}

/// Was the parameter a struct by value? Its pointer then is the argument's storage itself.
fn body_param_is_struct(body: Value, i: usize) -> bool {
    body.params()[4 + i].name().ends_with(STRUCT_SUFFIX)
}

/// Marks a struct parameter through the lowering, in which attributes do not survive.
const STRUCT_SUFFIX: &str = ".kerf.byval";

/// What an instruction touches: address, bytes, kind and required alignment.
fn touched(m: &Module, i: Value) -> Vec<(Value, Value, &'static str, u32)> {
    let size = |t: Type| m.int_ty(64).int(m.size_of(t));
    match i.opcode() {
        Some(Opcode::LLVMLoad) => vec![(i.operand(0), size(i.ty()), "load", i.align())],
        Some(Opcode::LLVMStore) => {
            vec![(i.operand(1), size(i.operand(0).ty()), "store", i.align())]
        }
        Some(Opcode::LLVMAtomicRMW) => {
            vec![(i.operand(0), size(i.ty()), "atomic", m.align_of(i.ty()))]
        }
        Some(Opcode::LLVMAtomicCmpXchg) => {
            let t = i.operand(1).ty();
            vec![(i.operand(0), size(t), "atomic", m.align_of(t))]
        }
        Some(Opcode::LLVMCall) => {
            let (Some(n), a) = (i.callee_name(), i.args()) else {
                return Vec::new();
            };
            // Structs are copied, and arrays cleared, in one operation.
            match a.as_slice() {
                [to, from, bytes, ..]
                    if n.starts_with("llvm.memcpy.") || n.starts_with("llvm.memmove.") =>
                {
                    vec![(*from, *bytes, "load", 1), (*to, *bytes, "store", 1)]
                }
                [to, _, bytes, ..] if n.starts_with("llvm.memset.") => {
                    vec![(*to, *bytes, "store", 1)]
                }
                [at, ..] if n.starts_with("llvm.nvvm.atomic.") => {
                    vec![(*at, size(i.ty()), "atomic", m.align_of(i.ty()))]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Variables that a pointer may lead to (tables, virtual tables), made visible under their names.
fn name_variables(m: &Module) -> Vec<Variable> {
    let mut out = Vec::new();
    for (k, g) in m.globals().into_iter().enumerate() {
        if g.is_declaration() || g.ty().space() == space::SHARED {
            continue;
        }
        if g.name().is_empty() {
            g.set_name(&format!("kerf.variable.{k}"));
        }
        g.set_linkage(llvm_linkage_external());
        let t = g.global_type();
        let bytes = m.size_of(t) as usize;
        let array = t.kind() == TypeKind::LLVMArrayTypeKind && t.array_len() > 0;
        let element = if array {
            bytes / t.array_len() as usize
        } else {
            bytes
        };
        out.push(Variable {
            symbol: g.name(),
            bytes,
            element: element.max(1),
        });
    }
    out
}

fn watch_accesses(m: &Module, accesses: &mut Vec<AccessSite>) {
    let main = m.source_name();
    let (ptr, i32t, i64t) = (m.ptr_ty(0), m.int_ty(32), m.int_ty(64));
    let check = m.declare(
        "kerf_check",
        m.void_ty()
            .function(&[ptr, i32t, i32t, i32t, ptr, i64t, ptr, i64t, i32t]),
    );
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let all = f
            .instructions()
            .into_iter()
            .flat_map(|i| touched(m, i).into_iter().map(move |t| (i, t)));
        for (i, (p, bytes, kind, align)) in all.collect::<Vec<_>>() {
            let object = p.underlying();
            let global = object.is_global_var();
            // The thread's own memory, constants, and the storage of a struct argument.
            let argument = object.is_argument() && object.name().ends_with(STRUCT_SUFFIX);
            if object.opcode() == Some(Opcode::LLVMAlloca)
                || (global && object.ty().space() == 0)
                || argument
            {
                continue;
            }
            let location = kerf_ir::sites::location(i, &main).map_or_else(String::new, |l| {
                format!("{}:{}:{}", l.file, l.line, l.column)
            });
            accesses.push(AccessSite {
                location,
                function: kerf_ir::kernels::source_name(&kerf_ir::llvm::demangle(&f.name())),
                kind,
                align,
                object: global.then(|| object.name()),
            });
            let b = Builder::before(i);
            let flat = |v: Value| {
                if v.ty().space() == 0 {
                    v
                } else {
                    b.cast(Opcode::LLVMAddrSpaceCast, v, ptr)
                }
            };
            let known = global || (object.is_argument() && object.ty().is_ptr());
            let base = if known { flat(object) } else { ptr.zero() };
            let extent = if global {
                m.size_of(object.global_type())
            } else {
                0
            };
            let mut a = Lead::of(f).all();
            let number = b.i32(accesses.len() as u32 - 1);
            let bytes = b.zext_or_trunc(bytes, i64t);
            a.extend([flat(p), bytes, base, b.i64(extent), number]);
            b.call(check, &a);
        }
    }
}

/// The entries of a kernel, by its mode.
fn make_entries(m: &Module, k: &mut LoweredKernel, body: Value) {
    let export = |f: Value| f.set_linkage(llvm_linkage_external());
    if k.mode == Mode::Regions {
        match regions::split(m, body, &k.symbol) {
            Some(r) => {
                for (i, f) in r.functions.iter().enumerate() {
                    f.set_linkage(kerf_ir::llvm::Linkage::LLVMInternalLinkage);
                    export(loop_entry(m, *f, &format!("{}.r{i}", k.entry)));
                    export(thread_entry(m, *f, &format!("{}.t{i}", k.entry)));
                    f.add_enum_attr("alwaysinline");
                }
                k.regions = r.functions.len();
                k.frame_bytes = r.frame_bytes;
                return;
            }
            None => k.mode = Mode::Coroutine,
        }
    }
    if k.mode == Mode::Loop {
        export(loop_entry(m, body, &k.entry));
        body.add_enum_attr("alwaysinline");
    } else {
        export(thread_entry(m, body, &k.entry));
    }
}

/// Removes kernels that the CPU cannot run, and what only they call: a launch of one is refused
/// before, and the others of the file have to run.
fn drop_refused(m: &Module) {
    let refused = |k: &Value| {
        obstacles(m, *k, &[])
            .iter()
            .any(|o| o.scope == Scope::CpuRun)
    };
    let mut dead: Vec<Value> = m.kernel_functions().into_iter().filter(refused).collect();
    while !dead.is_empty() {
        dead.iter().for_each(|f| f.delete_function());
        let kernels = m.kernel_functions();
        dead = m
            .functions()
            .into_iter()
            .filter(|f| !f.is_declaration() && f.users().is_empty() && !kernels.contains(f))
            .collect();
    }
}

/// Lowers a finished module.
pub fn lower(finished: &Module, options: LowerOptions) -> Result<Lowered, LlvmError> {
    let m = finished.duplicate();
    m.drop_used();
    drop_refused(&m);
    let mut kernels: Vec<LoweredKernel> = Vec::new();
    for k in m.kernel_functions() {
        let mode = match (needs_coroutines(k), regions::eligible(k, is_collective)) {
            (false, _) => Mode::Loop,
            (true, true) if !options.no_regions => Mode::Regions,
            (true, _) => Mode::Coroutine,
        };
        kernels.push(LoweredKernel {
            symbol: k.name(),
            entry: format!("kerf.entry.{}", kernels.len()),
            mode,
            ordered: order_matters(k),
            stack_bytes: stack_need(&m, k),
            modelled: intrinsics::modelled(k),
            regions: 0,
            frame_bytes: 0,
        });
        for (i, p) in k.params().into_iter().enumerate() {
            if k.byval(i as u32).is_some() {
                p.set_name(&format!("p{i}{STRUCT_SUFFIX}"));
            }
        }
    }
    for f in m.functions() {
        no_wrap_global_index(f);
        f.remove_enum_attr("convergent");
        f.remove_enum_attr("noinline");
    }
    add_lead(&m);
    let mut accesses = Vec::new();
    let mut variables = Vec::new();
    if options.memcheck {
        watch_accesses(&m, &mut accesses);
        variables = name_variables(&m);
    }
    let static_shared = place_shared(&m);
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let lead = Lead::of(f);
        for i in f.instructions() {
            intrinsics::lower(&m, &lead, i)?;
        }
    }
    // Positions have been read; splitting blocks need not carry them along.
    m.strip_debug();
    for k in &mut kernels {
        let body = m
            .function(&k.symbol)
            .ok_or_else(|| LlvmError(format!("{} is gone", k.symbol)))?;
        make_entries(&m, k, body);
    }
    let host = Machine::host()?;
    host.adopt(&m);
    for g in m.globals() {
        // Constant memory is written by the host before a launch.
        if g.ty().space() != 0 {
            g.set_constant_global(false);
            if !g.is_declaration() {
                g.set_linkage(llvm_linkage_external());
            }
        }
    }
    m.verify()?;
    let passes = PassOptions {
        unroll: true,
        vectorize: true,
        inline_threshold: None,
    };
    // First without vectorising: addresses must be simple before the parallel marks can be judged.
    host.run_passes(&m, "default<O2>", PassOptions::default())?;
    for f in m.functions() {
        f.check_parallel();
    }
    host.run_passes(&m, "default<O3>", passes)?;
    let object = host.object(&m)?;
    Ok(Lowered {
        object,
        kernels,
        static_shared,
        accesses,
        variables,
    })
}

fn llvm_linkage_external() -> kerf_ir::llvm::Linkage {
    kerf_ir::llvm::Linkage::LLVMExternalLinkage
}

/// Loads a lowered object with the runtime's symbols.
pub fn load(l: &Lowered) -> Result<HostJit, LlvmError> {
    HostJit::load(&l.object, &super::symbols::all())
}
