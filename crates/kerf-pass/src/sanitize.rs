//! The sanitizer pass: instruments a program so that a run shows undefined behaviour.
//!
//! Beside every value that may be undefined the pass computes a shadow with one bit for each of the value's bits, set
//! where that bit is undefined, and the number of the place where the undefined value came into being (its origin).
//! Memory has shadows too, which the runtime keeps. Copies of undefined values are no error; a branch, an address or a vote that
//! depends on one is, and so is an output that holds one. This is the scheme of MemorySanitizer (Stepanov and
//! Serebryany, CGO 2015), with its rules for each instruction. A signed integer operation that overflows gives an
//! undefined value as well, of which only an address is an error.
//!
//! Every access calls the runtime before it happens, with its address, size and place, so that bounds, alignment and
//! races are checked there; barriers, warp operations and fences are calls of the runtime in any case.
//!
//! The pass works on a module that was prepared for it ([`kerf_clang::compile::Purpose::Sanitizing`]), where
//! optimisation has not yet made use of undefined behaviour. On an optimised module it still finds what memory
//! accesses show, but neither unassigned scalars nor overflow.
mod accesses;
mod barriers;
mod calls;
mod values;

use kerf_llvm::{Builder, LlvmError, Module, Opcode, Type, TypeKind, Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

/// Module text: the table of places as JSON.
pub const SITES: &str = "kerf.sanitize.sites";

/// Functions that the instrumented program calls. The executor defines them.
pub mod runtime {
    /// An access is about to happen: address, base (the object's address or null), bytes, value stored, place.
    pub const ACCESS: &str = "kerf.sanitize.access";
    /// A value decides something: whether it is undefined, its origin, place.
    pub const USE: &str = "kerf.sanitize.use";
    /// Prefix; the shadow of memory as an integer of so many bits: address.
    pub const LOAD: &str = "kerf.sanitize.load.";
    /// Prefix; sets the shadow of memory: address, shadow.
    pub const STORE: &str = "kerf.sanitize.store.";
    /// Origin of an undefined value in memory: whether it is undefined, address, place of the load.
    pub const LOAD_ORIGIN: &str = "kerf.sanitize.load_origin";
    /// Keeps the origin of an undefined value: whether it is undefined, address, bytes, origin.
    pub const STORE_ORIGIN: &str = "kerf.sanitize.store_origin";
    /// Copies shadow and origin with a range of bytes: to, from, bytes.
    pub const COPY: &str = "kerf.sanitize.copy";
    /// Makes a range of bytes defined: address, bytes.
    pub const DEFINE: &str = "kerf.sanitize.define";
    /// Makes a range of bytes undefined: address, bytes, origin.
    pub const UNDEFINE: &str = "kerf.sanitize.undefine";
    /// The thread orders its accesses: 0 in its block, 1 on the device.
    pub const FENCE: &str = "kerf.sanitize.fence";
    /// The thread is about to meet others, in a barrier or a warp operation: place.
    pub const MEET: &str = "kerf.sanitize.meet";
    /// Prefix; a shuffle of shadows, for which lanes that take no part are undefined: the shuffle's arguments. Bits 0
    /// to 31 of value and result are the shadow, those above are its origin.
    pub const SHUFFLE: &str = "kerf.sanitize.shuffle.";
}

/// What happens at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    /// Memory is read.
    Load,
    /// Memory is written.
    Store,
    /// Memory is read and written at once.
    Atomic,
    /// Control flow depends on a value.
    Branch,
    /// A value is passed between lanes.
    Shuffle,
    /// A value of all lanes, or threads, decides.
    Vote,
    /// A barrier of the block.
    Barrier,
    /// A signed integer operation.
    Integer,
    /// A local variable begins to live.
    Local,
}

/// How far an access that is not plain is seen (PTX ISA, "strong operations").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// By the threads of the block.
    Block,
    /// By all threads.
    Device,
}

