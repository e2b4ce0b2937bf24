// Three programs whose own error is above what somebody asks for, and which wider formats of a few operations mend.

// A dot product whose terms cancel: a thread's result is some thousandths of its largest terms.
__global__ void dot(const double *x, const double *y, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int j = 0; j < 64; ++j)
        sum += x[(i + j) % n] * y[(i + 7 * j) % n];
    double scale = 1.0 + y[i] * y[i];
    out[i] = sum / scale;
}

// The mean of squares less the square of the mean.
__global__ void variance(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, squares = 0;
    for (int j = 0; j < 64; ++j) {
        float v = x[(i + j) % n];
        sum += v;
        squares += v * v;
    }
    float mean = sum / 64;
    float spread = squares / 64 - mean * mean;
    float weight = expf(-x[i] * 0.001f);
    out[i] = spread * weight;
}

// (x - 1)^7, multiplied out, near its root.
__global__ void horner(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = x[i];
    double p = ((((((v - 7) * v + 21) * v - 35) * v + 35) * v - 21) * v + 7) * v - 1;
    double damped = exp(-v) * cos(v);
    out[i] = p * damped;
}
