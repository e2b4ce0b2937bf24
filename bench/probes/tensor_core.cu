// What tensor cores compute, tile by tile: inputs and outputs of mma.sync for many classes of values, and which element of a
// matrix wmma's loads put where. Nothing is judged here: a model of the arithmetic has to reproduce every dumped tile.
// Build: nvcc -arch=sm_90 -O2 tensor_core.cu. Usage: tensor_core OUTDIR. Writes NAME.bin for every form (16 words: "KTC1", m, n,
// k, bits of an element of A, B, C, D, tiles, seed, classes; then A, B, C, D of each tile, row by row) and layouts.txt.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <string>
#include <utility>
#include <vector>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    cudaError_t e = (x);                                                                           \
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); }     \
  } while (0)

// ---- formats and random values ----

struct Format { int exponent_bits, fraction_bits, storage_bits, shift; bool integer; };
static const Format F16{5, 10, 16, 0, false}, BF16{8, 7, 16, 0, false}, TF32{8, 10, 32, 13, false};
static const Format F32{8, 23, 32, 0, false}, F64{11, 52, 64, 0, false};
static const Format E4M3{4, 3, 8, 0, false}, E5M2{5, 2, 8, 0, false};
static const Format I8{0, 0, 8, 0, true}, I32{0, 0, 32, 0, true};

struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int within(int low, int high) { return low + (int)(next() % (uint64_t)(high - low + 1)); }
  bool one_in(int n) { return next() % n == 0; }
};

static int largest(const Format &f) { return f.integer ? 0 : (1 << (f.exponent_bits - 1)) - 1; }
static int smallest(const Format &f) { return 1 - largest(f); }

// (-1)^s * 2^e * 1.fraction, subnormal or zero where it is too small, the largest exponent where too large.
static uint64_t encode(const Format &f, bool s, int e, uint64_t fraction) {
  uint64_t one = 1ull << f.fraction_bits, m = one | (fraction & (one - 1)), bits;
  if (e > largest(f)) e = largest(f);
  if (e < smallest(f)) {
    int down = smallest(f) - e;
    bits = down > f.fraction_bits ? 0 : m >> down;
  } else {
    bits = ((uint64_t)(e + largest(f)) << f.fraction_bits) | (m - one);
  }
  bits |= (uint64_t)s << (f.exponent_bits + f.fraction_bits);
  return bits << f.shift;
}
static uint64_t random_at(Random &r, const Format &f, int low, int high) {
  int e = r.within(low, high);
  bool s = r.next() & 1;
  return encode(f, s, e, r.next());
}
static uint64_t special(Random &r, const Format &f) {
  uint64_t one = 1ull << f.fraction_bits, top = (1ull << f.exponent_bits) - 1, sign = (r.next() & 1) << (f.exponent_bits + f.fraction_bits);
  uint64_t kinds[] = {top << f.fraction_bits, top << f.fraction_bits, (top << f.fraction_bits) | (one >> 1), (top << f.fraction_bits) | 1,
                      0, 1, one - 1, one, ((top - 1) << f.fraction_bits) | (one - 1)};
  return (kinds[r.next() % 9] | sign) << f.shift;
}

// ---- tiles ----

struct Shape { int m, n, k; Format a, b, c, d; };
struct Tile { std::vector<uint64_t> a, b, c; };   // A[m][k], B[k][n], C[m][n]
enum { NARROW, MEDIUM, WIDE, CANCEL, CANCEL_EXACT, SUBNORMAL, SPECIAL, SPARSE, STAIRS, TWO, TOP, BOTTOM, BITS, GROUPS, SAME_SIGN, ZEROS, TINY, CLASSES };

