//! Addresses that a counting run sees: gathers and bank conflicts that are known by hand.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::count::{self, CountDevice, Detail, MemoryKind, Pattern};

const HEAD: &str = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@tile = internal addrspace(3) global [1024 x float] undef
"#;

/// Runs kernel `k` with 128 threads a block on one buffer of numbers; gives the memory and pattern of each access.
fn seen(text: &str, blocks: u32, data: &[u32]) -> Vec<(MemoryKind, Pattern)> {
    seen_with(text, blocks, data, None)
}

/// The same, with a second argument.
fn seen_with(
    text: &str,
    blocks: u32,
    data: &[u32],
    second: Option<Arg>,
) -> Vec<(MemoryKind, Pattern)> {
    let m = Module::parse(format!("{HEAD}{text}").as_bytes(), "k.ll").expect("parses");
    prepare::prepare(&m, "sm_90").expect("prepares");
    let counters = count::instrument(&m, Detail::Blocks, CountDevice::Cpu).expect("instruments");
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let a = exec.alloc("a", bytes.len(), 4).expect("memory");
    exec.write(a, &bytes).expect("fits");
    let bytes = counters.sampled.bytes();
    let table = exec.symbol(count::ADDRESSES, bytes, 8).expect("is there");
    let first = Arg::Buffer { id: a, offset: 0 };
    let args: Vec<Arg> = std::iter::once(first).chain(second).collect();
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [blocks, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 0,
        args: &args,
    })
    .expect("runs");
    let k = counters.kernel("k").expect("the kernel");
    let all = count::patterns(&counters, k, &exec.read(table).expect("read"));
    let memory = |p: &Pattern| {
        let mut here = k.accesses.iter().filter(|a| a.block == p.block);
        here.nth(p.index).expect("it").memory
    };
    all.into_iter().map(|p| (memory(&p), p)).collect()
}

#[test]
fn a_gather_touches_what_its_indices_say() {
    // Element 3 i of each thread's own index, then the elements at those: every fourth thread shares an element, 64 bytes apart.
    let data: Vec<u32> = (0..4096).map(|i| i % 512 / 4 * 16).collect();
    let all = seen(
        "define ptx_kernel void @k(ptr %a) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
           %s = shl i32 %b, 7
           %i = add i32 %s, %t
           %p = getelementptr i32, ptr %a, i32 %i
           %x = load i32, ptr %p
           %q = getelementptr i32, ptr %a, i32 %x
           %y = load i32, ptr %q
           %o = getelementptr i32, ptr %a, i32 %i
           store i32 %y, ptr %o
           ret void
         }",
        4,
        &data,
    );
    let sectors: Vec<f32> = all.iter().map(|p| p.1.sectors[0]).collect();
    assert_eq!(sectors, [4.0, 8.0, 4.0], "{all:?}");
    // Of the eight elements four are in one bank.
    let passes: Vec<f32> = all.iter().map(|p| p.1.passes[0][0]).collect();
    assert_eq!(passes, [1.0, 4.0, 1.0], "{all:?}");
    // Half as wide, the gathered elements are 32 bytes apart and the others are as many in half of the sectors.
    assert_eq!(all[0].1.sectors[1], 2.0);
    assert_eq!(all[1].1.sectors[1], 8.0);
    assert_eq!(all[1].1.passes[0][1], 2.0);
    // What is gathered was mostly not touched before: 48 loads of sectors in a block, of which 16 are its own elements'.
    assert!(
        all[0].1.fresh[0] > 0.6 && all[0].1.fresh[0] <= 1.0,
        "{all:?}"
    );
    assert_eq!(all[2].1.fresh[0], 1.0, "{all:?}");
}

#[test]
fn swapped_pointers_into_shared_memory_conflict_as_they_do() {
    // Column 8 t of a tile: 8 threads a bank in a row of 32 banks, 32 floats apart for each four threads.
    let all = seen(
        "define ptx_kernel void @k(ptr %a) {
         entry:
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %lane = and i32 %t, 31
           %at = shl i32 %lane, 5
           br label %loop
         loop:
           %n = phi i32 [ 0, %entry ], [ %m, %loop ]
           %from = phi ptr [ addrspacecast (ptr addrspace(3) @tile to ptr), %entry ], [ %to, %loop ]
           %to = phi ptr [ addrspacecast (ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @tile, i32 4) to ptr), %entry ], [ %from, %loop ]
           %p = getelementptr float, ptr %from, i32 %at
           %x = load float, ptr %p
           %far = shl i32 %lane, %n
           %q = getelementptr float, ptr %to, i32 %far
           store float %x, ptr %q
           %m = add i32 %n, 1
           %c = icmp eq i32 %m, 4
           br i1 %c, label %end, label %loop
         end:
           ret void
         }",
        1,
        &[0; 64],
    );
    let shared: Vec<&(MemoryKind, Pattern)> =
        all.iter().filter(|p| p.0 == MemoryKind::Shared).collect();
    assert_eq!(shared.len(), 2, "{all:?}");
    assert_eq!(shared[0].1.passes[0][0], 32.0, "{all:?}");
    // 1, 2, 4 and 8 passes in its four rounds.
    assert_eq!(shared[1].1.passes[0][0], 3.75, "{all:?}");
}

#[test]
fn what_a_loop_loads_again_is_not_new() {
    // Rows of 128 elements, this one and the next, in four rounds: of this one only the first was not there before.
    let all = seen(
        "define ptx_kernel void @k(ptr %a) {
         entry:
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           br label %loop
         loop:
           %n = phi i32 [ 0, %entry ], [ %m, %loop ]
           %s = phi i32 [ 0, %entry ], [ %sum, %loop ]
           %row = shl i32 %n, 7
           %i = add i32 %row, %t
           %p = getelementptr i32, ptr %a, i32 %i
           %x = load volatile i32, ptr %p
           %j = add i32 %i, 128
           %q = getelementptr i32, ptr %a, i32 %j
           %y = load volatile i32, ptr %q
           %d = sub i32 %y, %x
           %sum = add i32 %s, %d
           %m = add i32 %n, 1
           %c = icmp eq i32 %m, 4
           br i1 %c, label %end, label %loop
         end:
           %o = getelementptr i32, ptr %a, i32 %t
           store i32 %sum, ptr %o
           ret void
         }",
        1,
        &[1; 1024],
    );
    let first = |k: usize| all[k].1.first.map(|f| (f.sectors[0], f.accesses[0]));
    assert_eq!(first(0), Some((0.25, 0.25)), "{all:?}");
    assert_eq!(first(1), Some((1.0, 1.0)), "{all:?}");
    assert_eq!(first(2), None, "{all:?}");
    // Five rows of the eight that are loaded.
    assert_eq!(all[0].1.fresh[0], 0.625, "{all:?}");
}

/// A parameter that is a struct is constant memory on a GPU; the CPU executor has a copy of it for each thread.
#[test]
fn parameters_are_not_looked_at() {
    let all = seen_with(
        "define ptx_kernel void @k(ptr %a, ptr byval([4 x i32]) align 4 %s) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %i = and i32 %t, 3
           %f = getelementptr i32, ptr %s, i32 %i
           %x = load i32, ptr %f
           %p = getelementptr i32, ptr %a, i32 %t
           store i32 %x, ptr %p
           ret void
         }",
        1,
        &[0; 128],
        Some(Arg::Bytes([7u32; 4].map(u32::to_le_bytes).concat())),
    );
    let sectors: Vec<f32> = all.iter().map(|p| p.1.sectors[0]).collect();
    assert_eq!(sectors, [4.0], "{all:?}");
}
