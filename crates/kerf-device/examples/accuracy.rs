//! Measures the accuracy of operations and writes the records as JSON.
//!
//! `accuracy --device cuda|cpu [--ops KEY,KEY|PREFIX*] [--effort quick|full|trial] --libdevice FILE [--out FILE]`
use kerf_device::accuracy::{AccuracyBench, ArgumentEffort, measurable, measure};
use kerf_device::operation::catalogue;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{ExecError, Executor};
use kerf_llvm::Module;
use std::collections::BTreeMap;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn on_cpu(m: &Module, _kernel: &str) -> Result<Box<dyn Executor>, ExecError> {
    Ok(Box::new(CpuExecutor::new(m, CpuOptions::default())?))
}

fn wanted(key: &str, patterns: &str) -> bool {
    patterns.split(',').any(|p| match p.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == p,
    })
}

fn main() -> Result<(), Failure> {
    let mut options = BTreeMap::new();
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or(format!("{name} needs a value"))?;
        options.insert(name, value);
    }
    let get = |name: &str, default: &str| options.get(name).cloned().unwrap_or(default.into());
    let cuda = get("--device", "cpu") == "cuda";
    let effort = match get("--effort", "trial").as_str() {
        "full" => ArgumentEffort::FULL,
        "quick" => ArgumentEffort::QUICK,
        "trial" => ArgumentEffort::TRIAL,
        other => return Err(format!("--effort {other}: quick, full or trial").into()),
    };
    let libdevice = std::fs::read(get("--libdevice", "libdevice.10.bc"))?;
    let arch = if cuda {
        format!("sm_{}", CudaExecutor::capability(0)?)
    } else {
        "sm_90".to_owned()
    };
    let target = arch.clone();
    let on_cuda = move |m: &Module, kernel: &str| -> Result<Box<dyn Executor>, ExecError> {
        let ptx = kerf_ir::finish::ptx(m, &target).map_err(|e| ExecError::Compile(e.0))?;
        Ok(Box::new(CudaExecutor::new(&ptx, &[kernel.into()], 0)?))
    };
    let mut load: Box<kerf_device::accuracy::Load> = if cuda {
        Box::new(on_cuda)
    } else {
        Box::new(on_cpu)
    };
    let mut bench = AccuracyBench {
        libdevice: &libdevice,
        arch: &arch,
        load: load.as_mut(),
        hard: &[],
    };
    let patterns = get("--ops", "*");
    let begin = Instant::now();
    let mut all = BTreeMap::new();
    for op in catalogue() {
        if !measurable(&op) || !wanted(&op.key, &patterns) {
            continue;
        }
        let start = Instant::now();
        match measure(&op.key, &mut bench, &effort, &mut |_| {}) {
            Ok(None) => {}
            Ok(Some(a)) => {
                println!(
                    "{:16} {:7.3} s  {:>10} arguments  max ulp {:>10.4} real {:>8} rounded  mean {:.4}  rel {:.3e}  misrounded {}  special {}  {}",
                    op.key,
                    start.elapsed().as_secs_f64(),
                    a.arguments,
                    a.max_ulp_real.unwrap_or(f64::NAN),
                    a.max_ulp_rounded.unwrap_or(f64::NAN),
                    a.mean_ulp_real.unwrap_or(f64::NAN),
                    a.max_rel.unwrap_or(f64::NAN),
                    a.misrounded.unwrap_or(0),
                    a.special_mismatches,
                    a.worst
                        .as_ref()
                        .map_or(String::new(), |w| w.arguments.join(", ")),
                );
                for b in &a.bounds {
                    println!(
                        "    {} {:.4e} of {:.4e} {} ({}), {} violations {}",
                        if b.holds { "holds " } else { "BROKEN" },
                        b.seen,
                        b.limit,
                        b.bound,
                        b.published,
                        b.violations,
                        b.worst.as_ref().map_or(String::new(), |w| format!(
                            "at {} gives {} not {}",
                            w.arguments.join(", "),
                            w.got,
                            w.exact
                        )),
                    );
                }
                if let Some(note) = &a.note {
                    println!("    {note}");
                }
                all.insert(op.key.clone(), a);
            }
            Err(e) => println!("{:16} failed: {e}", op.key),
        }
    }
    println!("{:.1} s in all", begin.elapsed().as_secs_f64());
    if let Some(path) = options.get("--out") {
        std::fs::write(path, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(())
}
