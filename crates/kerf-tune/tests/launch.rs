//! Single launches: runs of a grid's blocks, what belongs together, what cannot run.
use crate::common;

use kerf_clang::compile::Toolchain;
use kerf_device::bundled;
use kerf_device::occupancy::Multiprocessor;
use kerf_ir::kernels;
use kerf_ir::program;
use kerf_run::job::{Job, Run, bench};
use kerf_tune::launch::space::{self, KernelDemand};
use kerf_workload::Workload;
use std::path::PathBuf;

/// out[block, thread] = block's number + 1000 * blocks along x, over a grid in three dimensions.
const IR: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %bt = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %a = mul i32 %z, %ny
  %b = add i32 %a, %y
  %c = mul i32 %b, %nx
  %number = add i32 %c, %x
  %d = mul i32 %number, %bt
  %i = add i32 %d, %t
  %many = mul i32 %nx, 1000
  %one = add i32 %number, 1
  %v = add i32 %one, %many
  %p = getelementptr i32, ptr %out, i32 %i
  store i32 %v, ptr %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
"#;

fn folder(grid: &str, more: &str) -> (tempfile::TempDir, PathBuf, Toolchain) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.ll"), IR).expect("written");
    let path = dir.path().join("w.toml");
    let text = format!(
        "source = \"k.ll\"\n[[buffer]]\nname = \"out\"\ntype = \"i32\"\nlen = 4096\noutput = true\n\
         [[launch]]\nkernel = \"k\"\ngrid = {grid}\nblock = [\"bx\"]\nargs = [\"out\"]\n{more}\n"
    );
    std::fs::write(&path, text).expect("written");
    let tools = common::bare();
    (dir, path, tools)
}

/// The output of the whole launch, and of each of its runs put together.
fn parts(grid: &str, count: u32) -> (Vec<u8>, Vec<u8>) {
    let (_dir, path, tools) = folder(grid, "[launch_space]\nbx = [4]");
    let job = Job::plain(path, &tools);
    bench(
        &job,
        |_, _, _| Vec::new(),
        |b| {
            let k = b.kinds(&Default::default())?.remove(0);
            b.time(&k, Run::Whole)?;
            let whole = b.outputs()?.remove(0).1;
            let mut sum = vec![0u8; whole.len()];
            let blocks = k.blocks() as u32;
            let mut first = 0;
            while first < blocks {
                let count = count.min(blocks - first);
                b.time(&k, Run::Part { first, count })?;
                let part = b.outputs()?.remove(0).1;
                let written = part.chunks(4).filter(|w| *w != [0; 4]).count();
                assert_eq!(
                    written as u32,
                    4 * count,
                    "blocks {first} to {}",
                    first + count
                );
                sum.iter_mut().zip(&part).for_each(|(a, b)| *a |= b);
                first += count;
            }
            Ok((whole, sum))
        },
    )
    .expect("runs")
}

#[test]
fn runs_of_blocks_put_together_are_the_launch() {
    for (grid, count) in [
        ("[37]", 5),
        ("[7, 5]", 4),
        ("[3, 4, 5]", 7),
        ("[1, 6]", 4),
        ("[1, 1, 9]", 2),
    ] {
        let (whole, sum) = parts(grid, count);
        assert_eq!(whole, sum, "{grid}");
    }
}

#[test]
fn parameters_that_nothing_ties_are_decided_apart() {
    let (_dir, path, _) = folder(
        "[\"g\"]",
        "[[launch]]\nkernel = \"k\"\ngrid = [2]\nblock = [\"other\"]\nargs = [\"out\"]\n\
         [launch_space]\nbx = [4, 8]\ng = [1, 2]\nother = [4, 8, 16]\nidle = [1, 2]\n",
    );
    let w = Workload::read(&path, &[]).expect("reads");
    let all = space::components(&w);
    let params: Vec<Vec<String>> = all.iter().map(|c| c.params.clone()).collect();
    assert_eq!(
        params,
        [vec!["bx".to_owned(), "g".into()], vec!["other".into()]]
    );
    assert_eq!(space::points(&w, &all[0]).expect("few").len(), 4);
    assert_eq!(space::points(&w, &all[1]).expect("few").len(), 3);
}

#[test]
fn what_cannot_run_names_the_resource() {
    let (_dir, path, tools) = folder(
        "[1]",
        "[launch_space]\nbx = [32, 1024, 2048]\ndefault = { bx = 32 }",
    );
    let w = Workload::read(&path, &[]).expect("reads");
    let p = program::load(&tools, &w.source, &w.flags).expect("loads");
    let m = p.module().expect("a module");
    let infos = kernels::kernels(&m);
    let h200 = bundled::find("h200")
        .expect("bundled")
        .bundled
        .load()
        .expect("a profile");
    let machine = Multiprocessor::from_profile(&h200).expect("limits");
    let c = &space::components(&w)[0];
    let look = |bx: i64, registers: u32| {
        let point = [("bx".to_owned(), bx)].into();
        let needs = move |_: &str| KernelDemand {
            registers,
            shared: 0,
        };
        space::look(&w, &m, &infos, &c.kernels, &point, &needs, &machine).map(|l| l.len())
    };
    assert_eq!(look(1024, 32), Ok(1));
    let why = look(1024, 128).expect_err("too many registers").to_string();
    assert!(why.contains("registers per block"), "{why}");
    let why = look(2048, 32).expect_err("too many threads").to_string();
    assert!(why.contains("1024"), "{why}");
}
