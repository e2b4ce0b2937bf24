//! Integer operations follow PTX where LLVM leaves them undefined, or would round twice.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;

/// `%r`, an i64 made of the i64 `%x` and `%y`, for all pairs.
fn run(body: &str, pairs: &[(u64, u64)]) -> Vec<u64> {
    let ir = format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, ptr %b, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = zext i32 %t to i64
  %pa = getelementptr i64, ptr %a, i64 %w
  %pb = getelementptr i64, ptr %b, i64 %w
  %po = getelementptr i64, ptr %out, i64 %w
  %x = load i64, ptr %pa
  %y = load i64, ptr %pb
{body}
  store i64 %r, ptr %po
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"#
    );
    let m = Module::parse(ir.as_bytes(), "k").expect("parses");
    // As `prepare` does.
    kerf_ir::half_overflow::limit_halves(&m);
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let bytes = pairs.len() * 8;
    let buffers: Vec<_> = ["a", "b", "out"]
        .iter()
        .map(|n| exec.alloc(n, bytes, 8).expect("room"))
        .collect();
    let words = |f: fn(&(u64, u64)) -> u64| -> Vec<u8> {
        pairs.iter().flat_map(|p| f(p).to_le_bytes()).collect()
    };
    exec.write(buffers[0], &words(|p| p.0)).expect("writes");
    exec.write(buffers[1], &words(|p| p.1)).expect("writes");
    let args: Vec<Arg> = buffers
        .iter()
        .map(|id| Arg::Buffer { id: *id, offset: 0 })
        .collect();
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [1, 1, 1],
        block: [pairs.len() as u32, 1, 1],
        dynamic_shared: 0,
        args: &args,
    })
    .expect("runs");
    let out = exec.read(buffers[2]).expect("reads");
    out.chunks_exact(8)
        .map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
        .collect()
}

#[test]
fn long_shifts_lose_all_bits() {
    let mut pairs = Vec::new();
    for x in [1, 0x8000_0000_0000_0001, u64::MAX, 0x47e0_0000_0000_0000] {
        for y in [0, 1, 10, 31, 32, 63, 64, 65, 74, 127, 138, 1 << 40] {
            pairs.push((x, y));
        }
    }
    let left = run("  %r = shl i64 %x, %y", &pairs);
    let right = run("  %r = lshr i64 %x, %y", &pairs);
    let signed = run("  %r = ashr i64 %x, %y", &pairs);
    for (i, (x, y)) in pairs.iter().enumerate() {
        let by = u32::try_from(*y).unwrap_or(u32::MAX);
        assert_eq!(left[i], x.checked_shl(by).unwrap_or(0), "{x:x} << {y}");
        assert_eq!(right[i], x.checked_shr(by).unwrap_or(0), "{x:x} >> {y}");
        let want = (*x as i64) >> by.min(63);
        assert_eq!(signed[i] as i64, want, "{x:x} >> {y}, signed");
    }
}

#[test]
fn integers_are_rounded_once_to_bf16() {
    // Just above the middle between two results, by less than f32 can see.
    let mut values: Vec<i64> = Vec::new();
    for e in 30..63 {
        let middle = (1i64 << e) + (1i64 << (e - 8));
        for off in [-2, -1, 0, 1, 2] {
            values.extend([middle + off, -(middle + off)]);
        }
    }
    values.extend([0, 1, -1, i64::MAX, i64::MIN]);
    let pairs: Vec<_> = values.iter().map(|v| (*v as u64, 0)).collect();
    let body = "  %f = sitofp i64 %x to bfloat\n  %h = bitcast bfloat %f to i16\n  %r = zext i16 %h to i64";
    let signed = run(body, &pairs);
    let unsigned = run(&body.replace("sitofp", "uitofp"), &pairs);
    let nearest = |size: u128| -> u64 {
        if size == 0 {
            return 0;
        }
        let e = 127 - size.leading_zeros();
        // Eight bits and what is left of them.
        let (kept, rest, half) = match e.checked_sub(7) {
            Some(drop) if drop > 0 => {
                let half = 1u128 << (drop - 1);
                (size >> drop, size & (2 * half - 1), half)
            }
            _ => (size << (7 - e), 0, 1),
        };
        let up = rest > half || (rest == half && kept & 1 == 1);
        // A carry goes into the exponent, as it should.
        ((u64::from(e) + 127) << 7) + (kept as u64 - 128) + u64::from(up)
    };
    for (i, v) in values.iter().enumerate() {
        let sign = if *v < 0 { 0x8000 } else { 0 };
        let want = nearest(u128::from(v.unsigned_abs())) | sign;
        assert_eq!(signed[i], want, "{v}");
        assert_eq!(unsigned[i], nearest(u128::from(*v as u64)), "{v} unsigned");
    }
}

#[test]
fn integers_beyond_a_half_are_infinite() {
    // Few significant bits, and an exponent that a half has not.
    let body = |convert: &str| {
        format!(
            "  %low = trunc i64 %x to i32
  %odd = shl i32 %low, 30
  %h = {convert} i32 %odd to half
  %f = fpext half %h to float
  %bits = bitcast float %f to i32
  %r = zext i32 %bits to i64"
        )
    };
    let infinity = u64::from(f32::INFINITY.to_bits());
    let minus = u64::from(f32::NEG_INFINITY.to_bits());
    let pairs: Vec<(u64, u64)> = (0..4).map(|x| (x, 0)).collect();
    let signed = run(&body("sitofp"), &pairs);
    assert_eq!(signed, [0, infinity, minus, minus]);
    let unsigned = run(&body("uitofp"), &pairs);
    assert_eq!(unsigned, [0, infinity, infinity, infinity]);
}
