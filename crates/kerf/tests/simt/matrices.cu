// Tensor cores: mma.sync with ldmatrix, stmatrix and cp.async by inline PTX, and wmma from <mma.h>.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
typedef unsigned int u32;

static __device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// c (32 by 16) = a (32 by 32) * b (32 by 16), row by row, a warp for each 16 by 8 of c; grid (2, 2), 32 threads.
__global__ void gemm_mma(const half* a, const half* b, float* c) {
    __shared__ __align__(16) half sa[16 * 16], sb[16 * 8];
    int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < 32; k += 16) {
        const half* from = a + (row + lane / 2) * 32 + k + lane % 2 * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(sa + lane * 8)), "l"(from));
        from = b + (k + lane % 16) * 16 + col;
        int size = lane < 16 ? 16 : 0;
        if (lane < 16)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(sb + lane * 8)), "l"(from), "r"(size));
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
        __syncwarp();
        u32 ra[4], rb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                     : "r"(shared_address(sa + lane % 16 * 16 + lane / 16 * 8)));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(rb[0]), "=r"(rb[1])
                     : "r"(shared_address(sb + lane % 16 * 8)));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) c[(row + lane / 4 + i / 2 * 8) * 16 + col + lane % 4 * 2 + i % 2] = d[i];
}

// The same product in 16 by 16 parts; b is read column by column from its transpose. Grid (1, 2), 32 threads.
__global__ void gemm_wmma(const half* a, const half* bt, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * 32 + k, 32);
        wmma::load_matrix_sync(fb, bt + k, 32);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 256, fc, 16, wmma::mem_row_major);
}

// Other formats, one tile each: a and b hold small integers, so that every result is exact. One block of 32 threads.
__global__ void other_formats(const int* a, const int* b, double* out) {
    __shared__ __align__(16) char raw[8192];
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    {   // f64 m8n8k4
        double d[2] = {1, 2}, x = a[g * 16 + t], y = b[t * 16 + g];
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(x), "d"(y));
        for (int i = 0; i < 2; i++) out[g * 8 + t * 2 + i] = d[i];
    }
    {   // s8 m16n8k16, u8 by s8
        u32 x[2] = {0, 0}, y = 0; int d[4] = {0, 0, 0, 0};
        for (int e = 0; e < 4; e++) {
            x[0] |= (u32)(a[g * 16 + t * 4 + e] & 255) << 8 * e; x[1] |= (u32)(a[(g + 8) * 16 + t * 4 + e] & 255) << 8 * e;
            y |= (u32)(b[(t * 4 + e) * 16 + g] & 255) << 8 * e;
        }
        asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(y));
        for (int i = 0; i < 4; i++) out[64 + (g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
    }
    {   // bf16 by wmma, 32 by 8
        __nv_bfloat16 *sa = (__nv_bfloat16*)raw, *sb = sa + 512; float* sc = (float*)(sb + 128);
        for (int i = lane; i < 512; i += 32) sa[i] = __float2bfloat16((float)a[i % 256]);
        for (int i = lane; i < 128; i += 32) sb[i] = __float2bfloat16((float)b[i / 8 * 16 + i % 8]);
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 32, 8, 16, __nv_bfloat16, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, __nv_bfloat16, wmma::row_major> fb;
        wmma::fragment<wmma::accumulator, 32, 8, 16, float> fc;
        wmma::fill_fragment(fc, 0.5f);
        wmma::load_matrix_sync(fa, sa, 16); wmma::load_matrix_sync(fb, sb, 8);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(sc, fc, 32, wmma::mem_col_major);
        __syncwarp();
        for (int i = lane; i < 256; i += 32) out[192 + i] = sc[i];
        __syncwarp();
    }
    {   // u8 by wmma, 8 by 32: the left factor is one register
        unsigned char *sa = (unsigned char*)raw, *sb = sa + 128; int* sc = (int*)(sb + 512);
        for (int i = lane; i < 128; i += 32) sa[i] = a[i % 8 * 16 + i / 8];
        for (int i = lane; i < 512; i += 32) sb[i] = b[i / 32 * 16 + i % 16] + 44;
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 8, 32, 16, unsigned char, wmma::col_major> fa;
        wmma::fragment<wmma::matrix_b, 8, 32, 16, unsigned char, wmma::row_major> fb;
        wmma::fragment<wmma::accumulator, 8, 32, 16, int> fc;
        wmma::fill_fragment(fc, -3);
        wmma::load_matrix_sync(fa, sa, 8); wmma::load_matrix_sync(fb, sb, 32);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(sc, fc, 32, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < 256; i += 32) out[512 + i] = sc[i];
        __syncwarp();
    }
    {   // stmatrix turns a matrix of 8 by 8 around
        half* s = (half*)raw;
        half2 pair = __halves2half2(__int2half_rn(a[g * 16 + t * 2]), __int2half_rn(a[g * 16 + t * 2 + 1]));
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(shared_address(s + lane % 8 * 8)), "r"(*(u32*)&pair) : "memory");
        __syncwarp();
        for (int i = lane; i < 64; i += 32) out[448 + i] = __half2float(s[i]);
    }
}

// The result of a part of a warp is not defined.
__global__ void half_a_warp(float* c) {
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x < 16)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(0));
    c[threadIdx.x] = d[0];
}
