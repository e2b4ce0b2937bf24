//! Kernels whose threads do the work of several: the bits of the kernel as it is, vectors where neighbours are adjacent, and
//! what cannot be by name.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish, ptx};
use kerf_llvm::Module;
use kerf_pass::coarsen::{CoarseAxis, FACTORS, coarsen};
use kerf_pass::{Coarsening, Plan};

const THREADS: u32 = 64;
const BLOCKS: u32 = 3;
const N: usize = (THREADS * BLOCKS) as usize;

/// A kernel `k(in, o, n)` of floats, in blocks of 64 (or 16 x 4) threads; `%i` is a thread's number.
fn module(body: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
@line = internal addrspace(3) global [{THREADS} x float] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %o, i32 %n) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %bid, %ntid
  %i = add i32 %base, %tid
{body}
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"
    );
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
    m
}

/// Outputs of the kernel where `n` threads have work; `shift` moves the buffers off their alignment.
fn run(m: &Module, block: [u32; 3], (n, shift): (u32, u64)) -> Vec<u32> {
    finish(m, &[], "sm_90", Reflect::default()).expect("finishes");
    assert!(ptx(m, "sm_90").expect("PTX").contains(".entry k("));
    let mut exec = CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
    let bytes = 4 * (N + 32);
    let x: Vec<u8> = (0..N + 32)
        .flat_map(|i| (0.37 + 0.011 * i as f32).to_le_bytes())
        .collect();
    let input = exec.alloc("in", bytes, 4).expect("memory");
    let output = exec.alloc("o", bytes, 4).expect("memory");
    exec.write(input, &x).expect("writes");
    exec.write(output, &vec![0; bytes]).expect("writes");
    let offset = shift;
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [BLOCKS, 1, 1],
        block,
        dynamic_shared: 0,
        args: &[
            Arg::Buffer { id: input, offset },
            Arg::Buffer { id: output, offset },
            Arg::Bytes(n.to_le_bytes().to_vec()),
        ],
    })
    .expect("runs");
    let out = exec.read(output).expect("reads");
    out.chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

fn choices() -> Vec<Coarsening> {
    let mut all = Vec::new();
    for factor in FACTORS {
        let runs = [None, Some(1), Some(2)];
        all.extend(runs.map(|run| Coarsening {
            factor,
            run,
            axis: CoarseAxis::X,
        }));
    }
    all
}

/// Every way of coarsening gives the kernel's own bits, on whole and ragged sizes, aligned and not.
fn same(body: &str) {
    for case in [(N as u32, 0), (N as u32 - 5, 0), (N as u32 - 64, 4), (3, 8)] {
        let block = [THREADS, 1, 1];
        let own = run(&module(body), block, case);
        assert!(own.iter().any(|v| *v != 0), "the kernel writes something");
        for c in choices() {
            let m = module(body);
            let kernel = m.function("k").expect("a kernel");
            coarsen(&m, kernel, &c).expect("coarsens");
            let block = c.launch(block).expect("a block");
            assert_eq!(run(&m, block, case), own, "{c} at {case:?}");
        }
    }
}

const GUARDED: &str = "  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %out
work:
  %w = sext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %left = getelementptr i8, ptr addrspace(1) %p, i64 4
  %right = getelementptr i8, ptr addrspace(1) %p, i64 8
  %a = load float, ptr addrspace(1) %p
  %b = load float, ptr addrspace(1) %left
  %c = load float, ptr addrspace(1) %right
  %s = fadd float %a, %b
  %r = fadd float %s, %c
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  br label %out
out:
  ret void";

#[test]
fn a_guarded_stencil() {
    same(GUARDED);
}

/// Its index is no multiple of anything, so that it might wrap between neighbours.
const BESIDE: &str = "  %next = add i32 %tid, 1
  %j = add i32 %base, %next
  %inside = icmp slt i32 %j, %n
  br i1 %inside, label %work, label %out
work:
  %w = sext i32 %j to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %a = load float, ptr addrspace(1) %p
  %r = fmul float %a, %a
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  br label %out
out:
  ret void";

