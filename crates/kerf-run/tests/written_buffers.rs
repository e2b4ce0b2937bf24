//! Buffers that nothing is said to write have their first contents after a run: replays on a GPU do not put them back.
use crate::common;

use common::{examples, tools};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_ir::kernels;
use kerf_run::job::finish_with_tools;
use kerf_run::run::WorkloadSession;
use kerf_workload::Workload;
use std::path::Path;

/// Names of an example's buffers that nothing writes, by what is said of its kernels.
fn unwritten_buffers(path: &Path) -> Vec<String> {
    let tools = tools();
    let workload = Workload::read(path, &[]).expect("an example");
    let program = kerf_run::compile::own_program(&workload, &tools).expect("compiles");
    let m = program.module().expect("a module");
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let session = WorkloadSession::plain(&workload, &infos, &globals);
    finish_with_tools(&m, &tools).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("an executor");
    let mut loaded = session.load(&mut exec).expect("loads");
    let written = session.written().expect("steps");
    let constant: Vec<usize> = (0..written.len()).filter(|b| !written[*b]).collect();
    let contents = |loaded: &kerf_run::run::LoadedBuffers, exec: &mut CpuExecutor| {
        let all = constant.iter().map(|b| exec.read(loaded.ids[*b]));
        all.map(|bytes| bytes.expect("read")).collect::<Vec<_>>()
    };
    let before = contents(&loaded, &mut exec);
    session.run(&mut exec, &mut loaded).expect("runs");
    let after = contents(&loaded, &mut exec);
    let names = constant.iter().map(|b| workload.buffers[*b].name.clone());
    let names: Vec<String> = names.collect();
    for ((name, before), after) in names.iter().zip(before).zip(after) {
        assert!(before == after, "{}: {name} was written", path.display());
    }
    names
}

#[test]
fn buffers_of_some_examples() {
    let named = |name: &str| {
        let mut all = examples().into_iter();
        let path = all.find(|p| p.file_stem().is_some_and(|s| s == name));
        unwritten_buffers(&path.unwrap_or_else(|| panic!("no {name}")))
    };
    assert_eq!(named("black_scholes"), ["spot", "strike", "years"]);
    // Two others change places; a variable is filled by a copy.
    assert_eq!(named("jacobi2d"), ["f"]);
    assert_eq!(named("conv2d"), ["image"]);
    let some = examples().into_iter().step_by(7);
    let found: usize = some.map(|p| unwritten_buffers(&p).len()).sum();
    assert!(found > 5, "{found}");
}
