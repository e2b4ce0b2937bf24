// Kernels whose best plans are known.

// `diff` cancels: in f32 nothing of x is left. All else may be f32 at 1e-6.
__global__ void mixed(const double *x, const double *y, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double diff = (1e9 + x[i]) - 1e9;
    double fall = exp(-y[i]) * exp(-2.0 * y[i]);
    double wave = sin(y[i]) * cos(2.0 * y[i]) + 2.0;
    double scale = log(y[i] + 3.0) / sqrt(y[i] + 1.0);
    out[i] = diff + wave * scale + fall;
}

// `d` is exact in f32 on 1 and 2, and on nothing near them.
__global__ void lucky(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double d = exp2(log2(x[i])) - 1.0;
    out[i] = d;
}

__global__ void sum(const double *x, double *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double square = x[i] * x[i];
        atomicAdd(total, square);
    }
}

__global__ void count(const int *x, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] * 3;
}

__global__ void single(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float half = 0.5f * x[i];
        out[i] = expf(half);
    }
}

// The square root of a negative number.
__global__ void nowhere(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double root = sqrt(-1.0 - x[i]);
        out[i] = root;
    }
}

// In f32, 2^25 + 1 is 2^25, and the loop never ends.
__global__ void endless(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double step = 33554432.0;
    // A loop that does nothing else may be taken to end, and be removed.
    volatile double *seen = out;
    while (step < 33554440.0) {
        step += 1.0;
        seen[i] = step;
    }
    double smooth = exp(-x[i]) * sin(x[i]);
    out[i] = smooth + step * 1e-9;
}

// As `lucky`, a little off even there; `twice` and `half` change nothing in f32.
__global__ void lucky_twice(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double near = exp2(log2(x[i])) - 1.0;
    double off = exp(x[i]) * 1e-3;
    double twice = x[i] * 2.0;
    double half = twice * 0.25;
    out[i] = near + off * (half - twice * 0.25 + 1.0);
}

// Another value every time.
__global__ void timed(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double noise = (double)(clock64() & 1023) * 1e-9;
        out[i] = x[i] + noise;
    }
}

// Reads one element beyond the last.
extern "C" __global__ void beyond(const double *x, double *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] * x[i + 1];
}

// Every value waits for memory.
__global__ void pairs(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = x[i] + x[i ^ 1];
        out[i] = sum;
    }
}
