// Kernels whose launches can have several shapes, some only if one knows what one does.

extern "C" __global__ void scale(const double *x, double *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2.0 * x[i] + 1.0;
}

// Without a guard: a grid that covers more than n writes beyond the end, or less leaves zeros.
extern "C" __global__ void unguarded(const double *x, double *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0 * x[i] + 1.0;
}

extern "C" __global__ void __launch_bounds__(64) bounded(const double *x, double *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] + blockDim.x * 0.0;
}

// A shared array of 64 elements, one for each thread.
extern "C" __global__ void sized(const double *x, double *out, int n)
{
    __shared__ double here[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    here[threadIdx.x] = i < n ? x[i] : 0.0;
    __syncthreads();
    if (i < n)
        out[i] = here[threadIdx.x ^ 1];
}

// Block sums by a tree: the work grows with the block, and the result does not depend on it here.
extern "C" __global__ void growing(const double *x, double *out, int n)
{
    extern __shared__ double rows[];
    __shared__ double last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    rows[threadIdx.x] = i < n ? x[i] : 0.0;
    if (threadIdx.x == blockDim.x - 1)
        last = 3.0;
    __syncthreads();
    double sum = 0;
    for (int j = 0; j < blockDim.x; ++j)
        sum += j == threadIdx.x ? rows[j] : 0.0;
    if (i < n)
        out[i] = sum + last + gridDim.x * 0.0 + blockIdx.x * 0.0;
}

// Columns that lie apart: tall blocks write in longer runs.
extern "C" __global__ void transpose(const double *x, double *out, int rows, int columns)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns)
        out[c * rows + r] = x[r * columns + c];
}

// Blocks of 50 elements each, whatever the number of threads.
extern "C" __global__ void pieces(const double *x, double *out, int n)
{
    for (int j = threadIdx.x; j < 50; j += blockDim.x)
        out[blockIdx.x * 50 + j] = 2.0 * x[blockIdx.x * 50 + j];
}

// The block is part of the code.
extern "C" __global__ void baked(const double *x, double *out, int n)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        out[i] = 2.0 * x[i];
}

// One result a block, summed by halves: the last half of the threads reads nothing beyond the array.
__global__ void halved(const double *x, double *out, int n) {
    __shared__ double part[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        if (threadIdx.x < h)
            part[threadIdx.x] += part[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}
