// OpenCL C: work-groups, local memory, atomics, vectors, printf.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void places(__global int* out) {
    size_t x = get_global_id(0), y = get_global_id(1);
    size_t at = y * get_global_size(0) + x;
    out[at] = (int)(get_local_id(0) + 10 * get_local_id(1) + 100 * get_group_id(0) + 1000 * get_group_id(1) +
                    10000 * get_num_groups(0) + 100000 * get_local_size(1) + 1000000 * get_work_dim());
}

__kernel void reverse(__global const int* in, __global int* out, __local int* s) {
    __local int first;
    int t = get_local_id(0), n = get_local_size(0);
    s[t] = in[get_global_id(0)];
    if (t == 0) first = in[get_group_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = s[n - 1 - t] + first;
}

__kernel void scan(__global const int* in, __global int* out) {
    __local int s[2][64];
    int t = get_local_id(0), from = 0;
    s[0][t] = in[get_global_id(0)];
    for (int d = 1; d < 64; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = s[from][t];
}

__kernel void atomics(__global int* out, __global uint* u, __global const int* in) {
    __local int best;
    int t = get_local_id(0);
    if (t == 0) best = -1000;
    barrier(CLK_LOCAL_MEM_FENCE);
    int v = in[get_global_id(0)];
    atomic_max(&best, v);
    atomic_add(out, v);
    atomic_inc(out + 1);
    atomic_min(out + 2, v);
    atomic_or(u, 1u << (v & 31));
    atomic_xor(u + 1, (uint)v);
    if (v == 12) atomic_cmpxchg(out + 3, 0, 99);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t == 0) out[4 + get_group_id(0)] = best;
}

__kernel void vectors(__global const double4* in, __global double* out, __global const float* f, __global float* g) {
    size_t i = get_global_id(0);
    double4 v = in[i];
    double4 w = v.wzyx * 2.0 + (double4)(1.0, 2.0, 3.0, 4.0);
    vstore4(w, i, out);
    float4 a = vload4(i, f);
    float3 b = vload3(i, f);
    float2 c = a.hi - a.lo;
    vstore2(c, i, g);
    g[64 + i] = dot(a, (float4)(1, 2, 4, 8)) + b.z;
    int4 m = a > (float4)(2.0f);
    g[96 + i] = any(m) * 2 + all(m) + (float)m.s0;
    g[128 + i] = select(1.0f, 2.0f, a.x < a.y) + clamp(a.x, 0.0f, 1.0f) + mad24((int)i, 3, 1) + convert_int_sat(a.w > 0 ? 1e20f : 1.0f);
    g[160 + i] = as_float(as_int(a.y)) + (float)popcount((uint)i) + (float)rotate((uint)i, 4u) + fmax(a.z, b.y);
}

__kernel void prints(int n) {
    if (get_global_id(0) == 1) {
        printf("n = %d, half = %.2f, %s\n", n, n * 0.5f, "text");
        printf("%5u|%x|%c\n", 7u, 255, 'z');
    }
}
