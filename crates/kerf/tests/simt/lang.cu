// The language: structs, calls, classes, templates, memory of the device.
#include <cassert>
#include <cstdio>

// Structs by value, with pointers, arrays and nesting in them.
struct Inner {
    short k;
    double w[3];
};
struct View {
    const int* in;
    int* out;
    int n;
    Inner inner;
    float scale;
};
__global__ void by_value(View v, char tag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= v.n) return;
    v.inner.w[i % 3] += i;   // the thread's own copy
    v.out[i] = v.in[i] * v.inner.k + (int)v.inner.w[i % 3] + (int)(v.scale * 4) + tag;
}

// Arrays of structs in memory, read and written whole and by field.
struct Particle {
    double x, y, z;
    int id;
    float m;
};
__global__ void particles(const Particle* in, Particle* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[n - 1 - i];
    p.x += p.y * p.z;
    p.id = 2 * p.id + 1;
    out[i] = p;
    out[i].m = p.m * 0.5f;
}
struct Big {
    int v[24];
};
__global__ void copy_big(const Big* in, Big* out) {
    int i = threadIdx.x;
    Big b = in[i];
    b.v[i] = -1;
    out[i] = b;
}

// A local array with an index known only at run time, in a kernel without barriers.
__global__ void local_array(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a[16];
    for (int k = 0; k < 16; k++) a[k] = in[(i + k) % n];
    for (int k = 0; k < 16; k++) a[(a[k] & 15)] += k;
    int s = 0;
    for (int k = 0; k < 16; k++) s = s * 3 + a[(k * 5 + i) & 15];
    out[i] = s;
}
// The array is written and read at one index each: no loop inside.
__global__ void local_pick(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a[8];
    for (int k = 0; k < 8; k++) a[k] = k;
    a[in[i] & 7] = 100 + i;
    out[i] = a[i & 7];
}
// Insertion sort of a local array, one per thread.
__global__ void local_sort(const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a[9];
    for (int k = 0; k < 9; k++) {
        int v = in[i + k * 7], j = k;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
    out[i] = a[4];
}

// Calls: not inlined, recursive, through pointers, through a table, virtual.
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ void split(int x, int* q, int* r) {
    *q = x / 7;
    *r = x % 7;
}
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n == 0 ? false : even(n - 1); }
typedef int (*Op)(int, int);
__device__ int op_add(int a, int b) { return a + b; }
__device__ int op_mul(int a, int b) { return a * b; }
__device__ int op_lane(int a, int b) { return a - b + (int)threadIdx.x; }
__device__ Op table[3] = {op_add, op_mul, op_lane};
__global__ void calls(const int* in, int* out) {
    int t = threadIdx.x, v = in[t], q, r;
    int* o = out + 8 * t;
    o[0] = twice(v) + twice(t);
    split(v, &q, &r);
    o[1] = 100 * q + r;
    o[2] = ackermann(2, t % 5);
    o[3] = fib(t % 13);
    o[4] = 2 * even(t) + odd(v < 0 ? -v : v);
    Op f = t % 2 ? op_add : op_mul;
    o[5] = f(v, t);
    o[6] = table[t % 3](v, 4);
    switch (v & 7) {
        case 0: o[7] = 11; break;
        case 1: o[7] = 22;
        case 2: o[7] = v; break;
        case 5: o[7] = -5; break;
        default: o[7] = v * v;
    }
}

struct Shape {
    int id;
    __device__ Shape(int i) : id(i) {}
    __device__ virtual double area() const = 0;
    __device__ virtual int sides() const { return 0; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    double a;
    __device__ Square(double a) : Shape(1), a(a) {}
    __device__ double area() const override { return a * a; }
    __device__ int sides() const override { return 4; }
};
struct Disc : Shape {
    double r;
    __device__ Disc(double r) : Shape(2), r(r) {}
    __device__ double area() const override { return 3.0 * r * r; }
};
__global__ void virtuals(double* out) {
    int t = threadIdx.x;
    Square s(t);
    Disc d(t + 0.5);
    Shape* p = t % 3 ? (Shape*)&s : (Shape*)&d;
    out[t] = p->area() + 1000 * p->sides() + 10000 * p->id;
}
__global__ void on_heap(double* out) {
    int t = threadIdx.x;
    Shape* p;
    if (t & 1) p = new Square(t); else p = new Disc(t);
    int* a = (int*)malloc(sizeof(int) * (t + 1));
    for (int k = 0; k <= t; k++) a[k] = k * k;
    int s = 0;
    for (int k = t; k >= 0; k--) s += a[k];
    double* q = new double[t + 2];
    q[t + 1] = p->area();
    out[t] = q[t + 1] + s;
    delete p;
    free(a);
    delete[] q;
}

// Barriers behind pointers to functions.
__device__ int shift_left(int* s, int t, int n) {
    __syncthreads();
    int v = s[(t + 1) % n];
    __syncthreads();
    return v;
}
__device__ int shift_right(int* s, int t, int n) {
    __syncthreads();
    int v = s[(t + n - 1) % n];
    __syncthreads();
    return v;
}
typedef int (*Exchange)(int*, int, int);
__device__ Exchange exchanges[2] = {shift_left, shift_right};
__global__ void barrier_by_pointer(int* out, int which) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    out[threadIdx.x] = exchanges[which](s, threadIdx.x, blockDim.x);
}

