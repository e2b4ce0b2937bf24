//! What in a kernel Kerf cannot tune or run, and why: found before anything runs.
use crate::kernels::reachable;
use crate::sites::{Location, location};
use crate::tensor_core::{MatrixMove, Multiply};
use kerf_llvm::{Module, Opcode, Value};
use kerf_ptx::Unlifted;
use serde::Serialize;

/// How far the obstacle goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleScope {
    /// The CPU executor refuses the kernel; the CUDA executor may run it.
    CpuRun,
    /// No executor runs the kernel: a statement of a PTX file has no meaning in IR.
    Run,
    /// It runs, but this place is left as it is by the tuner.
    Tuning,
}

impl ObstacleScope {
    /// Does it keep the CPU executor from running the kernel?
    pub fn stops_cpu(self) -> bool {
        matches!(self, ObstacleScope::CpuRun | ObstacleScope::Run)
    }
}

/// One obstacle.
#[derive(Debug, Clone, Serialize)]
pub struct Obstacle {
    /// What it is.
    pub what: String,
    /// Why it is one.
    pub why: String,
    /// What it prevents.
    pub scope: ObstacleScope,
    /// Where.
    pub location: Option<Location>,
}

/// What waiting for all blocks of a grid is called: an obstacle for workloads, whose launches are not
/// cooperative; applications may launch so.
pub const GRID_SYNC: &str = "cooperative grid synchronisation";

/// Does the function read where a cooperative grid's barrier is? Cooperative groups do, and nothing else.
pub fn reads_grid_workspace(n: &str) -> bool {
    let register = n.strip_prefix("llvm.nvvm.read.ptx.sreg.");
    matches!(register, Some("envreg1" | "envreg2"))
}

/// Can a kernel wait for all blocks of its grid?
pub fn syncs_grid(kernel: Value) -> bool {
    let calls = |f: &Value| {
        let mut all = f.instructions().into_iter();
        all.any(|i| i.callee_name().is_some_and(|n| reads_grid_workspace(&n)))
    };
    reachable(kernel).iter().any(calls)
}

const CLUSTERS: &str = "thread-block clusters are not supported";

/// What `cuda/host.h` makes of `__cluster_dims__`.
const CLUSTER_SECTION: &str = "kerf.cluster";

fn refused_intrinsic(n: &str) -> Option<&'static str> {
    if Multiply::parse(n).is_some() || MatrixMove::parse(n).is_some() {
        return None;
    }
    let n = n.strip_prefix("llvm.nvvm.")?;
    let table: &[(&str, &str)] = &[
        (
            "wmma.",
            "this form of tensor-core operation has no CPU model",
        ),
        (
            "mma.",
            "this form of tensor-core operation has no CPU model",
        ),
        ("ldmatrix.", "this form of matrix load has no CPU model"),
        ("stmatrix.", "this form of matrix store has no CPU model"),
        ("wgmma.", "tensor-core matrix operations have no CPU model"),
        (
            "tcgen05.",
            "tensor-core matrix operations have no CPU model",
        ),
        ("tex.", "textures are not supported"),
        ("tld4.", "textures are not supported"),
        ("suld.", "surfaces are not supported"),
        ("sust.", "surfaces are not supported"),
        ("txq.", "textures are not supported"),
        ("suq.", "surfaces are not supported"),
        ("mbarrier.", "asynchronous barriers are not supported"),
        ("cp.async", "asynchronous copies are not supported"),
        ("barrier.cluster", CLUSTERS),
        ("mapa", CLUSTERS),
        ("getctarank", CLUSTERS),
        ("read.ptx.sreg.cluster", CLUSTERS),
        ("read.ptx.sreg.ncluster", CLUSTERS),
    ];
    table
        .iter()
        .find(|(p, _)| n.starts_with(p))
        .map(|(_, w)| *w)
}

/// External functions that the CPU executor provides.
pub fn is_provided(n: &str) -> bool {
    n.starts_with("llvm.")
        || n.starts_with("__nv_")
        // The runtime's own, in instrumented modules.
        || n.starts_with("kerf_")
        || n.starts_with("kerf.")
        || matches!(
            n,
            "vprintf" | "printf" | "__assertfail" | "__assert_fail" | "malloc" | "free" | "abort"
                | "__nvvm_reflect" | "memcpy" | "memset" | "memmove"
        )
}

fn call_obstacle(i: Value, n: &str) -> Option<(String, String)> {
    if let Some(why) = refused_intrinsic(n) {
        return Some((n.to_owned(), why.to_owned()));
    }
    if reads_grid_workspace(n) {
        return Some((
            GRID_SYNC.into(),
            "launches of workloads are not cooperative (those of applications, kerf cc, may be)"
                .into(),
        ));
    }
    if n.contains("cudaCGGetIntrinsicHandle") || n.contains("cudaCGSynchronize") {
        return Some((
            format!("call of {n}"),
            "it belongs to the device runtime, which is not supported".into(),
        ));
    }
    if n.starts_with("cudaLaunchDevice") || n.starts_with("cudaGetParameterBuffer") {
        return Some((
            "launch from a kernel".into(),
            "dynamic parallelism is not supported".into(),
        ));
    }
    let callee = i.callee();
    (callee.is_declaration() && !is_provided(n)).then(|| {
        (
            format!("call of {}", kerf_llvm::demangle(n)),
            "the function is declared but not defined".into(),
        )
    })
}

