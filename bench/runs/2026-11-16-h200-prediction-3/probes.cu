// Clocks of a multiprocessor for one instruction of a warp, with all of its warps at it; and gaps between launches.
#include <cstdio>
#include <cuda_fp16.h>
#define N 256
#define WARPS 32
__shared__ __align__(16) unsigned char space[48 * 1024 - 16];
template <class T> __device__ T ld(unsigned a) { return *(volatile T *)(space + a); }
__device__ __forceinline__ void l32(unsigned a, unsigned &r) { asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r) : "r"(a)); }
__device__ __forceinline__ void l64(unsigned a, unsigned &r) { unsigned s; asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(r), "=r"(s) : "r"(a)); r ^= s; }
__device__ __forceinline__ void l128(unsigned a, unsigned &r) { unsigned s, t, u; asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(s), "=r"(t), "=r"(u) : "r"(a)); r ^= s ^ t ^ u; }
__device__ __forceinline__ void s32(unsigned a, unsigned r) { asm volatile("st.shared.b32 [%0], %1;" :: "r"(a), "r"(r)); }
__device__ __forceinline__ void s64(unsigned a, unsigned r) { asm volatile("st.shared.v2.b32 [%0], {%1, %1};" :: "r"(a), "r"(r)); }
// kind: 0..2 loads of 4, 8, 16 bytes; 3, 4 stores of 4, 8; pattern: address of a lane
__device__ unsigned place(int pattern, int size, int lane)
{
    switch (pattern) {
    case 0: return lane * size;                       // side by side
    case 1: return 0;                                 // one for all
    case 2: return (lane % 16) * size;                // halves alike
    case 3: return (lane / 16) * 16 * size;           // one for each half, 16 elements apart
    case 4: return (lane / 16) * 128 + (lane % 16) * 0; // one for each half, a line apart
    case 5: return lane * 2 * size;                   // every second
    case 6: return (lane % 8) * size;                 // quarters alike
    default: return (lane / 8) * 8 * 16;              // one for each quarter, a line apart
    }
}
template <int K> __global__ void lds(int pattern, int size, long long *clocks, unsigned *sink)
{
    unsigned a = (unsigned)__cvta_generic_to_shared(space) + place(pattern, size, threadIdx.x % 32);
    unsigned sum = 0, r = threadIdx.x;
    __syncthreads();
    long long t0 = clock64();
    for (int i = 0; i < N; i += 16) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            if (K == 0) { l32(a, r); sum ^= r; }
            if (K == 1) { l64(a, r); sum ^= r; }
            if (K == 2) { l128(a, r); sum ^= r; }
            if (K == 3) s32(a, r);
            if (K == 4) s64(a, r);
        }
    }
    __syncthreads();
    long long t1 = clock64();
    if (threadIdx.x == 0) *clocks = t1 - t0;
    if (sum == 12345) *sink = sum;
}
// Mixes of arithmetic: a of one and b of another in a round of independent chains.
#define CHAINS 4
template <int M> __global__ void mix(float f, double d, int n, long long *clocks, unsigned *sink)
{
    float x[CHAINS]; double y[CHAINS]; __half2 h[CHAINS]; int v[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) { x[k] = f + k + threadIdx.x; y[k] = d + k + threadIdx.x; h[k] = __float2half2_rn(f + k); v[k] = n + k + threadIdx.x; }
    const __half2 hf = __float2half2_rn(f);
    __syncthreads();
    long long t0 = clock64();
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) {
            if (M == 0 || M == 3 || M == 4 || M == 6 || M == 8) x[k] = fmaf(x[k], f, f);
            if (M == 1 || M == 3 || M == 5 || M == 7) asm volatile("fma.rn.f16 %0, %0, %1, %1;" : "+h"(*(unsigned short *)&h[k]) : "h"(*(const unsigned short *)&hf));
            if (M == 2 || M == 4 || M == 5) asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(v[k]) : "r"(n));
            if (M == 6 || M == 7 || M == 9) y[k] = fma(y[k], d, d);
            if (M == 8) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(v[k]) : "r"(n));
            if (M == 10) asm volatile("{ .reg .b16 t; cvt.rn.f16.f32 t, %0; cvt.f32.f16 %0, t; }" : "+f"(x[k]));
            if (M == 11) asm volatile("{ .reg .f32 t; cvt.rn.f32.f64 t, %0; cvt.f64.f32 %0, t; }" : "+d"(y[k]));
            if (M == 12) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[k])); asm volatile("{ .reg .f32 t; cvt.rn.f32.f64 t, %0; cvt.f64.f32 %0, t; }" : "+d"(y[k])); }
        }
    }
    __syncthreads();
    long long t1 = clock64();
    if (threadIdx.x == 0) *clocks = t1 - t0;
    float s = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) s += x[k] + (float)y[k] + __low2float(h[k]) + v[k];
    if (s == 12345.f) *sink = 1;
}
__global__ void tiny(unsigned *sink) { if (threadIdx.x == 99) *sink = 1; }
// Every thread reads some values and then computes: how the two overlap.
template <int W> __global__ void stream(const double *in, double *out, int work)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    double x = in[i], y = in[i + (size_t)gridDim.x * blockDim.x];
    for (int k = 0; k < work; ++k) { x = fma(x, y, 0.5); }
    out[i] = x;
}
int main()
{
    long long *c; unsigned *s; cudaMallocManaged(&c, 8); cudaMalloc(&s, 4);
    const char *kinds[] = {"lds.32", "lds.64", "lds.128", "sts.32", "sts.64"};
    const int sizes[] = {4, 8, 16, 4, 8};
    for (int k = 0; k < 5; ++k)
        for (int p = 0; p < 8; ++p) {
            for (int again = 0; again < 2; ++again) {
                if (k == 0) lds<0><<<1, 1024>>>(p, sizes[k], c, s);
                if (k == 1) lds<1><<<1, 1024>>>(p, sizes[k], c, s);
                if (k == 2) lds<2><<<1, 1024>>>(p, sizes[k], c, s);
                if (k == 3) lds<3><<<1, 1024>>>(p, sizes[k], c, s);
                if (k == 4) lds<4><<<1, 1024>>>(p, sizes[k], c, s);
                cudaDeviceSynchronize();
            }
            printf("%s pattern %d: %.2f clocks\n", kinds[k], p, *c / double(N * WARPS));
        }
    const char *mixes[] = {"ffma", "hfma(f16)", "imad", "ffma+hfma", "ffma+imad", "hfma+imad", "ffma+dfma", "hfma+dfma", "ffma+lop3", "dfma", "f32>f16>f32", "f64>f32>f64", "ex2 + f64>f32>f64"};
#define MIX(M) { for (int w = 256; w <= 1024; w *= 2) { for (int again = 0; again < 2; ++again) { mix<M><<<1, w>>>(0.5f, 0.5, 3, c, s); cudaDeviceSynchronize(); } printf("%s, %d warps a scheduler: %.2f clocks a round and warp\n", mixes[M], w / 128, *c / double(N * CHAINS * (w / 128))); } }
    MIX(0) MIX(1) MIX(2) MIX(3) MIX(4) MIX(5) MIX(6) MIX(7) MIX(8) MIX(9) MIX(10) MIX(11) MIX(12)
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
    for (int n : {0, 1, 2, 4, 8, 16, 64, 256}) {
        float best = 1e9, sum = 0;
        for (int r = 0; r < 20; ++r) {
            cudaDeviceSynchronize();
            cudaEventRecord(a);
            for (int k = 0; k < n; ++k) tiny<<<1, 32>>>(s);
            cudaEventRecord(b); cudaEventSynchronize(b);
            float ms; cudaEventElapsedTime(&ms, a, b);
            best = ms < best ? ms : best; sum += ms;
        }
        printf("%d launches: %.2f us at best, %.2f in the mean\n", n, 1e3 * best, 1e3 * sum / 20);
    }
    const size_t n = 1 << 25; double *in, *out; cudaMalloc(&in, 2 * n * 8); cudaMalloc(&out, n * 8);
    cudaMemset(in, 0, 2 * n * 8);
    for (int work : {0, 8, 16, 32, 48, 64, 80, 96, 128, 192, 256, 512}) {
        float best = 1e9;
        for (int r = 0; r < 6; ++r) {
            cudaEventRecord(a); stream<0><<<n / 256, 256>>>(in, out, work); cudaEventRecord(b); cudaEventSynchronize(b);
            float ms; cudaEventElapsedTime(&ms, a, b); best = ms < best ? ms : best;
        }
        printf("stream of 768 MiB with %d dfma: %.1f us\n", work, 1e3 * best);
    }
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
