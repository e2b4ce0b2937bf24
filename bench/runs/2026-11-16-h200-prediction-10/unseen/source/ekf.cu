// Extended Kalman filters: each thread follows one target that a radar sees by range and bearing.
// State: position and velocity in the plane; the covariance is symmetric, its upper triangle is kept.

struct Target {
    double x, y, vx, vy;
};

// What the radar sees of targets on straight courses: measurement k of target i at k * targets + i.
__global__ void observe(const Target *__restrict__ targets, const double *__restrict__ noise,
                        double *__restrict__ ranges, double *__restrict__ bearings, double dt, double range_sd,
                        double bearing_sd, int n, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int k = blockIdx.y;
    if (i >= n)
        return;
    const Target t = targets[i];
    const double when = dt * (k + 1);
    const double x = t.x + t.vx * when, y = t.y + t.vy * when;
    const size_t at = (size_t)k * n + i;
    ranges[at] = sqrt(x * x + y * y) + range_sd * noise[2 * at];
    bearings[at] = atan2(y, x) + bearing_sd * noise[2 * at + 1];
}

__global__ void track(const double *__restrict__ ranges, const double *__restrict__ bearings,
                      double *__restrict__ states, double *__restrict__ likelihood, double dt, double range_sd,
                      double bearing_sd, double acceleration_sd, int n, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // Start from the first measurement, standing still.
    double sine, cosine;
    sincos(bearings[i], &sine, &cosine);
    double x = ranges[i] * cosine, y = ranges[i] * sine, vx = 0.0, vy = 0.0;
    double pxx = 4.0, pxy = 0.0, pxu = 0.0, pxv = 0.0;
    double pyy = 4.0, pyu = 0.0, pyv = 0.0;
    double puu = 25.0, puv = 0.0, pvv = 25.0;

    const double q = acceleration_sd * acceleration_sd;
    const double q11 = 0.25 * q * dt * dt * dt * dt, q12 = 0.5 * q * dt * dt * dt, q22 = q * dt * dt;
    const double rr = range_sd * range_sd, rb = bearing_sd * bearing_sd;
    double fit = 0.0;

    for (int k = 1; k < steps; k++) {
        // Predict: P = F P F' + Q.
        x += dt * vx;
        y += dt * vy;
        pxx += dt * (2.0 * pxu + dt * puu) + q11;
        pxy += dt * (pxv + pyu + dt * puv);
        pyy += dt * (2.0 * pyv + dt * pvv) + q11;
        pxu += dt * puu + q12;
        pxv += dt * puv;
        pyu += dt * puv;
        pyv += dt * pvv + q12;
        puu += q22;
        pvv += q22;

        // Measurement matrix H of range and bearing: rows (hx, hy, 0, 0) and (gx, gy, 0, 0).
        const double r2 = x * x + y * y, r = sqrt(r2);
        const double hx = x / r, hy = y / r, gx = -y / r2, gy = x / r2;
        const size_t at = (size_t)k * n + i;
        const double e0 = ranges[at] - r, e1 = bearings[at] - atan2(y, x);

        // P H', four rows of two.
        const double ax = pxx * hx + pxy * hy, bx = pxx * gx + pxy * gy;
        const double ay = pxy * hx + pyy * hy, by = pxy * gx + pyy * gy;
        const double au = pxu * hx + pyu * hy, bu = pxu * gx + pyu * gy;
        const double av = pxv * hx + pyv * hy, bv = pxv * gx + pyv * gy;
        const double s00 = hx * ax + hy * ay + rr, s01 = hx * bx + hy * by, s11 = gx * bx + gy * by + rb;
        const double det = s00 * s11 - s01 * s01, inv = 1.0 / det;
        const double i00 = s11 * inv, i01 = -s01 * inv, i11 = s00 * inv;

        // Gain and update.
        const double kx0 = ax * i00 + bx * i01, kx1 = ax * i01 + bx * i11;
        const double ky0 = ay * i00 + by * i01, ky1 = ay * i01 + by * i11;
        const double ku0 = au * i00 + bu * i01, ku1 = au * i01 + bu * i11;
        const double kv0 = av * i00 + bv * i01, kv1 = av * i01 + bv * i11;
        x += kx0 * e0 + kx1 * e1;
        y += ky0 * e0 + ky1 * e1;
        vx += ku0 * e0 + ku1 * e1;
        vy += kv0 * e0 + kv1 * e1;
        pxx -= kx0 * ax + kx1 * bx;
        pxy -= kx0 * ay + kx1 * by;
        pxu -= kx0 * au + kx1 * bu;
        pxv -= kx0 * av + kx1 * bv;
        pyy -= ky0 * ay + ky1 * by;
        pyu -= ky0 * au + ky1 * bu;
        pyv -= ky0 * av + ky1 * bv;
        puu -= ku0 * au + ku1 * bu;
        puv -= ku0 * av + ku1 * bv;
        pvv -= kv0 * av + kv1 * bv;

        const double distance = e0 * e0 * i00 + 2.0 * e0 * e1 * i01 + e1 * e1 * i11;
        fit -= 0.5 * (distance + log(det));
    }
    states[i] = x;
    states[n + i] = y;
    states[2 * n + i] = vx;
    states[3 * n + i] = vy;
    likelihood[i] = fit;
}
