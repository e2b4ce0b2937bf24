// Random tiles for every form of matrix product, made in the kernel from the numbers of tile, lane and register: each lane folds
// the bits of its results over TILES tiles. NaNs count as one value.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u64 mix(u64 z) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
// A number of a format with so many bits of exponent and fraction. Of each 8 tiles one has random bits, one the whole range of
// exponents but the largest, the others exponents about `middle` that spread by 1, 2, 4, 8, 16 and 32.
static __device__ u64 number(u64 random, int kind, int exponent_bits, int fraction_bits, int middle) {
    u64 one = 1ull << fraction_bits, top = (1ull << exponent_bits) - 1;
    u64 sign = (random >> 63) << (exponent_bits + fraction_bits), fraction = random & (one - 1);
    u64 spread = mix(random) >> 8;
    if (kind == 0) return sign | fraction | ((spread & top) << fraction_bits);
    if (kind == 1) return sign | fraction | ((spread % top) << fraction_bits);
    long long e = middle + (long long)(spread % (1u << (kind - 2))) - (1 << (kind - 2)) / 2;
    e = e < 0 ? 0 : e >= (long long)top ? (long long)top - 1 : e;
    return sign | fraction | ((u64)e << fraction_bits);
}
struct Half { static constexpr int E = 5, F = 10, per = 2; };
struct Bfloat { static constexpr int E = 8, F = 7, per = 2; };
struct Tfloat { static constexpr int E = 8, F = 23, per = 1; };
struct Byte { static constexpr int E = 0, F = 0, per = 4; };
template <class T> static __device__ u32 word(u64 key, int kind) {
    u64 r = mix(key);
    if (T::per == 4) return (u32)r;
    u32 w = 0;
    for (int i = 0; i < T::per; i++) w |= (u32)number(mix(r + i), kind, T::E, T::F, (1 << (T::E - 1)) - 1) << 16 * i;
    return w;
}
static __device__ u32 bits(float x) { return x != x ? 0x7fffffffu : __float_as_uint(x); }
static __device__ u32 bits(u32 x) { return x; }
static __device__ u32 bits(double x) {
    u64 b = x != x ? 0x7ff8000000000000ull : (u64)__double_as_longlong(x);
    return (u32)(b ^ (b >> 32) * 0x9e3779b1u);
}
static __device__ u32 half_bits(u32 pair) {
    u32 low = pair & 0xffff, high = pair >> 16;
    if ((low & 0x7fff) > 0x7c00) low = 0x7fff;
    if ((high & 0x7fff) > 0x7c00) high = 0x7fff;
    return low | high << 16;
}
static __device__ u32 fold(u32 all, u32 x) { return (all ^ x) * 0x01000193u + (all >> 15); }
static __device__ u64 key_of(int tile, int part) { return ((u64)blockIdx.x * 4096 + tile) * 4096 + part * 32 + threadIdx.x; }

#define TILES 64
#define LOOP(BODY)                                                     \
    u32 all = 1;                                                       \
    for (int tile = 0; tile < TILES; tile++) {                         \
        int kind = (blockIdx.x + tile) % 8;                            \
        BODY                                                           \
    }                                                                  \
    out[blockIdx.x * 32 + threadIdx.x] = all;
#define WORDS(T, NAME, N, PART) u32 NAME[N]; for (int i = 0; i < N; i++) NAME[i] = word<T>(key_of(tile, PART + i), kind);
#define SUMS(NAME) float NAME[4]; for (int i = 0; i < 4; i++) NAME[i] = __uint_as_float((u32)number(mix(key_of(tile, 20 + i)), kind, 8, 23, 127));
#define FOLD4(NAME) for (int i = 0; i < 4; i++) all = fold(all, bits(NAME[i]));

#define F421(NAME, T, SHAPE)                                                                                              \
    __global__ void NAME(u32* out) { LOOP(WORDS(T, a, 4, 0) WORDS(T, b, 2, 8) SUMS(c)                                     \
        asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                   \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
        FOLD4(c)) }
#define F211(NAME, T, SHAPE)                                                                                              \
    __global__ void NAME(u32* out) { LOOP(WORDS(T, a, 2, 0) WORDS(T, b, 1, 8) SUMS(c)                                     \
        asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                            \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));                          \
        FOLD4(c)) }
F421(f16_k16, Half, "m16n8k16.row.col.f32.f16.f16.f32")
F211(f16_k8, Half, "m16n8k8.row.col.f32.f16.f16.f32")
F421(bf16_k16, Bfloat, "m16n8k16.row.col.f32.bf16.bf16.f32")
F211(bf16_k8, Bfloat, "m16n8k8.row.col.f32.bf16.bf16.f32")
F421(tf32_k8, Tfloat, "m16n8k8.row.col.f32.tf32.tf32.f32")
F211(tf32_k4, Tfloat, "m16n8k4.row.col.f32.tf32.tf32.f32")

__global__ void half_k16(u32* out) { LOOP(WORDS(Half, a, 4, 0) WORDS(Half, b, 2, 8) WORDS(Half, c, 2, 20)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    all = fold(fold(all, half_bits(c[0])), half_bits(c[1]));) }
__global__ void half_k8(u32* out) { LOOP(WORDS(Half, a, 2, 0) WORDS(Half, b, 1, 8) WORDS(Half, c, 2, 20)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
        : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    all = fold(fold(all, half_bits(c[0])), half_bits(c[1]));) }

