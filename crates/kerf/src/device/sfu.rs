//! `kerf device sfu`: the special-function unit of this GPU against the CPU executor, or into a dump.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::progress;
use kerf_device::sfu::{self, OPERATIONS, SfuOperation, SfuRunner};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use std::fmt::Write;
use std::path::PathBuf;

/// What to do.
#[derive(clap::Args)]
pub struct Args {
    /// Write what the unit gives to this folder, a file an operation, instead of comparing.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Compare every STEP-th argument (an odd number) instead of all 2^32.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    step: u32,
    /// Only these operations, separated by commas.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    only: Vec<String>,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
}

fn chosen(only: &[String]) -> Result<Vec<SfuOperation>, Failure> {
    if let Some(k) = only
        .iter()
        .find(|k| !OPERATIONS.iter().any(|o| o.key == **k))
    {
        let all: Vec<&str> = OPERATIONS.iter().map(|o| o.key).collect();
        return Err(Failure::new(format!("there is no operation {k}"))
            .help(format!("choose from {}", all.join(", "))));
    }
    let wanted = |o: &SfuOperation| only.is_empty() || only.iter().any(|k| k == o.key);
    Ok(OPERATIONS.into_iter().filter(wanted).collect())
}

/// Runs the command: 1 where a result differs.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let operations = chosen(&a.only)?;
    let fail = |e: kerf_llvm::LlvmError| Failure::new(e.to_string());
    let m = sfu::module().map_err(fail)?;
    let capability = CudaExecutor::capability(a.gpu)?;
    let ptx = kerf_ir::finish::ptx(&m, &format!("sm_{capability}")).map_err(fail)?;
    let mut cuda = CudaExecutor::new(&ptx, &sfu::kernels(), a.gpu)?;
    let mut gpu = SfuRunner::new(&mut cuda)?;
    if let Some(dir) = &a.dump {
        let bad = |e: std::io::Error| {
            Failure::new(format!("cannot write into {}: {e}", dir.display()))
                .help("choose another folder with --dump")
        };
        std::fs::create_dir_all(dir).map_err(bad)?;
        for o in operations {
            let bytes = sfu::dump(&mut gpu, o)?;
            kerf_files::write_whole(dir.join(format!("{}.sfu", o.key)), bytes).map_err(bad)?;
        }
        return Ok(0);
    }
    let mut cpu = CpuExecutor::new(&m, CpuOptions::default())?;
    let mut cpu = SfuRunner::new(&mut cpu)?;
    let mut all = Vec::new();
    for o in operations {
        let c = sfu::compare(&mut cpu, &mut gpu, o, a.step)?;
        if format == Format::Human {
            progress::line(&format!("{}: {} different", c.key, c.different));
        }
        all.push(c);
    }
    let different = all.iter().any(|c| c.different > 0);
    if format == Format::Json {
        let doc = serde_json::json!({ "schema": "kerf.sfu/1", "capability": capability, "operations": all });
        say(&format!("{doc}\n"))?;
        return Ok(i32::from(different));
    }
    let mut text = format!(
        "CPU executor against this GPU (sm_{capability}), f32 operations of the special-function unit\n"
    );
    for c in &all {
        let line = format!(
            "  {:<13} {} of {} equal",
            c.key,
            c.tried - c.different,
            c.tried
        );
        let _ = match c.different {
            0 => writeln!(text, "{line}"),
            _ => writeln!(text, "{}", style.bad(&line)),
        };
        for [x, p, q] in &c.examples {
            let _ = writeln!(text, "    {x:08x}: CPU {p:08x}, GPU {q:08x}");
        }
    }
    say(&text)?;
    Ok(i32::from(different))
}
