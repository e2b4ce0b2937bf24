//! What users do with a PTX file: look at it, write a workload, compare with a reference, tune, and tune the result again.
use super::harness::{as_ptx, kerf, printed, text};
use std::path::Path;

/// A kernel as a person writes it: y = a x + y, with a table, and a block that sums in shared memory.
const AXPY: &str = ".version 7.0
.target sm_80
.address_size 64
.file 1 \"axpy.py\"
.const .align 8 .b8 table[16] = {0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0, 0, 0, 0, 0, 64};
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f64 a, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.b64 %rd3, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $DONE;
  mul.wide.s32 %rd4, %r5, 8;
  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;
  .loc 1 7 3
  ld.global.b64 %rd7, [%rd5]; ld.global.b64 %rd8, [%rd6];
  and.b32 %r6, %r5, 1; mul.wide.u32 %rd9, %r6, 8; mov.u64 %rd10, table; add.s64 %rd11, %rd10, %rd9;
  ld.const.f64 %rd12, [%rd11];
  .loc 1 8 5
  mul.f64 %rd13, %rd7, %rd3;
  add.f64 %rd14, %rd13, %rd8;
  mul.rn.f64 %rd15, %rd14, %rd12;
  st.global.b64 [%rd6], %rd15;
$DONE:
  ret;
}
.visible .entry matrix(.param .u64 x)
{
  .reg .b32 %r<9>;
  mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4};
  ret;
}
";

const WORKLOAD: &str = "source = \"axpy.ptx\"
[[buffer]]
name = \"x\"
type = \"f64\"
len = 1000
init = { uniform = [1.0, 2.0] }
[[buffer]]
name = \"y\"
type = \"f64\"
len = 1000
init = { uniform = [1.0, 2.0] }
output = true
[[launch]]
kernel = \"axpy\"
grid = [4]
block = [256]
args = [\"x\", \"y\", 3.0, 1000]
[accept]
metric = \"max_rel\"
tolerance = 1e-6
";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("axpy.ptx"), AXPY).expect("writes");
    std::fs::write(dir.path().join("axpy.toml"), WORKLOAD).expect("writes");
    dir
}

fn run(dir: &Path, more: &[&str]) -> String {
    let mut args = vec![
        "run",
        "axpy.toml",
        "--device",
        "cpu",
        "--repeats",
        "1",
        "-q",
    ];
    args.extend(more);
    printed(dir, &args)
}