#define I421(NAME, SHAPE)                                                                                                 \
    __global__ void NAME(u32* out) { LOOP(WORDS(Byte, a, 4, 0) WORDS(Byte, b, 2, 8) WORDS(Byte, c, 4, 20)                 \
        asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                   \
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
        FOLD4(c)) }
I421(s8_k32, "m16n8k32.row.col.s32.s8.s8.s32")
I421(u8_k32_sat, "m16n8k32.row.col.satfinite.s32.u8.u8.s32")
I421(s8u8_k32_sat, "m16n8k32.row.col.satfinite.s32.s8.u8.s32")
__global__ void u8s8_k16(u32* out) { LOOP(WORDS(Byte, a, 2, 0) WORDS(Byte, b, 1, 8) WORDS(Byte, c, 4, 20)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    FOLD4(c)) }
__global__ void s8_m8n8k16(u32* out) { LOOP(WORDS(Byte, a, 1, 0) WORDS(Byte, b, 1, 8) WORDS(Byte, c, 2, 20)
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(b[0]));
    all = fold(fold(all, c[0]), c[1]);) }

#define DOUBLES(NAME, N, PART) double NAME[N]; for (int i = 0; i < N; i++) NAME[i] = __longlong_as_double((long long)number(mix(key_of(tile, PART + i)), kind, 11, 52, 1023));
__global__ void f64_m8n8k4(u32* out) { LOOP(DOUBLES(a, 1, 0) DOUBLES(b, 1, 8) DOUBLES(c, 2, 20)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
    all = fold(fold(all, bits(c[0])), bits(c[1]));) }
__global__ void f64_k4(u32* out) { LOOP(DOUBLES(a, 2, 0) DOUBLES(b, 1, 8) DOUBLES(c, 4, 20)
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(b[0]));
    FOLD4(c)) }
__global__ void f64_k8(u32* out) { LOOP(DOUBLES(a, 4, 0) DOUBLES(b, 2, 8) DOUBLES(c, 4, 20)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    FOLD4(c)) }
__global__ void f64_k16(u32* out) { LOOP(DOUBLES(a, 8, 0) DOUBLES(b, 4, 8) DOUBLES(c, 4, 20)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    FOLD4(c)) }

#define COMMA ,
template <class L> struct IsRow { static constexpr bool value = false; };
template <> struct IsRow<wmma::row_major> { static constexpr bool value = true; };
#define LA_ROW(L) (IsRow<L>::value)
template <class A> struct Bits { typedef A type; };
template <> struct Bits<half> { typedef float type; };
template <> struct Bits<int> { typedef u32 type; };

// wmma: matrices are made in shared memory, loaded in both layouts, and the fragments' own elements are folded.
template <class T, class Held, class Acc, int M, int N, int K, class LA, class LB, class Number>
static __device__ void by_wmma(u32* out) {
    __shared__ __align__(32) Held sa[M * K], sb[K * N];
    LOOP(
        for (int i = threadIdx.x; i < M * K * (int)sizeof(Held) / 4; i += 32) ((u32*)sa)[i] = word<Number>(key_of(tile, i / 32), kind);
        for (int i = threadIdx.x; i < K * N * (int)sizeof(Held) / 4; i += 32) ((u32*)sb)[i] = word<Number>(key_of(tile, 64 + i / 32), kind);
        __syncwarp();
        wmma::fragment<wmma::matrix_a COMMA M COMMA N COMMA K COMMA T COMMA LA> fa;
        wmma::fragment<wmma::matrix_b COMMA M COMMA N COMMA K COMMA T COMMA LB> fb;
        wmma::fragment<wmma::accumulator COMMA M COMMA N COMMA K COMMA Acc> fc;
        wmma::load_matrix_sync(fa, sa, LA_ROW(LA) ? K : M); wmma::load_matrix_sync(fb, sb, LA_ROW(LB) ? N : K);
        for (int i = 0; i < fc.num_elements; i++) fc.x[i] = (Acc)(float)(int)(mix(key_of(tile, 128 + i)) % 4096);
        wmma::mma_sync(fc, fa, fb, fc);
        for (int i = 0; i < fc.num_elements; i++) all = fold(all, bits((typename Bits<Acc>::type)fc.x[i]));
        __syncwarp();
    )
}
typedef wmma::row_major R;
typedef wmma::col_major C;
__global__ void wmma_f16(u32* out) { by_wmma<half, half, float, 16, 16, 16, R, C, Half>(out); }
__global__ void wmma_f16_f16(u32* out) { by_wmma<half, half, half, 16, 16, 16, C, R, Half>(out); }
__global__ void wmma_f16_m32(u32* out) { by_wmma<half, half, float, 32, 8, 16, R, R, Half>(out); }
__global__ void wmma_f16_n32(u32* out) { by_wmma<half, half, float, 8, 32, 16, C, C, Half>(out); }
__global__ void wmma_bf16(u32* out) { by_wmma<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, R, C, Bfloat>(out); }
__global__ void wmma_bf16_n32(u32* out) { by_wmma<__nv_bfloat16, __nv_bfloat16, float, 8, 32, 16, R, C, Bfloat>(out); }
__global__ void wmma_tf32(u32* out) { by_wmma<wmma::precision::tf32, float, float, 16, 16, 8, R, C, Tfloat>(out); }
__global__ void wmma_s8(u32* out) { by_wmma<signed char, signed char, int, 16, 16, 16, R, C, Byte>(out); }
__global__ void wmma_u8_n32(u32* out) { by_wmma<unsigned char, unsigned char, int, 8, 32, 16, C, R, Byte>(out); }
