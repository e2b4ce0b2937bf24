// What L2 takes for stores of parts of sectors, and what a launch takes in a graph.
#include <cstdio>
#include <functional>
#include <algorithm>
#include <vector>
#define ST4(p, v) asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory")
#define ST8(p, v) asm volatile("st.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory")
__global__ void whole4(float *o, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 4; ++k) ST4(o + i + k * 1048576, v); }
__global__ void whole8(double *o, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 2; ++k) ST8(o + i + k * 1048576, v); }
__global__ void fields4(float *o, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 4; ++k) ST4(o + 4 * i + k, v); }
__global__ void two4(float *o, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 2; ++k) ST4(o + 2 * i + k, v); }
__global__ void one4(float *o, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; ST4(o + 4 * i, v); }
__global__ void fields8(double *o, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 4; ++k) ST8(o + 4 * i + k, v); }
__global__ void fields8b(double *o, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < 2; ++k) ST8(o + 2 * i + k, v); }
__global__ void one8(double *o, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; ST8(o + 4 * i, v); }
// Columns: threads of a warp are rows of 1024 numbers apart.
__global__ void column4(float *o, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; ST4(o + (i % 1024) * 1024 + i / 1024, v); }
__global__ void column8(double *o, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; ST8(o + (i % 1024) * 1024 + i / 1024, v); }
__global__ void nothing(float *) {}
__global__ void some(float *o) { o[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void meet(float *o) { __shared__ float s[128]; s[threadIdx.x] = o[blockIdx.x * 128 + threadIdx.x]; __syncthreads(); o[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x]; }
// N products that each wait for the one eight before, as straight code or as rounds of 64.
template <int N, int R> __global__ void straight(float *o) {
    float x[8]; const float a = o[threadIdx.x];
    for (int k = 0; k < 8; ++k) x[k] = a + k;
    #pragma unroll 1
    for (int r = 0; r < R; ++r) {
        #pragma unroll
        for (int n = 0; n < N / 8; ++n)
            for (int k = 0; k < 8; ++k) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k]) : "f"(a));
    }
    float s = 0; for (int k = 0; k < 8; ++k) s += x[k];
    if (s == 12345.0f) o[0] = s;
}
float *buffer;
void time(const char *what, int each, std::function<void(cudaStream_t)> f) {
    cudaStream_t s; cudaStreamCreate(&s);
    cudaGraph_t g; cudaGraphExec_t x;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int k = 0; k < each; ++k) f(s);
    cudaStreamEndCapture(s, &g); cudaGraphInstantiate(&x, g, 0);
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
    std::vector<float> all;
    for (int k = 0; k < 15; ++k) {
        cudaEventRecord(a, s); cudaGraphLaunch(x, s); cudaGraphLaunch(x, s); cudaEventRecord(b, s); cudaEventSynchronize(b);
        float ms; cudaEventElapsedTime(&ms, a, b); all.push_back(ms * 1e3 / each / 2);
    }
    std::sort(all.begin(), all.end());
    printf("%-28s %8.3f us a launch (%d launches a graph)\n", what, all[7], each); fflush(stdout);
}
int main() {
    cudaMalloc(&buffer, 64 << 20); cudaMemset(buffer, 0, 64 << 20);
    double *d = (double *)buffer; const int B = 4096, T = 256;
#define K(k, p) time(#k, 100, [&](cudaStream_t s) { k<<<B, T, 0, s>>>(p, 1); })
    K(whole4, buffer); K(whole4, buffer); K(whole8, d); K(fields4, buffer); K(two4, buffer); K(one4, buffer); K(fields8, d); K(fields8b, d); K(one8, d); K(column4, buffer); K(column8, d);
    for (int blocks : {1, 132, 528}) for (int threads : {32, 128}) {
        char n[64];
#define S(N, R) sprintf(n, "straight %d x %d, %d, %d", N, R, blocks, threads); time(n, 100, [&](cudaStream_t s) { straight<N, R><<<blocks, threads, 0, s>>>(buffer); })
        S(64, 1); S(256, 1); S(64, 4); S(512, 1); S(64, 8); S(1024, 1); S(64, 16); S(2048, 1); S(64, 32); S(4096, 1); S(64, 64); S(8192, 1); S(64, 128);
    }
    for (int blocks : {1, 8, 132, 528, 2112, 8448}) {
        char n[64];
        sprintf(n, "nothing %d", blocks); time(n, 200, [&](cudaStream_t s) { nothing<<<blocks, 128, 0, s>>>(buffer); });
        sprintf(n, "some %d", blocks); time(n, 200, [&](cudaStream_t s) { some<<<blocks, 128, 0, s>>>(buffer); });
        sprintf(n, "meet %d", blocks); time(n, 200, [&](cudaStream_t s) { meet<<<blocks, 128, 0, s>>>(buffer); });
    }
    for (int each : {1, 2, 4, 16, 64}) { char n[64]; sprintf(n, "nothing 1, %d", each); time(n, each, [&](cudaStream_t s) { nothing<<<1, 128, 0, s>>>(buffer); }); }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
