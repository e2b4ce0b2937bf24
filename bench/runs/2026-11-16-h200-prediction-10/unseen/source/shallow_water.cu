// Shallow-water equations on a rectangle with walls: second-order finite volumes (minmod slopes, HLL fluxes),
// two stages of Heun, Manning friction. Fields have two rows of ghost cells on each side.
#define GHOST 2
#define GRAVITY 9.81
#define DRY 1.0e-6

struct State {
    double h, hu, hv;
};

__device__ __forceinline__ double minmod(double a, double b)
{
    if (a * b <= 0.0)
        return 0.0;
    return fabs(a) < fabs(b) ? a : b;
}

// Values at the face between b and c, from either side, of cells a b c d in a row.
__device__ __forceinline__ void reconstruct(double a, double b, double c, double d, double &left, double &right)
{
    left = b + 0.5 * minmod(b - a, c - b);
    right = c - 0.5 * minmod(c - b, d - c);
}

// HLL flux through a face; hu is the momentum normal to it, hv the one along it.
__device__ State hll(State l, State r)
{
    const double ul = l.h > DRY ? l.hu / l.h : 0.0, ur = r.h > DRY ? r.hu / r.h : 0.0;
    const double vl = l.h > DRY ? l.hv / l.h : 0.0, vr = r.h > DRY ? r.hv / r.h : 0.0;
    const double cl = sqrt(GRAVITY * fmax(l.h, 0.0)), cr = sqrt(GRAVITY * fmax(r.h, 0.0));
    const double slow = fmin(ul - cl, ur - cr), fast = fmax(ul + cl, ur + cr);
    const State fl = {l.hu, l.hu * ul + 0.5 * GRAVITY * l.h * l.h, l.hu * vl};
    const State fr = {r.hu, r.hu * ur + 0.5 * GRAVITY * r.h * r.h, r.hu * vr};
    if (slow >= 0.0)
        return fl;
    if (fast <= 0.0)
        return fr;
    const double w = 1.0 / (fast - slow);
    State f;
    f.h = w * (fast * fl.h - slow * fr.h + slow * fast * (r.h - l.h));
    f.hu = w * (fast * fl.hu - slow * fr.hu + slow * fast * (r.hu - l.hu));
    f.hv = w * (fast * fl.hv - slow * fr.hv + slow * fast * (r.hv - l.hv));
    return f;
}

// Mirrors the cells next to the walls into the ghost cells; one thread a column or row.
__global__ void walls(double *h, double *hu, double *hv, int nx, int ny)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int pitch = nx + 2 * GHOST;
    if (t < ny) {
        const int row = (t + GHOST) * pitch;
        for (int g = 0; g < GHOST; g++) {
            const int in_low = row + 2 * GHOST - 1 - g, in_high = row + nx + g;
            const int low = row + g, high = row + nx + 2 * GHOST - 1 - g;
            h[low] = h[in_low], hu[low] = -hu[in_low], hv[low] = hv[in_low];
            h[high] = h[in_high], hu[high] = -hu[in_high], hv[high] = hv[in_high];
        }
    } else if (t < ny + nx) {
        const int x = t - ny + GHOST;
        for (int g = 0; g < GHOST; g++) {
            const int in_low = (2 * GHOST - 1 - g) * pitch + x, in_high = (ny + g) * pitch + x;
            const int low = g * pitch + x, high = (ny + 2 * GHOST - 1 - g) * pitch + x;
            h[low] = h[in_low], hu[low] = hu[in_low], hv[low] = -hv[in_low];
            h[high] = h[in_high], hu[high] = hu[in_high], hv[high] = -hv[in_high];
        }
    }
}

// Fluxes through the low x face and the low y face of each cell; (nx + 1) by (ny + 1) threads.
__global__ void fluxes(const double *__restrict__ h, const double *__restrict__ hu, const double *__restrict__ hv,
                       double *__restrict__ fh, double *__restrict__ fhu, double *__restrict__ fhv,
                       double *__restrict__ gh, double *__restrict__ ghu, double *__restrict__ ghv, int nx, int ny)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > nx || y > ny)
        return;
    const int pitch = nx + 2 * GHOST;
    const int c = (y + GHOST) * pitch + x + GHOST;
    State l, r;
    if (y < ny) {
        reconstruct(h[c - 2], h[c - 1], h[c], h[c + 1], l.h, r.h);
        reconstruct(hu[c - 2], hu[c - 1], hu[c], hu[c + 1], l.hu, r.hu);
        reconstruct(hv[c - 2], hv[c - 1], hv[c], hv[c + 1], l.hv, r.hv);
        const State f = hll(l, r);
        fh[c] = f.h, fhu[c] = f.hu, fhv[c] = f.hv;
    }
    if (x < nx) {
        const int p = pitch;
        reconstruct(h[c - 2 * p], h[c - p], h[c], h[c + p], l.h, r.h);
        reconstruct(hv[c - 2 * p], hv[c - p], hv[c], hv[c + p], l.hu, r.hu);
        reconstruct(hu[c - 2 * p], hu[c - p], hu[c], hu[c + p], l.hv, r.hv);
        const State g = hll(l, r);
        gh[c] = g.h, ghv[c] = g.hu, ghu[c] = g.hv;
    }
}

// to = a * old + b * (from + dt * divergence), then friction.
__global__ void advance(const double *old_h, const double *old_hu, const double *old_hv, const double *__restrict__ h, const double *__restrict__ hu,
                        const double *__restrict__ hv, const double *__restrict__ fh, const double *__restrict__ fhu,
                        const double *__restrict__ fhv, const double *__restrict__ gh, const double *__restrict__ ghu,
                        const double *__restrict__ ghv, double *to_h, double *to_hu, double *to_hv, double a, double b,
                        double dt_dx, double dt, double manning, int nx, int ny)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    const int pitch = nx + 2 * GHOST;
    const int c = (y + GHOST) * pitch + x + GHOST;
    const double new_h = a * old_h[c] + b * (h[c] - dt_dx * (fh[c + 1] - fh[c] + gh[c + pitch] - gh[c]));
    double new_hu = a * old_hu[c] + b * (hu[c] - dt_dx * (fhu[c + 1] - fhu[c] + ghu[c + pitch] - ghu[c]));
    double new_hv = a * old_hv[c] + b * (hv[c] - dt_dx * (fhv[c + 1] - fhv[c] + ghv[c + pitch] - ghv[c]));
    if (new_h > DRY) {
        const double speed = sqrt(new_hu * new_hu + new_hv * new_hv) / new_h;
        const double drag = 1.0 / (1.0 + b * dt * GRAVITY * manning * manning * speed / (new_h * cbrt(new_h)));
        new_hu *= drag;
        new_hv *= drag;
    }
    to_h[c] = new_h, to_hu[c] = new_hu, to_hv[c] = new_hv;
}
