//! Blocks and grids of first workload files: what the source says of them.
use super::{of_opencl, of_source};

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
