// What the language allows, in styles that look suspicious.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// RUN byte_neighbours<<<2, 64>>>(bytes, bout)
__global__ void byte_neighbours(const unsigned char* bytes, unsigned char* bout) {
    __shared__ unsigned char s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = bytes[i] ^ 0x5a;
    __syncthreads();
    bout[i] = s[t ^ 1];
}

// RUN bit_fields<<<2, 64>>>(iin, iout)
struct Packed {
    unsigned kind : 3;
    unsigned count : 10;
    int weight : 12;
};
__global__ void bit_fields(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Packed p;
    p.kind = i & 7;
    p.count = iin[i];
    p.weight = -i;
    p.count += 1;
    iout[i] = p.kind + p.count * 8 + p.weight;
    if (p.count > 100) iout[i] += p.kind;
}

// RUN unions<<<2, 64>>>(in, iout)
union Word {
    float f;
    unsigned u;
    unsigned char bytes[4];
};
__global__ void unions(const float* in, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Word w;
    w.f = in[i];
    w.bytes[0] = w.bytes[3];
    unsigned exponent = w.u >> 23;
    float back;
    memcpy(&back, &w, sizeof back);
    iout[i] = (int)exponent + (back > 1.5f ? 1 : 0) + w.bytes[i & 3];
}

// RUN padding_copied<<<2, 64>>>(in, out)
struct Padded {
    char tag;
    double value;
    short rest;
};
__global__ void padding_copied(const float* in, float* out) {
    __shared__ Padded s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    Padded p;
    p.tag = t & 15;
    p.value = in[i];
    p.rest = t;
    s[t] = p;
    __syncthreads();
    Padded q[2];
    q[0] = s[63 - t];
    memcpy(&q[1], &s[t], sizeof(Padded));
    out[i] = (float)(q[0].value + q[1].value) + q[0].tag + q[1].rest;
}

// RUN cleared_by_memset<<<2, 64>>>(in, out)
__global__ void cleared_by_memset(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    memset(w, 0, sizeof w);
    w[i & 7] = in[i];
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) sum += w[k] * (k + 1);
    out[i] = sum;
}

// RUN partly_used<<<2, 64>>>(in, out)
__global__ void partly_used(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // Elements that are not set are copied, selected away and never used.
    float w[8], copy[8];
    int used = 1 + (i & 3);
    for (int k = 0; k < used; k++) w[k] = in[(i + k) & 255];
    for (int k = 0; k < 8; k++) copy[k] = w[k];
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) sum += k < used ? copy[k] : 0.0f;
    out[i] = sum;
}

// RUN loaded_too_early<<<4, 64>>>(in, out, n)
__global__ void loaded_too_early(const float* in, float* out, int n) {
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t + 1] = in[i];
    __syncthreads();
    // The ends were never written; what is read there is not used.
    float left = s[t], right = s[t + 2];
    bool inside = t > 0 && t < 63;
    out[i] = inside ? 0.5f * (left + right) : in[i];
}

// RUN unsigned_hash<<<4, 64>>>(iin, in, out, n)
__global__ void unsigned_hash(const int* iin, const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = iin[i] + 2166136261u;
    for (int k = 0; k < 4; k++) {
        h *= 16777619u;
        h ^= h >> 15;
        h -= 0x9e3779b9u;
    }
    out[i] = in[h % (unsigned)n];
}

// RUN near_the_limits<<<4, 64>>>(in, out, n)
__global__ void near_the_limits(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int top = 2147483647 - 255;
    int at = top + i;              // at most the largest int
    int low = -2147483647 - 1 + i; // at least the smallest
    int product = 46340 * 46340;
    short narrow = (short)(at & 0xffff);
    narrow++; // computed as int, and cut off
    out[i] = in[at - top] + in[low + 2147483647 + 1] + in[(product + narrow) & 255];
}

// RUN grid_stride<<<(3, 2), (16, 2)>>>(in, out, n)
__global__ void grid_stride(const float* in, float* out, int n) {
    int block = blockIdx.y * gridDim.x + blockIdx.x, t = threadIdx.y * blockDim.x + threadIdx.x;
    int stride = gridDim.x * gridDim.y * blockDim.x * blockDim.y;
    for (int i = block * blockDim.x * blockDim.y + t; i < n; i += stride) out[i] = 2.0f * in[i];
}

// RUN recursion<<<2, 32>>>(iin, iout)
__device__ __noinline__ int fibonacci(int k) {
    return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}
__global__ void recursion(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    iout[i] = fibonacci(iin[i] % 10);
}

// RUN function_pointers<<<2, 64>>>(in, out)
typedef float (*Operation)(float, float);
__device__ float plus_of(float a, float b) { return a + b; }
__device__ float minus_of(float a, float b) { return a - b; }
__device__ float times_of(float a, float b) { return a * b; }
__global__ void function_pointers(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Operation all[3] = {plus_of, minus_of, times_of};
    out[i] = all[i % 3](in[i], in[255 - i]);
}

// RUN virtual_functions<<<2, 64>>>(in, out)
struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159265f * radius * radius; }
};
__global__ void virtual_functions(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Square square(in[i]);
    Circle circle(in[i]);
    const Shape* shape = i & 1 ? (const Shape*)&square : (const Shape*)&circle;
    out[i] = shape->area();
}