static void exponents(const Shape &s, Tile &t, Random &r, int low, int high, int clow, int chigh) {
  for (auto &x : t.a) x = random_at(r, s.a, low, high);
  for (auto &x : t.b) x = random_at(r, s.b, low, high);
  for (auto &x : t.c) x = random_at(r, s.c, clow, chigh);
}
static void cancel(const Shape &s, Tile &t, Random &r, bool exact) {
  exponents(s, t, r, -3, 3, -28, 6);
  std::vector<int> order(s.k);
  for (int i = 0; i < s.k; i++) order[i] = i;
  for (int i = s.k - 1; i > 0; i--) std::swap(order[i], order[r.within(0, i)]);
  for (int p = 0; p + 1 < s.k; p += 2) {
    int u = order[p], v = order[p + 1];
    if (r.one_in(4)) continue;
    for (int j = 0; j < s.n; j++) t.b[v * s.n + j] = t.b[u * s.n + j];
    for (int i = 0; i < s.m; i++) {
      uint64_t flip = 1ull << (s.a.exponent_bits + s.a.fraction_bits + s.a.shift);
      t.a[i * s.k + v] = t.a[i * s.k + u] ^ flip ^ (exact || r.one_in(2) ? 0 : 1ull << s.a.shift);
    }
  }
  if (exact) for (auto &x : t.c) if (r.one_in(2)) x = 0;
}
// One large term at p, sometimes its negative at q, small ones elsewhere; C is nothing, the large one, its negative or smaller.
static void sparse(const Shape &s, Tile &t, Random &r, bool stairs) {
  int top = s.a.exponent_bits < 8 ? s.a.exponent_bits < 5 ? 3 : 7 : 20;
  for (auto &x : t.b) x = encode(s.b, 0, 0, 0);
  for (int i = 0; i < s.m; i++) {
    int p = r.within(0, s.k - 1), q = r.within(0, s.k - 1), down = 2 * top - r.within(0, 2 * top + 2);
    bool negative = r.next() & 1;
    for (int k = 0; k < s.k; k++) {
      int e = stairs ? top - down - k : top - down - 2;
      t.a[i * s.k + k] = r.one_in(3) ? 0 : encode(s.a, stairs ? negative : r.next() & 1, e, stairs ? 0 : r.next());
    }
    t.a[i * s.k + p] = encode(s.a, 0, top, 0);
    if (q != p && r.one_in(2)) t.a[i * s.k + q] = encode(s.a, 1, top, 0);
    for (int j = 0; j < s.n; j++) {
      uint64_t choices[] = {0, encode(s.c, 1, top, 0), encode(s.c, 0, top, 0), encode(s.c, r.next() & 1, top + r.within(0, 8), r.next()),
                            encode(s.c, r.next() & 1, top - r.within(0, 30), r.next()), encode(s.c, 1, top, 0), encode(s.c, r.next() & 1, top - 24, 0), 0};
      t.c[i * s.n + j] = choices[j % 8];
    }
  }
}
// Two terms with full fractions at distances that grow from row to row, and C.
static void two(const Shape &s, Tile &t, Random &r) {
  int top = s.a.exponent_bits < 8 ? s.a.exponent_bits < 5 ? 3 : 6 : 18;
  for (auto &x : t.a) x = 0;
  for (auto &x : t.b) x = random_at(r, s.b, -1, 1);
  for (int i = 0; i < s.m; i++) {
    int p = r.within(0, s.k - 1), q = (p + r.within(1, s.k - 1)) % s.k;
    t.a[i * s.k + p] = random_at(r, s.a, top, top);
    t.a[i * s.k + q] = random_at(r, s.a, top - 2 * i, top - 2 * i);
    for (int j = 0; j < s.n; j++) t.c[i * s.n + j] = r.one_in(3) ? 0 : random_at(r, s.c, top - 30, top + 6);
  }
}
// Elements of each group of 2, 4, 8 have one exponent, other groups others, so that a boundary of groups shows.
static void groups(const Shape &s, Tile &t, Random &r) {
  int span = s.a.exponent_bits < 5 ? 3 : 12;
  for (auto &x : t.b) x = random_at(r, s.b, 0, 0);
  for (auto &x : t.c) x = random_at(r, s.c, -span, span);
  for (int i = 0; i < s.m; i++) {
    int size = 1 << r.within(0, 3), e = 0;
    for (int k = 0; k < s.k; k++) {
      if (k % size == 0) e = r.within(-span, span);
      t.a[i * s.k + k] = random_at(r, s.a, e, e);
    }
  }
}
// Zeros of one sign in each row and column, so that a quarter of the sums have negative zeros only.
static void zeros(const Shape &s, Tile &t, Random &r) {
  for (int i = 0; i < s.m; i++) {
    bool sign = r.next() & 1;
    for (int k = 0; k < s.k; k++) t.a[i * s.k + k] = encode(s.a, r.one_in(8 * s.k) ? !sign : sign, -1000000, 0);
  }
  for (int j = 0; j < s.n; j++) {
    bool sign = r.next() & 1;
    for (int k = 0; k < s.k; k++) t.b[k * s.n + j] = encode(s.b, sign, r.one_in(2) ? 0 : -1000000, r.next());
  }
  for (auto &x : t.c) x = encode(s.c, r.next() & 1, -1000000, 0);
}
// Sums around the smallest number of the result, with zeros as accumulators.
static void tiny(const Shape &s, Tile &t, Random &r) {
  int low = smallest(s.c) - s.c.fraction_bits, half = low / 2;
  for (auto &x : t.a) x = r.one_in(2) ? 0 : random_at(r, s.a, half - 4, half);
  for (auto &x : t.b) x = random_at(r, s.b, low - half, low - half + 1);
  for (auto &x : t.c) x = encode(s.c, r.next() & 1, r.one_in(4) ? low : -1000000, 0);
}
static void floats(const Shape &s, Tile &t, Random &r, int kind) {
  int hi = largest(s.a), lo = smallest(s.a), chi = largest(s.c), clo = smallest(s.c), wide = hi > 40 ? 40 : hi;
  switch (kind) {
  case NARROW: exponents(s, t, r, -1, 0, -3, 3); break;
  case MEDIUM: exponents(s, t, r, -5, 5, -14, 14); break;
  case WIDE: exponents(s, t, r, -wide, wide, -wide, wide); break;
  case CANCEL: cancel(s, t, r, false); break;
  case CANCEL_EXACT: cancel(s, t, r, true); break;
  case SUBNORMAL: exponents(s, t, r, lo - s.a.fraction_bits - 1, lo + 3, clo > 2 * lo - 20 ? clo - 3 : 2 * lo - 20, clo > 2 * lo - 20 ? clo + 10 : 2 * lo + 8); break;
  case SPECIAL:
    exponents(s, t, r, -4, 4, -8, 8);
    for (auto *v : {&t.a, &t.b, &t.c})
      for (auto &x : *v) if (r.one_in(40)) x = special(r, v == &t.a ? s.a : v == &t.b ? s.b : s.c);
    break;
  case SPARSE: sparse(s, t, r, false); break;
  case STAIRS: sparse(s, t, r, true); break;
  case TWO: two(s, t, r); break;
  case TOP: exponents(s, t, r, chi / 2 - 4, chi / 2 + 1 > hi ? hi : chi / 2 + 1, chi - 6, chi); break;
  case BOTTOM: exponents(s, t, r, clo / 2 - 14, clo / 2 + 1, clo - 24, clo + 2); break;
  case BITS:
    for (auto *v : {&t.a, &t.b, &t.c}) for (auto &x : *v) x = r.next();
    break;
  case GROUPS: groups(s, t, r); break;
  case ZEROS: zeros(s, t, r); break;
  case TINY: tiny(s, t, r); break;
  default:
    exponents(s, t, r, -4, 4, -10, 10);
    for (auto *v : {&t.a, &t.b, &t.c}) {
      const Format &f = v == &t.a ? s.a : v == &t.b ? s.b : s.c;
      for (auto &x : *v) x &= ~(1ull << (f.exponent_bits + f.fraction_bits + f.shift));
    }
  }
}
static void integers(Tile &t, Random &r, int kind) {
  for (auto *v : {&t.a, &t.b}) for (auto &x : *v) x = kind % 3 == 1 ? (r.next() & 1 ? 0x7f : 0x80) : kind % 3 == 2 ? 0xff : r.next();
  for (auto &x : t.c) x = kind & 1 ? (r.next() & 1 ? 0x7fffffffu : 0x80000000u) - r.within(-400000, 400000) : r.next();
}

