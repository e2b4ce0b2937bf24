// Atomic operations: every kind, type, scope and place.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// 160 threads update the same few words; what they leave does not depend on their order.
template <typename T>
__device__ void integer_updates(T* o, T t) {
    atomicAdd(o + 0, t);
    atomicMin(o + 2, (T)(t * 3 - 50));
    atomicMax(o + 3, (T)(t * 5 - 50));
    atomicAnd(o + 4, (T) ~((T)1 << (t % 29)));
    atomicOr(o + 5, (T)1 << (t % 31));
    atomicXor(o + 6, t * 17);
}
__global__ void ints(int* o) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    integer_updates(o, t);
    atomicSub(o + 1, t);
}
__global__ void unsigneds(unsigned* o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    integer_updates(o, t);
    atomicSub(o + 1, t);
    atomicInc(o + 7, 20u);
    atomicDec(o + 8, 13u);
}
__global__ void longs(unsigned long long* o) {
    unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x;
    integer_updates(o, t << 20);
    atomicOr(o + 7, 1ull << (t % 64));
}
__global__ void signed_longs(long long* o) {
    long long t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMin(o, -t * 10000000000ll);
    atomicMax(o + 1, t * 10000000000ll - 7);
}

// Sums of small integers, exact in any order.
__global__ void floats(float* f, double* d) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float sf;
    __shared__ double sd;
    if (threadIdx.x == 0) sf = 0, sd = 0;
    __syncthreads();
    atomicAdd(f, 0.5f * t);
    atomicAdd(d, 0.25 * t);
    atomicAdd(&sf, (float)t);
    atomicAdd(&sd, (double)-t);
    __syncthreads();
    if (threadIdx.x == 0) {
        f[1 + blockIdx.x] = sf;
        d[1 + blockIdx.x] = sd;
    }
}

// Shared memory, and the scopes of a block and of the system.
__global__ void scopes(int* out, unsigned* uout, unsigned long long* lout) {
    __shared__ int s[4];
    __shared__ unsigned u[4];
    int t = threadIdx.x;
    if (t < 4) s[t] = 100 * t, u[t] = 7;
    __syncthreads();
    atomicAdd_block(&s[0], t);
    atomicMax_block(&s[1], t * 9);
    atomicSub(&s[2], t);
    atomicXor(&s[3], 1 << (t % 20));
    atomicMin(&u[0], 100u - t);
    atomicInc(&u[1], 1000u);
    atomicDec(&u[2], 9u);
    atomicExch(&u[3], 77u);
    atomicAdd_system(out + 4, t);
    atomicMin_system(out + 5, -t);
    atomicOr_block(out + 6, 1 << (t % 10));
    atomicCAS_system(out + 7, 0, 42);
    atomicAdd_system(lout, 1ull << 33);
    atomicAnd_system(uout + 4, ~(1u << (t % 8)));
    // Above 2^31, where signed and unsigned order differ.
    atomicMax_block(uout + 5, 0x80000000u + t);
    atomicMin_system(uout + 6, 3u + t);
    atomicMax_system(lout + 1, 0x8000000000000000ull + t);
    __syncthreads();
    if (t < 4) out[t] = s[t], uout[t] = u[t];
}

// What each operation returns: one thread, so that the order is given.
__global__ void returns(int* v, int* out) {
    if (threadIdx.x != 0) return;
    out[0] = atomicAdd(v, 5);
    out[1] = atomicSub(v, 3);
    out[2] = atomicExch(v, 50);
    out[3] = atomicMin(v, 40);
    out[4] = atomicMax(v, 45);
    out[5] = atomicAnd(v, 0x2c);
    out[6] = atomicOr(v, 3);
    out[7] = atomicXor(v, 0xff);
    out[8] = atomicCAS(v, 0, 1);
    out[9] = atomicCAS(v, out[8], 9);
    out[10] = atomicInc((unsigned*)v, 9);
    out[11] = atomicInc((unsigned*)v, 9);
    out[12] = atomicDec((unsigned*)v, 3);
    out[13] = atomicDec((unsigned*)v, 3);
    out[14] = *v;
    float f = 1.5f;
    out[15] = __float_as_int(atomicExch((float*)(v + 1), f));
    out[16] = __float_as_int(atomicAdd((float*)(v + 1), 2.25f));
    out[17] = v[1];
    out[18] = (int)atomicExch((unsigned long long*)(v + 2), 0x123456789abcull);
    out[19] = (int)(atomicCAS((unsigned long long*)(v + 2), 0x123456789abcull, 3ull) >> 32);
    out[20] = v[2];
    out[21] = atomicCAS((unsigned short*)(v + 2), (unsigned short)3, (unsigned short)0x1234);
    out[22] = v[2];
}

