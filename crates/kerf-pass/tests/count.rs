//! Counting: exact counts and ranges of small kernels.
use crate::libdevice::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, BufferId, Executor, Launch};
use kerf_ir::address::AccessDirection;
use kerf_ir::address::slope::Slope;
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::count::{
    self, CountDevice, CountTable, CountTally, Detail, MemoryKind, Root, SiteRecord,
};

const HEAD: &str = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare double @llvm.fma.f64(double, double, double)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@tile = internal addrspace(3) global [64 x double] undef
"#;

/// Runs kernel `k` of a module on one buffer; gives the counters, what they say, and the buffer.
pub(super) fn counted(
    text: &str,
    blocks: u32,
    threads: u32,
    data: &[f64],
) -> (CountTable, CountTally, Vec<f64>) {
    let how = (Detail::Values, CountDevice::Cpu);
    counted_in(how, text, blocks, threads, data)
}

pub(super) fn counted_in(
    (detail, device): (Detail, CountDevice),
    text: &str,
    blocks: u32,
    threads: u32,
    data: &[f64],
) -> (CountTable, CountTally, Vec<f64>) {
    let m = Module::parse(format!("{HEAD}{text}").as_bytes(), "k.ll").expect("parses");
    prepare::prepare(&m, "sm_90").expect("prepares");
    let counters = count::instrument(&m, detail, device).expect("instruments");
    finish(&m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let a = exec.alloc("a", bytes.len(), 8).expect("memory");
    exec.write(a, &bytes).expect("fits");
    let symbol = |e: &mut CpuExecutor, name, bytes| -> BufferId {
        e.symbol(name, bytes, 8).expect("is there")
    };
    let of_blocks = symbol(&mut exec, count::BLOCKS, counters.block_bytes());
    let of_sites = symbol(&mut exec, count::SITES, counters.site_bytes());
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        args: &[Arg::Buffer { id: a, offset: 0 }],
    })
    .expect("runs");
    let tally = CountTally::read(
        &counters,
        &exec.read(of_blocks).expect("read"),
        &exec.read(of_sites).expect("read"),
    );
    let out = exec.read(a).expect("read");
    let out = out
        .chunks_exact(8)
        .map(|c| f64::from_le_bytes(c.try_into().expect("eight")));
    (counters, tally, out.collect())
}

pub(super) fn sites(c: &CountTable, t: &CountTally) -> Vec<(String, SiteRecord)> {
    let k = c.kernel("k").expect("the kernel");
    let ops = k.sites.iter().map(|s| s.op.clone());
    ops.zip(t.sites(c, k)).collect()
}

pub(super) fn record_of<'a>(all: &'a [(String, SiteRecord)], op: &str) -> &'a SiteRecord {
    &all.iter()
        .find(|s| s.0 == op)
        .unwrap_or_else(|| panic!("no {op} in {all:?}"))
        .1
}

/// Code for GPUs, on the CPU executor, which has shuffles too: whole warps join their records before they go to memory, and
/// warps that are not whole go one by one.
#[test]
fn warps_that_join_their_records_count_the_same() {
    let text = "define ptx_kernel void @k(ptr %a) {
       %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
       %p = getelementptr double, ptr %a, i32 %t
       %v = load double, ptr %p
       %w = fsub double %v, 1.0
       %odd = and i32 %t, 3
       %c = icmp eq i32 %odd, 3
       br i1 %c, label %some, label %end
     some:
       %x = fdiv double %w, 3.0
       store double %x, ptr %p
       br label %end
     end:
       ret void
     }";
    let data: Vec<f64> = (0..80).map(|x| f64::from(x) * 0.37).collect();
    let of = |device| counted_in((Detail::Values, device), text, 1, 80, &data);
    let (_, each, out) = of(CountDevice::Cpu);
    let (_, joined, same) = of(CountDevice::Gpu);
    assert_eq!(out, same);
    assert_eq!(each, joined);
}

