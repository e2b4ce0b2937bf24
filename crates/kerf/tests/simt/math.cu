// Results that are exactly defined: roundings, conversions, special values, integer intrinsics.

// Functions of f64 values: each output row holds one function.
__global__ void f64_functions(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i], y = in[(i + 7) % n], z = in[(i + 3) % n];
    int r = 0;
    out[n * r++ + i] = sqrt(x);
    out[n * r++ + i] = fma(x, y, z);
    out[n * r++ + i] = floor(x);
    out[n * r++ + i] = ceil(x);
    out[n * r++ + i] = trunc(x);
    out[n * r++ + i] = round(x);
    out[n * r++ + i] = rint(x);
    out[n * r++ + i] = nearbyint(x);
    out[n * r++ + i] = fmin(x, y);
    out[n * r++ + i] = fmax(x, y);
    out[n * r++ + i] = fabs(x);
    out[n * r++ + i] = copysign(x, y);
    out[n * r++ + i] = x / y;
    out[n * r++ + i] = 1.0 / x;
    out[n * r++ + i] = x - y * z;
    out[n * r++ + i] = fmod(x, y);
    out[n * r++ + i] = ldexp(x, i % 40 - 20);
    out[n * r++ + i] = fdim(x, y);
    out[n * r++ + i] = __dadd_rz(x, y);
    out[n * r++ + i] = __dadd_ru(x, y);
    out[n * r++ + i] = __dadd_rd(x, y);
    out[n * r++ + i] = __dadd_rn(x, y);
    out[n * r++ + i] = __dmul_rz(x, y);
    out[n * r++ + i] = __dmul_ru(x, y);
    out[n * r++ + i] = __dmul_rd(x, y);
    out[n * r++ + i] = __ddiv_rz(x, y);
    out[n * r++ + i] = __ddiv_ru(x, y);
    out[n * r++ + i] = __ddiv_rd(x, y);
    out[n * r++ + i] = __dsqrt_ru(x);
    out[n * r++ + i] = __dsqrt_rd(x);
    out[n * r++ + i] = __fma_ru(x, y, z);
    out[n * r++ + i] = __fma_rd(x, y, z);
    out[n * r++ + i] = __fma_rz(x, y, z);
}
__global__ void f32_functions(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], y = in[(i + 7) % n], z = in[(i + 3) % n];
    int r = 0;
    out[n * r++ + i] = sqrtf(x);
    out[n * r++ + i] = fmaf(x, y, z);
    out[n * r++ + i] = floorf(x);
    out[n * r++ + i] = ceilf(x);
    out[n * r++ + i] = truncf(x);
    out[n * r++ + i] = roundf(x);
    out[n * r++ + i] = rintf(x);
    out[n * r++ + i] = fminf(x, y);
    out[n * r++ + i] = fmaxf(x, y);
    out[n * r++ + i] = copysignf(x, y);
    out[n * r++ + i] = x / y;
    out[n * r++ + i] = __fadd_rz(x, y);
    out[n * r++ + i] = __fadd_ru(x, y);
    out[n * r++ + i] = __fadd_rd(x, y);
    out[n * r++ + i] = __fmul_rz(x, y);
    out[n * r++ + i] = __fmul_ru(x, y);
    out[n * r++ + i] = __fmul_rd(x, y);
    out[n * r++ + i] = __fdiv_ru(x, y);
    out[n * r++ + i] = __fsqrt_rn(x);
    out[n * r++ + i] = __fmaf_rz(x, y, z);
    out[n * r++ + i] = fabsf(__saturatef(x));
    out[n * r++ + i] = fmodf(x, y);
    out[n * r++ + i] = x * y + z;
    out[n * r++ + i] = __fmul_rn(x, y) + z;
    out[n * r++ + i] = __frcp_rn(x);
}

// Predicates and comparisons.
__global__ void classes(const double* in, int* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double x = in[i], y = in[(i + 7) % n];
    out[i] = isnan(x) | (isinf(x) != 0) << 1 | (isfinite(x) != 0) << 2 | (signbit(x) != 0) << 3 | (x < y) << 4 | (x <= y) << 5 |
             (x == y) << 6 | (x != y) << 7 | !(x < y) << 8 | (x > y) << 9 | (x >= y) << 10;
}

