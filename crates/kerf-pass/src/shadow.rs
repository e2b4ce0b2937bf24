//! The reference execution: every floating-point value is accompanied by a double-double one.
//!
//! The pass works on a prepared module, where math calls are still visible. Beside each
//! floating-point value v it computes a shadow (hi, lo) of about 106 bits from the shadows of v's
//! operands; conversions between formats leave shadows alone, so the shadow is what exact
//! arithmetic on the same inputs would give, up to double-double rounding. Memory has shadows too,
//! tagged with the original bits: a value that was overwritten behind the pass's back (an integer
//! copy, a memset) is recognised by its tag and starts afresh from its bits. Values that travel as
//! integers (shuffles, halves, compare-and-swap loops) are followed through the integer operations,
//! and where that fails found again by their bits. Control flow follows
//! the original program; comparisons whose shadow disagrees are counted. The design follows that of
//! numerical sanitizers (Courbet, NSan 2021).
mod aggregates;
mod calls;
mod emit;
mod functions;
mod instructions;
mod library;
mod matrices;
mod memory;
mod provenance;
mod rounding_constant;
mod runtime;
mod words;

pub use functions::{FUNCTIONS, ShadowFunction, function_of};
pub use runtime::VARIABLE_ENTRIES;

use kerf_ir::sites::Location;
use kerf_llvm::{Block, Builder, LlvmError, Module, Opcode, Type, Value};
use kerf_num::Format;
use runtime::DeviceLayout;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What the pass put in.
#[derive(Debug, Default, Clone)]
pub struct ShadowMap {
    /// Source positions of the comparisons, by number.
    pub comparisons: Vec<Option<Location>>,
    /// Operations without a shadow of their own: they start afresh from the original bits.
    pub untracked: Vec<String>,
    /// What device code has no shadow for; the reference of such a program has to be taken on the CPU.
    pub needs_host: Vec<String>,
    /// Bytes of memory that share one entry of 16 bytes (device).
    pub granule: u64,
    /// How `kerf_shadow_values` of `device/shadow.cu` finds the entries of buffers (device).
    pub layout: u32,
}

/// What keeps the shadows of an instrumented program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowRuntime {
    /// Functions of the CPU executor, which also find floats again that travel as integers.
    Host,
    /// Device code: `device/shadow.cu`, linked by [`link`].
    Device,
}

/// Number of a format, as the runtime knows it.
pub fn format_number(f: Format) -> u32 {
    match f {
        Format::F64 => 0,
        Format::F32 => 1,
        Format::F16 => 2,
        Format::Bf16 => 3,
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Dd {
    hi: Value,
    lo: Value,
}

struct Pass<'m> {
    m: &'m Module,
    shadows: BTreeMap<Value, Vec<Dd>>,
    /// Floats in integers.
    words: BTreeMap<Value, Vec<words::Field>>,
    /// Shadows that went through a shuffle, by block, shuffle and value.
    journeys: Vec<(words::Journey, Dd)>,
    /// Floats in structs that are values, by their paths.
    aggregates: BTreeMap<Value, BTreeMap<Vec<u32>, Dd>>,
    map: ShadowMap,
    main: String,
    f64t: Type,
    runtime: ShadowRuntime,
    device: DeviceLayout,
    obstacles: RefCell<BTreeSet<String>>,
    /// Parameters of the kernels: all, pointers among them that are addresses of global memory, and structs, which nobody
    /// writes.
    kernel_params: BTreeSet<Value>,
    global_params: BTreeSet<Value>,
    exact_params: BTreeSet<Value>,
}

fn lanes(t: Type) -> Option<(Format, u32)> {
    kerf_ir::sites::float_shape(t)
}

impl Pass<'_> {
    fn run(&mut self, f: Value, is_kernel: bool) {
        let blocks = reverse_postorder(f);
        let mut phis: Vec<(Value, Vec<Dd>, (Format, u32))> = Vec::new();
        for b in &blocks {
            for i in b.instructions() {
                if i.opcode() != Some(Opcode::LLVMPHI) {
                    break;
                }
                // An integer that is read as floats has a shadow too.
                let word = || {
                    if i.ty().is_int() {
                        self.read_later(i)
                            .filter(|(f, n)| 8 * f.bytes() as u32 * n == i.ty().int_bits())
                    } else {
                        None
                    }
                };
                let Some(shape) = lanes(i.ty()).or_else(word) else {
                    continue;
                };
                let at = Builder::before(i);
                let s: Vec<Dd> = (0..shape.1)
                    .map(|_| Dd {
                        hi: at.phi(self.f64t),
                        lo: at.phi(self.f64t),
                    })
                    .collect();
                if i.ty().is_int() {
                    self.is_bits_of(i, shape, &s);
                } else {
                    self.shadows.insert(i, s.clone());
                }
                phis.push((i, s, shape));
            }
        }
        let existing: Vec<Vec<Value>> = blocks.iter().map(|b| b.instructions()).collect();
        self.parameters(f, is_kernel);
        self.shadow_locals(f);
        for i in existing.into_iter().flatten() {
            self.instruction(i);
        }
        for (phi, s, shape) in phis {
            for (v, from) in phi.incoming() {
                let at = from
                    .terminator()
                    .map_or_else(|| Builder::at_end(from), Builder::before);
                let shadows = if phi.ty().is_int() {
                    self.incoming_word(&at, v, shape)
                } else {
                    self.get(&at, v)
                };
                for (l, d) in shadows.into_iter().enumerate() {
                    s[l].hi.add_incoming(&[(d.hi, from)]);
                    s[l].lo.add_incoming(&[(d.lo, from)]);
                }
            }
        }
    }
}