#[test]
fn an_index_that_might_wrap() {
    same(BESIDE);
    let text = coarse_ptx(BESIDE, &Coarsening::blocked(4));
    assert!(
        text.contains("ld.global.v2") && text.contains("st.global.v2"),
        "{text}"
    );
}

#[test]
fn a_grid_stride_loop() {
    same(
        "  %grid = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %half = lshr i32 %ntid, 1
  %stride = mul i32 %grid, %half
  %first = icmp slt i32 %i, %n
  br i1 %first, label %body, label %out
body:
  %at = phi i32 [ %i, %entry ], [ %next, %body ]
  %w = sext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %a = load float, ptr addrspace(1) %p
  %r = fmul float %a, %a
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  %next = add nsw i32 %at, %stride
  %more = icmp slt i32 %next, %n
  br i1 %more, label %body, label %out
out:
  ret void",
    );
}

#[test]
fn loops_of_each_threads_own_length() {
    same(
        "  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %before, label %out
before:
  %w = sext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %rounds = and i32 %i, 7
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k1, %loop ]
  %sum = phi float [ 0.0, %before ], [ %sum1, %loop ]
  %a = load float, ptr addrspace(1) %p
  %kf = sitofp i32 %k to float
  %t = fmul float %a, %kf
  %sum1 = fadd float %sum, %t
  %k1 = add nuw nsw i32 %k, 1
  %more = icmp sle i32 %k1, %rounds
  br i1 %more, label %loop, label %after
after:
  %kr = sitofp i32 %k1 to float
  %r = fadd float %sum1, %kr
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  br label %out
out:
  ret void",
    );
}

#[test]
fn shared_memory_between_barriers_in_a_loop() {
    same(
        "  %w = sext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %x = load float, ptr addrspace(1) %p
  %mine = getelementptr float, ptr addrspace(3) @line, i32 %tid
  %last = sub i32 %ntid, 1
  br label %loop
loop:
  %k = phi i32 [ 1, %entry ], [ %k1, %joined ]
  %v = phi float [ %x, %entry ], [ %v1, %joined ]
  store float %v, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = xor i32 %tid, %k
  %theirs = getelementptr float, ptr addrspace(3) @line, i32 %other
  %y = load float, ptr addrspace(3) %theirs
  %edge = icmp eq i32 %tid, %last
  br i1 %edge, label %corner, label %joined
corner:
  %kf = sitofp i32 %k to float
  %z = fmul float %y, %kf
  br label %joined
joined:
  %u = phi float [ %y, %loop ], [ %z, %corner ]
  %v1 = fadd float %v, %u
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %k1 = shl i32 %k, 1
  %more = icmp slt i32 %k1, %ntid
  br i1 %more, label %loop, label %out
out:
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %v1, ptr addrspace(1) %q
  ret void",
    );
}

#[test]
fn switches_arrays_and_sums_of_all_threads() {
    same(
        "  %a = alloca [4 x float]
  %w = sext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %x = load float, ptr addrspace(1) %p
  %low = and i32 %i, 3
  %slot = getelementptr float, ptr %a, i32 %low
  store float %x, ptr %slot
  %back = xor i32 %low, 1
  %slot2 = getelementptr float, ptr %a, i32 %back
  store float 2.5, ptr %slot2
  %three = urem i32 %i, 5
  switch i32 %three, label %other [ i32 1, label %one
    i32 2, label %two ]
one:
  %v1 = load float, ptr %slot
  br label %join
two:
  %v2 = load float, ptr %slot2
  br label %join
other:
  %v3 = fadd float %x, 1.0
  br label %join
join:
  %r = phi float [ %v1, %one ], [ %v2, %two ], [ %v3, %other ]
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  %count = getelementptr i32, ptr addrspace(1) %o, i64 200
  %old = atomicrmw add ptr addrspace(1) %count, i32 1 monotonic
  ret void",
    );
}

fn coarse_ptx(body: &str, c: &Coarsening) -> String {
    let m = module(body);
    let kernel = m.function("k").expect("a kernel");
    coarsen(&m, kernel, c).expect("coarsens");
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    ptx(&m, "sm_90").expect("PTX")
}