// ---- the operations ----

// Fragments of mma.sync as the PTX manual has them: a register holds 32 bits' worth of neighbours along k (one f64).
template <class Op> __global__ void execute(const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d) {
  using W = typename Op::In;
  using V = typename Op::Out;
  constexpr int wide = sizeof(W), pack = wide * 8 / Op::bits, halves = Op::M == 16 ? 2 : 1;
  constexpr int na = Op::M * Op::K / pack / 32, nb = Op::N * Op::K / pack / 32, nc = Op::M * Op::N / 32 * Op::cbits / (8 * (int)sizeof(V));
  int tile = blockIdx.x, group = threadIdx.x / 4, place = threadIdx.x % 4;
  a += (size_t)tile * Op::M * Op::K * Op::bits / 8; b += (size_t)tile * Op::N * Op::K * Op::bits / 8;
  c += (size_t)tile * Op::M * Op::N * Op::cbits / 8; d += (size_t)tile * Op::M * Op::N * Op::cbits / 8;
  W ra[na], rb[nb]; V rc[nc], rd[nc];
  for (int r = 0; r < na; r++) {
    int row = group + (halves == 2 ? 8 * (r % 2) : 0), k = place * pack + 4 * pack * (r / halves);
    ra[r] = *(const W *)(a + (row * Op::K + k) * Op::bits / 8);
  }
  for (int r = 0; r < nb; r++) {
    uint64_t w = 0;
    for (int e = 0; e < pack; e++) {
      int k = place * pack + 4 * pack * r + e;
      uint64_t x = 0;
      memcpy(&x, b + (k * Op::N + group) * Op::bits / 8, Op::bits / 8);
      w |= x << (Op::bits * e % 64);
    }
    memcpy(&rb[r], &w, wide);
  }
  constexpr int cpack = sizeof(V) * 8 / Op::cbits;
  for (int r = 0; r < nc; r++) {
    int i = r * cpack, row = group + 8 * (i / 2), col = place * 2 + i % 2;
    rc[r] = *(const V *)(c + (row * Op::N + col) * Op::cbits / 8);
  }
  Op::run(rd, ra, rb, rc);
  for (int r = 0; r < nc; r++) {
    int i = r * cpack, row = group + 8 * (i / 2), col = place * 2 + i % 2;
    *(V *)(d + (row * Op::N + col) * Op::cbits / 8) = rd[r];
  }
}

