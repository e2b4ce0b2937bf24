//! Counting as code for GPUs: NVIDIA's assembler takes it for every example, and a GPU counts what the CPU executor counts.
use crate::common;

use common::{assembles, examples, tools};
use kerf_clang::compile::Toolchain;
use kerf_pass::count::{self, Detail};
use kerf_run::job::{Device, Job, ProgramCounts, counting_ptx, execute};
use serde_json::Value;
use std::path::PathBuf;

/// PTX of an example that counts: complete, with its variables to be found by name.
fn code(path: PathBuf, tools: &Toolchain) -> String {
    let name = path.display().to_string();
    let ptx = counting_ptx(&Job::plain(path, tools), Detail::Values);
    let ptx = ptx.unwrap_or_else(|e| panic!("{name}: {e}"));
    let ptx = ptx.unwrap_or_else(|why| panic!("{name}: {why}"));
    for variable in [count::BLOCKS, count::SITES, count::ADDRESSES, count::WARPS] {
        let mut lines = ptx.lines().filter(|l| l.contains(&format!(" {variable}[")));
        let visible = |l: &str| l.starts_with(".visible .global");
        assert!(lines.next().is_some_and(visible), "{name}: {variable}");
    }
    // Another order is a fence for each atomic operation.
    assert!(!ptx.contains("fence"), "{name}");
    assert!(!ptx.contains(".extern .func"), "{name}");
    ptx
}

/// Counters of every `step`th example become code that NVIDIA's assembler takes.
fn counters_assemble(step: usize) {
    let tools = tools();
    let all = examples();
    assert!(all.len() > 30, "{all:?}");
    // The assembler works on one example while LLVM does on the next.
    std::thread::scope(|s| {
        for path in all.into_iter().step_by(step) {
            let name = path.display().to_string();
            let ptx = code(path, &tools);
            s.spawn(move || assembles(&name, &ptx));
        }
    });
}

#[test]
fn counters_of_some_examples_assemble_for_gpus() {
    counters_assemble(5);
}

#[test]
#[ignore = "takes minutes"]
fn counters_of_all_examples_assemble_for_gpus() {
    counters_assemble(1);
}

/// Differences of an example that are listed.
const LISTED: usize = 40;

/// Places at which two values differ, with both.
fn differences(at: &str, cpu: &Value, gpu: &Value, out: &mut Vec<String>) {
    match (cpu, gpu) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            for (key, x) in a {
                differences(&format!("{at}.{key}"), x, &b[key], out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (k, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}[{k}]"), x, y, out);
            }
        }
        _ if cpu == gpu => {}
        _ => out.push(format!("{at}: CPU {cpu}, GPU {gpu}")),
    }
}

/// What of counts does not depend on the order in which threads run: of a program that adds floats atomically, no values.
fn comparable(counts: &ProgramCounts) -> Value {
    let mut counts = counts.clone();
    let sites = counts.kernels.iter().flat_map(|k| &k.sites);
    let ordered = sites.map(|s| s.op.as_str()).any(|op| op.contains("atomic"));
    counts.device = Device::Cpu;
    for s in counts.kernels.iter_mut().flat_map(|k| &mut k.sites) {
        if ordered {
            s.seen = count::SiteRecord {
                count: s.seen.count,
                ..count::SiteRecord::default()
            };
        }
    }
    serde_json::to_value(counts).expect("JSON")
}

/// Differences of an example, counted on both devices.
fn compared(job: &Job) -> Vec<String> {
    let counted = |device: Device| {
        let job = Job {
            device,
            count: Some(Detail::Values),
            count_only: true,
            ..job.clone()
        };
        let r = execute(&job).map_err(|e| e.to_string())?;
        println!("  {device:?}: {:.2} s", r.spent.count_s);
        r.counts.ok_or_else(|| "no counts".to_owned())
    };
    match (counted(Device::Cpu), counted(Device::Cuda)) {
        (Ok(cpu), Ok(gpu)) => {
            let mut out = gpu.needs_cpu.clone();
            differences("counts", &comparable(&cpu), &comparable(&gpu), &mut out);
            out
        }
        (Err(e), _) => vec![format!("CPU: {e}")],
        (_, Err(e)) => vec![format!("GPU: {e}")],
    }
}

/// All differences of all examples are listed. Sums that a program adds atomically are not compared.
#[test]
#[ignore = "needs a GPU"]
fn both_devices_count_the_same() {
    let mut tools = tools();
    let capability = kerf_exec::cuda::CudaExecutor::capability(0).expect("a GPU");
    tools.arch = format!("sm_{capability}");
    let mut failed = Vec::new();
    for path in examples() {
        let name = path.display().to_string();
        println!("{name}");
        let found = compared(&Job::plain(path, &tools));
        for line in found.iter().take(LISTED) {
            println!("  {line}");
        }
        if !found.is_empty() {
            failed.push(format!("{name}: {} differences", found.len()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