#[test]
fn neighbours_become_vectors() {
    let text = coarse_ptx(GUARDED, &Coarsening::blocked(4));
    for part in [
        "ld.global.v4",
        "st.global.v4",
        "ld.global.v2",
        "st.global.v2",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let strided = Coarsening {
        run: Some(1),
        ..Coarsening::blocked(4)
    };
    let text = coarse_ptx(GUARDED, &strided);
    assert!(!text.contains(".v4") && !text.contains(".v2"), "{text}");
    // Of pieces that are not adjacent nothing is one access.
    let apart = GUARDED.replace("getelementptr float", "getelementptr double");
    let text = coarse_ptx(&apart, &Coarsening::blocked(4));
    assert!(!text.contains(".v4") && !text.contains(".v2"), "{text}");
}

#[test]
fn along_y_too() {
    let body = "  %row = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %rows = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %above = mul i32 %row, %ntid
  %cell = add i32 %above, %tid
  %size = mul i32 %ntid, %rows
  %begin = mul i32 %bid, %size
  %at = add i32 %begin, %cell
  %w = zext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %w
  %x = load float, ptr addrspace(1) %p
  %f = uitofp i32 %row to float
  %r = fmul float %x, %f
  %q = getelementptr float, ptr addrspace(1) %o, i64 %w
  store float %r, ptr addrspace(1) %q
  ret void";
    let block = [16, 4, 1];
    let own = run(&module(body), block, (0, 0));
    for factor in [2, 4] {
        let c = Coarsening {
            factor,
            axis: CoarseAxis::Y,
            run: None,
        };
        let m = module(body);
        coarsen(&m, m.function("k").expect("a kernel"), &c).expect("coarsens");
        let smaller = c.launch(block).expect("a block");
        assert_eq!(smaller, [16, 4 / factor, 1]);
        assert_eq!(run(&m, smaller, (0, 0)), own);
    }
}

fn refusal(body: &str, plan: &str) -> String {
    let m = module(body);
    let plan = Plan::parse(plan).expect("a plan");
    plan.apply(&m).expect_err("refuses").to_string()
}

const BY_FOUR: &str = r#"{"version":1,"kernels":{"k":{"coarsen":{"factor":4}}}}"#;

#[test]
fn what_cannot_be_is_named() {
    let end = "  %q = getelementptr i32, ptr addrspace(1) %o, i32 %i
  store i32 %r, ptr addrspace(1) %q
  ret void";
    let cases = [
        (
            format!(
                "  %r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %i, i32 1, i32 31)\n{end}"
            ),
            "shfl.sync.bfly.i32 is an operation of a warp",
        ),
        (
            format!("  %r = load volatile i32, ptr addrspace(1) %in\n{end}"),
            "an access is volatile",
        ),
        (
            format!("  %r = atomicrmw add ptr addrspace(1) %in, i32 1 monotonic\n{end}"),
            "finds, which is used, depends on the order of threads",
        ),
        (
            "  %r = atomicrmw fadd ptr addrspace(1) %in, float 1.0 monotonic\n  ret void".into(),
            "depends on the order of threads",
        ),
        (
            "  %early = icmp sge i32 %i, %n
  br i1 %early, label %out, label %on
on:
  %p = getelementptr float, ptr addrspace(3) @line, i32 %tid
  store float 1.0, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = load float, ptr addrspace(3) @line
  store float %v, ptr addrspace(1) %o
  br label %out
out:
  ret void"
                .into(),
            "whether the barrier is reached may depend on the thread",
        ),
    ];
    for (body, why) in cases {
        let got = refusal(&body, BY_FOUR);
        assert!(
            got.contains(why) && got.contains("kernel k"),
            "{why}: {got}"
        );
    }
    let odd = BY_FOUR.replace('4', "3");
    assert!(refusal(GUARDED, &odd).contains("the factor is 3, and not 2, 4 or 8"));
    let run = BY_FOUR.replace("4}", "4,\"run\":3}");
    assert!(refusal(GUARDED, &run).contains("a run of 3 does not divide the factor 4"));
    let block = BY_FOUR.replace("{\"coarsen\"", "{\"block\":[30,1,1],\"coarsen\"");
    assert!(refusal(GUARDED, &block).contains("30 threads along x of a block of 30 x 1 x 1"));
    assert!(Coarsening::blocked(8).launch([12, 1, 1]).is_err());
}
