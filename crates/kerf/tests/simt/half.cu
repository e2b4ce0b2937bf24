// Half-precision types: arithmetic that rounds once, conversions, comparisons.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void f16_arithmetic(const __half* in, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half x = in[i], y = in[(i + 5) % n], z = in[(i + 11) % n];
    int r = 0;
    out[n * r++ + i] = __hadd(x, y);
    out[n * r++ + i] = __hsub(x, y);
    out[n * r++ + i] = __hmul(x, y);
    out[n * r++ + i] = __hfma(x, y, z);
    out[n * r++ + i] = x + y;
    out[n * r++ + i] = __hneg(x);
    out[n * r++ + i] = __habs(x);
    out[n * r++ + i] = __hmax(x, y);
    out[n * r++ + i] = __hmin(x, y);
    out[n * r++ + i] = hfloor(x);
    out[n * r++ + i] = hceil(x);
    out[n * r++ + i] = hrint(x);
    out[n * r++ + i] = htrunc(x);
    out[n * r++ + i] = __hadd_sat(x, y);
    __half2 v = __halves2half2(x, y), w = __halves2half2(y, z);
    __half2 p = __hmul2(v, w), q = __hfma2(v, w, v);
    out[n * r++ + i] = __low2half(p);
    out[n * r++ + i] = __high2half(p);
    out[n * r++ + i] = __low2half(q);
    out[n * r++ + i] = __high2half(q);
    __half2 s = __lowhigh2highlow(v);
    out[n * r++ + i] = s.x;
    out[n * r++ + i] = __half(__hadd2(v, w).y);
}

__global__ void bf16_arithmetic(const __nv_bfloat16* in, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 x = in[i], y = in[(i + 5) % n], z = in[(i + 11) % n];
    int r = 0;
    out[n * r++ + i] = __hadd(x, y);
    out[n * r++ + i] = __hsub(x, y);
    out[n * r++ + i] = __hmul(x, y);
    out[n * r++ + i] = __hfma(x, y, z);
    out[n * r++ + i] = x * y;
    out[n * r++ + i] = __hmax(x, y);
    out[n * r++ + i] = __hmin(x, y);
    __nv_bfloat162 v = __halves2bfloat162(x, y), w = __halves2bfloat162(y, z);
    __nv_bfloat162 q = __hfma2(v, w, v);
    out[n * r++ + i] = q.x;
    out[n * r++ + i] = q.y;
    out[n * r++ + i] = -x;
}

__global__ void f16_conversions(const float* f, const double* d, __half* h, __nv_bfloat16* b, int* k, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    int r = 0;
    h[n * r++ + i] = __float2half(f[i]);
    h[n * r++ + i] = __float2half_rz(f[i]);
    h[n * r++ + i] = __float2half_ru(f[i]);
    h[n * r++ + i] = __float2half_rd(f[i]);
    h[n * r++ + i] = __double2half(d[i]);
    h[n * r++ + i] = __int2half_rn((int)f[i]);
    h[n * r++ + i] = __float22half2_rn(make_float2(f[i], -f[i])).y;
    h[n * r++ + i] = (__half)(f[i] * 0.5f);
    r = 0;
    b[n * r++ + i] = __float2bfloat16(f[i]);
    b[n * r++ + i] = __double2bfloat16(d[i]);
    b[n * r++ + i] = __float2bfloat16_rz(f[i]);
    r = 0;
    __half x = __float2half(f[i]);
    __nv_bfloat16 y = __float2bfloat16(f[i]);
    k[n * r++ + i] = __half2int_rz(x);
    k[n * r++ + i] = __half2int_rn(x);
    k[n * r++ + i] = __half2uint_rz(x);
    k[n * r++ + i] = __hisnan(x) ? -1 : __half_as_ushort(x);
    k[n * r++ + i] = __hisnan(x) ? -1 : __float_as_int(__half2float(x));
    k[n * r++ + i] = __hisnan(y) ? -1 : __float_as_int(__bfloat162float(y));
    k[n * r++ + i] = __hisnan(y) ? -1 : __bfloat16_as_ushort(y);
}

__global__ void comparisons(const __half* h, const __nv_bfloat16* b, int* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    __half x = h[i], y = h[(i + 1) % n];
    __nv_bfloat16 u = b[i], v = b[(i + 1) % n];
    out[i] = __hlt(x, y) | __hle(x, y) << 1 | __hgt(x, y) << 2 | __hge(x, y) << 3 | __heq(x, y) << 4 | __hne(x, y) << 5 |
             __hltu(x, y) << 6 | __hgeu(x, y) << 7 | __hisnan(x) << 8 | (__hisinf(x) != 0) << 9 | (x < y) << 10 |
             __hbeq2(__halves2half2(x, y), __halves2half2(x, y)) << 11;
    out[n + i] = __hlt(u, v) | __heq(u, v) << 1 | __hgeu(u, v) << 2 | __hisnan(u) << 3 | (u > v) << 4;
}

// A dot product in halves, with the sum in f32 and the sum in f16.
__global__ void dot(const __half2* a, float* wide, __half* narrow, int n) {
    float s = 0;
    __half2 t = __float2half2_rn(0.0f);
    for (int k = 0; k < n; k++) {
        float2 f = __half22float2(a[k]);
        s += f.x * f.y;
        t = __hfma2(a[k], a[(k + threadIdx.x) % n], t);
    }
    wide[threadIdx.x] = s;
    narrow[threadIdx.x] = __hadd(__low2half(t), __high2half(t));
}