// Conversions to integers, also where the value does not fit.
__global__ void to_integers(const double* in, long long* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double d = in[i];
    float f = (float)d;
    int r = 0;
    out[n * r++ + i] = (int)d;
    out[n * r++ + i] = (unsigned)d;
    out[n * r++ + i] = (long long)d;
    out[n * r++ + i] = (long long)(unsigned long long)d;
    out[n * r++ + i] = (int)f;
    out[n * r++ + i] = (unsigned)f;
    out[n * r++ + i] = (long long)f;
    out[n * r++ + i] = (long long)(unsigned long long)f;
    out[n * r++ + i] = __float2int_rn(f);
    out[n * r++ + i] = __float2int_ru(f);
    out[n * r++ + i] = __float2int_rd(f);
    out[n * r++ + i] = __double2int_rn(d);
    out[n * r++ + i] = __double2int_ru(d);
    out[n * r++ + i] = __double2ll_rd(d);
    out[n * r++ + i] = __double2uint_rn(d);
    out[n * r++ + i] = __float2uint_ru(f);
    out[n * r++ + i] = __float2ll_rn(f);
    out[n * r++ + i] = (long long)__double2ull_ru(d);
    out[n * r++ + i] = lrint(d);
    out[n * r++ + i] = llround(d);
}
__global__ void from_integers(const long long* in, double* d, float* f, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    long long v = in[i];
    d[i] = (double)v;
    d[n + i] = (double)(unsigned long long)v;
    d[2 * n + i] = __ll2double_ru(v);
    d[3 * n + i] = __ull2double_rz((unsigned long long)v);
    d[4 * n + i] = (double)(int)v + (double)(unsigned)v;
    f[i] = (float)v;
    f[n + i] = (float)(unsigned long long)v;
    f[2 * n + i] = __int2float_rd((int)v);
    f[3 * n + i] = __uint2float_rz((unsigned)v);
    f[4 * n + i] = __ll2float_ru(v);
    f[5 * n + i] = __double2float_rz((double)v);
    f[6 * n + i] = __double2float_ru((double)v * 1e-30);
}

// Bits.
__global__ void bits(const unsigned long long* in, unsigned long long* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned long long v = in[i], w = in[(i + 1) % n];
    unsigned a = (unsigned)v, b = (unsigned)(v >> 32);
    int r = 0;
    out[n * r++ + i] = __popc(a);
    out[n * r++ + i] = __popcll(v);
    out[n * r++ + i] = __clz(a);
    out[n * r++ + i] = __clzll(v);
    out[n * r++ + i] = __ffs(a);
    out[n * r++ + i] = __ffsll(v);
    out[n * r++ + i] = __brev(a);
    out[n * r++ + i] = __brevll(v);
    out[n * r++ + i] = __byte_perm(a, b, 0x3175);
    out[n * r++ + i] = __byte_perm(a, b, i * 0x1111 & 0x7777);
    out[n * r++ + i] = (unsigned)__mulhi((int)a, (int)b);
    out[n * r++ + i] = __umulhi(a, b);
    out[n * r++ + i] = __umul64hi(v, w);
    out[n * r++ + i] = __mul64hi((long long)v, (long long)w);
    out[n * r++ + i] = __funnelshift_l(a, b, i);
    out[n * r++ + i] = __funnelshift_r(a, b, i);
    out[n * r++ + i] = __funnelshift_lc(a, b, i + 20);
    out[n * r++ + i] = __funnelshift_rc(a, b, i + 20);
    out[n * r++ + i] = (unsigned)__mul24((int)a, (int)b);
    out[n * r++ + i] = __umul24(a, b);
    out[n * r++ + i] = __usad(a, b, 5u);
    out[n * r++ + i] = (unsigned)__sad((int)a, (int)b, 5u);
    out[n * r++ + i] = (unsigned)__hadd((int)a, (int)b);
    out[n * r++ + i] = __uhadd(a, b);
    out[n * r++ + i] = (unsigned)__rhadd((int)a, (int)b);
    double d = __longlong_as_double((long long)v);
    out[n * r++ + i] = (unsigned)__double2hiint(d);
    out[n * r++ + i] = (unsigned)__double2loint(d);
    out[n * r++ + i] = __double_as_longlong(__hiloint2double((int)a, (int)b));
    out[n * r++ + i] = (unsigned)__float_as_int(__uint_as_float(a));
    // Shifts as wide as the type, and divisions that C leaves undefined, as the device has them.
    out[n * r++ + i] = (unsigned)((int)a >> (i & 31)) ^ (a << (i & 31)) ^ (b >> (31 - (i & 31)));
    out[n * r++ + i] = (unsigned)((int)a / (int)(b | 1)) + 3 * (unsigned)((int)a % (int)(b | 1));
    out[n * r++ + i] = v / (w | 1) + 3 * (v % (w | 1));
    out[n * r++ + i] = (unsigned)min((int)a, (int)b) ^ max(a, b) ^ (unsigned)abs((int)a >> 1);
    out[n * r++ + i] = __vadd4(a, b) ^ __vabsdiffu4(a, b) ^ ((unsigned long long)__vcmpgtu2(a, b) << 32);
    out[n * r++ + i] = __dp4a((int)a, (int)b, 7) ^ ((unsigned long long)__dp4a(a, b, 7u) << 32);
}

__global__ void clocks(int* out) {
    long long a = clock64();
    clock_t c = clock();
    float x = threadIdx.x;
    for (int k = 0; k < 1000; k++) x = x * 0.999f + 1.0f;
    long long b = clock64();
    out[threadIdx.x] = (b > a) + 2 * (x > 0) + 4 * (c != 0 || c == 0);
}
