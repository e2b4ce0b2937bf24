//! The kernels against the walk over every argument, on random ranges of every function: `brute cpu|cuda SEED ROUNDS`.
//! Says what was compared; stops at a difference.
#[path = "../tests/random/mod.rs"]
mod random;

use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround_gpu::{KERNELS, program};
use random::{Sum, compare, functions};

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, device, seed, rounds] = a.as_slice() else {
        panic!("usage: brute cpu|cuda SEED ROUNDS");
    };
    let mut r = random::Random(seed.parse().expect("a seed"));
    let rounds = rounds.parse().expect("a number");
    if device == "cpu" {
        let module = program("sm_90").expect("kernels");
        return all(rounds, |f, sum| {
            let mut exec = CpuExecutor::new(&module, CpuOptions::default()).expect("an executor");
            compare(&mut exec, f, 24, &mut r, sum);
        });
    }
    let arch = format!("sm_{}", CudaExecutor::capability(0).expect("a GPU"));
    let module = program(&arch).expect("kernels");
    let ptx = kerf_ir::finish::ptx(&module, &arch).expect("PTX");
    let mut exec = CudaExecutor::new(&ptx, &KERNELS.map(str::to_owned), 0).expect("a GPU");
    all(rounds, |f, sum| {
        compare(&mut exec, f, 27, &mut r, sum);
        exec.clear();
    });
}

fn all(rounds: u32, mut one: impl FnMut(ElementaryFunction, &mut Sum)) {
    println!("function,ranges,arguments,intervals,given_up,cases");
    for f in functions() {
        let mut sum = Sum::default();
        for _ in 0..rounds {
            one(f, &mut sum);
        }
        println!(
            "{},{},{},{},{},{}",
            f.name(),
            sum.ranges,
            sum.arguments,
            sum.tested,
            sum.failed,
            sum.cases
        );
    }
}
