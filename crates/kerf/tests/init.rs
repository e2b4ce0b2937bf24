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
