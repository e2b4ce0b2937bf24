// European options after Black and Scholes; the normal distribution by the polynomial 26.2.17 of
// Abramowitz and Stegun. Bound by exp, log, sqrt and division, no barrier, f64.
// Floor: 1 log, 1 sqrt, 3 exp, 5 divisions and about 45 other flops, and 40 bytes, for each option.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static double below(double x)
{
    double t = 1.0 / (1.0 + 0.2316419 * fabs(x));
    double p = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    double tail = 0.3989422804014327 * exp(-0.5 * x * x) * p;
    return x < 0.0 ? tail : 1.0 - tail;
}

__kernel void black_scholes(__global const double *spot, __global const double *strike,
                            __global const double *years, __global double *call,
                            __global double *put, double rate, double sigma, int n)
{
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    double s = spot[i], k = strike[i], t = years[i];
    double width = sigma * sqrt(t);
    double d1 = (log(s / k) + (rate + 0.5 * sigma * sigma) * t) / width;
    double d2 = d1 - width;
    double kept = k * exp(-rate * t);
    double n1 = below(d1), n2 = below(d2);
    call[i] = s * n1 - kept * n2;
    put[i] = kept * (1.0 - n2) - s * (1.0 - n1);
}