/// What inline PTX, or a statement of a PTX file, is, and why it cannot run.
fn asm_obstacle(text: &str, unlifted: &[Unlifted]) -> (String, String, ObstacleScope) {
    if let Some(u) = unlifted.iter().find(|u| u.whole_function && u.text == text) {
        let what = format!("PTX `{}`", text.trim_start_matches(kerf_ptx::REFUSED));
        return (what, u.reason.clone(), ObstacleScope::Run);
    }
    let why = match text.contains("cluster") || text.contains("mapa.") {
        true => CLUSTERS.to_owned(),
        false => unlifted
            .iter()
            .find(|u| u.text == text)
            .map_or("this inline PTX is not known".to_owned(), |u| {
                u.reason.clone()
            }),
    };
    let what = format!("inline PTX `{}`", text.trim().replace('\n', " "));
    (what, why, ObstacleScope::CpuRun)
}

/// What an instruction is, why it is in the way, and of what.
fn instruction_obstacle(
    i: Value,
    unlifted: &[Unlifted],
) -> Option<(String, String, ObstacleScope)> {
    match i.opcode()? {
        Opcode::LLVMCall => {
            let c = i.callee();
            if c.is_inline_asm() {
                return Some(asm_obstacle(&c.asm_text().0, unlifted));
            }
            if let Some(form) = crate::tensor_core::multiply(i) {
                let what = format!("product of matrices ({})", form.describe());
                let why = "tensor cores have formats of their own, which stay";
                return Some((what, why.into(), ObstacleScope::Tuning));
            }
            if c.is_function() {
                let (what, why) = call_obstacle(i, &c.name())?;
                return Some((what, why, ObstacleScope::CpuRun));
            }
            let why = "the callee is not known, so formats cannot change across it";
            Some(("indirect call".into(), why.into(), ObstacleScope::Tuning))
        }
        Opcode::LLVMBitCast => {
            let (from, to) = (i.operand(0).ty(), i.ty());
            let bits = from.element().is_float() != to.element().is_float();
            if !bits || goes_to_a_lane(i) {
                return None;
            }
            let what = format!("bits of {} taken as {}", from.print(), to.print());
            let why = "the bit pattern is used, so the format is fixed";
            Some((what, why.into(), ObstacleScope::Tuning))
        }
        _ => None,
    }
}

/// Obstacles of a kernel. `unlifted` is what [`crate::prepare::prepare`] gave.
pub fn obstacles(m: &Module, kernel: Value, unlifted: &[Unlifted]) -> Vec<Obstacle> {
    let main = m.source_name();
    let mut out: Vec<Obstacle> = Vec::new();
    let mut put = |o: Obstacle| {
        if !out
            .iter()
            .any(|x| x.what == o.what && x.location == o.location)
        {
            out.push(o);
        }
    };
    if kernel.section() == CLUSTER_SECTION {
        put(Obstacle {
            what: "__cluster_dims__".into(),
            why: CLUSTERS.into(),
            scope: ObstacleScope::CpuRun,
            location: None,
        });
    }
    for i in reachable(kernel).into_iter().flat_map(Value::instructions) {
        if let Some((what, why, scope)) = instruction_obstacle(i, unlifted) {
            put(Obstacle {
                what,
                why,
                scope,
                location: location(i, &main),
            });
        }
    }
    for g in crate::kernels::used_globals(kernel) {
        if g.ty().space() == kerf_llvm::space::SHARED
            && g.is_declaration()
            && m.size_of(g.global_type()) > 0
        {
            put(Obstacle {
                what: format!("shared variable {}", g.name()),
                why: "it is declared extern with a size; dynamic shared memory is an array without one".into(),
                scope: ObstacleScope::Tuning,
                location: None,
            });
        }
    }
    out
}

/// Operations that take a number apart or put it together again for a shuffle: a few for each half.
const MOST_HALVES: usize = 64;

/// Is a cast between a number and its bits only there to move the number to another lane, half by half?
fn goes_to_a_lane(cast: Value) -> bool {
    use Opcode::*;
    let shuffle = |v: Value| {
        v.opcode() == Some(LLVMCall)
            && v.callee_name()
                .is_some_and(|n| n.starts_with("llvm.nvvm.shfl."))
    };
    let to_bits = cast.ty().is_int();
    let mut queue = match to_bits {
        true => cast.users(),
        false => cast.operands(),
    };
    let mut any = false;
    let mut seen: Vec<Value> = Vec::new();
    while let Some(v) = queue.pop() {
        if seen.contains(&v) {
            continue;
        }
        seen.push(v);
        if seen.len() > MOST_HALVES {
            return false;
        }
        match v.opcode() {
            _ if shuffle(v) => any = true,
            Some(LLVMTrunc | LLVMLShr) if to_bits => queue.extend(v.users()),
            Some(LLVMZExt | LLVMOr) if !to_bits => queue.extend(v.operands()),
            Some(LLVMShl) if !to_bits => queue.push(v.operand(0)),
            _ => return false,
        }
    }
    any
}
