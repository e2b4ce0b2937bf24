//! A finished NVPTX module becomes x86 code with SIMT semantics.
//!
//! Special registers become loads from the context, shared variables become offsets into the
//! block's shared memory, barriers and warp operations become calls into the runtime, and every
//! remaining `llvm.nvvm.*` operation becomes ordinary IR or a runtime call. A kernel without
//! barriers or warp operations gets a loop over the threads of a block, marked parallel; the others
//! get one entry per thread, run as coroutines.
mod entries;
mod needs;
mod shared;
mod variables;

pub use variables::CheckedVariable;

use super::intrinsics;
use super::lead::{self, Lead};
use super::regions;
use super::sanitize::region::Region;
use super::symbols;
use kerf_ir::kernels::reachable;
use kerf_ir::obstacles::{GRID_SYNC, obstacles, syncs_grid};
use kerf_llvm::{HostJit, Linkage, LlvmError, Module, Opcode, PassOptions, TargetMachine, Value};
use kerf_pass::reference_library;
use kerf_pass::sanitize::{self, SiteTable};
use serde::{Deserialize, Serialize};

/// How the threads of a block are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadMode {
    /// One call runs all threads in a loop.
    Loop,
    /// One call runs one thread; a coroutine each.
    Coroutine,
    /// Split at block barriers: one call runs one region for all threads (see [`super::regions`]).
    Regions,
}

/// What the executor must know about a lowered kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoweredKernel {
    /// Symbol of the kernel in the source module.
    pub symbol: String,
    /// Symbol of the entry in the object.
    pub entry: String,
    /// How it is run.
    pub mode: ThreadMode,
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
    /// May wait for all blocks of the grid, if it is launched so.
    pub syncs_grid: bool,
}

/// The result: an object file and what is in it.
#[derive(Clone)]
pub struct Lowered {
    /// Object file for this machine.
    pub object: Vec<u8>,
    /// Kernels.
    pub kernels: Vec<LoweredKernel>,
    /// Bytes of static shared memory; dynamic shared memory follows.
    pub static_shared: u64,
    /// Places of an instrumented program, by number.
    pub checked: Option<SiteTable>,
    /// Variables that accesses may meet without naming them, in an instrumented program.
    pub variables: Vec<CheckedVariable>,
    /// Symbols and bytes of all device variables.
    pub sizes: Vec<(String, usize)>,
    /// Tables of the executor's that the code names.
    pub tables: Vec<String>,
}

/// Options of the lowering.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowerOptions {
    /// Run every kernel with barriers as coroutines, none split into regions.
    pub no_regions: bool,
}

/// Marks a struct parameter through the lowering, in which attributes do not survive.
const STRUCT_SUFFIX: &str = ".kerf.byval";

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

