//! Kernels that are hard to have in two versions, each against the blend of the versions: calls in divergent
//! code, recursion, warps and blocks whose threads exchange values. What cannot be is refused by name.
use crate::libdevice::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish, ptx};
use kerf_llvm::Module;
use kerf_pass::partition::hash_selects;
use kerf_pass::{MathVariant, Plan, Select};

const BLOCK: u32 = 128;
const BLOCKS: u32 = 3;
const N: usize = (BLOCK * BLOCKS) as usize;

/// A kernel that gets its value `%x` from `in`, and whose body leaves its result in `%r`.
fn module(body: &str, more: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
@line = internal addrspace(3) global [{BLOCK} x float] undef, align 4
define ptx_kernel void @k(ptr %in, ptr %o) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %bid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %bid, {BLOCK}
  %i = add i32 %base, %tid
  %p = getelementptr float, ptr %in, i32 %i
  %x = load float, ptr %p
{body}
  %q = getelementptr float, ptr %o, i32 %i
  store float %r, ptr %q
  ret void
}}
{more}
declare float @__nv_expf(float)
declare float @__nv_sinf(float)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"
    );
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
    m
}

fn cheap(m: &Module) -> Plan {
    let mut p = Plan::default();
    p.compute_all(m, MathVariant::ApproxFtz);
    assert!(!p.is_identity(), "a math call was found");
    p
}

/// Outputs at each of the fractions; one run without a fraction for none.
fn run(m: &Module, lambdas: &[f32]) -> Vec<Vec<f32>> {
    finish(m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    assert!(ptx(m, "sm_90").expect("PTX").contains(".entry k("));
    let mut exec = CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
    let x: Vec<u8> = (0..N)
        .flat_map(|i| (0.37 + 0.011 * i as f32).to_le_bytes())
        .collect();
    let input = exec.alloc("in", 4 * N, 4).expect("memory");
    let output = exec.alloc("o", 4 * N, 4).expect("memory");
    exec.write(input, &x).expect("writes");
    let mut once = |lambda: Option<f32>| -> Vec<f32> {
        let mut args = vec![
            Arg::Buffer {
                id: input,
                offset: 0,
            },
            Arg::Buffer {
                id: output,
                offset: 0,
            },
        ];
        args.extend(lambda.map(|l| Arg::Bytes(l.to_le_bytes().to_vec())));
        exec.launch(&Launch {
            symbol: "k",
            name: "k",
            grid: [BLOCKS, 1, 1],
            block: [BLOCK, 1, 1],
            dynamic_shared: 0,
            args: &args,
        })
        .expect("runs");
        let bytes = exec.read(output).expect("reads");
        let words = bytes.chunks_exact(4);
        words
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    };
    match lambdas.is_empty() {
        true => vec![once(None)],
        false => lambdas.iter().map(|l| once(Some(*l))).collect(),
    }
}

/// Whether the warp of a thread runs the cheap version at one half.
fn second(thread: usize) -> bool {
    hash_selects(thread as u64 / 32, 0.5)
}

/// Holds a kernel at 0, 1 and one half against its versions; `from` says whose version decides a result.
fn blends(body: &str, more: &str, from: impl Fn(usize) -> usize) {
    let of = |plan: &dyn Fn(&Module) -> Plan, lambdas: &[f32]| {
        let m = module(body, more);
        plan(&m).apply(&m).expect("applies");
        run(&m, lambdas)
    };
    let a = of(&|_| Plan::default(), &[]).remove(0);
    let b = of(&cheap, &[]).remove(0);
    let got = of(
        &|m| cheap(m).partitioned(0.5, Select::Hash),
        &[0.0, 1.0, 0.5],
    );
    assert_eq!(got[0], a);
    assert_eq!(got[1], b);
    assert!(
        (0..N).filter(|t| a[*t] != b[*t]).count() > N / 4,
        "versions differ"
    );
    assert!((0..N).any(second) && !(0..N).all(second));
    for t in 0..N {
        let want = if second(from(t)) { b[t] } else { a[t] };
        assert_eq!(got[2][t], want, "thread {t}");
    }
}

#[test]
fn calls_in_divergent_code() {
    // Lanes of one warp go both ways, with a call on each, one of them in a loop of lane-dependent length.
    let body = "  %odd = and i32 %tid, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %even, label %uneven
even:
  %e = call float @__nv_expf(float %x)
  br label %end
uneven:
  %times = and i32 %tid, 7
  br label %loop
loop:
  %n = phi i32 [ 0, %uneven ], [ %n1, %loop ]
  %v = phi float [ %x, %uneven ], [ %w, %loop ]
  %s = call float @__nv_sinf(float %v)
  %w = fadd float %s, 1.0
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, %times
  br i1 %more, label %loop, label %end
end:
  %r = phi float [ %e, %even ], [ %w, %loop ]";
    blends(body, "", |t| t);
}

#[test]
fn recursion() {
    let more = "define internal float @f(float %x, i32 %n) noinline {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %leaf, label %inner
leaf:
  %e = call float @__nv_expf(float %x)
  ret float %e
inner:
  %h = fmul float %x, 0.75
  %m = sub i32 %n, 1
  %d = call float @f(float %h, i32 %m)
  %s = call float @__nv_sinf(float %d)
  %t = fadd float %s, %d
  ret float %t
}";
    let body = "  %depth = and i32 %tid, 3\n  %r = call float @f(float %x, i32 %depth)";
    blends(body, more, |t| t);
}

#[test]
fn lanes_that_exchange_values() {
    let body = "  %e = call float @__nv_expf(float %x)
  %s = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %e, i32 3, i32 31)
  %r = fsub float %s, 0.5";
    // A warp has one version, so the lane that the value comes from has the same one.
    blends(body, "", |t| t);
}

#[test]
fn warps_that_exchange_values() {
    let body = format!(
        "  %e = call float @__nv_expf(float %x)
  %mine = getelementptr [{BLOCK} x float], ptr addrspace(3) @line, i32 0, i32 %tid
  store float %e, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %j = sub i32 {last}, %tid
  %other = getelementptr [{BLOCK} x float], ptr addrspace(3) @line, i32 0, i32 %j
  %r = load float, ptr addrspace(3) %other",
        last = BLOCK - 1
    );
    // What a thread reads was computed by the warp at the other end of the block, in that warp's version.
    let block = BLOCK as usize;
    blends(&body, "", |t| t / block * block + (block - 1 - t % block));
}

#[test]
fn a_barrier_out_of_sight_is_refused_by_name() {
    let more = "define internal float @meet(float %x, i32 %n) noinline {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %z = icmp eq i32 %n, 0
  br i1 %z, label %leaf, label %inner
leaf:
  ret float %x
inner:
  %m = sub i32 %n, 1
  %d = call float @meet(float %x, i32 %m)
  ret float %d
}";
    let body = "  %e = call float @__nv_expf(float %x)\n  %r = call float @meet(float %e, i32 2)";
    let m = module(body, more);
    let e = cheap(&m)
        .partitioned(0.5, Select::Hash)
        .apply(&m)
        .expect_err("refused");
    assert!(
        e.to_string()
            .contains("meet was not inlined and has a barrier"),
        "{e}"
    );
}

#[test]
fn without_math_calls_there_is_nothing_to_approximate() {
    let m = module("  %r = fadd float %x, 1.0", "");
    let mut p = Plan::default();
    p.compute_all(&m, MathVariant::ApproxFtz);
    assert!(p.is_identity());
}
