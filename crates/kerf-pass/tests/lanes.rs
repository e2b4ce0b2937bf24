//! Counting: how often warps run what few of their threads do.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::count::{self, CountDevice, Detail};

/// In each of 48 rounds another thread of a warp runs a block; half of them run one in each of 100.
#[test]
fn warps_run_what_any_of_their_threads_runs() {
    let text = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %a) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  %p = getelementptr double, ptr %a, i32 %t
  br label %loop
loop:
  %r = phi i32 [ 0, %entry ], [ %n, %next ]
  %here = and i32 %r, 31
  %mine = icmp eq i32 %lane, %here
  br i1 %mine, label %some, label %next
some:
  %v = load volatile double, ptr %p
  %w = fadd double %v, 1.0
  store volatile double %w, ptr %p
  br label %next
next:
  %n = add i32 %r, 1
  %more = icmp ult i32 %n, 48
  br i1 %more, label %loop, label %second
second:
  %s = phi i32 [ 0, %next ], [ %o, %after ]
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %half, label %after
half:
  %x = load volatile double, ptr %p
  %y = fmul double %x, 1.5
  store volatile double %y, ptr %p
  br label %after
after:
  %o = add i32 %s, 1
  %again = icmp ult i32 %o, 100
  br i1 %again, label %second, label %end
end:
  ret void
}
"#;
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    prepare::prepare(&m, "sm_90").expect("prepares");
    let counters = count::instrument(&m, Detail::Blocks, CountDevice::Cpu).expect("instruments");
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let a = exec.alloc("a", 64 * 8, 8).expect("memory");
    let bytes = counters.noted.bytes();
    let table = exec.symbol(count::WARPS, bytes, 8).expect("is there");
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [3, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        args: &[Arg::Buffer { id: a, offset: 0 }],
    })
    .expect("runs");
    let k = &counters.kernels[0];
    let mut together = count::Together::default();
    together.join(&counters, k, &exec.read(table).expect("reads"));
    let threads = together.threads();
    let of = |op: &str| {
        let site = k.sites.iter().position(|s| s.op == op).expect("a site");
        threads[k.site_blocks[site]]
    };
    assert_eq!(threads[k.entry], 32.0, "{threads:?}");
    assert_eq!(of("fadd"), 1.0, "{threads:?}");
    assert_eq!(of("fmul"), 16.0, "{threads:?}");
}