#define OP(NAME, M_, N_, K_, BITS, CBITS, IN, OUT, ASM)                                            \
  struct NAME {                                                                                    \
    static constexpr int M = M_, N = N_, K = K_, bits = BITS, cbits = CBITS;                       \
    using In = IN; using Out = OUT;                                                                \
    static __device__ void run(OUT *d, const IN *a, const IN *b, const OUT *c) { ASM; }            \
  }
#define A421(T, I, O) asm volatile(T " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" : "=" O(d[0]), "=" O(d[1]), "=" O(d[2]), "=" O(d[3]) : I(a[0]), I(a[1]), I(a[2]), I(a[3]), I(b[0]), I(b[1]), O(c[0]), O(c[1]), O(c[2]), O(c[3]))
#define A211(T, I, O) asm volatile(T " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" : "=" O(d[0]), "=" O(d[1]), "=" O(d[2]), "=" O(d[3]) : I(a[0]), I(a[1]), I(b[0]), O(c[0]), O(c[1]), O(c[2]), O(c[3]))
#define H421(T) asm volatile(T " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]))
#define H211(T) asm volatile(T " {%0,%1}, {%2,%3}, {%4}, {%5,%6};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]))
#define S111(T, I, O) asm volatile(T " {%0,%1}, {%2}, {%3}, {%4,%5};" : "=" O(d[0]), "=" O(d[1]) : I(a[0]), I(b[0]), O(c[0]), O(c[1]))
#define D842(T) asm volatile(T " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%16,%17,%18,%19};" : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]))
#define P "mma.sync.aligned."
OP(F16k16, 16, 8, 16, 16, 32, uint32_t, float, A421(P "m16n8k16.row.col.f32.f16.f16.f32", "r", "f"));
OP(F16k8, 16, 8, 8, 16, 32, uint32_t, float, A211(P "m16n8k8.row.col.f32.f16.f16.f32", "r", "f"));
OP(H16k16, 16, 8, 16, 16, 16, uint32_t, uint32_t, H421(P "m16n8k16.row.col.f16.f16.f16.f16"));
OP(H16k8, 16, 8, 8, 16, 16, uint32_t, uint32_t, H211(P "m16n8k8.row.col.f16.f16.f16.f16"));
OP(B16k16, 16, 8, 16, 16, 32, uint32_t, float, A421(P "m16n8k16.row.col.f32.bf16.bf16.f32", "r", "f"));
OP(B16k8, 16, 8, 8, 16, 32, uint32_t, float, A211(P "m16n8k8.row.col.f32.bf16.bf16.f32", "r", "f"));
OP(T32k8, 16, 8, 8, 32, 32, uint32_t, float, A421(P "m16n8k8.row.col.f32.tf32.tf32.f32", "r", "f"));
OP(T32k4, 16, 8, 4, 32, 32, uint32_t, float, A211(P "m16n8k4.row.col.f32.tf32.tf32.f32", "r", "f"));
OP(D8k4, 8, 8, 4, 64, 64, double, double, S111(P "m8n8k4.row.col.f64.f64.f64.f64", "d", "d"));
OP(D16k4, 16, 8, 4, 64, 64, double, double, A211(P "m16n8k4.row.col.f64.f64.f64.f64", "d", "d"));
OP(D16k8, 16, 8, 8, 64, 64, double, double, A421(P "m16n8k8.row.col.f64.f64.f64.f64", "d", "d"));
OP(D16k16, 16, 8, 16, 64, 64, double, double, D842(P "m16n8k16.row.col.f64.f64.f64.f64"));
OP(S8k32, 16, 8, 32, 8, 32, uint32_t, uint32_t, A421(P "m16n8k32.row.col.s32.s8.s8.s32", "r", "r"));
OP(S8k32sat, 16, 8, 32, 8, 32, uint32_t, uint32_t, A421(P "m16n8k32.row.col.satfinite.s32.s8.s8.s32", "r", "r"));
OP(U8k32, 16, 8, 32, 8, 32, uint32_t, uint32_t, A421(P "m16n8k32.row.col.s32.u8.u8.s32", "r", "r"));
OP(U8k32sat, 16, 8, 32, 8, 32, uint32_t, uint32_t, A421(P "m16n8k32.row.col.satfinite.s32.u8.s8.s32", "r", "r"));
OP(S8k16, 16, 8, 16, 8, 32, uint32_t, uint32_t, A211(P "m16n8k16.row.col.s32.s8.u8.s32", "r", "r"));
OP(S8m8, 8, 8, 16, 8, 32, uint32_t, uint32_t, S111(P "m8n8k16.row.col.s32.s8.s8.s32", "r", "r"));
OP(E4k32, 16, 8, 32, 8, 32, uint32_t, float, A421(P "m16n8k32.row.col.f32.e4m3.e4m3.f32", "r", "f"));
OP(E5k32, 16, 8, 32, 8, 32, uint32_t, float, A421(P "m16n8k32.row.col.f32.e5m2.e5m2.f32", "r", "f"));

