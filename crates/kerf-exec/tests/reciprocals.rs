//! Approximate functions that the assembler computes without the special-function unit, against what
//! it makes of them (`bench/probes/sfu/folded.py` and `constants.py` show its code).
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_llvm::Module;

const N: usize = 256;

/// What a body makes of `%x` and `%y`: its `%r` for each thread.
fn run(body: &str) -> Vec<f32> {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr float, ptr %in, i32 %t
  %x = load float, ptr %px
  %u = add i32 %t, {N}
  %py = getelementptr float, ptr %in, i32 %u
  %y = load float, ptr %py
{body}
  %po = getelementptr float, ptr %out, i32 %t
  store float %r, ptr %po
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.nvvm.div.approx.f(float, float)
declare float @llvm.nvvm.div.approx.ftz.f(float, float)
declare float @llvm.nvvm.div.full.ftz(float, float)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare float @llvm.nvvm.sin.approx.ftz.f(float)
declare float @llvm.nvvm.sqrt.approx.f(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)"
    );
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let input = exec.alloc("in", 8 * N, 4).expect("room");
    let output = exec.alloc("out", 4 * N, 4).expect("room");
    let (x, y) = operands();
    let bytes: Vec<u8> = x.iter().chain(&y).flat_map(|v| v.to_le_bytes()).collect();
    exec.write(input, &bytes).expect("writes");
    let buffer = |id| Arg::Buffer { id, offset: 0 };
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [1; 3],
        block: [N as u32, 1, 1],
        dynamic_shared: 0,
        args: &[buffer(input), buffer(output)],
    })
    .expect("runs");
    let bytes = exec.read(output).expect("reads");
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|w| f32::from_le_bytes(*w)).collect()
}

fn operands() -> (Vec<f32>, Vec<f32>) {
    let x = (0..N).map(|i| 0.3 + 1.37 * i as f32).collect();
    let y = (0..N).map(|i| 0.011 * (i + 1) as f32).collect();
    (x, y)
}

#[test]
fn by_a_constant_it_is_a_product() {
    let (x, _) = operands();
    let product: Vec<f32> = x.iter().map(|x| x * (1.0 / 255.0)).collect();
    for form in ["div.approx.f", "div.approx.ftz.f", "div.full.ftz"] {
        let body = format!("  %r = call float @llvm.nvvm.{form}(float %x, float 255.0)");
        assert_eq!(run(&body), product, "{form}");
    }
    let by_reciprocal = "  %c = call float @llvm.nvvm.rcp.approx.ftz.f(float 255.0)
  %r = fmul float %x, %c";
    assert_eq!(run(by_reciprocal), product);
}

#[test]
fn of_a_constant_it_is_the_value_correctly_rounded() {
    // The constants are those that showed it on an H200 (`kerf selftest --plans --seed 51509` and `42825`).
    for (function, constant, bits) in [
        ("sin.approx.ftz.f", 0x3a2ec33fu32, 0x3a2ec33eu32),
        ("sqrt.approx.f", 0x3fc00000, 1.5f32.sqrt().to_bits()),
        ("lg2.approx.f", 0x40400000, 0x3fcae00d),
        ("ex2.approx.ftz.f32", 0x3eaaaaab, 0x3fa14518),
    ] {
        let c = f64::from(f32::from_bits(constant)).to_bits();
        let body = format!("  %r = call float @llvm.nvvm.{function}(float 0x{c:016X})");
        let got: Vec<u32> = run(&body).iter().map(|r| r.to_bits()).collect();
        assert_eq!(got, [bits; N], "{function}");
    }
}

#[test]
fn reciprocals_of_reciprocals_cancel_where_the_assembler_cancels_them() {
    let (x, y) = operands();
    let rcp = "  %c = call float @llvm.nvvm.rcp.approx.ftz.f(float %y)\n";
    let product: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    let of = |form: &str| {
        run(&format!(
            "{rcp}  %r = call float @llvm.nvvm.{form}(float %x, float %c)"
        ))
    };
    assert_eq!(of("div.approx.ftz.f"), product);
    assert_ne!(of("div.approx.f"), product);
    let twice = format!("{rcp}  %r = call float @llvm.nvvm.rcp.approx.ftz.f(float %c)");
    assert_eq!(run(&twice), y);
}

#[test]
fn a_power_changes_its_sign_unless_it_is_needed_itself() {
    let power = "  %p = call float @llvm.nvvm.ex2.approx.ftz.f32(float %y)\n";
    let quotient = "  %q = call float @llvm.nvvm.div.approx.ftz.f(float %x, float %p)\n";
    let alone = run(&format!("{power}{quotient}  %r = fadd float %q, 0.0"));
    let negative = run("  %n = fneg float %y
  %p = call float @llvm.nvvm.ex2.approx.ftz.f32(float %n)
  %r = fmul float %x, %p");
    assert_eq!(alone, negative);
    let both = run(&format!(
        "{power}{quotient}  %s = fadd float %q, %p\n  %r = fsub float %s, %p"
    ));
    assert_ne!(both, alone);
}
