//! libdevice's functions on an executor.
use crate::batch::GpuError;
use kerf_exec::{Arg, Executor, Launch};
use kerf_hardround::function::ElementaryFunction;
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libm.bc"));

const THREADS: usize = 128;
/// Arguments of one launch.
const LAUNCH: usize = 1 << 18;

/// Name of a function's kernel.
pub fn kernel(f: ElementaryFunction) -> String {
    match f {
        ElementaryFunction::Power(_) => "libm_pow".into(),
        f => format!("libm_{}", f.name()),
    }
}

/// Name of the function in CUDA.
pub fn called(f: ElementaryFunction) -> String {
    match f {
        ElementaryFunction::Power(n) => format!("pow(x, {n})"),
        f => f.name(),
    }
}

/// What NVIDIA documents of the function: results may be so many numbers away from the rounded value (CUDA C++
/// Programming Guide, mathematical functions, double precision).
pub fn documented(f: ElementaryFunction) -> u64 {
    use ElementaryFunction::*;
    match f {
        Sqrt => 0,
        Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Atanh | Erf | Sinpi | Cospi | Power(_) => 2,
        Asinh | Acosh => 3,
        Erfc => 5,
        _ => 1,
    }
}

/// Whether libdevice has the function.
pub fn is_there(f: ElementaryFunction) -> bool {
    use ElementaryFunction::*;
    !matches!(
        f,
        Exp2m1 | Exp10m1 | Log2p1 | Log10p1 | Tanpi | Asinpi | Acospi | Atanpi | Rootn(_)
    )
}

/// The module with some functions' kernels, for an executor of architecture `arch`.
pub fn program(
    all: &[ElementaryFunction],
    libdevice: &[u8],
    arch: &str,
) -> Result<Module, GpuError> {
    let m = Module::parse(BITCODE, "libm")?;
    m.drop_used();
    for k in m.kernel_functions() {
        if all.iter().all(|f| k.name() != kernel(*f)) {
            k.delete_function();
        }
    }
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, libdevice, arch, Reflect::default())?;
    Ok(m)
}

/// The function's results on an executor that has [`program`] loaded.
pub fn apply(
    exec: &mut dyn Executor,
    f: ElementaryFunction,
    x: &[f64],
) -> Result<Vec<f64>, GpuError> {
    let room = x.len().clamp(1, LAUNCH);
    let input = exec.alloc("arguments", room * 8, 8)?;
    let output = exec.alloc("results", room * 8, 8)?;
    let power = match f {
        ElementaryFunction::Power(n) => f64::from(n),
        _ => 0.0,
    };
    let name = kernel(f);
    let mut all = Vec::with_capacity(x.len());
    for part in x.chunks(LAUNCH) {
        let bytes: Vec<u8> = part.iter().flat_map(|x| x.to_le_bytes()).collect();
        exec.write(input, &bytes)?;
        exec.launch(&Launch {
            symbol: &name,
            name: &name,
            grid: [part.len().div_ceil(THREADS) as u32, 1, 1],
            block: [THREADS as u32, 1, 1],
            dynamic_shared: 0,
            args: &[
                Arg::Buffer {
                    id: input,
                    offset: 0,
                },
                Arg::Buffer {
                    id: output,
                    offset: 0,
                },
                Arg::Bytes((part.len() as u32).to_le_bytes().to_vec()),
                Arg::Bytes(power.to_le_bytes().to_vec()),
            ],
        })?;
        let results = exec.read(output)?;
        let values = results.chunks_exact(8).take(part.len()).map(|b| {
            let mut w = [0; 8];
            w.copy_from_slice(b);
            f64::from_le_bytes(w)
        });
        all.extend(values);
    }
    Ok(all)
}