#[test]
fn blocks_alone_are_counted_alike() {
    let text = "define ptx_kernel void @k(ptr %a) {
       %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
       %p = getelementptr double, ptr %a, i32 %t
       br label %loop
     loop:
       %i = phi i32 [ 0, %0 ], [ %n, %loop ]
       %s = phi double [ 1.0, %0 ], [ %u, %loop ]
       %u = fmul double %s, 2.0
       %n = add i32 %i, 1
       %c = icmp ugt i32 %n, %t
       br i1 %c, label %end, label %loop
     end:
       store double %u, ptr %p
       ret void
     }";
    let of = |detail| counted_in((detail, CountDevice::Cpu), text, 2, 40, &[0.0; 40]);
    let (c, all, out) = of(Detail::Values);
    let (_, alone, same) = of(Detail::Blocks);
    assert_eq!(out, same);
    assert_eq!(all.blocks(), alone.blocks());
    let values = |t: &CountTally| {
        sites(&c, t)
            .into_iter()
            .find(|s| s.0 == "fmul")
            .expect("one")
            .1
    };
    assert_eq!(values(&all).max_exponent, Some(40));
    assert_eq!(values(&alone).max_exponent, None);
    assert_eq!(values(&alone).count, values(&all).count);
}

#[test]
fn loops_are_counted_as_they_run() {
    // Thread t adds a[t] to a sum t + 1 times.
    let (c, t, out) = counted(
        "define ptx_kernel void @k(ptr %a) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %p = getelementptr double, ptr %a, i32 %t
           %x = load double, ptr %p
           br label %loop
         loop:
           %i = phi i32 [ 0, %0 ], [ %n, %loop ]
           %s = phi double [ 0.0, %0 ], [ %u, %loop ]
           %u = fadd double %s, %x
           %n = add i32 %i, 1
           %c = icmp ugt i32 %n, %t
           br i1 %c, label %end, label %loop
         end:
           store double %u, ptr %p
           ret void
         }",
        1,
        8,
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1e300],
    );
    assert_eq!(out[..3], [1.0, 4.0, 9.0]);
    let all = sites(&c, &t);
    let add = record_of(&all, "fadd");
    assert_eq!(add.count, 36);
    assert_eq!((add.min_exponent, add.max_exponent), (Some(0), Some(999)));
    assert_eq!(add.cancellation, Some(0));
    assert_eq!((add.nan, add.infinite, add.zeros), (0, 0, 0));
    assert_eq!(record_of(&all, "phi").zeros, 8);
    let load = record_of(&all, "load");
    assert_eq!((load.count, load.cancellation), (8, None));
    assert_eq!((load.smallest, load.largest), (Some(1.0), Some(1e300)));
    assert_eq!(record_of(&all, "store").count, 8);
    // The same of bytes: a load and a store of every thread, side by side.
    let k = c.kernel("k").expect("the kernel");
    let slope = Slope {
        x: Some(8),
        y: Some(0),
    };
    let seen: Vec<_> = k
        .accesses
        .iter()
        .map(|a| {
            (
                a.direction,
                a.bytes * t.block(a.block).threads,
                a.memory,
                a.root.clone(),
                a.slope,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                AccessDirection::Load,
                64,
                MemoryKind::Global,
                Root::Parameter(0),
                slope
            ),
            (
                AccessDirection::Store,
                64,
                MemoryKind::Global,
                Root::Parameter(0),
                slope
            ),
        ]
    );
    let entry = t.block(k.entry);
    assert_eq!((entry.threads, entry.warps, entry.longest), (8, 1, 1));
    // The warp goes round as often as its last thread.
    let body = k
        .sites
        .iter()
        .position(|s| s.op == "fadd")
        .expect("there is one");
    let body = t.block(k.site_blocks[body]);
    assert_eq!((body.threads, body.warps, body.longest), (36, 8, 8));
}

