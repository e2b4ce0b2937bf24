// Reads f32 operations of the special-function unit off a GPU. Build: nvcc -O2 -arch=sm_90 dump.cu
// Usage: dump OUTDIR. Writes OP.sfu: for each segment start, step and count (u32), then the differences of
// consecutive results (u32, zigzag) as four planes of bytes. Reports how results depend on exponents.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
enum { RCP, RSQ, SQRT, LG2, EX2, SIN, COS, TANH, OPS };
static const char *NAMES[] = {"rcp", "rsqrt", "sqrt", "lg2", "ex2", "sin", "cos", "tanh"};
__device__ uint32_t op(int o, uint32_t b) {
  float x = __uint_as_float(b), r = 0;
  switch (o) {
  case RCP: asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case RSQ: asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case SQRT: asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case LG2: asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case EX2: asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case SIN: asm("sin.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case COS: asm("cos.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  case TANH: asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
  }
  return __float_as_uint(r);
}
__global__ void fill(int o, uint32_t start, uint32_t step, uint32_t n, uint32_t *out) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = op(o, start + i * step);
}
// Mismatches by exponent field and sign, for scaling laws.
__global__ void law(int o, unsigned long long *bad) {
  uint64_t n = 1ull << 32;
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t b = (uint32_t)i, e = b >> 23 & 255, m = b & 0x7fffff, r = op(o, b);
    bool wrong = false;
    if (e == 0 || e == 255) continue;
    if (o == RCP) {
      uint32_t t = op(o, 127u << 23 | m);
      int re = (int)(t >> 23 & 255) - ((int)e - 127);
      uint32_t want = re <= 0 ? 0 : (uint32_t)re << 23 | (t & 0x7fffff);
      wrong = r != (want | (b & 0x80000000u));
    } else if (o == RSQ || o == SQRT) {
      if (b >> 31) continue;
      int odd = (e - 127) & 1, h = ((int)e - 127 - odd) / 2;
      uint32_t t = op(o, (127u + odd) << 23 | m);
      uint32_t want = t + (o == RSQ ? -h : h) * (1 << 23);
      wrong = r != want;
    } else if (o == EX2) {
      float x = __uint_as_float(b);
      if (!(x > -126 && x < 128)) continue;
      double d = x, fl = floor(d), f = d - fl;
      double k = floor(f * 8388608.0);
      float y = (float)(1.0 + k / 8388608.0);
      uint32_t t = op(o, __float_as_uint(y)) + ((int)fl - 1) * (1 << 23);
      wrong = r != t;
      double k2 = rint(f * 8388608.0);
      if (k2 == 8388608.0) { k2 = 0; fl += 1; }
      float y2 = (float)(1.0 + k2 / 8388608.0);
      uint32_t t2 = op(o, __float_as_uint(y2)) + ((int)fl - 1) * (1 << 23);
      if (r != t2) atomicAdd(&bad[512 + (b >> 31) * 256 + e], 1ull);
    } else if (o == SIN || o == TANH) wrong = (b >> 31) && r != (op(o, b ^ 0x80000000u) ^ 0x80000000u);
    else if (o == COS) wrong = (b >> 31) && r != op(o, b ^ 0x80000000u);
    if (wrong) atomicAdd(&bad[(b >> 31) * 256 + e], 1ull);
  }
}
struct Segment { uint32_t start, step, count; };
int main(int, char **v) {
  std::vector<std::vector<Segment>> all(OPS);
  auto binade = [](int e, int s = 0) { return Segment{(uint32_t)(127 + e) << 23 | (uint32_t)s << 31, 1, 1u << 23}; };
  Segment sample{0, 16381, 262192};
  all[RCP] = {binade(0)};
  all[RSQ] = {binade(0), binade(1)};
  all[SQRT] = {binade(0), binade(1)};
  all[LG2] = {binade(0), binade(-1), binade(1), binade(2), binade(-2), binade(6)};
  all[EX2] = {binade(0), binade(-1), binade(1), binade(0, 1), binade(-1, 1), binade(-2)};
  for (int e = -3; e <= 3; e++) { all[SIN].push_back(binade(e)); all[COS].push_back(binade(e)); }
  for (int e = -9; e <= 3; e++) all[TANH].push_back(binade(e));
  uint32_t *d; CHECK(cudaMalloc(&d, 4u << 23));
  std::vector<std::thread> work;
  for (int o = 0; o < OPS; o++) {
    all[o].push_back(sample);
    std::string bytes;
    for (auto &s : all[o]) {
      fill<<<(s.count + 255) / 256, 256>>>(o, s.start, s.step, s.count, d);
      std::vector<uint32_t> r(s.count);
      CHECK(cudaMemcpy(r.data(), d, 4ull * s.count, cudaMemcpyDeviceToHost));
      bytes.append((char *)&s, sizeof s);
      size_t at = bytes.size();
      bytes.resize(at + 4ull * s.count);
      uint32_t before = 0;
      for (uint32_t i = 0; i < s.count; i++) {
        int32_t diff = (int32_t)(r[i] - before);
        uint32_t z = (uint32_t)diff << 1 ^ (uint32_t)(diff >> 31);
        for (int k = 0; k < 4; k++) bytes[at + (size_t)k * s.count + i] = (char)(z >> 8 * k);
        before = r[i];
      }
    }
    std::string path = std::string(v[1]) + "/" + NAMES[o] + ".sfu";
    FILE *f = fopen(path.c_str(), "wb"); fwrite(bytes.data(), 1, bytes.size(), f); fclose(f);
    work.emplace_back([path] { if (system(("xz -6 -T1 " + path).c_str())) fprintf(stderr, "xz failed\n"); });
  }
  unsigned long long *count, bad[1024]; CHECK(cudaMalloc(&count, sizeof bad));
  for (int o = 0; o < OPS; o++) {
    CHECK(cudaMemset(count, 0, sizeof bad));
    law<<<4096, 256>>>(o, count);
    CHECK(cudaMemcpy(bad, count, sizeof bad, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1024; i++) if (bad[i]) printf("%s law %d sign %d exponent %d: %llu\n", NAMES[o], i >> 9, i >> 8 & 1, (i & 255) - 127, bad[i]);
  }
  uint32_t odd[] = {0, 0x80000000, 1, 0x807fffff, 0x007fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x7f7fffff, 0xff7fffff, 0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x43000000, 0xc3000000, 0xc2fc0000, 0xc3160000};
  for (int o = 0; o < OPS; o++) for (uint32_t b : odd) { fill<<<1, 1>>>(o, b, 1, 1, d); uint32_t r; CHECK(cudaMemcpy(&r, d, 4, cudaMemcpyDeviceToHost)); printf("special %s %08x %08x\n", NAMES[o], b, r); }
  for (auto &t : work) t.join();
}
