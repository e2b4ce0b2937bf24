// Least squares by Householder QR, many small systems: a block takes one matrix of ROWS by COLUMNS, held by column
// in shared memory with the right-hand side as one more column. Warps share the columns, lanes the rows.
#ifndef ROWS
#define ROWS 64
#endif
#ifndef COLUMNS
#define COLUMNS 20
#endif
#define PITCH (ROWS + 1)

__device__ __forceinline__ double warp_sum(double v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void least_squares(const double *__restrict__ matrices, const double *__restrict__ rhs,
                              double *__restrict__ solutions, double *__restrict__ residuals)
{
    __shared__ double a[(COLUMNS + 1) * PITCH];
    __shared__ double diagonal[COLUMNS];
    __shared__ double beta;
    const int lane = threadIdx.x, warp = threadIdx.y, warps = blockDim.y;
    const int thread = warp * 32 + lane;
    const double *matrix = matrices + (size_t)blockIdx.x * ROWS * COLUMNS;

    for (int e = thread; e < ROWS * COLUMNS; e += 32 * warps)
        a[e / ROWS * PITCH + e % ROWS] = matrix[e];
    for (int r = thread; r < ROWS; r += 32 * warps)
        a[COLUMNS * PITCH + r] = rhs[(size_t)blockIdx.x * ROWS + r];
    __syncthreads();

    for (int k = 0; k < COLUMNS; k++) {
        if (warp == 0) { // the reflector of column k
            double sum = 0.0;
            for (int r = k + lane; r < ROWS; r += 32)
                sum += a[k * PITCH + r] * a[k * PITCH + r];
            const double norm = sqrt(warp_sum(sum));
            if (lane == 0) {
                const double head = a[k * PITCH + k];
                const double alpha = head > 0.0 ? -norm : norm;
                diagonal[k] = alpha;
                a[k * PITCH + k] = head - alpha;
                beta = 1.0 / (alpha * (alpha - head));
            }
        }
        __syncthreads();
        for (int c = k + 1 + warp; c <= COLUMNS; c += warps) {
            double dot = 0.0;
            for (int r = k + lane; r < ROWS; r += 32)
                dot += a[k * PITCH + r] * a[c * PITCH + r];
            dot = beta * warp_sum(dot);
            for (int r = k + lane; r < ROWS; r += 32)
                a[c * PITCH + r] -= dot * a[k * PITCH + r];
        }
        __syncthreads();
    }

    if (warp == 0) { // back substitution, the solution in the head of the right-hand side
        double *y = a + COLUMNS * PITCH;
        for (int k = COLUMNS - 1; k >= 0; k--) {
            const double x = y[k] / diagonal[k];
            __syncwarp();
            if (lane < k)
                y[lane] -= x * a[k * PITCH + lane];
            if (lane == 0)
                solutions[(size_t)blockIdx.x * COLUMNS + k] = x;
            __syncwarp();
        }
        double sum = 0.0;
        for (int r = COLUMNS + lane; r < ROWS; r += 32)
            sum += y[r] * y[r];
        sum = warp_sum(sum);
        if (lane == 0)
            residuals[blockIdx.x] = sqrt(sum);
    }
}
