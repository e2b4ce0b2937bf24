// Clocks of barriers by block size, and of constants that are indexed by a uniform register.
#include <cstdio>
#include <cuda_runtime.h>
__constant__ double tab[4096];
__global__ void uld(double *o, long long *clk, int n, int rounds)
{
    double a = threadIdx.x, b = 1;
    __syncthreads();
    long long t0 = clock64();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r)
#pragma unroll 1
        for (int i = 0; i < n; i += 2) { a = a * tab[i] + b; b = b * tab[i + 1] + a; }
    long long t1 = clock64();
    o[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
    if (threadIdx.x == 0 && blockIdx.x == 0) *clk = t1 - t0;
}
template <int WORK>
__global__ void bar(int *o, long long *clk, int n, int u)
{
    int a = threadIdx.x;
    __syncthreads();
    long long t0 = clock64();
#pragma unroll 1
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int k = 0; k < WORK; ++k) asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(a) : "r"(u));
        __syncthreads();
    }
    long long t1 = clock64();
    o[blockIdx.x * blockDim.x + threadIdx.x] = a;
    if (threadIdx.x == 0 && blockIdx.x == 0) *clk = t1 - t0;
}
// shared load, dependent chain, then barrier: a step of an elimination
__global__ void sharedbar(double *o, long long *clk, int n)
{
    __shared__ double s[1024];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    long long t0 = clock64();
#pragma unroll 1
    for (int r = 0; r < n; ++r) {
        double x = s[threadIdx.x] - s[r & 15] * 0.5;
        __syncthreads();
        s[threadIdx.x] = x;
        __syncthreads();
    }
    long long t1 = clock64();
    o[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
    if (threadIdx.x == 0 && blockIdx.x == 0) *clk = t1 - t0;
}
template <int W> void bars(int *q, long long *c, int block, int each, int sms)
{
    long long t;
    for (int k = 0; k < 2; ++k) bar<W><<<sms * each, block>>>(q, c, 1000, 3);
    cudaMemcpy(&t, c, 8, cudaMemcpyDeviceToHost);
    printf("barrier, block %4d, %2d blocks a multiprocessor, %2d IMAD in a chain: %7.1f clocks a round\n", block, each, W, t / 1000.0);
}
int main()
{
    double *o; long long *c, t; int *q = 0; int sms;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaMalloc(&o, 8 << 20); cudaMalloc(&c, 8); cudaMalloc(&q, 8 << 20);
    int sizes[] = {64, 128, 256, 512, 1024, 2048, 4096}, warps[] = {4, 16, 48};
    for (int n : sizes)
        for (int w : warps) {
            for (int k = 0; k < 2; ++k) uld<<<sms * (w / 4), 128>>>(o, c, n, 20);
            cudaMemcpy(&t, c, 8, cudaMemcpyDeviceToHost);
            printf("indexed constants, %6d bytes, %2d warps a multiprocessor: %7.2f clocks a warp's load\n", 8 * n, w, t / 20.0 / n);
        }
    int blocks[] = {32, 64, 128, 256, 512, 1024};
    for (int b : blocks)
        for (int each = 1; each * b <= 2048 && each <= 32; each *= 4) {
            bars<0>(q, c, b, each, sms); bars<16>(q, c, b, each, sms);
            for (int k = 0; k < 2; ++k) sharedbar<<<sms * each, b>>>(o, c, 1000);
            cudaMemcpy(&t, c, 8, cudaMemcpyDeviceToHost);
            printf("shared load, barrier, store, barrier, block %4d, %2d blocks: %7.1f clocks a round\n", b, each, t / 1000.0);
        }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