#[test]
fn any_mask_can_make_an_address() {
    // The largest mask of all is that of a generator of random numbers, modulo 2^63.
    let (_, t, _) = counted(
        "define ptx_kernel void @k(ptr %a) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %w = zext i32 %t to i64
           %h = mul i64 %w, 2806196910506780709
           %m = and i64 %h, 9223372036854775807
           %i = lshr i64 %m, 61
           %p = getelementptr double, ptr %a, i64 %i
           %x = load double, ptr %p
           %u = fadd double %x, 1.0
           %q = getelementptr double, ptr %a, i64 %w
           store double %u, ptr %q
           ret void
         }",
        1,
        1,
        &[1.0, 2.0, 3.0, 4.0],
    );
    assert_eq!(t.block(0).threads, 1);
}

#[test]
fn specials_are_counted_apart_and_cancellation_is_seen() {
    let (c, t, _) = counted(
        "define ptx_kernel void @k(ptr %a) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %p = getelementptr double, ptr %a, i32 %t
           %x = load double, ptr %p
           %d = fsub double %x, 1.0
           %m = fmul double %x, 0x3E80000000000000
           %f = call double @llvm.fma.f64(double %x, double %x, double -1.0)
           %s = fadd double %d, %m
           %u = fadd double %s, %f
           store double %u, ptr %p
           ret void
         }",
        1,
        6,
        // 2^-20 above one; infinite; NaN; below the normal f32; below the normal f16; zero.
        &[
            1.0 + 2f64.powi(-20),
            f64::INFINITY,
            f64::NAN,
            1e-42,
            1e-5,
            0.0,
        ],
    );
    let all = sites(&c, &t);
    let load = record_of(&all, "load");
    assert_eq!(
        (load.count, load.nan, load.infinite, load.zeros),
        (6, 1, 1, 1)
    );
    assert_eq!((load.below_f32, load.below_f16), (1, 2));
    assert_eq!(load.largest, Some(1.0 + 2f64.powi(-20)));
    assert_eq!(load.smallest, Some(1e-42));
    assert_eq!(load.significant_bits, 53);
    // 1 + 2^-20 less 1 (which is now a sum) loses 20 bits; its square less 1 loses 19.
    assert_eq!(record_of(&all, "fadd").cancellation, Some(20));
    assert_eq!(record_of(&all, "fma").cancellation, Some(19));
    assert_eq!(record_of(&all, "fmul").cancellation, None);
}

#[test]
fn local_errors_are_those_of_one_operation_in_a_narrower_format() {
    let data = [1.0 + 2f64.powi(-20), 3.7, -0.1, 1e-30, 0.0, f64::INFINITY];
    // Few sites are recorded in place, many by functions.
    for more in [0, 100] {
        let chain: String = (0..more)
            .map(|k| format!("%y{} = fmul double %y{k}, 0x3FF0000000000003\n", k + 1))
            .collect();
        local_errors(&data, &chain, more);
    }
}

