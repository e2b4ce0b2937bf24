//! Milliseconds of processor time from a prepared program to PTX, stage by stage, for a generated kernel of many sites.
//!
//! `codegen_cost LIBDEVICE [SITES [REPEATS]]`: every repeat has another random plan.
use kerf_ir::finish::{self, Reflect};
use kerf_llvm::Module;
use kerf_num::random::SplitMix64;
use kerf_pass::Plan;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Seconds of this thread on a processor: other programs on the machine do not count.
struct Clock(f64);

impl Clock {
    fn read() -> f64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let ns = text.split(' ').next().and_then(|n| n.parse::<f64>().ok());
        1e-9 * ns.unwrap_or(f64::NAN)
    }
    fn now() -> Clock {
        Clock(Clock::read())
    }
    fn elapsed(&self) -> f64 {
        Clock::read() - self.0
    }
}

/// A kernel with a loop: loads, sums, products, fused steps, divisions, roots and a few functions.
fn kernel(sites: usize, random: &mut SplitMix64) -> String {
    let mut body = String::new();
    let mut values: Vec<String> = (0..8).map(|i| format!("%in{i}")).collect();
    for i in 0..8 {
        let _ = writeln!(
            body,
            "  %p{i} = getelementptr double, ptr addrspace(1) %x, i32 %at{i}"
        );
        let _ = writeln!(body, "  %in{i} = load double, ptr addrspace(1) %p{i}");
    }
    for n in 0..sites.saturating_sub(12) {
        let mut pick = || {
            let from = values.len().saturating_sub(24);
            let at = from + random.bits() as usize % (values.len() - from);
            values[at].clone()
        };
        let (a, b, c) = (pick(), pick(), pick());
        let text = match n % 50 {
            7 => format!("call double @__nv_exp(double {a})"),
            17 => format!("call double @__nv_sin(double {a})"),
            27 => format!("call double @__nv_log(double {a})"),
            37 => format!("call double @llvm.sqrt.f64(double {a})"),
            47 => format!("fdiv double {a}, {b}"),
            k if k % 3 == 0 => {
                format!("call double @llvm.fma.f64(double {a}, double {b}, double {c})")
            }
            k if k % 3 == 1 => format!("fadd double {a}, {b}"),
            _ => format!("fmul double {a}, {b}"),
        };
        let _ = writeln!(body, "  %v{n} = {text}");
        values.push(format!("%v{n}"));
    }
    // Everything of the last window is used, and nearly everything else by that.
    let last: Vec<String> = values.iter().rev().take(1).cloned().collect();
    let starts: String = (0..8).fold(String::new(), |mut s, i| {
        let _ = writeln!(s, "  %at{i} = add i32 %i, {}", i * 7);
        s
    });
    format!(
        r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @many(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %n) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %loop
loop:
  %i = phi i32 [ %t, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %total, %loop ]
{starts}{body}  %total = fadd double %sum, {}
  %next = add i32 %i, 64
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  %po = getelementptr double, ptr addrspace(1) %out, i32 %t
  store double %total, ptr addrspace(1) %po
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare double @llvm.sqrt.f64(double)
declare double @llvm.fma.f64(double, double, double)
declare double @__nv_exp(double)
declare double @__nv_sin(double)
declare double @__nv_log(double)
"#,
        last[0]
    )
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let library = std::fs::read(
        args.get(1)
            .ok_or("usage: codegen_cost LIBDEVICE [SITES [REPEATS]]")?,
    )?;
    let sites: usize = args.get(2).map_or(Ok(500), |s| s.parse())?;
    let repeats: usize = args.get(3).map_or(Ok(15), |s| s.parse())?;
    let mut random = SplitMix64::new(1);
    let m = Module::parse(kernel(sites, &mut random).as_bytes(), "many")?;
    kerf_ir::prepare::prepare(&m, "sm_90")?;
    let bitcode = m.bitcode();
    let infos = kerf_ir::kernels::kernels(&m);
    let f = m.function("many").ok_or("no kernel")?;
    let map = kerf_ir::sites::sites(&m, f);
    println!("{} kernel, {} sites", infos.len(), map.sites.len());
    let mut times: [Vec<f64>; 5] = Default::default();
    let roots: BTreeSet<String> = finish::needed(&m)
        .into_iter()
        .flat_map(|n| [format!("{n}f"), n])
        .collect();
    let clock = Clock::now();
    let library = finish::trim(&library, &roots, "sm_90")?;
    println!("libdevice trimmed once in {:.1} ms", 1e3 * clock.elapsed());
    for _ in 0..repeats {
        let mut plan = Plan::all_sites(&m, kerf_pass::SiteFormat::F32);
        for k in plan.kernels.values_mut() {
            k.sites.retain(|_, _| random.bits().is_multiple_of(2));
        }
        let clock = Clock::now();
        let c = Module::parse(&bitcode, "many")?;
        let parsed = clock.elapsed();
        plan.apply(&c)?;
        let rewritten = clock.elapsed();
        finish::finish(&c, &library, "sm_90", Reflect::default())?;
        let finished = clock.elapsed();
        let ptx = finish::ptx(&c, "sm_90")?;
        let emitted = clock.elapsed();
        assert!(ptx.contains(".entry many"));
        let parts = [
            parsed,
            rewritten - parsed,
            finished - rewritten,
            emitted - finished,
            emitted,
        ];
        for (list, t) in times.iter_mut().zip(parts) {
            list.push(1e3 * t);
        }
    }
    for (name, list) in ["parse", "rewrite", "link and optimise", "emit PTX", "all"]
        .iter()
        .zip(&mut times)
    {
        println!("{name:20} {:8.1} ms (median of {repeats})", median(list));
    }
    Ok(())
}
