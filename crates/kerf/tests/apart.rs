//! Applications whose files are compiled apart from each other: device code is linked when the program starts.
use std::path::Path;
use std::process::{Command, Output};

fn kerf() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
    c.env("NO_COLOR", "1").env_remove("KERF_PLAN");
    c
}

fn text(o: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    )
}

/// `kerf cc` in a folder; gives what it prints.
fn cc(dir: &Path, args: &[&str]) -> String {
    let r = kerf().arg("cc").args(args).current_dir(dir).output();
    let r = r.expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    String::from_utf8_lossy(&r.stdout).trim().to_owned()
}

fn put(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("written");
}

#[test]
fn another_linker_takes_device_code_out_of_archives() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    // Host code refers to nothing in more.o.
    put(
        dir,
        "more.cu",
        "__device__ int more(int x) { return x + 1; }\n",
    );
    let main = r#"#include <cstdio>
__device__ int more(int);
__global__ void k(int *p) { *p = more(41); }
int main() {
  int *d, h = 0;
  cudaMalloc(&d, 4);
  k<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
}
"#;
    put(dir, "main.cu", main);
    cc(dir, &["-dc", "more.cu", "-o", "more.o"]);
    cc(dir, &["-dc", "main.cu", "-o", "main.o"]);
    cc(dir, &["-lib", "more.o", "-o", "libmore.a"]);
    cc(dir, &["-dlink", "main.o", "libmore.a", "-o", "linked.o"]);
    let folder = format!("-L{}", cc(dir, &["-print-libdir"]));
    let r = Command::new("g++")
        .args(["main.o", "linked.o", "libmore.a", &folder])
        .args(["-lcudart", "-o", "app"])
        .current_dir(dir)
        .output()
        .expect("g++ runs");
    assert!(r.status.success(), "{}", text(&r));
    let r = Command::new(dir.join("app"))
        .env("KERF_DEVICE", "cpu")
        .output()
        .expect("it runs");
    assert_eq!(text(&r), "42\n");
}

/// Structs that are passed by reference from function to function: each has several names.
#[test]
fn plans_find_the_arrays_of_files_that_are_linked_at_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let header = "struct S { double q[4]; };\n__device__ double pressure(const S &s);\n\
        template <int D> __device__ S flux(const S &l, const S &r);\n";
    put(dir, "s.h", header);
    let parts = r#"#include "s.h"
__device__ double pressure(const S &s) { return 0.4 * (s.q[3] - 0.5 * (s.q[1] * s.q[1] + s.q[2] * s.q[2]) / s.q[0]); }
__device__ double sound(const S &s) { return sqrt(1.4 * fmax(pressure(s), 1e-14) / s.q[0]); }
template <int D> __device__ S physical(const S &s) {
  double u = s.q[1 + D] / s.q[0], p = pressure(s);
  S f;
  for (int k = 0; k < 4; k++) f.q[k] = u * s.q[k];
  f.q[1 + D] += p;
  f.q[3] += u * p;
  return f;
}
template <int D> __device__ S flux(const S &l, const S &r) {
  double sl = fmin(l.q[1 + D] / l.q[0] - sound(l), r.q[1 + D] / r.q[0] - sound(r));
  double sr = fmax(l.q[1 + D] / l.q[0] + sound(l), r.q[1 + D] / r.q[0] + sound(r));
  S fl = physical<D>(l), fr = physical<D>(r), f;
  if (sl >= 0) f = fl;
  else if (sr <= 0) f = fr;
  else for (int k = 0; k < 4; k++) f.q[k] = (sr * fl.q[k] - sl * fr.q[k] + sl * sr * (r.q[k] - l.q[k])) / (sr - sl);
  return f;
}
template __device__ S flux<0>(const S &, const S &);
template __device__ S flux<1>(const S &, const S &);
"#;
    put(dir, "parts.cu", parts);
    let main = r#"#include <cstdio>
#include <vector>
#include "s.h"
__device__ S at(const S *u, int n, int i, int j) { return u[min(max(j, 0), n - 1) * n + min(max(i, 0), n - 1)]; }
__global__ void advance(const S *u, S *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i >= n) return;
  S c = at(u, n, i, j), w = flux<0>(at(u, n, i - 1, j), c), e = flux<0>(c, at(u, n, i + 1, j));
  S s = flux<1>(at(u, n, i, j - 1), c), t = flux<1>(c, at(u, n, i, j + 1));
  for (int k = 0; k < 4; k++) c.q[k] -= 0.1 * (e.q[k] - w.q[k]) + 0.1 * (t.q[k] - s.q[k]);
  v[j * n + i] = c;
}
int main() {
  const int n = 32;
  std::vector<S> h(n * n, S{{1.0, 0.0, 0.0, 2.5}});
  h[n * n / 2].q[3] = 5.0;
  S *a, *b;
  cudaMalloc(&a, n * n * sizeof(S));
  cudaMalloc(&b, n * n * sizeof(S));
  cudaMemcpy(a, h.data(), n * n * sizeof(S), cudaMemcpyHostToDevice);
  advance<<<dim3(1, n), 32>>>(a, b, n);
  cudaMemcpy(h.data(), b, n * n * sizeof(S), cudaMemcpyDeviceToHost);
  double sum = 0.0;
  for (const S &s : h) sum += s.q[3] + s.q[0];
  printf("sum %.12f\n", sum);
}
"#;
    put(dir, "main.cu", main);
    cc(
        dir,
        &["-rdc=true", "-O3", "main.cu", "parts.cu", "-o", "app"],
    );
    let r = kerf()
        .args(["tune", "--app", "./app", "--tolerance", "1e-3"])
        .args(["--stdout-pattern", r"sum (\S+)", "--budget", "2"])
        .args(["--strategy", "delta-debug", "--format", "json"])
        .current_dir(dir)
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    let v: serde_json::Value = serde_json::from_slice(&r.stdout).expect("JSON");
    assert_eq!(v["failed"], 0, "{}", text(&r));
    assert_eq!(v["verdict"], "tuned", "{}", text(&r));
}
