// Prices of European calls and puts by the Black-Scholes formula; see black_scholes.cu.
// One work-item steps over the options with the global size as its stride.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifndef REAL
#define REAL double
#endif

REAL normal_cdf(REAL d)
{
    return (REAL)0.5 * erfc(-d * (REAL)0.70710678118654752440);
}

__kernel void black_scholes(__global const REAL *spot, __global const REAL *strike,
                            __global const REAL *years, __global REAL *call, __global REAL *put,
                            REAL rate, REAL vol, int n)
{
    int stride = (int)get_global_size(0);
    for (int i = (int)get_global_id(0); i < n; i += stride) {
        REAL s = spot[i];
        REAL t = years[i];
        REAL sd = vol * sqrt(t);
        REAL d1 = (log(s / strike[i]) + (rate + (REAL)0.5 * vol * vol) * t) / sd;
        REAL d2 = d1 - sd;
        REAL discounted = strike[i] * exp(-rate * t);
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    }
}
