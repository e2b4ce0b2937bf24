// Fourier transforms of 512 complex numbers each, in shared memory, radix 2 after Stockham; then the power spectrum.
#ifndef REAL
#define REAL double
#endif
#define N 512

struct Complex {
    REAL re, im;
};

__global__ void transform(const Complex *in, Complex *out)
{
    __shared__ Complex a[N], b[N];
    const int base = blockIdx.x * N, t = threadIdx.x;
    a[t] = in[base + t];
    a[t + N / 2] = in[base + t + N / 2];
    Complex *from = a, *to = b;
    for (int m = 1; m < N; m *= 2) {
        __syncthreads();
        const int k = t & (m - 1);
        REAL s, c;
        sincospi(-REAL(k) / REAL(m), &s, &c);
        const Complex p = from[t], q = from[t + N / 2];
        const REAL re = q.re * c - q.im * s, im = q.re * s + q.im * c;
        const int j = ((t - k) << 1) + k;
        to[j].re = p.re + re;
        to[j].im = p.im + im;
        to[j + m].re = p.re - re;
        to[j + m].im = p.im - im;
        Complex *other = from;
        from = to;
        to = other;
    }
    __syncthreads();
    out[base + t] = from[t];
    out[base + t + N / 2] = from[t + N / 2];
}

__global__ void power(const Complex *in, REAL *p, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = log(1 + (in[i].re * in[i].re + in[i].im * in[i].im) / N);
}