// RUN dynamic_local<<<2, 64>>>(iin, iout)
__global__ void dynamic_local(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int order[8];
    for (int k = 0; k < 8; k++) order[k] = iin[(i + k) & 255];
    for (int a = 1; a < 8; a++) {
        int v = order[a], b = a - 1;
        while (b >= 0 && order[b] > v) {
            order[b + 1] = order[b];
            b--;
        }
        order[b + 1] = v;
    }
    iout[i] = order[4];
}

// RUN switch_tables<<<2, 64>>>(iin, out)
__global__ void switch_tables(const int* iin, float* out) {
    static const float weights[5] = {1.0f, 0.5f, 0.25f, 0.125f, 0.0625f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v;
    switch (iin[i] % 5) {
    case 0: v = 1.0f; break;
    case 1:
    case 2: v = 2.0f; break;
    case 3: v = 3.0f; [[fallthrough]];
    default: v = 4.0f;
    }
    out[i] = v * weights[iin[i] % 5];
}

// RUN halves<<<1, 64>>>(h, hout)
__global__ void halves(const __half* h, __half* hout) {
    __shared__ __half s[128];
    int t = threadIdx.x;
    reinterpret_cast<__half2*>(s)[t] = reinterpret_cast<const __half2*>(h)[t];
    __syncthreads();
    __half a = s[127 - t];
    __half2 b = __halves2half2(a, s[t]);
    b = __hfma2(b, b, __float2half2_rn(0.5f));
    hout[2 * t] = __low2half(b);
    hout[2 * t + 1] = __hmul(__high2half(b), a);
    __nv_bfloat16 c = __float2bfloat16(__half2float(a));
    if (__bfloat162float(c) > 1.5f) hout[2 * t] = __float2half(__bfloat162float(__hadd(c, c)));
}

// RUN vector_accesses<<<1, 32>>>(in, d, out, dout)
__global__ void vector_accesses(const float* in, const double* d, float* out, double* dout) {
    __shared__ float4 s[32];
    int t = threadIdx.x;
    s[t] = reinterpret_cast<const float4*>(in)[t + 4];
    double2 two = reinterpret_cast<const double2*>(d)[t];
    __syncthreads();
    const float* flat = (const float*)s;
    float2 pair = *(const float2*)(flat + 2 * t);
    out[t] = pair.x + pair.y + s[31 - t].w;
    reinterpret_cast<double2*>(dout)[t] = make_double2(two.y, two.x);
    uchar4 bytes = *reinterpret_cast<const uchar4*>(in + t);
    float3 three = reinterpret_cast<const float3*>(in + 1)[t];
    out[32 + t] = bytes.w + three.z;
}

// RUN device_heap<<<2, 32>>>(in, out)
__global__ void device_heap(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float* mine = (float*)malloc(8 * sizeof(float));
    if (!mine) return;
    for (int k = 0; k < 8; k++) mine[k] = in[(i + k) & 255];
    float sum = 0.0f;
    for (int k = 7; k >= 0; k--) sum += mine[k];
    free(mine);
    int* one = new int(3);
    out[i] = sum + *one;
    delete one;
}

// RUN variables<<<2, 64>>>(in, out)
__constant__ float coefficients[4] = {1.0f, -0.5f, 0.25f, 0.0f};
__device__ unsigned calls;
__device__ float last_seen[128];
__global__ void variables(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0.0f;
    for (int k = 3; k >= 0; k--) v = v * in[i] + coefficients[k];
    last_seen[i] += v;
    atomicAdd(&calls, 1u);
    out[i] = last_seen[i];
}

// RUN scaled<float, 4><<<2, 32>>>(in, out, {2.5 3 0.5 0.25 0.125 0.0625})
template <typename T, int N>
struct Filter {
    T scale;
    int used;
    T weights[N];
};
template <typename T, int N>
__global__ void scaled(const T* in, T* out, Filter<T, N> filter) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    for (int k = 0; k < filter.used; k++) sum += filter.weights[k] * in[i + k];
    Filter<T, N> mine = filter;
    mine.weights[i % N] = 1;
    out[i] = sum * mine.scale + mine.weights[0];
}
template __global__ void scaled<float, 4>(const float*, float*, Filter<float, 4>);

// Functions of the library with results behind pointers.
// RUN results_behind_pointers<<<4, 64>>>(in, out, d, dout)
__global__ void results_behind_pointers(const float* in, float* out, const double* d, double* dout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, e, q;
    float s, c, whole, x = in[i];
    double ds, dc, dwhole, y = d[i];
    sincosf(x, &s, &c);
    float r = s + c + modff(x, &whole);
    sincospif(x, &s, &c);
    r += whole + s * c + frexpf(x, &e) + remquof(x, 3.0f, &q) + e + q;
    __sincosf(x, &s, &c);
    out[i] = r + s + c;
    sincos(y, &ds, &dc);
    double t = ds + dc + modf(y, &dwhole);
    sincospi(y, &ds, &dc);
    dout[i] = t + dwhole + ds * dc + frexp(y, &e) + remquo(y, 3.0, &q) + e + q;
}

// Storage that is aligned less than its type, and accessed by members that need no more.
// RUN aligned_by_member<<<2, 64>>>(iin, iout)
struct __align__(32) Scratch {
    int values[64];
};
__global__ void aligned_by_member(const int* iin, int* iout) {
    __shared__ __align__(16) char raw[16 + sizeof(Scratch)];
    Scratch* s = (Scratch*)(raw + 16);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s->values[t] = iin[i];
    __syncthreads();
    iout[i] = s->values[63 - t];
}
