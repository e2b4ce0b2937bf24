// Most of what applications call, checked by itself: memory, symbols, streams, events, errors, launches.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>

#define OK(c) do { cudaError_t e_ = (c); if (e_ != cudaSuccess) { \
  printf("%d: %s gives %s\n", __LINE__, #c, cudaGetErrorName(e_)); return 1; } } while (0)
#define IS(c) do { if (!(c)) { printf("%d: not %s\n", __LINE__, #c); return 1; } } while (0)

__constant__ double table[4] = {1, 2, 3, 4};
__device__ int counter = 7;
static __device__ double scratch[8];

struct Pair { double a; int b; double *to; };

template <typename T> __global__ void axpy(int n, T a, const T *x, T *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void constants(double *out) { out[threadIdx.x] = table[threadIdx.x] * 10 + counter; }
__global__ void by_value(Pair p, double2 v) { p.to[0] = p.a + p.b + v.x * v.y; }
__global__ void count() { atomicAdd(&counter, 1); scratch[threadIdx.x & 7] = threadIdx.x; }
__global__ void reverse(double *x) {
  extern __shared__ double s[];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void says(int n) { if (threadIdx.x == 0) printf("device says %d\n", n); }
__global__ void rows(char *p, size_t pitch, int width) {
  double *row = (double *)(p + blockIdx.x * pitch);
  for (int i = 0; i < width; i++) row[i] = blockIdx.x * 100 + i;
}

static int called = 0;
static void CUDART_CB callback(cudaStream_t, cudaError_t, void *data) { called += *(int *)data; }
static void CUDART_CB host_function(void *data) { called += *(int *)data; }

int main() {
  // Devices.
  int devices = 0, device = -1, value = 0;
  OK(cudaGetDeviceCount(&devices));
  IS(devices == 1);
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  IS(device == 0);
  IS(cudaSetDevice(5) == cudaErrorInvalidDevice);
  IS(cudaGetLastError() == cudaErrorInvalidDevice);
  IS(cudaGetLastError() == cudaSuccess);
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  IS(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.major >= 6 && p.multiProcessorCount > 0);
  IS(strlen(p.name) > 0);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  IS(value == p.multiProcessorCount);
  int can = 1;
  OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  IS(can == 0);
  size_t free_bytes, all_bytes;
  OK(cudaMemGetInfo(&free_bytes, &all_bytes));
  IS(free_bytes > 0 && free_bytes <= all_bytes);
  // Launches, templates, structs by value.
  const int n = 1000;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++) { x[i] = i; y[i] = 1; }
  double *dx, *dy;
  OK(cudaMalloc(&dx, n * 8));
  OK(cudaMalloc(&dy, n * 8));
  OK(cudaMemcpy(dx, x.data(), n * 8, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(dy, y.data(), n * 8, cudaMemcpyDefault));
  axpy<<<(n + 255) / 256, 256>>>(n, 0.5, dx, dy);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(y.data(), dy, n * 8, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) IS(y[i] == 1 + 0.5 * i);
  int count_args = n;
  double a = 2;
  void *args[] = {&count_args, &a, &dx, &dy};
  OK(cudaLaunchKernel((const void *)axpy<double>, dim3(4), dim3(256), args, 0, 0));
  OK(cudaMemcpy(y.data(), dy, n * 8, cudaMemcpyDeviceToHost));
  IS(y[10] == 1 + 0.5 * 10 + 2 * 10);
  by_value<<<1, 1>>>(Pair{1.5, 2, dy}, make_double2(3, 4));
  OK(cudaMemcpy(&a, dy, 8, cudaMemcpyDeviceToHost));
  IS(a == 15.5);
  reverse<<<1, 256, 256 * sizeof(double)>>>(dx);
  OK(cudaMemcpy(x.data(), dx, n * 8, cudaMemcpyDeviceToHost));
  IS(x[0] == 255 && x[255] == 0 && x[256] == 256);
  says<<<1, 32>>>(42);
  OK(cudaDeviceSynchronize());
  // Symbols.
  double t[4];
  constants<<<1, 4>>>(dy);
  OK(cudaMemcpy(t, dy, 32, cudaMemcpyDeviceToHost));
  IS(t[0] == 17 && t[3] == 47);
  double more[2] = {50, 60};
  OK(cudaMemcpyToSymbol(table, more, 16, 16));
  count<<<2, 4>>>();
  constants<<<1, 4>>>(dy);
  OK(cudaMemcpy(t, dy, 32, cudaMemcpyDeviceToHost));
  IS(t[0] == 25 && t[2] == 515 && t[3] == 615);
  OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  IS(value == 15);
  double back[8];
  OK(cudaMemcpyFromSymbol(back, scratch, sizeof back));
  IS(back[3] == 3);
  void *address;
  size_t size;
  OK(cudaGetSymbolAddress(&address, table));
  OK(cudaGetSymbolSize(&size, table));
  IS(size == 32 && address != nullptr);
  IS(cudaMemcpyToSymbol(table, more, 16, 24) == cudaErrorInvalidValue);
  // Streams and events.
  cudaStream_t s1, s2;
  cudaEvent_t e1, e2;
  OK(cudaStreamCreate(&s1));
  OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaStream_t urgent;
  int lowest, highest, priority = 1;
  unsigned made_with = 7;
  OK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, highest - 3));
  OK(cudaStreamGetPriority(urgent, &priority));
  OK(cudaStreamGetFlags(urgent, &made_with));
  IS(priority == highest && made_with == cudaStreamNonBlocking);
  OK(cudaStreamDestroy(urgent));
  OK(cudaStreamGetPriority(s1, &priority));
  IS(priority == 0);
  OK(cudaEventCreate(&e1));
  OK(cudaEventCreateWithFlags(&e2, cudaEventDefault));
  OK(cudaEventRecord(e1, s1));
  OK(cudaMemsetAsync(dy, 0, n * 8, s1));
  axpy<<<4, 256, 0, s1>>>(n, 3.0, dx, dy);
  OK(cudaEventRecord(e2, s1));
  OK(cudaStreamWaitEvent(s2, e2, 0));
  OK(cudaMemcpyAsync(y.data(), dy, n * 8, cudaMemcpyDeviceToHost, s2));
  int one = 1;
  OK(cudaStreamAddCallback(s2, callback, &one, 0));
  OK(cudaLaunchHostFunc(s2, host_function, &one));
  OK(cudaStreamSynchronize(s2));
  IS(y[0] == 3 * x[0] && y[999] == 3 * x[999] && called == 2);
  OK(cudaEventSynchronize(e2));
  OK(cudaEventQuery(e2));
  OK(cudaStreamQuery(s1));
  float ms = -1;
  OK(cudaEventElapsedTime(&ms, e1, e2));
  IS(ms >= 0);
  OK(cudaEventDestroy(e1));
  OK(cudaEventDestroy(e2));
  OK(cudaStreamDestroy(s1));
  OK(cudaStreamDestroy(s2));
  // Pitched, 2D, 3D, managed, pinned.
  char *pitched;
  size_t pitch;
  OK(cudaMallocPitch((void **)&pitched, &pitch, 5 * 8, 3));
  IS(pitch >= 40);
  OK(cudaMemset2D(pitched, pitch, 0, 40, 3));
  rows<<<3, 1>>>(pitched, pitch, 5);
  double flat[15];
  OK(cudaMemcpy2D(flat, 40, pitched, pitch, 40, 3, cudaMemcpyDeviceToHost));
  IS(flat[0] == 0 && flat[5] == 100 && flat[14] == 204);
  cudaPitchedPtr box;
  OK(cudaMalloc3D(&box, make_cudaExtent(16, 2, 2)));
  OK(cudaMemset3D(box, 1, make_cudaExtent(16, 2, 2)));
  char bytes[64];
  cudaMemcpy3DParms parms = {0};
  parms.srcPtr = box;
  parms.dstPtr = make_cudaPitchedPtr(bytes, 16, 16, 2);
  parms.extent = make_cudaExtent(16, 2, 2);
  parms.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&parms));
  IS(bytes[0] == 1 && bytes[63] == 1);
  double *managed, *pinned, *mapped;
  OK(cudaMallocManaged(&managed, n * 8));
  OK(cudaMallocHost(&pinned, n * 8));
  OK(cudaHostGetDevicePointer((void **)&mapped, pinned, 0));
  for (int i = 0; i < n; i++) { managed[i] = 1; pinned[i] = i; }
  axpy<<<4, 256>>>(n, 1.0, mapped, managed);
  OK(cudaDeviceSynchronize());
  IS(managed[999] == 1000);
  cudaPointerAttributes pa;
  OK(cudaPointerGetAttributes(&pa, managed));
  IS(pa.type == cudaMemoryTypeManaged);
  OK(cudaPointerGetAttributes(&pa, dx));
  IS(pa.type == cudaMemoryTypeDevice);
  // Functions.
  cudaFuncAttributes fa;
  OK(cudaFuncGetAttributes(&fa, reverse));
  IS(fa.maxThreadsPerBlock >= 256);
  OK(cudaFuncSetCacheConfig(reverse, cudaFuncCachePreferShared));
  int blocks = 0, least = 0, threads = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy<double>, 256, 0));
  IS(blocks >= 1);
  OK(cudaOccupancyMaxPotentialBlockSize(&least, &threads, axpy<double>, 0, 0));
  IS(threads >= 32);
  // More shared memory than every kernel may have fits only after it was asked for.
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 60 * 1024));
  IS(blocks == 0);
  OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 60 * 1024));
  IS(blocks >= 1);
  // Errors.
  axpy<<<1, 2048>>>(n, 1.0, dx, dy);
  IS(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  IS(cudaGetLastError() == cudaErrorInvalidConfiguration);
  IS(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
  IS(cudaFree((void *)0x1234) == cudaErrorInvalidValue);
  IS(cudaMemcpy(dx, x.data(), n * 8 + 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  void *huge;
  IS(cudaMalloc(&huge, (size_t)1 << 60) == cudaErrorMemoryAllocation);
  cudaGetLastError();
  OK(cudaFree(0));
  OK(cudaFree(dx));
  OK(cudaFree(managed));
  OK(cudaFreeHost(pinned));
  // The driver API.
  CUdevice cu;
  CUdeviceptr cp;
  char name[64];
  IS(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&cu, 0) == CUDA_SUCCESS);
  IS(cuDeviceGetName(name, 64, cu) == CUDA_SUCCESS && !strcmp(name, p.name));
  IS(cuMemAlloc(&cp, 64) == CUDA_SUCCESS && cuMemsetD32(cp, 9, 16) == CUDA_SUCCESS);
  int words[16];
  IS(cuMemcpyDtoH(words, cp, 64) == CUDA_SUCCESS && words[15] == 9);
  IS(cuMemFree(cp) == CUDA_SUCCESS);
  OK(cudaDeviceReset());
  printf("PASS\n");
  return 0;
}
