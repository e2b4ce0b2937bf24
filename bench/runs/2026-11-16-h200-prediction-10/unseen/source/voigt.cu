// Absorption of a gas, line by line: each thread sums the Voigt profiles of all lines within reach of its
// wavenumber. The complex probability function is by Humlicek's four regions.
#define LN2_ROOT 0.83255461115769775635
#define PI_ROOT_INVERSE 0.56418958354775628695

struct Complex {
    double re, im;
};

__device__ __forceinline__ Complex times(Complex a, Complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __forceinline__ double real_of_quotient(Complex a, Complex b)
{
    return (a.re * b.re + a.im * b.im) / (b.re * b.re + b.im * b.im);
}

// c + t * p
__device__ __forceinline__ Complex horner(Complex t, Complex p, double c)
{
    return {t.re * p.re - t.im * p.im + c, t.re * p.im + t.im * p.re};
}

// Real part of w(x + iy), y > 0.
__device__ double humlicek(double x, double y)
{
    const double s = fabs(x) + y;
    const Complex t = {y, -x};
    if (s >= 15.0) {
        const Complex d = horner(t, t, 0.5);
        return real_of_quotient({t.re * 0.5641896, t.im * 0.5641896}, d);
    }
    const Complex u = times(t, t);
    if (s >= 5.5) {
        const Complex p = horner(u, {0.5641896, 0.0}, 1.410474);
        return real_of_quotient(times(t, p), horner(u, {u.re + 3.0, u.im}, 0.75));
    }
    if (y >= 0.195 * fabs(x) - 0.176) {
        Complex p = horner(t, {0.5642236, 0.0}, 3.778987);
        p = horner(t, p, 11.96482);
        p = horner(t, p, 20.20933);
        p = horner(t, p, 16.4955);
        Complex q = horner(t, {1.0, 0.0}, 6.699398);
        q = horner(t, q, 21.69274);
        q = horner(t, q, 39.27121);
        q = horner(t, q, 38.82363);
        q = horner(t, q, 16.4955);
        return real_of_quotient(p, q);
    }
    const Complex v = {-u.re, -u.im};
    Complex p = horner(v, {0.56419, 0.0}, 1.320522);
    p = horner(v, p, 35.7668);
    p = horner(v, p, 219.031);
    p = horner(v, p, 1540.787);
    p = horner(v, p, 3321.99);
    p = horner(v, p, 36183.31);
    Complex q = horner(v, {1.0, 0.0}, 1.841439);
    q = horner(v, q, 61.57037);
    q = horner(v, q, 364.2191);
    q = horner(v, q, 2186.181);
    q = horner(v, q, 9022.228);
    q = horner(v, q, 24322.84);
    q = horner(v, q, 32066.6);
    return exp(u.re) * cos(u.im) - real_of_quotient(times(t, p), q);
}

// Strengths and widths of the lines at this temperature and pressure; 296 K and 1 atm are the table's.
__global__ void lines_at(const double *__restrict__ centre, const double *__restrict__ strength,
                         const double *__restrict__ lower_energy, const double *__restrict__ width,
                         const double *__restrict__ exponent, double *__restrict__ amplitude,
                         double *__restrict__ inverse_doppler, double *__restrict__ damping, double temperature,
                         double pressure, double mass, int lines)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lines)
        return;
    const double c2 = 1.4387769, reference = 296.0;
    const double nu = centre[i];
    const double boltzmann = exp(-c2 * lower_energy[i] * (1.0 / temperature - 1.0 / reference));
    const double emission = (1.0 - exp(-c2 * nu / temperature)) / (1.0 - exp(-c2 * nu / reference));
    const double partition = pow(reference / temperature, 1.5);
    const double lorentz = width[i] * pressure * pow(reference / temperature, exponent[i]);
    const double doppler = 3.581163e-7 * nu * sqrt(temperature / mass);
    inverse_doppler[i] = LN2_ROOT / doppler;
    damping[i] = LN2_ROOT * lorentz / doppler;
    amplitude[i] = strength[i] * boltzmann * emission * partition * LN2_ROOT * PI_ROOT_INVERSE / doppler;
}

__device__ int first_at_least(const double *__restrict__ sorted, int n, double value)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void absorption(const double *__restrict__ centre, const double *__restrict__ amplitude,
                           const double *__restrict__ inverse_doppler, const double *__restrict__ damping,
                           double *__restrict__ spectrum, double from, double spacing, double reach, int lines,
                           int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    const double nu = from + spacing * i;
    const int begin = first_at_least(centre, lines, nu - reach);
    double sum = 0.0;
    for (int l = begin; l < lines; l++) {
        const double distance = nu - centre[l];
        if (distance < -reach)
            break;
        sum += amplitude[l] * humlicek(distance * inverse_doppler[l], damping[l]);
    }
    spectrum[i] = sum;
}
