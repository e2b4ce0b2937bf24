//! `kerf init`: first workload files that run.
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

/// The file that `kerf init` writes for a source, and what it says of it.
fn of_source(source: &str) -> (String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.cu"), source).expect("a source");
    let o = kerf(dir.path(), &["init", "k.cu"]);
    let file = std::fs::read_to_string(dir.path().join("k.toml")).expect("a workload");
    (file, text(&o.stderr))
}

#[test]
fn blocks_that_have_an_item_each() {
    // A row a block, a frame a block along y, whose number nothing bounds but a parameter is for.
    let (file, said) = of_source(
        r#"
__global__ void rows(const double *a, double *sum, int columns, int rows, int frames) {
  double s = 0;
  const double *row = a + (blockIdx.y * rows + blockIdx.x) * columns;
  for (int k = threadIdx.x; k < columns; k += blockDim.x) s += row[k];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (threadIdx.x == 0 && blockIdx.x < rows) sum[blockIdx.y * rows + blockIdx.x] = s;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    for line in [
        "\ngrid  = [\"rows\", \"frames\"]",
        "\nblock = [\"bx\"]",
        "\nframes = 32\n",
        "\nbx = [32, 64, 128, 256, 512, 1024]",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
    assert!(!file.contains("\nby = "), "{file}");
}

#[test]
fn warps_lie_along_x_and_a_block_without_a_number_is_one() {
    let (file, said) = of_source(
        r#"
__global__ void dots(const double *a, const double *b, double *out) {
  int lane = threadIdx.x, at = (blockIdx.x * blockDim.y + threadIdx.y) * 32 + lane;
  double s = a[at] * b[threadIdx.y * 32 + lane];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (lane == 0) out[blockIdx.x * blockDim.y + threadIdx.y] = s;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(file.contains("\nbx = [32]   # the number"), "{file}");
    let (file, said) = of_source(
        "__global__ void fill(double *x) { for (int k = 0; k < 8; k++) x[blockIdx.x * 8 + k] = sqrt(double(k)); }\n",
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(file.contains("\ngrid  = [\"blocks\"]"), "{file}");
    assert!(file.contains("\nblock = [1]\n"), "{file}");
    assert!(!file.contains("launch_space"), "{file}");
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
fn blocks_are_what_kernels_say() {
    let reversed = |head: &str, n: u32| {
        format!(
            r#"
{head} rev(const float *in, float *out, int n) {{
  __shared__ float s[{n}];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = s[{n} - 1 - threadIdx.x];
}}
"#
        )
    };
    // A block that is smaller than the array would read what nobody wrote.
    let (file, said) = of_source(&reversed("__global__ void __launch_bounds__(64)", 64));
    assert!(said.contains("it runs"), "{said}{file}");
    let line = "\nbx = [64]   # threads that fill s, all of which the kernel reads\n";
    assert!(file.contains(line), "{file}");
    // Without an array the bound is a limit.
    let (file, said) = of_source(
        r#"
__global__ void __launch_bounds__(96) twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(
        file.contains("\nbx = [32, 64, 96]   # __launch_bounds__(96)\ndefault = { bx = 96 }"),
        "{file}"
    );
    let (file, said) = of_opencl(
        r#"
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void rev(global const float *in, global float *out, int n) {
  local float s[64];
  int i = get_global_id(0), l = get_local_id(0);
  s[l] = i < n ? in[i] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) out[i] = s[63 - l];
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(
        file.contains("\nbx = [64]   # the size that the kernel requires\n"),
        "{file}"
    );
}

#[test]
fn template_arguments_and_tiles_are_blocks() {
    let (file, said) = of_source(
        r#"
template <int B> __global__ void all(const float *in, float *out, int n) {
  __shared__ float s[B];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  float t = 0;
  for (int k = 0; k < B; ++k) t += s[k];
  if (i < n) out[i] = t;
}
template __global__ void all<256>(const float *, float *, int);
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(
        file.contains("\nbx = [256]   # threads that fill s"),
        "{file}"
    );
    // A tile with a column of padding; its side is a constant of the source, by which blocks can be tuned.
    let (file, said) = of_source(
        r#"
constexpr int SIDE = 16;
__global__ void turn(const float *in, float *out, int n) {
  __shared__ float t[SIDE][SIDE + 1];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = x < n && y < n ? in[y * n + x] : 0.f;
  __syncthreads();
  int u = blockIdx.y * blockDim.y + threadIdx.x, v = blockIdx.x * blockDim.x + threadIdx.y;
  if (u < n && v < n) out[v * n + u] = t[threadIdx.x][threadIdx.y];
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    for line in [
        "\nSIDE = [4, 8, 16, 32]",
        "default = { SIDE = 16, bx = 16, by = 16 }",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
    // A reduction that asks for the block's size takes any that the array has room for.
    let (file, said) = of_source(
        r#"
__global__ void sum(const float *in, float *out, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(
        file.contains("\nbx = [32, 64, 128, 256]   # s has room for 256\ndefault = { bx = 256 }"),
        "{file}"
    );
}

#[test]
fn kernels_of_one_file_have_blocks_of_their_own() {
    let one = |name: &str, n: u32| {
        format!(
            r#"
__global__ void {name}(const float *in, float *out, int n) {{
  __shared__ float s[{n}];
  int i = blockIdx.x * {n} + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = s[{n} - 1 - threadIdx.x];
}}
"#
        )
    };
    let (file, said) = of_source(&format!("{}{}", one("narrow", 64), one("wide", 256)));
    assert!(said.contains("it runs"), "{said}{file}");
    for line in [
        "\ngrid  = [\"ceil_div(n, 64)\"]\nblock = [64]   # the number in the code\n",
        "\ngrid  = [\"ceil_div(n, 256)\"]\nblock = [256]   # the number in the code\n",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
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
fn tiles_of_a_warp_have_whole_warps() {
    let (file, said) = of_source(
        r#"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void rows(const float *a, float *out, int n, int m) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
  if (row >= n) return;
  float s = 0;
  for (int k = tile.thread_rank(); k < m; k += 16) s += a[row * m + k];
  for (int d = 8; d > 0; d /= 2) s += tile.shfl_down(s, d);
  if (tile.thread_rank() == 0) out[row] = s;
}
"#,
    );
    assert!(said.contains("it runs"), "{said}{file}");
    assert!(
        file.contains("\nbx = [32, 64, 128, 256, 512, 1024]\n"),
        "{file}"
    );
    assert!(
        file.contains("\ngrid  = [\"ceil_div(16 * n, bx)\"]"),
        "{file}"
    );
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

#[test]
fn an_axis_has_the_room_that_the_numbers_of_others_leave() {
    let (file, said) = of_source(
        "__global__ void rows(const float *a, float *b) { int i = blockIdx.x * 128 + threadIdx.x; b[i] = 2 * a[i]; }
         __global__ void tiles(const float *a, float *b) {
           int i = blockIdx.x * 16 + threadIdx.x;
           for (int k = threadIdx.y; k < 16; k += blockDim.y) b[16 * i + k] = a[i];
         }\n",
    );
    assert!(file.contains("block = [16, \"by\"]"), "{file}");
    let by = file.lines().find(|l| l.starts_with("by = [")).expect("by");
    let numbers = by.split(['[', ']']).nth(1).expect("a list").split(", ");
    let most = numbers.map(|n| n.parse::<u32>().expect("a number")).max();
    assert_eq!(most, Some(64), "{file}");
    assert!(!said.contains("expected at most 1024"), "{said}");
}
