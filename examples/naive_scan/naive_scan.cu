// Prefix sums by the method whose work grows with the block: within a block of b elements every thread
// adds up all elements before its own, b^2 / 2 additions.
//
//   p_i = x_0 + .. + x_i
//
// scan_blocks does that and notes the sum of each block, scan_totals adds these up in one block, and
// add_totals adds them to the elements.
//
// Build: nvcc -O2 -arch=native naive_scan.cu -o naive_scan              (-DREAL=float for single)
// Run:   ./naive_scan [-n elements] [-b threads]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

#define CHUNKS 128 // threads of scan_totals

// Dynamic shared memory for an element of each thread.
__global__ void scan_blocks(const REAL *x, REAL *p, REAL *totals, int n)
{
    extern __shared__ REAL here[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    here[threadIdx.x] = i < n ? x[i] : REAL(0);
    __syncthreads();

    REAL sum = 0;
    for (int j = 0; j < blockDim.x; ++j)
        sum += j <= threadIdx.x ? here[j] : REAL(0);
    if (i < n)
        p[i] = sum;
    if (threadIdx.x == blockDim.x - 1)
        totals[blockIdx.x] = sum;
}

// One block of CHUNKS threads, each with a run of the blocks: what lies before each block.
__global__ void scan_totals(REAL *totals, int blocks)
{
    __shared__ REAL chunks[CHUNKS];
    const int each = (blocks + CHUNKS - 1) / CHUNKS;
    const int first = threadIdx.x * each, end = min(first + each, blocks);
    REAL sum = 0;
    for (int b = first; b < end; ++b)
        sum += totals[b];
    chunks[threadIdx.x] = sum;
    __syncthreads();

    REAL before = 0;
    for (int j = 0; j < threadIdx.x; ++j)
        before += chunks[j];
    for (int b = first; b < end; ++b) {
        const REAL total = totals[b];
        totals[b] = before;
        before += total;
    }
}

__global__ void add_totals(REAL *p, const REAL *totals, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += totals[blockIdx.x];
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("n", 1 << 18), threads = options("b", 128, 1024);
    options.done("[-n elements] [-b threads]");

    const int blocks = ceil_div(n, threads);
    Array<REAL> x(n), p(n), totals(blocks);
    Random random;
    for (int i = 0; i < n; ++i)
        x[i] = REAL(random.uniform(0, 1));
    x.up();

    Timer timer;
    scan_blocks<<<blocks, threads, threads * sizeof(REAL)>>>(x.device, p.device, totals.device, n);
    scan_totals<<<1, CHUNKS>>>(totals.device, blocks);
    add_totals<<<blocks, threads>>>(p.device, totals.device, n);
    const float ms = timer.stop();
    p.down();

    Worst worst(1e-6);
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += x[i];
        worst.add(p[i], sum);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-12 : 1e-4);
}