// wmma of <mma.h>, row-major matrices everywhere.
template <class T, class Acc, class Held, int M, int N, int K>
__global__ void wmma_execute(const Held *a, const Held *b, const Acc *c, Acc *d) {
  using namespace nvcuda::wmma;
  size_t t = blockIdx.x;
  fragment<matrix_a, M, N, K, T, row_major> fa; fragment<matrix_b, M, N, K, T, row_major> fb; fragment<accumulator, M, N, K, Acc> fc;
  load_matrix_sync(fa, a + t * M * K, K); load_matrix_sync(fb, b + t * K * N, N); load_matrix_sync(fc, c + t * M * N, N, mem_row_major);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(d + t * M * N, fc, N, mem_row_major);
}

// ---- running ----

static std::string folder;
static uint64_t seed = 20261119;

static std::vector<uint8_t> packed(const std::vector<uint64_t> &v, int bits) {
  std::vector<uint8_t> out(v.size() * bits / 8);
  for (size_t i = 0; i < v.size(); i++) memcpy(&out[i * bits / 8], &v[i], bits / 8);
  return out;
}
static uint8_t *on_device(const std::vector<uint8_t> &v) {
  void *p; CHECK(cudaMalloc(&p, v.size())); CHECK(cudaMemcpy(p, v.data(), v.size(), cudaMemcpyHostToDevice));
  return (uint8_t *)p;
}
template <class Launch> static void form(const char *name, const Shape &s, int tiles, Launch launch) {
  Random r{seed + std::hash<std::string>()(name)};
  std::vector<uint8_t> a, b, c;
  for (int i = 0; i < tiles; i++) {
    Tile t{std::vector<uint64_t>(s.m * s.k), std::vector<uint64_t>(s.k * s.n), std::vector<uint64_t>(s.m * s.n)};
    if (s.a.integer) integers(t, r, i); else floats(s, t, r, i % CLASSES);
    for (auto &x : packed(t.a, s.a.storage_bits)) a.push_back(x);
    for (auto &x : packed(t.b, s.b.storage_bits)) b.push_back(x);
    for (auto &x : packed(t.c, s.c.storage_bits)) c.push_back(x);
  }
  std::vector<uint8_t> d(c.size());
  uint8_t *da = on_device(a), *db = on_device(b), *dc = on_device(c), *dd = on_device(d);
  launch(tiles, da, db, dc, dd);
  CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(d.data(), dd, d.size(), cudaMemcpyDeviceToHost));
  for (auto *p : {da, db, dc, dd}) CHECK(cudaFree(p));
  FILE *f = fopen((folder + "/" + name + ".bin").c_str(), "wb");
  if (!f) { perror(folder.c_str()); exit(1); }
  uint32_t head[16] = {0x3143544bu, (uint32_t)s.m, (uint32_t)s.n, (uint32_t)s.k, (uint32_t)s.a.storage_bits, (uint32_t)s.b.storage_bits,
                       (uint32_t)s.c.storage_bits, (uint32_t)s.d.storage_bits, (uint32_t)tiles, (uint32_t)seed, s.a.integer ? 6u : (uint32_t)CLASSES};
  fwrite(head, sizeof head, 1, f);
  for (int i = 0; i < tiles; i++)
    for (auto *v : {&a, &b, &c, &d}) fwrite(v->data() + v->size() / tiles * i, v->size() / tiles, 1, f);
  fclose(f);
  printf("%s: %d tiles\n", name, tiles);
}
template <class Op> static void mma_form(const char *name, Format ab, Format c, int tiles) {
  form(name, Shape{Op::M, Op::N, Op::K, ab, ab, c, c}, tiles,
       [](int n, uint8_t *a, uint8_t *b, uint8_t *c, uint8_t *d) { execute<Op><<<n, 32>>>(a, b, c, d); });
}
template <class T, class Acc, class Held, int M, int N, int K> static void wmma_form(const char *name, Format ab, Format c, int tiles) {
  form(name, Shape{M, N, K, ab, ab, c, c}, tiles, [](int n, uint8_t *a, uint8_t *b, uint8_t *c, uint8_t *d) {
    wmma_execute<T, Acc, Held, M, N, K><<<n, 32>>>((Held *)a, (Held *)b, (Acc *)c, (Acc *)d);
  });
}

