//! `kerf init`: first workload files that run.
#[path = "init/blocks.rs"]
mod blocks;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn kerf(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .current_dir(dir)
        .output()
        .expect("kerf runs")
}

fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(name).join(format!("{name}.cu"))
}

fn init(name: &str) -> (String, String, i32) {
    let dir = tempfile::tempdir().expect("a folder");
    let source = example(name);
    let source = source.to_str().expect("UTF-8");
    let o = kerf(dir.path(), &["init", source, "-DREAL=double"]);
    let file = std::fs::read_to_string(dir.path().join(format!("{name}.toml")));
    let code = o.status.code().expect("a code");
    (file.unwrap_or_default(), text(&o.stderr), code)
}

#[test]
fn examples_run_as_written() {
    for (name, len, grid) in [
        ("black_scholes", "len  = \"n\"", "[\"ceil_div(n, bx)\"]"),
        (
            "jacobi2d",
            "len  = \"n * n\"",
            "[\"ceil_div(n - 1, bx)\", \"ceil_div(n - 1, by)\"]",
        ),
        ("cfd", "len  = \"5 * n\"", "[\"ceil_div(n, bx)\"]"),
    ] {
        let (file, said, code) = init(name);
        assert_eq!(code, 0, "{name}: {said}");
        assert!(
            said.contains("it runs, and no access leaves its buffer"),
            "{name}: {said}\n{file}"
        );
        assert!(file.contains(len) && file.contains(grid), "{name}: {file}");
        assert!(file.contains("output = true"), "{name}: {file}");
    }
}

#[test]
fn bad_input_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(
        dir.path().join("none.cu"),
        "__device__ int f() { return 1; }\n",
    )
    .expect("written");
    let o = kerf(dir.path(), &["init", "none.cu"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(
        text(&o.stderr).contains("has no kernel"),
        "{}",
        text(&o.stderr)
    );
    std::fs::write(
        dir.path().join("k.cu"),
        "__global__ void scale(double *x, double a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }\n",
    )
    .expect("written");
    let o = kerf(dir.path(), &["init", "k.cu", "--kernel", "scales"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("scale"), "{}", text(&o.stderr));
    assert_eq!(kerf(dir.path(), &["init", "k.cu"]).status.code(), Some(0));
    let o = kerf(dir.path(), &["init", "k.cu"]);
    assert_eq!(o.status.code(), Some(2), "there already");
    assert!(text(&o.stderr).contains("--force"));
    let o = kerf(dir.path(), &["init", "k.cu", "--out", "-"]);
    assert!(
        text(&o.stdout).contains("args  = [\"x\", 1.0, \"n\"]"),
        "{}",
        text(&o.stdout)
    );
}

#[test]
fn a_block_in_the_code_and_lengths_that_only_a_run_tells() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = r#"
#define TX 32
#define TY 4
__global__ void shift(const double *in, double *out, int nx, int ny) {
  int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
  if (x < nx && y < ny) out[y * nx + x] = x > 0 ? in[y * nx + x - 1] : in[y * nx + x];
}
"#;
    std::fs::write(dir.path().join("shift.cu"), source).expect("written");
    let o = kerf(dir.path(), &["init", "shift.cu"]);
    let file = std::fs::read_to_string(dir.path().join("shift.toml")).expect("written");
    for line in [
        "\nTX = [8, 16, 32, 64, 128]",
        "\nTY = [1, 2, 4, 8, 16]",
        "constraints = [\"bx == TX\", \"by == TY\", \"TX * TY >= 32\", \"TX * TY <= 1024\"]",
        "grid  = [\"ceil_div(nx, bx)\", \"ceil_div(ny, by)\"]",
        "len  = \"nx * ny\"",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
    assert!(text(&o.stderr).contains("it runs"), "{}", text(&o.stderr));

    let source = r#"
__global__ void rows(const double *v, const int *count, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = 0;
  for (int k = 0; k < count[i]; ++k) s += v[k * n + i];
  out[i] = s;
}
"#;
    std::fs::write(dir.path().join("rows.cu"), source).expect("written");
    let o = kerf(dir.path(), &["init", "rows.cu"]);
    let file = std::fs::read_to_string(dir.path().join("rows.toml")).expect("written");
    assert!(file.contains("len  = \"16 * n\""), "{file}");
    assert!(text(&o.stderr).contains("it runs"), "{}", text(&o.stderr));
}

#[test]
fn a_macro_that_is_the_block_can_be_tuned() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = r#"
#define TILE 16
__global__ void turn(const double *in, double *out, int n) {
  __shared__ double t[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < n && y < n) t[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  if (x < n && y < n) out[x * n + y] = t[threadIdx.y][threadIdx.x];
}
"#;
    std::fs::write(dir.path().join("t.cu"), source).expect("a source");
    let o = kerf(dir.path(), &["init", "t.cu"]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let w = std::fs::read_to_string(dir.path().join("t.toml")).expect("a workload");
    assert!(w.contains("\nTILE = [4, 8, 16, 32]"), "{w}");
    assert!(
        w.contains("\nconstraints = [\"bx == TILE\", \"by == TILE\", "),
        "{w}"
    );
    let digest = |more: &[&str]| {
        let o = kerf(
            dir.path(),
            &[&["--format", "json", "run", "t.toml"], more].concat(),
        );
        let v: serde_json::Value = serde_json::from_slice(&o.stdout).expect("a report");
        v["outputs"][0]["digest"]
            .as_str()
            .expect("a digest")
            .to_owned()
    };
    let small = ["--size", "TILE=8", "--size", "bx=8", "--size", "by=8"];
    let own = digest(&[]);
    assert_eq!(own, digest(&small));
    // A constant is as good as a macro, and array bounds follow it.
    let constant = source.replace("#define TILE 16", "static constexpr int TILE = 16;");
    std::fs::write(dir.path().join("t.cu"), constant).expect("a source");
    let large = ["--size", "TILE=32", "--size", "bx=32", "--size", "by=32"];
    assert_eq!(own, digest(&large));
    let o = kerf(
        dir.path(),
        &["run", "t.toml", "--size", "bx=32", "--size", "by=32"],
    );
    assert!(!o.status.success(), "blocks are as large as TILE");
}

#[test]
fn structures_have_inputs_for_each_member() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = r#"
struct Particle { double x, q; int kind; };
__global__ void energy(const Particle *p, double *u, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] = p[i].kind > 4 ? p[i].q / p[i].x : p[i].q * p[i].x;
}
"#;
    std::fs::write(dir.path().join("energy.cu"), source).expect("written");
    let o = kerf(dir.path(), &["init", "energy.cu"]);
    let file = std::fs::read_to_string(dir.path().join("energy.toml")).expect("written");
    let real = "{ uniform = [0.5, 1.5] }";
    let line = format!("init = [{real}, {real}, {{ uniform = [0, 10] }}]");
    assert!(file.contains(&line), "{file}");
    assert!(text(&o.stderr).contains("it runs"), "{}", text(&o.stderr));
}

#[test]
fn content_of_the_source_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = r#"
__constant__ double scale[2] = {2.0, 3.0};
__constant__ double shift;
__device__ int mode = 1;
__device__ double horner(double x) {
  static const double c[] = {1.0, 0.5, 0.25};
  double s = 0;
  for (int k = 2; k >= 0; k--) s = s * x + c[k];
  return s;
}
__global__ void poly(const double *in, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = mode ? horner(in[i]) * scale[i & 1] + shift : 0;
}
"#;
    std::fs::write(dir.path().join("poly.cu"), source).expect("written");
    let o = kerf(dir.path(), &["init", "poly.cu"]);
    let file = std::fs::read_to_string(dir.path().join("poly.toml")).expect("written");
    assert!(text(&o.stderr).contains("it runs"), "{}", text(&o.stderr));
    // Only what the source leaves empty is for the host to fill.
    let symbols = |line: &&str| line.starts_with("symbol");
    let symbols: Vec<&str> = file.lines().filter(symbols).collect();
    assert_eq!(symbols, ["symbol = \"shift\""], "{file}");
    for kept in ["# scale keeps", "# mode keeps"] {
        assert!(file.contains(kept), "{kept}: {file}");
    }
}