/// Removes kernels that the CPU cannot run, and what only they call: a launch of one is refused
/// before, and the others of the file have to run.
fn drop_refused(m: &Module) {
    let refused = |k: &Value| {
        obstacles(m, *k, &[])
            .iter()
            .any(|o| o.scope.stops_cpu() && o.what != GRID_SYNC)
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

/// How a kernel is run.
fn mode(k: Value, whole_grid: bool, may_split: bool) -> ThreadMode {
    match (
        needs::needs_coroutines(k),
        regions::eligible(k, needs::is_collective),
    ) {
        _ if whole_grid => ThreadMode::Coroutine,
        (false, _) => ThreadMode::Loop,
        (true, true) if may_split => ThreadMode::Regions,
        (true, _) => ThreadMode::Coroutine,
    }
}

/// What must be known of each kernel, read before its operations are lowered; and names of the functions that may wait
/// for other blocks.
fn survey(m: &Module, may_split: bool) -> (Vec<LoweredKernel>, Vec<String>) {
    let mut kernels: Vec<LoweredKernel> = Vec::new();
    let mut polling: Vec<String> = Vec::new();
    for k in m.kernel_functions() {
        let whole_grid = syncs_grid(k);
        if whole_grid {
            polling.extend(reachable(k).iter().map(|f| f.name()));
        }
        kernels.push(LoweredKernel {
            symbol: k.name(),
            entry: format!("kerf.entry.{}", kernels.len()),
            mode: mode(k, whole_grid, may_split),
            ordered: needs::order_matters(k),
            stack_bytes: needs::stack_need(m, k),
            modelled: intrinsics::modelled(k),
            regions: 0,
            frame_bytes: 0,
            syncs_grid: whole_grid,
        });
        for (i, p) in k.params().into_iter().enumerate() {
            if k.byval(i as u32).is_some() {
                p.set_name(&format!("p{i}{STRUCT_SUFFIX}"));
            }
        }
    }
    (kernels, polling)
}

/// Takes attributes away that hold the optimiser back.
fn free_functions(m: &Module) {
    for f in m.functions() {
        no_wrap_global_index(f);
        f.remove_enum_attr("convergent");
        // Counters stay calls: a kernel has some for every operation, and in place they take minutes to compile.
        // So do elementary functions of references, which are as long as many kernels.
        let name = f.name();
        let is_call = [kerf_pass::count::FUNCTIONS, reference_library::PREFIX];
        if !is_call.iter().any(|p| name.starts_with(p)) {
            f.remove_enum_attr("noinline");
        }
    }
}

/// Lowers the operations of all functions, in place.
fn lower_operations(m: &Module, polling: &[String]) -> Result<(), LlvmError> {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let lead = Lead::from_function(f);
        let polls = polling.contains(&f.name());
        for i in f.instructions() {
            if polls {
                intrinsics::yield_before(m, &lead, i);
            }
            intrinsics::lower(m, &lead, i)?;
        }
    }
    Ok(())
}

/// Makes device variables visible to the host; gives symbols and bytes.
fn export_variables(m: &Module) -> Vec<(String, usize)> {
    let mut sizes = Vec::new();
    for g in m.globals() {
        // Constant memory is written by the host before a launch.
        if g.ty().space() != 0 {
            g.set_constant_global(false);
            if !g.is_declaration() {
                g.set_linkage(Linkage::LLVMExternalLinkage);
                sizes.push((g.name(), m.size_of(g.global_type()) as usize));
            }
        }
    }
    sizes
}

fn optimise(host: &TargetMachine, m: &Module, is_checked: bool) -> Result<(), LlvmError> {
    if is_checked {
        host.run_passes(m, "always-inline", PassOptions::default())?;
    }
    let passes = PassOptions {
        unroll: true,
        vectorize: true,
        ..PassOptions::default()
    };
    // First without vectorising: addresses must be simple before loops can be judged.
    host.optimise_scalar(m);
    for f in m.functions() {
        f.choose_vector_loops();
    }
    host.run_passes(m, "default<O3>", passes)?;
    kerf_ir::bf16_fence::drop(m);
    Ok(())
}

/// Lowers a finished module.
pub fn lower(finished: &Module, options: LowerOptions) -> Result<Lowered, LlvmError> {
    let m = finished.duplicate();
    m.drop_used();
    kerf_pass::matrix_moves::expand(&m);
    drop_refused(&m);
    let checked = match sanitize::is_instrumented(&m) {
        true => Some(sanitize::sites(&m)?),
        false => None,
    };
    if checked.is_some() {
        let region = Region::get().map_err(|e| LlvmError(e.to_string()))?;
        super::sanitize::inlined_checks::define(&m, region)?;
    }
    super::reciprocals::fold(&m);
    needs::keep_step(&m);
    let may_split = !options.no_regions && checked.is_none();
    let (mut kernels, polling) = survey(&m, may_split);
    free_functions(&m);
    lead::add_lead(&m);
    let variables = match checked {
        Some(_) => variables::name_variables(&m),
        None => Vec::new(),
    };
    let static_shared = shared::place_shared(&m);
    lower_operations(&m, &polling)?;
    // Positions have been read; splitting blocks need not carry them along.
    m.strip_debug();
    for k in &mut kernels {
        let body = m
            .function(&k.symbol)
            .ok_or_else(|| LlvmError(format!("{} is gone", k.symbol)))?;
        entries::make_entries(&m, k, body);
    }
    let host = TargetMachine::host()?;
    host.adopt(&m);
    let sizes = export_variables(&m);
    m.verify()?;
    optimise(&host, &m, checked.is_some())?;
    let named = m.globals().into_iter().map(|g| g.name());
    let tables = named.filter(|n| symbols::table(n).is_some()).collect();
    let object = host.object(&m)?;
    Ok(Lowered {
        object,
        kernels,
        static_shared,
        checked,
        variables,
        sizes,
        tables,
    })
}

/// Loads a lowered object with the runtime's symbols.
pub fn load(l: &Lowered) -> Result<HostJit, LlvmError> {
    let mut all: Vec<(&str, usize)> = symbols::all();
    for t in &l.tables {
        let at = symbols::table(t).ok_or_else(|| LlvmError(format!("there is no table {t}")))?;
        all.push((t, at));
    }
    HostJit::load(&l.object, &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stay_calls() {
        let text = r#"
            target triple = "nvptx64-nvidia-cuda"
            define internal void @__kerf_count_see_f64(ptr %p, double %x) noinline {
              store volatile double %x, ptr %p
              ret void
            }
            define internal void @plain(ptr %p, double %x) noinline {
              store volatile double %x, ptr %p
              ret void
            }
            define ptx_kernel void @k(ptr %a, double %x) {
              call void @__kerf_count_see_f64(ptr %a, double %x)
              call void @__kerf_count_see_f64(ptr %a, double 1.0)
              call void @plain(ptr %a, double %x)
              call void @plain(ptr %a, double 1.0)
              ret void
            }"#;
        let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
        let l = lower(&m, LowerOptions::default()).expect("lowers");
        let names = |name: &str| l.object.windows(name.len()).any(|w| w == name.as_bytes());
        assert!(names("__kerf_count_see_f64"), "in place, once an operation");
        assert!(!names("plain"), "the program's own are inlined");
    }
}
