//! Kernels in two versions: what is built, what is refused, and random kernels against an oracle.
use crate::common;

use common::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity::{self, Outputs};
use kerf_fuzz::random_plan::random_plan;
use kerf_ir::finish::ptx;
use kerf_llvm::Module;
use kerf_pass::MathVariant;
use kerf_pass::Partition;
use kerf_pass::Plan;
use kerf_pass::Select;
use kerf_pass::partition::hash_selects;

fn module(body: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
define ptx_kernel void @k(ptr %o, float %x) {{\n{body}\n}}
declare float @__nv_expf(float)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn halves(m: &Module, select: Select) -> Plan {
    let mut p = Plan::default();
    p.compute_all(m, MathVariant::ApproxFtz);
    p.partitioned(0.5, select)
}

const EXP: &str = "  %a = alloca float
  %r = call float @__nv_expf(float %x)
  store float %r, ptr %a
  %s = load float, ptr %a
  store float %s, ptr %o
  ret void";

#[test]
fn golden_kernel() {
    for (select, register) in [
        (Select::Hash, "sreg.ctaid.z"),
        (Select::Slot, "sreg.warpid"),
        (Select::Warp, "sreg.ntid.z"),
    ] {
        let m = module(EXP);
        halves(&m, select).apply(&m).expect("applies");
        let k = m.function("k").expect("k").print();
        let (head, rest) = k.split_once("br i1").expect("a branch");
        assert!(head.contains("define ptx_kernel void @k(ptr %o, float %x, float %kerf_lambda)"));
        assert!(head.contains(register), "{k}");
        assert_eq!(head.matches("alloca").count(), 2, "{k}");
        assert_eq!(rest.matches("call float @__nv_expf").count(), 1, "{k}");
        assert_eq!(rest.matches("nvvm.ex2.approx.ftz").count(), 1, "{k}");
        assert_eq!(
            m.functions().iter().filter(|f| !f.is_declaration()).count(),
            1
        );
    }
}

#[test]
fn barriers_that_versions_could_disagree_about_are_refused() {
    let barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    // Under no condition: both versions arrive.
    let m = module(&EXP.replace(
        "  store float %s",
        &format!("  {barrier}\n  store float %s"),
    ));
    halves(&m, Select::Hash).apply(&m).expect("applies");
    // Under one that the versions compute differently, straight or through a choice.
    let straight = format!(
        "  %r = call float @__nv_expf(float %x)
  %c = fcmp olt float %r, 1.0
  br i1 %c, label %t, label %e
t:
  {barrier}
  br label %e
e:
  ret void"
    );
    let choice = format!(
        "  %r = call float @__nv_expf(float %x)
  %c = fcmp olt float %r, 1.0
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %n = phi i32 [ 1, %0 ], [ 2, %a ]
  %d = icmp eq i32 %n, 1
  br i1 %d, label %t, label %e
t:
  {barrier}
  br label %e
e:
  ret void"
    );
    for body in [straight, choice] {
        let m = module(&body);
        let e = halves(&m, Select::Hash).apply(&m).expect_err("refused");
        assert!(e.to_string().contains("compute differently"), "{e}");
    }
    let m = module(EXP);
    let mut p = halves(&m, Select::Hash);
    p.kernels.get_mut("k").expect("k").partition = Some(Partition {
        lambda: 1.5,
        ..Partition::default()
    });
    let e = p.apply(&m).expect_err("refused");
    assert!(e.to_string().contains("not from 0 to 1"), "{e}");
}

struct Runs {
    /// By fraction, then by kernel.
    outputs: Vec<Vec<Outputs>>,
    blocks: Vec<([u32; 3], [u32; 3])>,
    /// Do threads of different warps see each other's values?
    cooperate: Vec<bool>,
}

/// Runs the kernels of a seed, compiled once, with each fraction of warps.
fn run(seed: u64, lib: &[u8], lambdas: &[f32], plan: impl FnOnce(&Module) -> Plan) -> Runs {
    let mut p = identity::prepare_with(seed, 2, lib, "sm_90", plan).expect("prepares");
    assert!(ptx(&p.module, "sm_90").expect("PTX").contains(".entry"));
    let mut exec = CpuExecutor::new(&p.module, CpuOptions::default()).expect("compiles");
    let mut outputs = Vec::new();
    for lambda in lambdas {
        p.lambda.iter_mut().flatten().for_each(|l| *l = *lambda);
        let all = (0..p.random.kernels.len())
            .map(|k| identity::run(&p, k, &mut exec).unwrap_or_else(|e| panic!("{seed}: {e}")));
        outputs.push(all.collect());
    }
    let kernels = &p.random.kernels;
    Runs {
        outputs,
        blocks: kernels.iter().map(|k| (k.block, k.grid)).collect(),
        cooperate: kernels
            .iter()
            .map(|k| k.uses.shared || k.uses.atomics)
            .collect(),
    }
}

/// The cheap versions of a seed's kernels, but for those that cannot have two.
fn cheap(m: &Module, seed: u64) -> Plan {
    let mut cheap = random_plan(m, seed);
    for k in cheap.kernels.values_mut() {
        k.storage.clear();
        k.partition = None;
    }
    cheap.kernels.retain(|name, k| {
        let p = Partition {
            lambda: 0.5,
            select: Select::Hash,
            sites: k.sites.clone(),
            math: k.math.clone(),
            made: k.made.clone(),
        };
        let f = m.function(name).expect("a kernel");
        !k.is_identity() && kerf_pass::KernelPlan::default().partition_fits(m, f, &p)
    });
    cheap
}

#[test]
fn random_kernels_are_the_blend_of_their_versions() {
    let lib = libdevice();
    let (mut blends, mut mixed) = (0, 0);
    for seed in [2, 3, 5] {
        let a = run(seed, &lib, &[0.0], |_| Plan::default());
        let b = run(seed, &lib, &[0.0], |m| cheap(m, seed));
        for select in Select::ALL {
            if seed != 2 && select != Select::Hash {
                continue;
            }
            let got = run(seed, &lib, &[0.0, 1.0, 0.5], |m| {
                cheap(m, seed).partitioned(0.5, select)
            });
            assert_eq!(got.outputs[0], a.outputs[0], "seed {seed} {select}");
            assert_eq!(got.outputs[1], b.outputs[0], "seed {seed} {select}");
            for k in 0..got.blocks.len() {
                if got.cooperate[k] || select != Select::Hash {
                    continue;
                }
                let (block, grid) = got.blocks[k];
                let threads = block.iter().product::<u32>() as usize;
                let warps = threads.div_ceil(32);
                let n = threads * grid.iter().product::<u32>() as usize;
                let (mine, a, b) = (&got.outputs[2][k], &a.outputs[0][k], &b.outputs[0][k]);
                for t in 0..n {
                    let warp = t / threads * warps + t % threads / 32;
                    let from = if hash_selects(warp as u64, 0.5) { b } else { a };
                    for (i, size) in [8, 4, 2, 4].into_iter().enumerate() {
                        let at = |o: &Outputs| o.buffers[i][t * size..][..size].to_vec();
                        assert_eq!(at(mine), at(from), "seed {seed} kernel {k} thread {t}");
                    }
                }
                blends += 1;
                mixed += usize::from(mine != a && mine != b);
            }
        }
    }
    assert!(blends >= 1 && mixed >= 1, "{blends} blends, {mixed} mixed");
}

#[test]
fn random_plans_with_variants_and_versions_apply() {
    let (mut variants, mut parts) = (0, 0);
    for seed in 1..=12 {
        let random = kerf_fuzz::random_kernel::module(seed, 3);
        let m = Module::parse(random.ir.as_bytes(), "random").expect("parses");
        kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
        let p = random_plan(&m, seed);
        variants += p.kernels.values().filter(|k| !k.math.is_empty()).count();
        parts += p.kernels.values().filter(|k| k.partition.is_some()).count();
        p.apply(&m).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    assert!(
        variants > 5 && parts > 8,
        "{variants} variants, {parts} partitions"
    );
}