/// A place in the program that the runtime hears of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedSite {
    /// What happens there.
    pub kind: SiteKind,
    /// `file:line:column`; empty if unknown.
    pub location: String,
    /// Kernel or function.
    pub function: String,
    /// Alignment that the access needs.
    pub align: u32,
    /// Variable that is accessed, where that is known at compile time; name of a local variable.
    pub object: Option<String>,
    /// Bytes of that variable; 0: the end of shared memory.
    pub extent: u64,
    /// The thread's own memory, which no other thread sees.
    pub private: bool,
    /// Volatile and atomic accesses.
    pub strong: Option<MemoryScope>,
    /// Barriers: threads that do not come here do something else first, before they return.
    pub skippable: bool,
}

/// The places of a module, numbered from `first`: modules of one process share memory, and with it the records that
/// name a place by its number, so no two of them use a number twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTable {
    /// Number of the first.
    pub first: u32,
    /// The places.
    pub sites: Vec<CheckedSite>,
}

/// Origins have 24 bits for a place; the highest is of zeros that are assumed.
const MOST_SITES: usize = 0xff_fffe;

/// Places that modules of this process have, or have reserved.
static RESERVED: AtomicU32 = AtomicU32::new(0);

/// Number of a place, as an origin: 0 is none.
pub fn origin_of(site: u32) -> u32 {
    site + 1
}

/// The place of an origin, and the lane where a shuffle read one that takes no part.
pub fn site_of(origin: u32) -> Option<(u32, u32)> {
    (origin & 0xff_ffff)
        .checked_sub(1)
        .map(|s| (s, origin >> 24))
}

/// A value's undefined bits and where they come from.
#[derive(Clone, Copy)]
struct Shadow {
    bits: Value,
    origin: Value,
}

struct Pass<'m> {
    m: &'m Module,
    main: String,
    table: SiteTable,
    shadows: BTreeMap<Value, Shadow>,
    /// Values that may be undefined.
    doubtful: BTreeSet<Value>,
    /// Names of local variables, by number.
    locals: Vec<String>,
    /// Do instructions of the function at hand have positions in the source?
    has_positions: bool,
}

/// The type of a value's shadow.
fn shadow_type(m: &Module, t: Type) -> Type {
    match t.kind() {
        TypeKind::LLVMPointerTypeKind => m.int_ty(64),
        TypeKind::LLVMVectorTypeKind => shadow_type(m, t.element()).vector(t.lanes()),
        TypeKind::LLVMArrayTypeKind => shadow_type(m, t.element()).array(t.array_len()),
        TypeKind::LLVMStructTypeKind => {
            let fields: Vec<Type> = t.fields().into_iter().map(|f| shadow_type(m, f)).collect();
            m.struct_ty(&fields)
        }
        _ if t.is_int() => t,
        _ => m.int_ty((8 * m.size_of(t)) as u32),
    }
}

fn is_aggregate(t: Type) -> bool {
    matches!(
        t.kind(),
        TypeKind::LLVMArrayTypeKind | TypeKind::LLVMStructTypeKind
    )
}

/// Types of the members of an aggregate.
fn members(t: Type) -> Vec<Type> {
    match t.kind() {
        TypeKind::LLVMArrayTypeKind => vec![t.element(); t.array_len() as usize],
        _ => t.fields(),
    }
}