// Templates and lambdas.
template <typename T, int N>
__device__ T power(T x) {
    T r = 1;
#pragma unroll
    for (int k = 0; k < N; k++) r *= x;
    return r;
}
template <typename T, int N>
__global__ void powers(const T* __restrict__ in, T* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = power<T, N>(in[i]);
}
template __global__ void powers<int, 3>(const int*, int*, int);
template __global__ void powers<double, 2>(const double*, double*, int);
template <typename F>
__device__ void for_each(int n, F f) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) f(i);
}
__global__ void lambdas(const int* in, int* out, int n) {
    int base = in[0];
    for_each(n, [=](int i) { out[i] = in[i] - base; });
    int sum = 0;
    auto add = [&sum](int x) { sum += x; };
    for (int k = 0; k < 10; k++) add(in[threadIdx.x + k]);
    out[n + threadIdx.x] = sum;
}

// Variables of the device: constants that the host sets, counters that kernels leave for the next.
struct Params {
    float a;
    int k[4];
};
__constant__ double coefficients[4];
__constant__ Params params;
__constant__ int fixed[5] = {2, 3, 5, 7, 11};
__device__ int state[32];
__device__ int counter = 40;
__device__ const float weights[3] = {0.5f, 0.25f, 0.125f};
namespace deep { __device__ long long total = 1ll << 40; }
__global__ void use_constants(double* out) {
    int t = threadIdx.x;
    double x = t * 0.5;
    double p = 0;
    for (int k = 3; k >= 0; k--) p = p * x + coefficients[k];
    out[t] = p + params.a * params.k[t & 3] + fixed[t % 5] + weights[t % 3];
}
__global__ void advance(int* out) {
    int t = threadIdx.x;
    state[t] = state[t] * 2 + t;
    atomicAdd(&counter, 1);
    if (t == 0) deep::total += 3;
    out[t] = 0;
}
__global__ void observe(int* out, long long* total) {
    out[threadIdx.x] = state[31 - threadIdx.x] + counter;
    if (threadIdx.x == 0) *total = deep::total;
}

// Memory through other means: __ldg, volatile, memcpy, memset, vectors, unaligned bytes, unions.
__global__ void memory(const int* __restrict__ in, volatile int* out, unsigned char* bytes) {
    int t = threadIdx.x;
    int a[4];
    memcpy(a, in + 4 * t, sizeof a);
    int4 v = __ldg((const int4*)in + t);
    out[2 * t] = a[0] + a[3] * 10 + __ldg(in + t) * 100;
    out[2 * t] = out[2 * t] + v.y - v.z;
    memset(bytes + 20 * t, 0x11 * (t & 7), 20);
    memcpy(bytes + 20 * t + 3, &v, 9);
    union { float f; unsigned u; unsigned char c[4]; } u;
    u.f = 1.0f + t;
    out[2 * t + 1] = u.u ^ u.c[3];
}
__global__ void vectors(const float4* in, float3* f3, double2* d2, uchar4* c4, short2* s2, float* sum) {
    int t = threadIdx.x;
    float4 v = in[t];
    float3 a = make_float3(v.x, v.z, v.w);
    f3[t] = make_float3(a.z, a.y + 1, a.x);
    d2[t] = make_double2(v.x * 2.0, -v.y);
    c4[t] = make_uchar4(t, 255 - t, t * 3, 7);
    short2 s = {(short)-t, (short)(t * 100)};
    s2[t] = s;
    float2 w = {v.x, v.y};
    sum[t] = w.x + w.y * 16;
}

// What a thread prints, in order.
__global__ void prints(int n) {
    int t = threadIdx.x;
    if (t == 0) printf("hello from block %d of %u\n", blockIdx.x, gridDim.x);
    if (t == 1) {
        printf("%d %5d|%-5d|%05d|%+d %i\n", -7, 42, 42, 42, 42, n);
        printf("%u %x %X %#x %o %c%c %%\n", 4000000000u, 255, 255, 255, 8, 'o', 'k');
        printf("%lld %llu %llx %ld %hd\n", -5000000000ll, 18446744073709551615ull, 1ull << 40, -3l, (short)-2);
        printf("%f %.3f %10.2f|%-10.1f|%e %.2E %g %g\n", 1.5, 3.14159, 2.5f, -0.25, 12345.678, 0.00012, 0.0001, 1e20);
        printf("[%s] [%8s] [%-6s] [%.2s] %*d\n", "text", "right", "left", "cut", 6, 13);
        printf("%f %f %f\n", 1.0 / 0.0 * n, -1.0 / 0.0 * n, 0.0);
    }
}
__global__ void prints_a_line() {
    if (threadIdx.x == blockIdx.x) printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}
