//! The special-function unit on the CPU executor against what an H200 gave, over whole ranges of arguments.
//!
//! `sfu_h200.txt` has a digest for each range, `bench/probes/sfu` the program that read them.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_llvm::Module;

/// Kernels that store what an operation gives for `start + i * step`, taken as an f32.
fn module() -> Module {
    let mut text = String::from("target triple = \"nvptx64-nvidia-cuda\"\n");
    for op in ["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "tanh"] {
        let name = match op {
            "ex2" => "llvm.nvvm.ex2.approx.ftz.f32".to_owned(),
            "tanh" => "llvm.tanh.f32".to_owned(),
            _ => format!("llvm.nvvm.{op}.approx.ftz.f"),
        };
        text += &format!(
            "declare float @{name}(float)
define ptx_kernel void @{op}(ptr %out, i32 %start, i32 %step) {{
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = shl i32 %b, 8
  %i = or i32 %s, %t
  %d = mul i32 %i, %step
  %w = add i32 %start, %d
  %x = bitcast i32 %w to float
  %r = call float @{name}(float %x)
  %j = zext i32 %i to i64
  %p = getelementptr float, ptr %out, i64 %j
  store float %r, ptr %p
  ret void
}}
"
        );
    }
    text += "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";
    Module::parse(text.as_bytes(), "sfu.ll").expect("parses")
}

fn results(exec: &mut CpuExecutor, op: &str, start: u32, step: u32, count: usize) -> Vec<u32> {
    let blocks = count.div_ceil(256);
    let id = exec.alloc("out", blocks * 1024, 4).expect("room");
    let word = |v: u32| Arg::Bytes(v.to_le_bytes().to_vec());
    exec.launch(&Launch {
        symbol: op,
        name: op,
        grid: [blocks as u32, 1, 1],
        block: [256, 1, 1],
        dynamic_shared: 0,
        args: &[Arg::Buffer { id, offset: 0 }, word(start), word(step)],
    })
    .expect("runs");
    let bytes = exec.read(id).expect("reads");
    let words = bytes.as_chunks::<4>().0.iter();
    words.take(count).map(|w| u32::from_le_bytes(*w)).collect()
}

#[test]
fn every_recorded_range_bit_by_bit() {
    let m = module();
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let mut tried = 0;
    for line in include_str!("sfu_h200.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [op, start, step, count, digest] = words[..] else {
            continue;
        };
        let start = u32::from_str_radix(start, 16).expect("hexadecimal");
        let (step, count) = (
            step.parse().expect("a step"),
            count.parse().expect("a count"),
        );
        let got = results(&mut exec, op, start, step, count);
        let hash = got.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, r| {
            (h ^ u64::from(*r)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(format!("{hash:016x}"), digest, "{op} from {start:08x}");
        tried += count;
    }
    assert!(tried > 300_000_000, "{tried}");
}

#[test]
fn special_arguments() {
    let m = module();
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    // Argument, then what the H200 gives for rcp, rsqrt, sqrt, ex2, lg2, sin and cos.
    const SPECIAL: [[u32; 8]; 9] = [
        [
            0,
            0x7f80_0000,
            0x7f80_0000,
            0,
            0x3f80_0000,
            0xff80_0000,
            0,
            0x3f80_0000,
        ],
        [
            0x8000_0000,
            0xff80_0000,
            0xff80_0000,
            0x8000_0000,
            0x3f80_0000,
            0xff80_0000,
            0x8000_0000,
            0x3f80_0000,
        ],
        [
            0x007f_ffff,
            0x7f80_0000,
            0x7f80_0000,
            0,
            0x3f80_0000,
            0xff80_0000,
            0,
            0x3f80_0000,
        ],
        [
            0x7f80_0000,
            0,
            0,
            0x7f80_0000,
            0x7f80_0000,
            0x7f80_0000,
            0x7fff_ffff,
            0x7fff_ffff,
        ],
        [
            0xff80_0000,
            0x8000_0000,
            0x7fff_ffff,
            0x7fff_ffff,
            0,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
        ],
        [
            0x7fc0_0000,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
            0x7fff_ffff,
        ],
        [
            0xbf80_0000,
            0xbf80_0000,
            0x7fff_ffff,
            0x7fff_ffff,
            0x3f00_0000,
            0x7fff_ffff,
            0xbf57_6aa3,
            0x3f0a_5141,
        ],
        [
            0x7f7f_ffff,
            0,
            0x1f80_0000,
            0x5f7f_ffff,
            0x7f80_0000,
            0x42ff_ffff,
            0,
            0x3f80_0000,
        ],
        [
            0x0080_0000,
            0x7e80_0000,
            0x5f00_0000,
            0x2000_0000,
            0x3f80_0000,
            0xc2fb_ffff,
            0,
            0x3f80_0000,
        ],
    ];
    for row in SPECIAL {
        for (op, want) in ["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos"]
            .iter()
            .zip(&row[1..])
        {
            let got = results(&mut exec, op, row[0], 0, 1)[0];
            let nan = |w: u32| f32::from_bits(w).is_nan();
            assert!(
                got == *want || (nan(got) && nan(*want)),
                "{op} {:08x}: {got:08x}",
                row[0]
            );
        }
    }
}