#[test]
fn vectors_and_local_memory_of_opencl() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = r#"
kernel void scaled(global const float4 *in, global float4 *out, local float4 *tile, int n) {
  int i = get_global_id(0), l = get_local_id(0);
  tile[l] = i < n ? in[i] : (float4)(0.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) out[i] = tile[l] * tile[0].x;
}
"#;
    std::fs::write(dir.path().join("scaled.cl"), source).expect("written");
    let o = kerf(dir.path(), &["init", "scaled.cl"]);
    let file = std::fs::read_to_string(dir.path().join("scaled.toml")).expect("written");
    assert!(text(&o.stderr).contains("it runs"), "{}", text(&o.stderr));
    for line in ["type = \"f32x4\"", "{ local = \"bx * 16\" }"] {
        assert!(file.contains(line), "{line}: {file}");
    }
    assert!(!file.contains("shared ="), "{file}");
}

/// The value of a size in a table of a workload file.
fn size_in(file: &str, table: &str, name: &str) -> Option<u64> {
    let (_, rest) = file.split_once(&format!("[{table}]"))?;
    let lines = rest.lines().skip(1).take_while(|l| !l.is_empty());
    let mut values = lines.filter_map(|l| l.strip_prefix(&format!("{name} = ")));
    values.find_map(|v| v.parse().ok())
}