/// Blocks of a function that can be reached, definitions before uses but for phis.
pub(crate) fn reverse_postorder(f: Value) -> Vec<Block> {
    let mut order = Vec::new();
    let mut seen: Vec<Block> = Vec::new();
    let Some(entry) = f.blocks().first().copied() else {
        return order;
    };
    let mut stack = vec![(entry, 0usize)];
    seen.push(entry);
    while let Some((b, k)) = stack.pop() {
        let next = b.terminator().map(|t| t.successors()).unwrap_or_default();
        if let Some(s) = next.get(k) {
            stack.push((b, k + 1));
            if !seen.contains(s) {
                seen.push(*s);
                stack.push((*s, 0));
            }
        } else {
            order.push(b);
        }
    }
    order.reverse();
    order
}

/// Device code of [`ShadowRuntime::Device`]: for GPUs, and for the CPU executor, where all memory lies in one arena.
const ON_GPU: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shadow.bc"));
const ON_CPU: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shadow_flat.bc"));

/// The executor that a device program is linked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowDevice {
    /// A GPU, with memory in address spaces.
    Gpu,
    /// The CPU executor.
    Cpu,
}

/// Links the functions on double-doubles that an instrumented module calls: all that there is to link for
/// [`ShadowRuntime::Host`].
pub fn link_functions(m: &Module) -> Result<(), LlvmError> {
    crate::reference_library::link(m)
}

/// Links what a module that was instrumented for [`ShadowRuntime::Device`] calls.
pub fn link(m: &Module, device: ShadowDevice) -> Result<(), LlvmError> {
    link_functions(m)?;
    let library = match device {
        ShadowDevice::Gpu => ON_GPU,
        ShadowDevice::Cpu => ON_CPU,
    };
    crate::device_library::link(m, library, "shadow")
}

/// Instruments a prepared module.
pub fn instrument(m: &Module, runtime: ShadowRuntime) -> Result<ShadowMap, LlvmError> {
    crate::matrix_moves::expand(m);
    let kernels = m.kernel_functions();
    let defined: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .collect();
    let mut p = Pass {
        m,
        shadows: BTreeMap::new(),
        words: BTreeMap::new(),
        journeys: Vec::new(),
        aggregates: BTreeMap::new(),
        map: ShadowMap::default(),
        main: m.source_name(),
        f64t: m.f64_ty(),
        runtime,
        device: DeviceLayout::default(),
        obstacles: RefCell::default(),
        kernel_params: BTreeSet::new(),
        global_params: BTreeSet::new(),
        exact_params: BTreeSet::new(),
    };
    kernels.iter().for_each(|k| p.note_params(*k));
    p.device = DeviceLayout::for_functions(&p, &defined);
    p.shadow_variables();
    for f in &defined {
        p.run(*f, kernels.contains(f));
    }
    kernels.iter().for_each(|k| p.bracket(*k));
    m.verify()?;
    p.map.granule = 1 << p.device.granule_log2();
    p.map.layout = p.device.of_buffers();
    p.map.needs_host = p.obstacles.into_inner().into_iter().collect();
    Ok(p.map)
}
