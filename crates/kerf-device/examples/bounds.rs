//! The bounds campaign from the command line: one JSON report a line.
//!
//! `cargo run -p kerf-device --example bounds -- cpu|cuda PAIRS [KEY...]`
use kerf_device::doubleword::{DoubleWordCase, cases, program, run};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;

fn campaign(device: &str, pairs: u64, keys: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<DoubleWordCase> = match keys {
        [] => cases(),
        keys => keys
            .iter()
            .map(|k| DoubleWordCase::find(k).ok_or_else(|| format!("there is no case {k}")))
            .collect::<Result<_, _>>()?,
    };
    let cuda = device == "cuda";
    let arch = match cuda {
        true => format!("sm_{}", CudaExecutor::capability(0)?),
        false => "sm_90".to_owned(),
    };
    let m = program(&wanted, &arch)?;
    let mut exec: Box<dyn Executor> = if cuda {
        let symbols: Vec<String> = wanted.iter().flat_map(DoubleWordCase::symbols).collect();
        let ptx = kerf_ir::finish::ptx(&m, &arch)?;
        Box::new(CudaExecutor::new(&ptx, &symbols, 0)?)
    } else {
        Box::new(CpuExecutor::new(&m, CpuOptions::default())?)
    };
    for c in &wanted {
        let r = run(exec.as_mut(), c, pairs, 1)?;
        println!("{}", serde_json::to_string(&r)?);
    }
    Ok(())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let pairs = args.get(1).and_then(|p| p.parse::<u64>().ok());
    let result = match (args.first().map(String::as_str), pairs) {
        (Some(d @ ("cpu" | "cuda")), Some(n)) => campaign(d, n, &args[2..]),
        _ => Err("usage: bounds cpu|cuda PAIRS [KEY...]".into()),
    };
    if let Err(e) = result {
        eprintln!("error: {e}");
        std::process::exit(2);
    }
}