#[test]
fn sizes_for_a_gpu_and_for_the_cpu() {
    let row = "int i = blockIdx.x * blockDim.x + threadIdx.x;";
    let scale = format!(
        "__global__ void scale(double *x, double a, int n) {{ {row} if (i < n) x[i] *= a; }}\n"
    );
    let pairs = format!(
        "__global__ void pairs(const double *x, double *f, int n) {{ {row} if (i >= n) return; double s = 0; for (int j = 0; j < n; j++) s += x[j] - x[i]; f[i] = s; }}\n"
    );
    for source in [scale, pairs] {
        let (file, said) = of_source(&source);
        assert!(said.contains("it runs"), "{said}\n{file}");
        let full = size_in(&file, "sizes", "n").expect("a full size");
        let small = size_in(&file, "cpu_sizes", "n").expect("a size for the CPU");
        assert!(full >= 132 * 1024 && small < full, "{file}");
        assert!(
            file.contains("threads, enough to fill a large GPU"),
            "{file}"
        );
        assert!(
            file.contains("# for the CPU executor: at the full sizes"),
            "{file}"
        );
    }
}

/// The file that `kerf init` writes for a source, and what it says of it.
fn of_source(source: &str) -> (String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.cu"), source).expect("a source");
    let o = kerf(dir.path(), &["init", "k.cu"]);
    let file = std::fs::read_to_string(dir.path().join("k.toml")).expect("a workload");
    (file, text(&o.stderr))
}

#[test]
fn indices_of_the_programs_own_arrays() {
    let (file, said) = of_source(
        r#"
struct Material { float a, b; };
__constant__ Material table[5];
__global__ void look(const unsigned char *kind, const int *level, double *out, int n) {
  __shared__ int seen[12];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 12) seen[threadIdx.x] = 0;
  __syncthreads();
  if (i >= n) return;
  atomicAdd(&seen[level[i]], 1);
  Material m = table[kind[i]];
  out[i] = m.a * m.b;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(file.contains("init = { uniform = [0, 5] }"), "{file}");
    assert!(file.contains("init = { uniform = [0, 12] }"), "{file}");
}

/// The file for an OpenCL source.
fn of_opencl(source: &str) -> (String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.cl"), source).expect("a source");
    let o = kerf(dir.path(), &["init", "k.cl"]);
    let file = std::fs::read_to_string(dir.path().join("k.toml")).expect("a workload");
    (file, text(&o.stderr))
}

#[test]
fn loops_over_pointers_are_no_end_of_the_program() {
    let (file, said) = of_source(
        r#"
__global__ void back(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *p = in + i;
  while (p != in && *(p - 1) < *p) --p;
  out[i] = *p;
}
__global__ void insertion(float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float *first = x + i * m;
  for (float *q = first + 1; q < first + m; ++q)
    for (float *p = q; p != first && *p < *(p - 1); --p) {
      float t = *p;
      *p = *(p - 1);
      *(p - 1) = t;
    }
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
}

#[test]
fn pointers_in_structs_are_buffers() {
    let (file, said) = of_source(
        r#"
struct Field { const double *in; double *out; int n; double h; };
__global__ void lap(Field f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < f.n - 1) f.out[i] = (f.in[i - 1] - 2 * f.in[i] + f.in[i + 1]) / (f.h * f.h);
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    for line in [
        "\nname = \"f_in\"\ntype = \"f64\"\nlen  = \"f_n\"\n",
        "\nname = \"f_out\"\ntype = \"f64\"\nlen  = \"f_n\"\noutput = true",
        "args  = [{ struct = [\"f_in\", \"f_out\", \"f_n\", 1.0] }]",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
}

#[test]
fn a_list_of_neighbours_leads_to_all_particles() {
    let (file, said) = of_source(
        r#"
__global__ void force(const double *x, const int *near, double *f, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = 0;
  for (int j = 0; j < k; ++j) s += x[i] - x[near[i * k + j]];
  f[i] = s;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(file.contains("init = { uniform = [0, \"n\"] }"), "{file}");
}

#[test]
fn names_of_hundreds_of_characters_fit() {
    let (file, said) = of_source(
        r#"
template <class A, class B> struct Pair { A a; B b; };
template <class T> __global__ void first(T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i].a.a.a.a.a = 1;
}
template <class T> __global__ void second(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sizeof(T);
}
using P1 = Pair<double, unsigned long long>;
using P2 = Pair<P1, P1>;
using P3 = Pair<P2, P2>;
using P4 = Pair<P3, P3>;
using P5 = Pair<P4, P4>;
template __global__ void first<P5>(P5 *, int);
template __global__ void second<P5>(float *, int);
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    let longest = |l: &&str| l.starts_with("name = ");
    let names: Vec<&str> = file.lines().filter(longest).collect();
    assert_eq!(names.len(), 2, "{file}");
    assert!(names.iter().all(|n| n.len() < 120), "{names:?}");
}

#[test]
fn overloads_are_named_with_their_parameters() {
    let (file, said) = of_source(
        "__global__ void scale(float *x, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }
         __global__ void scale(double *x, double a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }\n",
    );
    assert!(
        said.contains("it runs, and no access leaves"),
        "{said}\n{file}"
    );
    for name in ["scale(float*, float, int)", "scale(double*, double, int)"] {
        assert!(file.contains(&format!("kernel = \"{name}\"")), "{file}");
    }
}
