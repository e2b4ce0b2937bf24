// Values that device code has to follow through memory and registers: each output is x / 3 by another way.
struct Mixed {
    double wide;
    float narrow;
    int number;
};

__device__ double kept[64];

__global__ void fill(const double *x, double *third, Mixed *mixed, int n)
{
    int i = threadIdx.x;
    third[i] = x[i] / 3;
    kept[i] = x[i] / 3;
    mixed[i] = Mixed{x[i] / 3, (float)(x[i] / 3), i};
}

// Exchanges neighbours as integers: an entry has to be read when its value is, not when it is written.
__global__ void exchange(double *values)
{
    long long *words = (long long *)values;
    int i = 2 * threadIdx.x;
    long long first = words[i], second = words[i + 1];
    words[i] = second;
    words[i + 1] = first;
}

__global__ void copies(const double *third, const Mixed *mixed, double *by_int4, double *by_struct, double *by_variable,
                       float *narrow, int n)
{
    int i = threadIdx.x;
    if (i % 2 == 0) ((int4 *)by_int4)[i / 2] = ((const int4 *)third)[i / 2];
    __shared__ Mixed turned[64];
    turned[n - 1 - i] = mixed[i];
    __syncthreads();
    Mixed m = turned[n - 1 - i];
    by_struct[i] = m.wide;
    narrow[i] = m.narrow;
    by_variable[i] = kept[i];
}

__global__ void local_arrays(const double *x, double *by_local, double *by_shuffle, int n)
{
    int i = threadIdx.x;
    double own[8];
    for (int k = 0; k < 8; k++) own[(k + i) % 8] = x[(i + k) % n] / 3;
    double copy[8];
    memcpy(copy, own, sizeof own);
    by_local[i] = copy[i % 8];
    by_shuffle[i] = __shfl_xor_sync(~0u, x[i ^ 1] / 3, 1);
}
