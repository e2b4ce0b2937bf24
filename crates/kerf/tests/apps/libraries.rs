//! Applications that call NVIDIA's libraries, on the CPU executor: cuBLAS and cuRAND's host API are computed, others refused.
use super::*;

/// Compiles one of the programs for libraries.
fn build_library(dir: &Path, name: &str, more: &[&str]) -> (PathBuf, String) {
    let out = dir.join(name);
    let r = kerf()
        .args(["cc", "-O1", "-DON_CPU", "-o"])
        .arg(&out)
        .arg(sources().join("libraries").join(format!("{name}.cu")))
        .args(more)
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    (out, text(&r))
}

#[test]
fn linear_algebra_is_computed_and_traced() {
    let dir = tempfile::tempdir().expect("a folder");
    let (app, told) = build_library(dir.path(), "blas", &["-lcublas"]);
    assert!(!told.contains("run on a GPU alone"), "{told}");
    let r = run(&app, &[]);
    assert_eq!(String::from_utf8_lossy(&r.stdout), "PASS\n", "{}", text(&r));
    let said = "cublasDscal_v2: x: 800 bytes at";
    assert!(text(&r).contains(said), "{}", text(&r));
    // What a library writes is defined, to the checks of kernels that read it; and a trace has the calls.
    let trace = dir.path().join("trace");
    let r = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_MEMCHECK", "1")
        .env("KERF_TRACE", &trace)
        .output()
        .expect("the application runs");
    assert_eq!(String::from_utf8_lossy(&r.stdout), "PASS\n", "{}", text(&r));
    let trace = std::fs::read_to_string(trace.join("trace.json")).expect("a trace");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let calls = trace["library_calls"].as_array().expect("calls");
    let of = |name: &str| calls.iter().find(|c| c["function"] == name);
    let gemm = of("cublasDgemm_v2").expect("it was called");
    assert_eq!(
        (&gemm["library"], &gemm["calls"]),
        (&"cuBLAS".into(), &11.into())
    );
    // Copies are the runtime's own, as the trace has them.
    assert!(of("cublasGetMatrix").is_none(), "{calls:#?}");
}

#[test]
fn random_numbers_are_those_of_the_library() {
    let dir = tempfile::tempdir().expect("a folder");
    let (app, told) = build_library(dir.path(), "random", &["-lcurand"]);
    assert!(
        told.contains("curandGenerateNormal: run on a GPU alone"),
        "{told}"
    );
    let r = run(&app, &[]);
    // The hashes are of what NVIDIA's library gave (its generators for the host).
    let xorwow = "0 0 u32 0 052f5caa87c49db1 f32 0 7641de15c62b94b6 f64 0 92aa72c07b930e91 u32 0 aee5818d048478d1 0";
    let mrg = "0 0 u32 0 733193ecb1c30c29 f32 0 193d339b1d48b7cc f64 0 1c05a83bbd89a8e7 u32 0 0472dbcc9b122eeb 0";
    let philox = "0 0 u32 0 50011b56f849da15 f32 0 55a2fcf594f69111 f64 0 092dfeda1119e22f u32 0 2c1e6f5e0d7b8914 0";
    let expected = format!("100: {xorwow}\n101: {xorwow}\n121: {mrg}\n161: {philox}\nhost: 0 ");
    let out = String::from_utf8_lossy(&r.stdout).into_owned();
    assert!(out.starts_with(&expected), "{out}\n{expected}");
    assert!(
        out.ends_with("normal: 204\nmtgp32: 204\ntoo many: 201\n"),
        "{out}"
    );
    let said = text(&r);
    for why in [
        "curandGenerateNormal (the host API of cuRAND) is not run on the CPU",
        "curandCreateGenerator: the generator MTGP32 is not run on the CPU",
        "curandGenerateUniform: output: 4004 bytes at",
    ] {
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn other_libraries_are_refused_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("calls.cu");
    let code = "#include <cstdio>\n\
        extern \"C\" int cusparseCreate(void **);\nextern \"C\" int cufftPlan1d(int *, int, int, int);\n\
        extern \"C\" int cusolverDnCreate(void **);\nextern \"C\" const char *cusparseGetErrorString(int);\n\
        int main() { void *h; int p; cudaFree(0); printf(\"%d %d %d\\n\", cusparseCreate(&h), cufftPlan1d(&p, 8, 41, 1), cusolverDnCreate(&h));\n\
        return cusparseGetErrorString(10) == 0; }\n";
    std::fs::write(&source, code).expect("written");
    let out = dir.path().join("calls");
    let cc = |more: &[&str]| {
        let mut c = kerf();
        c.arg("cc").arg(&source).arg("-o").arg(&out).args(more);
        c.output().expect("kerf runs")
    };
    let r = cc(&[
        "-lcusparse",
        "-lcusolver",
        "/usr/local/cuda/lib64/libcufft_static.a",
    ]);
    assert!(r.status.success(), "{}", text(&r));
    assert!(
        text(&r).contains("cufftPlan1d, cusolverDnCreate"),
        "{}",
        text(&r)
    );
    let r = run(&out, &[]);
    assert_eq!(
        String::from_utf8_lossy(&r.stdout),
        "10 16 9\n",
        "{}",
        text(&r)
    );
    assert!(
        text(&r).contains("cufftPlan1d (cuFFT) is not run on the CPU"),
        "{}",
        text(&r)
    );
    // Not linked: said by the function's library.
    let r = cc(&["-lcusolver", "-lcufft"]);
    assert_eq!(r.status.code(), Some(2), "{}", text(&r));
    assert!(text(&r).contains("link with -lcusparse"), "{}", text(&r));
}

#[test]
fn a_program_with_library_calls_is_tuned_by_restarts() {
    let dir = tempfile::tempdir().expect("a folder");
    build_library(dir.path(), "tuned", &["-lcublas"]);
    let v = result(dir.path(), "./tuned", &[]);
    assert_eq!(v["replay"]["used"], false, "{v:#}");
    let why = v["replay"]["why_not"].as_str().expect("a reason");
    assert!(
        why.contains("cublasCreate_v2: what cuBLAS does is not recorded"),
        "{why}"
    );
    assert_eq!(v["verdict"], "tuned", "{v:#}");
}

#[test]
fn thrust_and_cub_run_as_they_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let (app, _) = build_library(dir.path(), "templates", &[]);
    let r = run(&app, &[]);
    assert_eq!(String::from_utf8_lossy(&r.stdout), "PASS\n", "{}", text(&r));
}
