//! Values of some executions, as code for GPUs records them, on the CPU executor.
use crate::count::{counted_in, record_of, sites};
use kerf_pass::count::{CountDevice, Detail};

/// A kernel whose threads add 1 to a number so many times, and store a product of the sum.
fn adding(times: u32) -> String {
    format!(
        "define ptx_kernel void @k(ptr %a) {{
       %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
       %p = getelementptr double, ptr %a, i32 %t
       %x = load double, ptr %p
       br label %loop
     loop:
       %i = phi i32 [ 0, %0 ], [ %n, %loop ]
       %s = phi double [ %x, %0 ], [ %u, %loop ]
       %u = fadd double %s, 1.0
       %n = add i32 %i, 1
       %c = icmp uge i32 %n, {times}
       br i1 %c, label %end, label %loop
     end:
       %v = fmul double %u, 0.0
       store double %v, ptr %p
       ret void
     }}"
    )
}

/// As many as are all recorded: what is sampled of few warps and short loops is everything.
#[test]
fn sampled_values_of_few_executions_are_all_values() {
    let of = |detail| {
        let data: Vec<f64> = (0..80).map(f64::from).collect();
        let (c, t, out) = counted_in((detail, CountDevice::Gpu), &adding(32), 3, 80, &data);
        (sites(&c, &t), out)
    };
    assert_eq!(of(Detail::Values), of(Detail::SampledValues));
}

#[test]
fn sampled_values_stand_for_all() {
    // The first 32 and every 17th of 1,000 rounds: numbers 0 to 31, 34, 51 and so on to 986.
    let of = |detail| {
        let data = vec![0.0; 64];
        let (c, t, out) = counted_in((detail, CountDevice::Gpu), &adding(1000), 2, 64, &data);
        (sites(&c, &t), t.blocks(), out)
    };
    let ((all, blocks, out), (some, same_blocks, same)) =
        (of(Detail::Values), of(Detail::SampledValues));
    assert_eq!((&out, &blocks), (&same, &same_blocks));
    let (every, sampled) = (record_of(&all, "fadd"), record_of(&some, "fadd"));
    assert_eq!((every.count, sampled.count), (128_000, 128_000));
    assert_eq!(
        (every.largest, sampled.largest),
        (Some(1000.0), Some(987.0))
    );
    assert_eq!((every.smallest, sampled.smallest), (Some(1.0), Some(1.0)));
    // All of a product are zero, and of a phi the first of 32 + 57 that were recorded: 1 of 1,000, and 1 of 89.
    assert_eq!(record_of(&some, "fmul").zeros, 128);
    let phi = |all| record_of(all, "phi").zeros;
    assert_eq!((phi(&all), phi(&some)), (128, 128_000 / 89));
}

#[test]
fn values_of_every_few_warps_are_recorded_in_large_grids() {
    // 12,000 warps: those with numbers that 3 divides, since 12,000 over 4,096 is 2, and odd distances are taken.
    let text = "define ptx_kernel void @k(ptr %a) {
       %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
       %f = uitofp i32 %b to double
       store double %f, ptr %a
       ret void
     }";
    let of = |detail| {
        let (c, t, _) = counted_in((detail, CountDevice::Gpu), text, 12_000, 32, &[0.0]);
        sites(&c, &t)
    };
    let (all, some) = (of(Detail::Values), of(Detail::SampledValues));
    let (all, some) = (record_of(&all, "uitofp"), record_of(&some, "uitofp"));
    assert_eq!((all.count, some.count), (384_000, 384_000));
    assert_eq!(
        (all.largest, some.largest),
        (Some(11_999.0), Some(11_997.0))
    );
}