// ---- where wmma's loads put elements ----

template <class X> __device__ int number(X x) { return (int)(float)x; }
template <> __device__ int number(signed char x) { return x; }
template <> __device__ int number(unsigned char x) { return x; }
template <> __device__ int number(int x) { return x; }
template <class Fragment, class Held, class Load> __device__ void dump(Held *matrix, int elements, int *out, Load load) {
  Fragment f;
  for (int pass = 0; pass < 2; pass++) {      // bf16 and int8 hold numbers up to 127 exactly
    for (int i = threadIdx.x; i < elements; i += 32) matrix[i] = Held((float)(pass ? i / 100 : i % 100));
    __syncwarp();
    load(f, matrix);
    for (int i = 0; i < f.num_elements; i++) {
      int v = number(f.x[i]);
      out[1 + threadIdx.x * 64 + i] = pass ? out[1 + threadIdx.x * 64 + i] + 100 * v : v;
    }
    __syncwarp();
  }
  out[0] = f.num_elements;
}
using namespace nvcuda;
template <class Use, int M, int N, int K, class T, class Held, class Layout> __global__ void layout_ab(Held *matrix, int elements, int ld, int *out) {
  using F = wmma::fragment<Use, M, N, K, T, Layout>;
  dump<F>(matrix, elements, out, [=](F &f, Held *p) { wmma::load_matrix_sync(f, p, ld); });
}
template <int M, int N, int K, class T> __global__ void layout_c(T *matrix, int *out) {
  using F = wmma::fragment<wmma::accumulator, M, N, K, T>;
  dump<F>(matrix, M * N, out, [=](F &f, T *p) { wmma::load_matrix_sync(f, p, N, wmma::mem_row_major); });
}
static void print_layout(FILE *f, const char *name, int *device) {
  std::vector<int> out(1 + 32 * 64);
  CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), device, out.size() * 4, cudaMemcpyDeviceToHost));
  fprintf(f, "%s (number of the element in the matrix, row by row or column by column as it is loaded)\n", name);
  for (int lane = 0; lane < 32; lane++, fputc('\n', f))
    for (int i = 0; i < out[0]; i++) fprintf(f, "%d ", out[1 + lane * 64 + i]);
}
template <int M, int N, int K, class T, class Held, class Acc> static void layouts(FILE *f, const char *name) {
  void *matrix; int *out;
  CHECK(cudaMalloc(&matrix, 65536)); CHECK(cudaMalloc(&out, 4 * (1 + 32 * 64)));
  Held *p = (Held *)matrix; std::string n = name;
  layout_ab<wmma::matrix_a, M, N, K, T, Held, wmma::row_major><<<1, 32>>>(p, M * K, K, out); print_layout(f, (n + " a row").c_str(), out);
  layout_ab<wmma::matrix_a, M, N, K, T, Held, wmma::col_major><<<1, 32>>>(p, M * K, M, out); print_layout(f, (n + " a col").c_str(), out);
  layout_ab<wmma::matrix_b, M, N, K, T, Held, wmma::row_major><<<1, 32>>>(p, K * N, N, out); print_layout(f, (n + " b row").c_str(), out);
  layout_ab<wmma::matrix_b, M, N, K, T, Held, wmma::col_major><<<1, 32>>>(p, K * N, K, out); print_layout(f, (n + " b col").c_str(), out);
  layout_c<M, N, K, Acc><<<1, 32>>>((Acc *)matrix, out); print_layout(f, (n + " c row").c_str(), out);
  CHECK(cudaFree(matrix)); CHECK(cudaFree(out));
}