fn local_errors(data: &[f64], chain: &str, more: usize) {
    let (c, t, _) = counted(
        &format!(
            "define ptx_kernel void @k(ptr %a) {{
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %p = getelementptr double, ptr %a, i32 %t
           %x = load double, ptr %p
           %m = fmul double %x, 0x3FD5555555555555
           %d = fadd double %x, -1.0
           %f = call double @llvm.fma.f64(double %x, double %m, double %d)
           %y0 = fmul double %x, 0x3FF0000000000003
           {chain}
           %z = call double @llvm.fma.f64(double %y{more}, double %x, double %f)
           store double %z, ptr %p
           ret void
         }}"
        ),
        1,
        data.len() as u32,
        data,
    );
    // The same by the processor's own f32.
    let third = f64::from_bits(0x3FD5_5555_5555_5555);
    let errors = |low: &dyn Fn(f64) -> f64, own: &dyn Fn(f64) -> f64| {
        let all = data.iter().filter(|x| x.is_finite() && own(**x) != 0.0);
        let all: Vec<f64> = all.map(|x| ((low(*x) - own(*x)) / own(*x)).abs()).collect();
        let largest = all.iter().copied().fold(0.0, f64::max);
        (largest, all.iter().sum::<f64>() / all.len() as f64)
    };
    let r = |x: f64| f64::from(x as f32);
    let product = |x: f64| x * third;
    let sum = |x: f64| x - 1.0;
    let fma = |x: f64| x.mul_add(product(x), sum(x));
    let low_fma = |x: f64| f64::from((x as f32).mul_add(product(x) as f32, sum(x) as f32));
    let all = sites(&c, &t);
    for (op, (largest, mean)) in [
        ("load", errors(&r, &|x| x)),
        ("fmul", errors(&|x| r(r(x) * r(third)), &product)),
        ("fadd", errors(&|x| r(r(x) - 1.0), &sum)),
        ("fma", errors(&low_fma, &fma)),
    ] {
        let seen = record_of(&all, op);
        let f32 = seen
            .local(kerf_num::Format::F32)
            .expect("f64 sites have one");
        assert_eq!(f32.largest, largest, "{op}");
        // The sum is in parts of 2^-32.
        assert!(
            (f32.mean - mean).abs() <= 2f64.powi(-32),
            "{op}: {} {mean}",
            f32.mean
        );
        let bf16 = seen.local(kerf_num::Format::Bf16).expect("and this");
        assert!(bf16.largest >= f32.largest && bf16.largest < 1.1, "{op}");
    }
    // Both ones of the sum are exact in every format; 2^-20 is lost in f16.
    let sum = record_of(&all, "fadd")
        .local(kerf_num::Format::F16)
        .expect("and this");
    assert_eq!(sum.largest, 1.0);
    let exact = counted(
        "define ptx_kernel void @k(ptr %a) {
           %x = load double, ptr %a
           %m = fmul double %x, 3.0
           store double %m, ptr %a
           ret void
         }",
        1,
        1,
        &[1.25],
    );
    for l in &record_of(&sites(&exact.0, &exact.1), "fmul").local {
        assert_eq!((l.largest, l.mean), (0.0, 0.0), "{l:?}");
    }
}

#[test]
fn total_cancellation_is_all_of_the_format() {
    let (c, t, _) = counted(
        "define ptx_kernel void @k(ptr %a) {
           %x = load volatile double, ptr %a
           %y = load volatile double, ptr %a
           %d = fsub double %x, %y
           store double %d, ptr %a
           ret void
         }",
        1,
        1,
        &[3.0],
    );
    let all = sites(&c, &t);
    assert_eq!(record_of(&all, "fsub").cancellation, Some(53));
    assert_eq!(record_of(&all, "load").significant_bits, 2);
}

#[test]
fn barriers_functions_and_many_blocks() {
    let (c, t, out) = counted(
        "define double @deeper(double %x, i32 %n) noinline memory(none) {
           %z = icmp eq i32 %n, 0
           br i1 %z, label %end, label %more
         more:
           %m = sub i32 %n, 1
           %y = call double @deeper(double %x, i32 %m)
           %s = fadd double %y, %x
           ret double %s
         end:
           ret double %x
         }
         define ptx_kernel void @k(ptr %a) {
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
           %o = mul i32 %b, 64
           %i = add i32 %o, %t
           %p = getelementptr double, ptr %a, i32 %i
           %x = load double, ptr %p
           %q = getelementptr double, ptr addrspace(3) @tile, i32 %t
           store double %x, ptr addrspace(3) %q
           call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
           %r = sub i32 63, %t
           %w = getelementptr double, ptr addrspace(3) @tile, i32 %r
           %y = load double, ptr addrspace(3) %w
           %v = call double @deeper(double %y, i32 3)
           store double %v, ptr %p
           ret void
         }",
        4,
        64,
        &(0..256).map(f64::from).collect::<Vec<_>>(),
    );
    assert_eq!(out[..2], [252.0, 248.0]);
    let all = sites(&c, &t);
    // Three additions in each of 256 threads, or what inlining made of them.
    let adds: u64 = all
        .iter()
        .filter(|s| s.0 == "fadd")
        .map(|s| s.1.count)
        .sum();
    assert_eq!(adds, 3 * 256);
    let k = c.kernel("k").expect("the kernel");
    let shared: Vec<_> = k
        .accesses
        .iter()
        .filter(|a| a.memory == MemoryKind::Shared)
        .collect();
    assert_eq!(shared.len(), 2);
    assert_eq!(shared[0].slope.x, Some(8));
    assert_eq!(shared[1].slope.x, Some(-8));
    assert_eq!(shared[0].root, Root::Variable("tile".into()));
}