impl Pass<'_> {
    fn site(&mut self, i: Value, kind: SiteKind) -> CheckedSite {
        let location = kerf_ir::sites::innermost_location(i, &self.main)
            .map_or_else(String::new, |l| {
                format!("{}:{}:{}", l.file, l.line, l.column)
            });
        let f = i.block().function().name();
        CheckedSite {
            kind,
            location,
            function: kerf_ir::kernels::source_name(&kerf_llvm::demangle(&f)),
            align: 1,
            object: None,
            extent: 0,
            private: false,
            strong: None,
            skippable: false,
        }
    }

    fn add(&mut self, site: CheckedSite) -> u32 {
        self.table.sites.push(site);
        self.table.first + self.table.sites.len() as u32 - 1
    }

    fn call(&self, b: &Builder, name: &str, ret: Type, args: &[Value]) -> Value {
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        b.call(self.m.declare(name, ret.function(&types)), args)
    }

    /// Values that an undefined one may reach, from all that can make one.
    fn find_doubtful(&mut self, f: Value) {
        let mut work: Vec<Value> = f
            .instructions()
            .into_iter()
            .filter(|i| self.makes_undefined(*i))
            .collect();
        self.doubtful.extend(&work);
        while let Some(v) = work.pop() {
            for u in v.users() {
                if u.is_instruction() && values::carries(u) && self.doubtful.insert(u) {
                    work.push(u);
                }
            }
        }
    }

    fn run(&mut self, f: Value, is_kernel: bool) {
        self.find_doubtful(f);
        let all = f.instructions();
        self.has_positions = all.iter().any(|i| i.location_chain().is_some());
        let blocks = crate::shadow::reverse_postorder(f);
        let mut phis = Vec::new();
        for b in &blocks {
            for i in b.instructions() {
                if i.opcode() != Some(Opcode::LLVMPHI) {
                    break;
                }
                if self.doubtful.contains(&i) && !is_aggregate(i.ty()) {
                    let at = Builder::before(i);
                    let s = Shadow {
                        bits: at.phi(shadow_type(self.m, i.ty())),
                        origin: at.phi(self.m.int_ty(32)),
                    };
                    self.shadows.insert(i, s);
                    phis.push((i, s));
                }
            }
        }
        let skippable = barriers::skippable(f);
        let existing: Vec<Vec<Value>> = blocks.iter().map(|b| b.instructions()).collect();
        if is_kernel {
            self.define_structs(f);
        }
        for i in existing.into_iter().flatten() {
            self.instruction(i, &skippable);
        }
        for (phi, s) in phis {
            for (v, from) in phi.incoming() {
                let zero = (s.bits.ty().zero(), self.m.int_ty(32).zero());
                let (bits, origin) = self.get(v).map_or(zero, |s| (s.bits, s.origin));
                s.bits.add_incoming(&[(bits, from)]);
                s.origin.add_incoming(&[(origin, from)]);
            }
        }
    }

    /// Struct arguments are copied for each thread to a stack whose shadow is somebody else's.
    fn define_structs(&self, kernel: Value) {
        let Some(first) = kernel.blocks().first().and_then(|b| b.first_non_phi()) else {
            return;
        };
        for (k, p) in (0u32..).zip(kernel.params()) {
            if let Some(t) = kernel.byval(k) {
                let b = Builder::before(first);
                let args = [self.flat(&b, p), b.i64(self.m.size_of(t))];
                self.call(&b, runtime::DEFINE, self.m.void_ty(), &args);
            }
        }
    }
}

/// Is the module instrumented?
pub fn is_instrumented(m: &Module) -> bool {
    !m.texts(SITES).is_empty()
}

/// The places of an instrumented module.
pub fn sites(m: &Module) -> Result<SiteTable, LlvmError> {
    let texts = m.texts(SITES);
    let text = texts.first().map_or("", String::as_str);
    serde_json::from_str(text).map_err(|e| LlvmError(format!("the table of places: {e}")))
}

/// Instruments a prepared module that no plan's numbers are needed for any more.
pub fn instrument(m: &Module) -> Result<(), LlvmError> {
    crate::matrix_moves::expand(m);
    let kernels = m.kernel_functions();
    // No instruction is more than two places (a copy reads and writes).
    let instructions: usize = m.functions().iter().map(|f| f.instructions().len()).sum();
    let first = RESERVED.fetch_add(2 * instructions as u32, Ordering::Relaxed);
    let mut p = Pass {
        m,
        main: m.source_name(),
        table: SiteTable {
            first,
            sites: Vec::new(),
        },
        shadows: BTreeMap::new(),
        doubtful: BTreeSet::new(),
        locals: m.texts(kerf_ir::undefined_locals::NAMES),
        has_positions: false,
    };
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        p.run(f, kernels.contains(&f));
        f.drop_poison_flags();
    }
    if first as usize + p.table.sites.len() >= MOST_SITES {
        return Err(LlvmError(
            "the programs of this process are too large to be checked together".into(),
        ));
    }
    let table = serde_json::to_string(&p.table).map_err(|e| LlvmError(e.to_string()))?;
    m.set_text(SITES, &table);
    m.verify()
}