// Half types: one thread an address, several additions.
__global__ void halves(__half* h, __nv_bfloat16* b, __half2* h2, __nv_bfloat162* b2) {
    int t = threadIdx.x;
    atomicAdd(&h[t], __float2half(0.1f * t));
    atomicAdd(&h[t], __float2half(0.3f));
    atomicAdd(&b[t], __float2bfloat16(0.1f * t));
    atomicAdd(&b[t], __float2bfloat16(0.3f));
    atomicAdd(&h2[t], __floats2half2_rn(1.0f * t, 0.1f));
    atomicAdd(&b2[t], __floats2bfloat162_rn(1.0f * t, 0.1f));
}

// The loops that people write where there is no such atomic.
__device__ double atomic_max_double(double* a, double v) {
    unsigned long long* p = (unsigned long long*)a;
    unsigned long long old = *p, seen;
    do {
        seen = old;
        if (__longlong_as_double(seen) >= v) break;
        old = atomicCAS(p, seen, __double_as_longlong(v));
    } while (seen != old);
    return __longlong_as_double(old);
}
__device__ void atomic_min_double(double* a, double v) {
    unsigned long long* p = (unsigned long long*)a;
    unsigned long long old = *p;
    while (v < __longlong_as_double(old)) {
        unsigned long long seen = atomicCAS(p, old, (unsigned long long)__double_as_longlong(v));
        if (seen == old) break;
        old = seen;
    }
}
__device__ void atomic_mul_float(float* a, float v) {
    int* p = (int*)a;
    int old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_int(__int_as_float(seen) * v));
    } while (old != seen);
}
__global__ void loops(const double* in, double* out, float* product) {
    __shared__ double most, least;
    int t = threadIdx.x;
    if (t == 0) most = -1e300, least = 1e300;
    __syncthreads();
    double v = in[blockIdx.x * blockDim.x + t];
    atomic_max_double(&most, v);
    atomic_min_double(&least, v);
    if (t < 20) atomic_mul_float(product, t % 2 ? 2.0f : 0.25f);
    __syncthreads();
    if (t == 0) {
        atomic_max_double(out, most);
        atomic_min_double(out + 1, least);
    }
}

// A lock that one thread of each block takes.
__device__ int mutex = 0;
__device__ int guarded[3];
__global__ void locked(int* out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&mutex, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        guarded[0] += 1;
        guarded[1] += blockIdx.x;
        if (guarded[0] == gridDim.x) out[0] = guarded[1];
        __threadfence();
        atomicExch(&mutex, 0);
    }
}

// Tickets: each slot is written once, whatever the order.
__global__ void tickets(const int* in, int* count, int* out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[t] % 5 == 0) out[atomicAdd(count, 1)] = in[t];
}

// The functions that nvcc knows without a header, with a scope and without.
__global__ void nvcc_names(int* ints, float* sum, unsigned long long* total) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int before = __nv_atomic_fetch_add(ints, t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_sub(ints + 1, t, __NV_ATOMIC_RELAXED);
    __nv_atomic_max(ints + 2, t, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_min(ints + 3, -t, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_or(ints + 4, 1 << t % 31, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    __nv_atomic_and(ints + 5, ~(1 << t % 29), __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_xor(ints + 6, 17 * t, __NV_ATOMIC_RELAXED);
    __nv_atomic_add(sum, 0.5f, __NV_ATOMIC_RELAXED);
    unsigned long long seen = __nv_atomic_load_n(total, __NV_ATOMIC_RELAXED);
    while (!__nv_atomic_compare_exchange_n(total, &seen, seen + t, true, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED)) {}
    __nv_atomic_store_n(ints + 8 + t, before - before + t, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    int mine = 5, theirs = 0;
    __nv_atomic_exchange(ints + 7, &mine, &theirs, __NV_ATOMIC_RELAXED);
}