#[test]
fn a_kernel_of_many_sites_is_counted_as_one_of_few() {
    // The same steps, a few times and so often that values go straight into records; x - (x - y) - y cancels.
    let steps = |n: usize| {
        let one = |k: usize| {
            let (x, last) = (
                format!("%x{k}"),
                if k == 0 {
                    "%x".into()
                } else {
                    format!("%x{}", k - 1)
                },
            );
            format!(
                "%d{k} = fsub double {last}, 0x3FF8000000000000
                 %m{k} = fmul double %d{k}, %d{k}
                 {x} = call double @llvm.fma.f64(double %m{k}, double 0x3F50000000000000, double 0x3FF4000000000000)\n"
            )
        };
        let all: String = (0..n).map(one).collect();
        format!(
            "define ptx_kernel void @k(ptr %a) {{
               %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               %p = getelementptr double, ptr %a, i32 %t
               %x = load double, ptr %p
               {all}
               store double %x{}, ptr %p
               ret void
             }}",
            n - 1
        )
    };
    let data = [0.0, 1.5, -3.0, 1e-300, f64::INFINITY, f64::NAN, 1e300, 2.5];
    let of = |n: usize| {
        let (c, t, _) = counted(&steps(n), 1, data.len() as u32, &data);
        sites(&c, &t)
    };
    let (few, many) = (of(4), of(100));
    assert!(
        many.len() > 300 && few.len() < 20,
        "{} {}",
        few.len(),
        many.len()
    );
    // The first steps see the same values; local errors are not taken of the larger one.
    for ((op, a), (other, b)) in few.iter().zip(&many).take(12) {
        assert_eq!(op, other);
        let without = SiteRecord {
            local: Vec::new(),
            ..a.clone()
        };
        assert_eq!(&without, b, "{op}");
    }
    assert!(many.iter().any(|s| s.1.cancellation.is_some_and(|c| c > 0)));
}

#[test]
fn the_largest_number_is_no_value() {
    // A minimum begins with DBL_MAX, which says nothing of the range of its values.
    let (c, t, out) = counted(
        "define ptx_kernel void @k(ptr %a) {
           br label %loop
         loop:
           %i = phi i32 [ 0, %0 ], [ %n, %loop ]
           %s = phi double [ 0x7FEFFFFFFFFFFFFF, %0 ], [ %u, %loop ]
           %p = getelementptr double, ptr %a, i32 %i
           %x = load double, ptr %p
           %l = fcmp olt double %x, %s
           %u = select i1 %l, double %x, double %s
           %n = add i32 %i, 1
           %c = icmp eq i32 %n, 4
           br i1 %c, label %end, label %loop
         end:
           store double %u, ptr %a
           ret void
         }",
        1,
        1,
        &[5.0, 3.0, 4.0, 2.0],
    );
    assert_eq!(out[0], 2.0);
    let all = sites(&c, &t);
    let phi = record_of(&all, "phi");
    assert_eq!((phi.largest, phi.smallest), (Some(5.0), Some(3.0)));
    assert_eq!((phi.infinite, phi.count), (1, 4));
}
