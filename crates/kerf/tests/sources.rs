//! Sources as people write them: host code beside the kernels, launches as formatters leave them,
//! matrices as parameters, buffers that a kernel leaves alone.
use std::path::Path;
use std::process::{Command, Output};

fn kerf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .env(
            "KERF_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources-cache"),
        )
        .output()
        .expect("the program should start")
}

fn text(o: &Output) -> String {
    let both = [&o.stdout[..], &o.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A folder with a source, a workload and what else a test writes.
struct Program(tempfile::TempDir);

impl Program {
    fn new(source: &str, workload: &str) -> Program {
        let p = Program(tempfile::tempdir().expect("a folder"));
        std::fs::write(p.0.path().join("p.cu"), source).expect("writes");
        let workload = format!("source = \"p.cu\"\n{workload}");
        std::fs::write(p.0.path().join("p.toml"), workload).expect("writes");
        p
    }
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
    fn run(&self, more: &[&str]) -> Output {
        let w = self.path("p.toml");
        let mut args = vec!["run", &w, "--repeats", "1", "--warmup", "0"];
        args.extend(more);
        kerf(&args)
    }
}

#[test]
fn host_code_is_no_obstacle() {
    // nvcc gives host code ::min and ::max, and takes brackets that stand apart.
    let p = Program::new(
        "#include <cstdio>
         #include <algorithm>
         __global__ void f(double *x, int n) { if (threadIdx.x < min(n, 4)) x[threadIdx.x] = max(x[0], 2.0); }
         int main() {
           double *x; unsigned long m = 3;
           cudaMalloc(&x, 64);
           int n = max(int(m), 2) + std::max(1, 2);
           printf(\"%zu %f\", min(m, (unsigned long)n), max(1.0f, 2.0));
           f << <1, 32 >> > (x, n);
           f <<<dim3(1), 32, 0, 0>> >(x, n);
         }",
        "",
    );
    let o = kerf(&["inspect", &p.path("p.cu")]);
    assert!(o.status.success(), "{}", text(&o));
    assert!(text(&o).contains("kernel f"), "{}", text(&o));
    // Mistakes are still told where they are.
    let p = Program::new(
        "__global__ void f(double *x) { x[0] = y; }\nvoid g(double *x) { f << <1, 1>> >(x); }",
        "",
    );
    let o = kerf(&["inspect", &p.path("p.cu")]);
    assert!(text(&o).contains("p.cu:1:39"), "{}", text(&o));
    assert!(!text(&o).contains("p.cu:2:"), "{}", text(&o));
}

#[test]
fn what_nvcc_only_warns_of_compiles() {
    let p = Program::new(
        "#include <cstdio>
         #include <cmath>
         #define NAME \"n\"
         struct Pair { float a, b; };
         __device__ constexpr float tenth() { return 1.f / ::logf(10.f); }
         __global__ void f(float *x, double d, int n) {
           register float s = tenth();
           Pair p = {d, x[0] * 0.5};
           x[0] = s + p.a + p.b;
         }
         void g(int n) throw(int) { dim3 d = {n, n}; printf(\"x\"NAME\"%d\", d.x); }",
        "",
    );
    let o = kerf(&["inspect", &p.path("p.cu")]);
    assert!(o.status.success(), "{}", text(&o));
}

#[test]
fn what_looks_for_nvcc_finds_it() {
    // Headers shared with other compilers ask for nvcc by its macro; without it their functions are the host's alone.
    let source = "#include <cooperative_groups.h>
         #include <omp.h>
         #ifdef __NVCC__
         #define HD __host__ __device__
         #else
         #define HD
         #endif
         #if __CUDACC_VER_MAJOR__ < 9
         #error \"too old\"
         #endif
         struct Pair { double a, b; HD double sum() const { return a + b; } };
         __global__ void f(const Pair *p, double *x) {
           auto g = cooperative_groups::this_thread_block();
           x[g.thread_rank()] = p[g.thread_rank()].sum();
         }";
    let p = Program::new(source, "");
    let o = kerf(&["inspect", &p.path("p.cu")]);
    assert!(o.status.success(), "{}", text(&o));
    assert!(text(&o).contains("fadd"), "{}", text(&o));
    let o = kerf(&["inspect", &p.path("p.cu"), "--", "-U__NVCC__"]);
    assert!(!o.status.success(), "{}", text(&o));
}

#[test]
fn what_was_compiled_from_another_folder_is_not_taken_for_this() {
    // Two folders with files of the same names, and one of them changes; the cache must not look at the other's.
    let inspect = |at: &Path, args: &[&str]| {
        let o = Command::new(env!("CARGO_BIN_EXE_kerf"))
            .arg("inspect")
            .args(args)
            .current_dir(at)
            .env("KERF_CACHE", at.join("../cache"))
            .output();
        text(&o.expect("the program should start"))
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    for d in [&a, &b] {
        std::fs::create_dir_all(d.join("inc")).expect("a folder");
        std::fs::write(d.join("inc/op.h"), "#define OP +").expect("writes");
        let kernel = "#include \"op.h\"\n__global__ void f(double *x) { x[0] = x[1] OP x[2]; }";
        std::fs::write(d.join("p.cu"), kernel).expect("writes");
    }
    let other = a.join("p.cu").display().to_string();
    let ask = |at: &Path, file: &str| inspect(at, &[file, "-I", "inc"]);
    assert!(ask(&a, "p.cu").contains("fadd"), "{}", ask(&a, "p.cu"));
    let kernel = "#include \"op.h\"\n__global__ void f(double *x) { x[0] = x[1] OP x[2] / x[3]; }";
    std::fs::write(a.join("p.cu"), kernel).expect("writes");
    assert!(ask(&b, &other).contains("fdiv"), "{}", ask(&b, &other));
    std::fs::write(b.join("inc/op.h"), "#define OP *").expect("writes");
    assert!(ask(&a, "p.cu").contains("fadd"), "{}", ask(&a, "p.cu"));
    assert!(ask(&b, &other).contains("fmul"), "{}", ask(&b, &other));
}

#[test]
fn precompiled_headers_change_no_module() {
    let source = "#include <cmath>
         #include <cooperative_groups.h>
         enum class Kind { Sum, Product };
         __global__ void f(const double *x, double *y, Kind k) {
           auto g = cooperative_groups::this_thread_block();
           double v = std::exp(x[g.thread_rank()]) + max(N, 2);
           y[g.thread_rank()] = k == Kind::Sum ? v + x[0] : v * hypot(x[0], v);
         }";
    let p = Program::new(source, "");
    let dir = tempfile::tempdir().expect("a folder");
    let cache = dir.path().join("cache");
    let ir = |cached: bool, n: &str| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
        c.args(["inspect", &p.path("p.cu"), "--emit", "ir", "--", n]);
        match cached {
            true => c.env("KERF_CACHE", &cache),
            false => c.env("KERF_NO_CACHE", "1"),
        };
        let o = c.output().expect("the program should start");
        assert!(o.status.success(), "{}", text(&o));
        text(&o)
    };
    let headers = || -> Vec<std::path::PathBuf> {
        let all = std::fs::read_dir(cache.join("precompiled")).expect("a folder");
        all.map(|e| e.expect("an entry").path())
            .filter(|p| p.extension().is_some_and(|e| e == "pch"))
            .collect()
    };
    assert_eq!(ir(false, "-DN=4"), ir(true, "-DN=4"));
    let made = headers();
    assert_eq!(made.len(), 1);
    // A macro of the source is not one of the headers'.
    assert_ne!(ir(true, "-DN=5"), ir(true, "-DN=4"));
    assert_eq!(headers(), made);
    // What clang refuses costs time and is forgotten.
    std::fs::write(&made[0], "damaged").expect("writes");
    assert_eq!(ir(true, "-DN=6"), ir(false, "-DN=6"));
    assert_eq!(headers().len(), 0);
}

#[test]
fn a_matrix_is_a_buffer_of_its_elements() {
    let p = Program::new(
        "__global__ void rows(double a[][40], const double (*b)[20][20], int n) {
           int i = threadIdx.x;
           for (int j = 0; j < n; j++) a[i][j] += b[i][j % 20][i % 20];
         }",
        "[[buffer]]\nname = \"a\"\ntype = \"f64\"\nlen = 1280\ninit = { uniform = [0.0, 1.0] }\noutput = true\n\
         [[buffer]]\nname = \"b\"\ntype = \"f64\"\nlen = 12800\ninit = { uniform = [0.0, 1.0] }\n\
         [[launch]]\nkernel = \"rows\"\ngrid = [1]\nblock = [32]\nargs = [\"a\", \"b\", 40]\n",
    );
    let o = p.run(&["--reference"]);
    assert!(o.status.success(), "{}", text(&o));
}

#[test]
fn a_buffer_that_a_kernel_leaves_alone_can_be_held_in_any_format() {
    let p = Program::new(
        "__global__ void one(double *a, double *q, int k) { a[threadIdx.x] *= k; }
         __global__ void two(const double *a, double *q) { q[threadIdx.x] = a[threadIdx.x] / 3.0; }",
        "[[buffer]]\nname = \"a\"\ntype = \"f64\"\nlen = 32\ninit = { uniform = [0.5, 1.0] }\n\
         [[buffer]]\nname = \"q\"\ntype = \"f64\"\nlen = 32\noutput = true\n\
         [[launch]]\nkernel = \"one\"\ngrid = [1]\nblock = [32]\nargs = [\"a\", \"q\", 3]\n\
         [[launch]]\nkernel = \"two\"\ngrid = [1]\nblock = [32]\nargs = [\"a\", \"q\"]\n",
    );
    let o = kerf(&["inspect", &p.path("p.cu"), "--store-as", "f32"]);
    std::fs::write(p.path("plan.json"), &o.stdout).expect("writes");
    let o = p.run(&["--plan", &p.path("plan.json"), "--reference"]);
    assert!(o.status.success(), "{}", text(&o));
}

#[test]
fn arrays_have_the_names_of_the_source() {
    // `work` is inlined twice, `tile` is passed as `p`; doubles that go to another lane are no obstacle.
    let p = Program::new(
        "__device__ double first(double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i * 7 % n]; return s; }
         __device__ double work(double x, int n) {
           double tile[40];
           for (int i = 0; i < n; i++) tile[i * 3 % n] = x * i;
           return first(tile, n);
         }
         __global__ void f(double *x, int n) {
           double v = work(x[threadIdx.x], n) + work(x[threadIdx.x + 32] + 1.0, n);
           for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
           x[threadIdx.x] = v;
         }",
        "",
    );
    let o = kerf(&["inspect", &p.path("p.cu"), "--store-as", "f32"]);
    let plan = text(&o);
    for name in ["\"tile\":\"f32\"", "\"tile.2\":\"f32\""] {
        assert!(plan.contains(name), "{plan}");
    }
    std::fs::write(p.path("plan.json"), &o.stdout).expect("writes");
    let o = kerf(&[
        "inspect",
        &p.path("p.cu"),
        "--plan",
        &p.path("plan.json"),
        "--emit",
        "ptx",
    ]);
    assert!(o.status.success(), "{}", text(&o));
    let o = text(&kerf(&["inspect", &p.path("p.cu")]));
    assert!(!o.contains("cannot be tuned"), "{o}");
}

#[test]
fn nothing_compared_is_not_a_perfect_result() {
    let p = Program::new(
        "__global__ void f(double *x) { x[threadIdx.x] = x[threadIdx.x] * 1e5 * 1e-5; }",
        "[[buffer]]\nname = \"x\"\ntype = \"f64\"\nlen = 32\ninit = { constant = 3.0 }\noutput = true\n\
         [[launch]]\nkernel = \"f\"\ngrid = [1]\nblock = [32]\nargs = [\"x\"]\n",
    );
    let o = kerf(&["inspect", &p.path("p.cu"), "--all-as", "f16"]);
    std::fs::write(p.path("plan.json"), &o.stdout).expect("writes");
    let o = text(&p.run(&["--plan", &p.path("plan.json"), "--reference"]));
    assert!(o.contains("32 NaN or infinity mismatches"), "{o}");
    assert!(!o.contains("digits"), "{o}");
}

#[test]
fn a_texture_is_refused_by_its_name() {
    let p = Program::new(
        "__global__ void f(cudaTextureObject_t t, float *x) { x[0] = tex3D<float>(t, 1.0f, 2.0f, 3.0f); }",
        "",
    );
    let o = text(&kerf(&["inspect", &p.path("p.cu")]));
    assert!(o.contains("textures and surfaces are not supported"), "{o}");
}

#[test]
fn no_variable_is_named_by_a_header() {
    let p = Program::new(
        "__global__ void f(const double *x, double *y, int n) {
           double top = -1e300;
           for (int i = 0; i < n; i++) top = fmax(top, x[i]);
           y[0] = fmin(fabs(top), 3.0) * 2.0;
         }",
        "",
    );
    let o = text(&kerf(&["inspect", &p.path("p.cu"), "--all"]));
    assert!(o.contains(" top") && !o.contains(" __"), "{o}");
}

#[test]
fn small_structs_can_be_held_in_a_smaller_format() {
    let p = Program::new(
        "struct Pair { float x, y; };
         __global__ void f(const float2 *in, Pair *p, float2 *out) {
           __shared__ float2 s[32];
           int i = threadIdx.x;
           s[i] = in[i];
           Pair t = p[i];
           p[i] = p[i + 32];
           p[i + 32] = t;
           __syncthreads();
           float2 a = s[31 - i];
           out[i] = make_float2(a.x * 2.0f + in[i].y, a.y + p[i].x);
         }",
        "[[buffer]]\nname = \"in\"\ntype = \"f32x2\"\nlen = 32\ninit = { uniform = [0.5, 1.0] }\n\
         [[buffer]]\nname = \"p\"\ntype = [\"f32\", \"f32\"]\nlen = 64\ninit = [{ uniform = [0.5, 1.0] }, { uniform = [0.5, 1.0] }]\noutput = true\n\
         [[buffer]]\nname = \"out\"\ntype = \"f32x2\"\nlen = 32\noutput = true\n\
         [[launch]]\nkernel = \"f\"\ngrid = [1]\nblock = [32]\nargs = [\"in\", \"p\", \"out\"]\n\
         [accept]\nmetric = \"max_rel\"\ntolerance = 2e-3\n",
    );
    let o = kerf(&["inspect", &p.path("p.cu"), "--store-as", "f16"]);
    for name in ["in", "p", "out", "s"] {
        assert!(
            text(&o).contains(&format!("\"{name}\":\"f16\"")),
            "{}",
            text(&o)
        );
    }
    std::fs::write(p.path("plan.json"), &o.stdout).expect("writes");
    let o = p.run(&["--plan", &p.path("plan.json"), "--reference"]);
    assert!(o.status.success(), "{}", text(&o));
}