int main(int argc, char **argv) {
  if (argc != 2) { fprintf(stderr, "usage: tensor_core OUTDIR\n"); return 2; }
  folder = argv[1];
  mma_form<F16k16>("f16_f32_k16", F16, F32, 450); mma_form<F16k8>("f16_f32_k8", F16, F32, 225);
  mma_form<H16k16>("f16_f16_k16", F16, F16, 450); mma_form<H16k8>("f16_f16_k8", F16, F16, 225);
  mma_form<B16k16>("bf16_f32_k16", BF16, F32, 450); mma_form<B16k8>("bf16_f32_k8", BF16, F32, 225);
  mma_form<T32k8>("tf32_f32_k8", TF32, F32, 450); mma_form<T32k4>("tf32_f32_k4", TF32, F32, 225);
  mma_form<D8k4>("f64_m8n8k4", F64, F64, 150); mma_form<D16k4>("f64_m16n8k4", F64, F64, 60);
  mma_form<D16k8>("f64_m16n8k8", F64, F64, 60); mma_form<D16k16>("f64_m16n8k16", F64, F64, 60);
  mma_form<S8k32>("s8_k32", I8, I32, 60); mma_form<S8k32sat>("s8_k32_sat", I8, I32, 60); mma_form<U8k32>("u8_k32", I8, I32, 60);
  mma_form<U8k32sat>("u8s8_k32_sat", I8, I32, 60); mma_form<S8k16>("s8u8_k16", I8, I32, 60); mma_form<S8m8>("s8_m8n8k16", I8, I32, 60);
  mma_form<E4k32>("e4m3_f32_k32", E4M3, F32, 150); mma_form<E5k32>("e5m2_f32_k32", E5M2, F32, 150);
  wmma_form<half, float, half, 16, 16, 16>("wmma_f16_f32_m16n16k16", F16, F32, 150);
  wmma_form<half, half, half, 16, 16, 16>("wmma_f16_f16_m16n16k16", F16, F16, 150);
  wmma_form<half, float, half, 32, 8, 16>("wmma_f16_f32_m32n8k16", F16, F32, 75);
  wmma_form<half, float, half, 8, 32, 16>("wmma_f16_f32_m8n32k16", F16, F32, 75);
  wmma_form<__nv_bfloat16, float, __nv_bfloat16, 16, 16, 16>("wmma_bf16_f32_m16n16k16", BF16, F32, 150);
  wmma_form<wmma::precision::tf32, float, float, 16, 16, 8>("wmma_tf32_f32_m16n16k8", TF32, F32, 150);
  wmma_form<double, double, double, 8, 8, 4>("wmma_f64_m8n8k4", F64, F64, 75);
  wmma_form<signed char, int, signed char, 16, 16, 16>("wmma_s8_m16n16k16", I8, I32, 30);
  FILE *f = fopen((folder + "/layouts.txt").c_str(), "w");
  if (!f) { perror(folder.c_str()); return 1; }
  layouts<16, 16, 16, half, half, float>(f, "m16n16k16 f16 f32"); layouts<32, 8, 16, half, half, float>(f, "m32n8k16 f16 f32");
  layouts<8, 32, 16, half, half, float>(f, "m8n32k16 f16 f32"); layouts<16, 16, 16, half, half, half>(f, "m16n16k16 f16 f16");
  layouts<32, 8, 16, half, half, half>(f, "m32n8k16 f16 f16"); layouts<8, 32, 16, half, half, half>(f, "m8n32k16 f16 f16");
  layouts<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>(f, "m16n16k16 bf16 f32");
  layouts<32, 8, 16, __nv_bfloat16, __nv_bfloat16, float>(f, "m32n8k16 bf16 f32");
  layouts<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float>(f, "m8n32k16 bf16 f32");
  layouts<16, 16, 8, wmma::precision::tf32, float, float>(f, "m16n16k8 tf32 f32");
  layouts<8, 8, 4, double, double, double>(f, "m8n8k4 f64 f64");
  layouts<16, 16, 16, signed char, signed char, int>(f, "m16n16k16 s8 s32"); layouts<32, 8, 16, signed char, signed char, int>(f, "m32n8k16 s8 s32");
  layouts<8, 32, 16, unsigned char, unsigned char, int>(f, "m8n32k16 u8 s32");
  return fclose(f) != 0;
}
