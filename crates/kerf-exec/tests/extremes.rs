//! min and max follow PTX on every pair of special values, in scalar and vector code.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;

fn ir(ty: &str, suffix: &str) -> String {
    format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, ptr %b, ptr %lo, ptr %hi) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %c, %d
  %i = add i32 %m, %t
  %w = zext i32 %i to i64
  %pa = getelementptr {ty}, ptr %a, i64 %w
  %pb = getelementptr {ty}, ptr %b, i64 %w
  %x = load {ty}, ptr %pa
  %y = load {ty}, ptr %pb
  %l = call {ty} @llvm.minnum.{suffix}({ty} %x, {ty} %y)
  %h = call {ty} @llvm.maxnum.{suffix}({ty} %x, {ty} %y)
  %pl = getelementptr {ty}, ptr %lo, i64 %w
  %ph = getelementptr {ty}, ptr %hi, i64 %w
  store {ty} %l, ptr %pl
  store {ty} %h, ptr %ph
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare {ty} @llvm.minnum.{suffix}({ty}, {ty})
declare {ty} @llvm.maxnum.{suffix}({ty}, {ty})
"#
    )
}

fn want(x: f64, y: f64, least: bool) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if x == 0.0 && y == 0.0 => {
            let negative = if least {
                x.is_sign_negative() || y.is_sign_negative()
            } else {
                x.is_sign_negative() && y.is_sign_negative()
            };
            if negative { -0.0 } else { 0.0 }
        }
        _ if least => x.min(y),
        _ => x.max(y),
    }
}

#[test]
fn special_values() {
    use kerf_num::Format::{Bf16, F16, F32, F64};
    let values = [
        f64::NAN,
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        6e-5,
        -6e-5,
        2.5,
    ];
    let pairs: Vec<(f64, f64)> = values
        .iter()
        .flat_map(|x| values.map(|y| (*x, y)))
        .cycle()
        .take(256)
        .collect();
    for (format, ty, suffix) in [
        (F64, "double", "f64"),
        (F32, "float", "f32"),
        (F16, "half", "f16"),
        (Bf16, "bfloat", "bf16"),
    ] {
        let m = Module::parse(ir(ty, suffix).as_bytes(), "minmax").expect("parses");
        kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
        finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
        let mut e = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
        let size = format.bytes();
        let pack = |v: Vec<f64>| {
            v.iter()
                .flat_map(|x| format.encode(*x).to_le_bytes()[..size].to_vec())
                .collect::<Vec<u8>>()
        };
        let ids: Vec<_> = (0..4)
            .map(|_| e.alloc("b", 256 * size, size).expect("memory"))
            .collect();
        e.write(ids[0], &pack(pairs.iter().map(|p| p.0).collect()))
            .expect("fits");
        e.write(ids[1], &pack(pairs.iter().map(|p| p.1).collect()))
            .expect("fits");
        let args: Vec<Arg> = ids
            .iter()
            .map(|id| Arg::Buffer { id: *id, offset: 0 })
            .collect();
        for block in [1, 64] {
            e.launch(&Launch {
                symbol: "k",
                name: "k",
                grid: [256 / block, 1, 1],
                block: [block, 1, 1],
                dynamic_shared: 0,
                args: &args,
            })
            .expect("runs");
            for (which, least) in [(2, true), (3, false)] {
                let out = e.read(ids[which]).expect("reads");
                for (i, c) in out.chunks(size).enumerate() {
                    let mut b = [0u8; 8];
                    b[..size].copy_from_slice(c);
                    let got = format.decode(u64::from_le_bytes(b));
                    let w = want(format.round(pairs[i].0), format.round(pairs[i].1), least);
                    assert!(
                        got.to_bits() == w.to_bits() || got.is_nan() && w.is_nan(),
                        "{format} block {block} least {least}: {:?} gave {got}, not {w}",
                        pairs[i]
                    );
                }
            }
        }
    }
}
