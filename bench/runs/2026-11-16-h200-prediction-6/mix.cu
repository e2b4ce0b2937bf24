// Clocks of a scheduler for mixes of instructions, 8 warps on each: what an f64 or conversion takes of its slots.
#include <cstdio>
#include <cuda_runtime.h>
#define R 512
template <int MODE>
__global__ void k(double *o, float *p, int *q, long long *clk, double d0, float f0, int n0)
{
    double a[8], b = d0 + threadIdx.x, c = d0 * 3;
    float f[16], g = f0 + threadIdx.x, h = f0 * 3;
    int i[16], u = n0 + threadIdx.x;
    for (int k = 0; k < 8; ++k) a[k] = d0 + k;
    for (int k = 0; k < 16; ++k) { f[k] = f0 + k; i[k] = n0 + k; }
    __syncthreads();
    long long t0 = clock64();
#pragma unroll 1
    for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (MODE == 0) asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c));
            if (MODE == 1) { asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); }
            if (MODE == 2) { asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k + 8]) : "f"(g), "f"(h)); }
            if (MODE == 3) { asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(a[k]) : "d"(b)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k + 8]) : "f"(g), "f"(h)); }
            if (MODE == 4) { asm volatile("mul.rn.f64 %0, %0, %1;" : "+d"(a[k]) : "d"(b)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k + 8]) : "f"(g), "f"(h)); }
            if (MODE == 5) { asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("add.s32 %0, %0, %1;" : "+r"(i[k]) : "r"(u)); }
            if (MODE == 6) { asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k + 8]) : "f"(g), "f"(h)); }
            if (MODE == 7) { double w; asm volatile("cvt.f64.f32 %0, %1;" : "=d"(w) : "f"(f[k])); asm volatile("cvt.rn.f32.f64 %0, %1;" : "=f"(f[k]) : "d"(w)); }
            if (MODE == 8) { double w; asm volatile("cvt.f64.f32 %0, %1;" : "=d"(w) : "f"(f[k])); asm volatile("cvt.rn.f32.f64 %0, %1;" : "=f"(f[k]) : "d"(w)); asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a[k]) : "d"(b), "d"(c)); }
            if (MODE == 9) asm volatile("{.reg .pred p; setp.lt.s32 p, %2, 0; @p fma.rn.f64 %0, %0, %1, %1;}" : "+d"(a[k]) : "d"(b), "r"(u));
            if (MODE == 10) asm volatile("{.reg .pred p; .reg .f64 w; setp.lt.s32 p, %1, 0; @p cvt.f64.f32 w, %0; @p cvt.rn.f32.f64 %0, w;}" : "+f"(f[k]) : "r"(u));
            if (MODE == 11) { asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(a[k])); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k]) : "f"(g), "f"(h)); asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[k + 8]) : "f"(g), "f"(h)); }
        }
    }
    long long t1 = clock64();
    double s = 0; float v = 0; int w = 0;
    for (int k = 0; k < 8; ++k) s += a[k];
    for (int k = 0; k < 16; ++k) { v += f[k]; w += i[k]; }
    o[blockIdx.x * blockDim.x + threadIdx.x] = s; p[threadIdx.x] = v; q[threadIdx.x] = w;
    if (threadIdx.x == 0) *clk = t1 - t0;
}
template <int M> void go(const char *name, double *o, float *p, int *q, long long *c)
{
    long long h;
    for (int t = 0; t < 3; ++t) { k<M><<<1, 1024>>>(o, p, q, c, 1.0 + 1e-9, 1.0f, -0); cudaDeviceSynchronize(); }
    cudaMemcpy(&h, c, 8, cudaMemcpyDeviceToHost);
    printf("%-44s %.2f clocks of a scheduler for each of its warps' groups\n", name, double(h) / R / 8 / 8);
}
int main()
{
    double *o; float *p; int *q; long long *c;
    cudaMalloc(&o, 8192); cudaMalloc(&p, 4096); cudaMalloc(&q, 4096); cudaMalloc(&c, 8);
    go<0>("DFMA", o, p, q, c); go<1>("DFMA FFMA", o, p, q, c); go<2>("DFMA FFMA FFMA", o, p, q, c); go<3>("DADD FFMA FFMA", o, p, q, c); go<4>("DMUL FFMA FFMA", o, p, q, c);
    go<5>("DFMA IADD", o, p, q, c); go<6>("FFMA FFMA", o, p, q, c); go<7>("F2F.F64.F32 F2F.F32.F64", o, p, q, c); go<8>("the same, 4 DFMA", o, p, q, c); go<9>("DFMA whose predicate is false", o, p, q, c);
    go<10>("F2F both ways, predicate false", o, p, q, c); go<11>("DFMA of one register, FFMA FFMA", o, p, q, c);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