#[test]
fn kernels_parameters_and_lines_are_seen() {
    let dir = folder();
    let said = printed(dir.path(), &["inspect", "axpy.ptx", "--all"]);
    for part in [
        "param x ",
        "buffer of f64",
        "param a ",
        "param n ",
        "fma",
        "8:5",
        "load",
        "7:3",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let refused = "cannot run: PTX `mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32` (line 31)";
    assert!(said.contains(refused), "{said}");
}

#[test]
fn runs_and_references_compute_what_the_text_says() {
    let dir = folder();
    let said = run(dir.path(), &["--reference", "--save", "out"]);
    assert!(said.contains("accepted"), "{said}");
    assert!(said.contains("1000 of 1000 values compared"), "{said}");
    // The same in CUDA: the product has one use, so it is fused; the last product rounds by itself.
    let cuda = "__constant__ double table[2] = {1.0, 2.0};
__global__ void axpy(double *x, double *y, double a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __dmul_rn(fma(x[i], a, y[i]), i & 1 ? 2.0 : 1.0);
}";
    std::fs::write(dir.path().join("axpy.cu"), cuda).expect("writes");
    let workload = WORKLOAD.replace("axpy.ptx", "axpy.cu");
    std::fs::write(dir.path().join("axpy.toml"), workload).expect("writes");
    run(dir.path(), &["--save", "cuda"]);
    let read = |f: &str| std::fs::read(dir.path().join(f)).expect("it is saved");
    assert!(read("out/y.npy") == read("cuda/y.npy"));
}

#[test]
fn a_refused_statement_is_named_with_its_line() {
    let dir = folder();
    let workload = WORKLOAD
        .replace("\"axpy\"\n", "\"matrix\"\n")
        .replace("[\"x\", \"y\", 3.0, 1000]", "[\"x\"]");
    std::fs::write(dir.path().join("axpy.toml"), workload).expect("writes");
    let o = kerf(dir.path(), &["run", "axpy.toml", "--device", "cpu"]);
    let said = text(&o);
    assert!(!o.status.success(), "{said}");
    assert!(
        said.contains("mma.sync") && said.contains("line 31"),
        "{said}"
    );
}

#[test]
fn mistakes_of_the_text_have_their_place() {
    let dir = folder();
    for (from, to, place) in [
        (".version 7.0", ".version 6.3", "axpy.ptx: line 1, column"),
        ("$DONE:\n  ret;\n}", "$DONE:\n  ret;\n", "axpy.ptx: line"),
        (".param .f64 a", ".param .f63 a", "axpy.ptx: line 6, column"),
    ] {
        std::fs::write(dir.path().join("axpy.ptx"), AXPY.replacen(from, to, 1)).expect("writes");
        for args in [
            &["inspect", "axpy.ptx"][..],
            &["run", "axpy.toml", "--device", "cpu"],
        ] {
            let o = kerf(dir.path(), args);
            let said = text(&o);
            assert!(
                !o.status.success() && said.contains(place),
                "{args:?}: {said}"
            );
        }
    }
}

#[test]
fn a_first_workload_is_written_and_runs() {
    let dir = folder();
    std::fs::remove_file(dir.path().join("axpy.toml")).expect("it was there");
    let alone = AXPY.split(".visible .entry matrix").next().expect("a part");
    std::fs::write(dir.path().join("axpy.ptx"), alone).expect("writes");
    let o = kerf(dir.path(), &["init", "axpy.ptx"]);
    let said = text(&o);
    assert!(o.status.success(), "{said}");
    assert!(
        said.contains("it runs, and no access leaves its buffer"),
        "{said}"
    );
    let file = std::fs::read_to_string(dir.path().join("axpy.toml")).expect("it is written");
    for line in [
        "source = \"axpy.ptx\"",
        "name = \"y\"",
        "len  = \"n\"",
        "[\"ceil_div(n, bx)\"]",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
}

#[test]
fn what_tuning_wrote_is_a_source_again() {
    let dir = folder();
    let args = [
        "tune",
        "axpy.toml",
        "--device",
        "cpu",
        "--what",
        "precision",
        "--formats",
        "f32",
        "--budget",
        "8",
        "--out",
        "out",
        "-q",
        "--validate",
        "1",
    ];
    printed(dir.path(), &args);
    let tuned = std::fs::read_to_string(dir.path().join("out/tuned.ptx")).expect("it is written");
    assert!(
        tuned.contains(".f32"),
        "the sum is computed in f32: {tuned}"
    );
    std::fs::write(dir.path().join("axpy.ptx"), tuned).expect("writes");
    let said = printed(dir.path(), &["inspect", "axpy.ptx"]);
    assert!(
        said.contains("fptrunc") && said.contains("buffer of f"),
        "{said}"
    );
}

#[test]
fn inlined_functions_have_references() {
    // exp and log of libdevice round to integers by sums with large constants, and put results together from bits.
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    as_ptx(
        dir,
        "black_scholes",
        "black_scholes.toml",
        "black_scholes.cu",
        &["-DREAL=double"],
    );
    let said = printed(
        dir,
        &[
            "run",
            "k.toml",
            "--size",
            "n=8192",
            "--device",
            "cpu",
            "--reference",
            "--repeats",
            "1",
            "-q",
        ],
    );
    let errors: Vec<f64> = said
        .lines()
        .filter_map(|l| l.trim().strip_prefix("max_rel  "))
        .filter_map(|l| l.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(errors.len(), 2, "{said}");
    assert!(errors.iter().all(|e| *e > 0.0 && *e < 1e-12), "{said}");
}
