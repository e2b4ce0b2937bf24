// What conversions of NaN, infinities and out-of-range values give, by format: the PTX manual leaves
// some of it open. Build: nvcc -arch=sm_90 convert.cu
#include <cstdint>
#include <cstdio>
__global__ void probe(const uint16_t *h, const float *f, const double *d, int n) {
  for (int i = 0; i < n; i++) {
    int s; unsigned u; long long l; unsigned long long q; short w; unsigned short x;
    asm volatile("cvt.rzi.s32.f16 %0,%1;" : "=r"(s) : "h"(h[i])); asm volatile("cvt.rzi.u32.f16 %0,%1;" : "=r"(u) : "h"(h[i]));
    asm volatile("cvt.rzi.s64.f16 %0,%1;" : "=l"(l) : "h"(h[i])); asm volatile("cvt.rzi.u64.f16 %0,%1;" : "=l"(q) : "h"(h[i]));
    asm volatile("cvt.rzi.s16.f16 %0,%1;" : "=h"(w) : "h"(h[i])); asm volatile("cvt.rzi.u16.f16 %0,%1;" : "=h"(x) : "h"(h[i]));
    printf("f16 %04x: s32 %08x u32 %08x s64 %016llx u64 %016llx s16 %04hx u16 %04hx\n", h[i], s, u, l, q, w, x);
    asm volatile("cvt.rzi.s32.f32 %0,%1;" : "=r"(s) : "f"(f[i])); asm volatile("cvt.rzi.u32.f32 %0,%1;" : "=r"(u) : "f"(f[i]));
    asm volatile("cvt.rzi.s64.f32 %0,%1;" : "=l"(l) : "f"(f[i])); asm volatile("cvt.rzi.u64.f32 %0,%1;" : "=l"(q) : "f"(f[i]));
    asm volatile("cvt.rzi.s16.f32 %0,%1;" : "=h"(w) : "f"(f[i])); asm volatile("cvt.rzi.u16.f32 %0,%1;" : "=h"(x) : "f"(f[i]));
    printf("f32 %g: s32 %08x u32 %08x s64 %016llx u64 %016llx s16 %04hx u16 %04hx\n", f[i], s, u, l, q, w, x);
    asm volatile("cvt.rzi.s32.f64 %0,%1;" : "=r"(s) : "d"(d[i])); asm volatile("cvt.rzi.u32.f64 %0,%1;" : "=r"(u) : "d"(d[i]));
    asm volatile("cvt.rzi.s16.f64 %0,%1;" : "=h"(w) : "d"(d[i])); asm volatile("cvt.rzi.u16.f64 %0,%1;" : "=h"(x) : "d"(d[i]));
    printf("f64 %g: s32 %08x u32 %08x s16 %04hx u16 %04hx\n", d[i], s, u, w, x);
  }
}
int main() {
  uint16_t h[] = {0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x7bff, 0xfbff, 0xb800};
  float f[] = {NAN, -NAN, INFINITY, -INFINITY, 1e9f, -1e9f, -0.5f};
  double d[] = {NAN, -NAN, INFINITY, -INFINITY, 1e9, -1e9, -0.5};
  void *p; cudaMalloc(&p, 4096); char *c = (char *)p;
  cudaMemcpy(c, h, sizeof h, cudaMemcpyHostToDevice); cudaMemcpy(c + 512, f, sizeof f, cudaMemcpyHostToDevice); cudaMemcpy(c + 1024, d, sizeof d, cudaMemcpyHostToDevice);
  probe<<<1, 1>>>((uint16_t *)c, (float *)(c + 512), (double *)(c + 1024), 7);
  return cudaDeviceSynchronize() != cudaSuccess;
}
