// Warm-rain cloud microphysics after Kessler: rain falls through each column of air, then every cell exchanges
// vapour, cloud and rain. Level k of column i lies at k * columns + i; level 0 is next to the ground.
#define HEAT_OF_VAPORISATION 2.5e6
#define HEAT_CAPACITY 1004.0
#define R_OVER_CP 0.28571428571428571
#define GAS_CONSTANT 287.0

// Terminal velocity of rain in m/s.
__device__ __forceinline__ double fall_speed(double rho, double rain, double rho_ground)
{
    return 36.34 * pow(fmax(rain, 0.0) * 0.001 * rho, 0.1364) * sqrt(rho_ground / rho);
}

// Saturation mixing ratio over water (Bolton), temperature in K, pressure in Pa.
__device__ __forceinline__ double saturation(double temperature, double pressure)
{
    const double vapour = 611.2 * exp(17.67 * (temperature - 273.15) / (temperature - 29.65));
    return 0.622 * vapour / (pressure - vapour);
}

// Density and Exner function of a hydrostatic atmosphere of these potential temperatures.
__global__ void balance(const double *__restrict__ theta, double *__restrict__ rho, double *__restrict__ exner,
                        double dz, int columns, int levels)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns)
        return;
    double pi = 1.0;
    for (int k = 0; k < levels; k++) {
        const int c = k * columns + i;
        pi -= (k == 0 ? 0.5 : 1.0) * dz * 9.81 / (HEAT_CAPACITY * theta[c]);
        const double pressure = 1.0e5 * pow(pi, 1.0 / R_OVER_CP);
        exner[c] = pi;
        rho[c] = pressure / (GAS_CONSTANT * theta[c] * pi);
    }
}

// Upwind fall of rain, top to bottom; what reaches the ground is added to precipitation.
__global__ void sedimentation(double *__restrict__ rain, const double *__restrict__ rho,
                              double *__restrict__ precipitation, double dt, double dz, int columns, int levels)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns)
        return;
    const double rho_ground = rho[i];
    double above = 0.0; // flux through the top of the level
    for (int k = levels - 1; k >= 0; k--) {
        const int c = k * columns + i;
        const double q = rain[c], r = rho[c];
        const double below = r * q * fall_speed(r, q, rho_ground);
        rain[c] = fmax(q + dt * (above - below) / (r * dz), 0.0);
        above = below;
    }
    precipitation[i] += dt * above;
}

__global__ void microphysics(double *__restrict__ theta, double *__restrict__ vapour, double *__restrict__ cloud,
                             double *__restrict__ rain, const double *__restrict__ rho,
                             const double *__restrict__ exner, double dt, int n)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n)
        return;
    const double pi = exner[c], r = rho[c];
    double th = theta[c], qv = vapour[c], qc = cloud[c], qr = rain[c];

    // Cloud to rain: autoconversion above a threshold, collection by falling drops.
    if (qc > 0.0) {
        const double collected = 2.2 * pow(qr, 0.875);
        const double left = (qc - dt * fmax(0.001 * (qc - 0.001), 0.0)) / (1.0 + dt * collected);
        const double moved = fmax(qc - left, 0.0);
        qc -= moved;
        qr += moved;
    }

    // Saturation adjustment, one step of Newton.
    const double pressure = 1.0e5 * pow(pi, 1.0 / R_OVER_CP);
    const double temperature = th * pi;
    const double qs = saturation(temperature, pressure);
    const double slope = 4093.0 * qs / ((temperature - 36.0) * (temperature - 36.0));
    double condensed = (qv - qs) / (1.0 + HEAT_OF_VAPORISATION / HEAT_CAPACITY * slope);
    condensed = fmax(condensed, -qc);

    // Rain evaporates in air that is not saturated.
    double evaporated = 0.0;
    if (qr > 1.0e-9 && qv < qs && condensed <= 0.0) {
        const double content = 0.001 * r * qr;
        const double ventilation = 1.6 + 124.9 * pow(content, 0.2046);
        const double rate = ventilation * pow(content, 0.525) * (1.0 - qv / qs) /
                            ((2.55e8 / (pressure * qs) + 5.4e5) * r * 0.001);
        evaporated = fmin(fmin(dt * rate, qr), fmax(qs - qv - qc, 0.0));
    }

    theta[c] = th + HEAT_OF_VAPORISATION / (HEAT_CAPACITY * pi) * (condensed - evaporated);
    vapour[c] = fmax(qv - condensed + evaporated, 0.0);
    cloud[c] = qc + condensed;
    rain[c] = qr - evaporated;
}
