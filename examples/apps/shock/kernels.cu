// The kernels of the shock: each works on all elements, or on all nodes.
#include "mesh.h"

#define THIS (blockIdx.x * blockDim.x + threadIdx.x)

// Numbers of the four nodes around element e.
__device__ void corners(int n, int e, int c[4]) {
  int i = e % n, j = e / n, row = n + 1;
  c[0] = j * row + i;
  c[1] = c[0] + 1;
  c[2] = c[1] + row;
  c[3] = c[0] + row;
}

// Area of a quadrilateral, and its derivative by the position of each corner.
__device__ double quadrilateral(const double *x, const double *y, const int c[4], double dx[4], double dy[4]) {
  for (int k = 0; k < 4; k++) {
    int next = c[(k + 1) & 3], last = c[(k + 3) & 3];
    dx[k] = 0.5 * (y[next] - y[last]);
    dy[k] = 0.5 * (x[last] - x[next]);
  }
  return 0.5 * ((x[c[2]] - x[c[0]]) * (y[c[3]] - y[c[1]]) - (x[c[3]] - x[c[1]]) * (y[c[2]] - y[c[0]]));
}

__global__ void place_nodes(int n, double *x, double *y, double *u, double *v) {
  int k = THIS;
  if (k >= (n + 1) * (n + 1)) return;
  x[k] = (double)(k % (n + 1)) / n;
  y[k] = (double)(k / (n + 1)) / n;
  u[k] = 0.0;
  v[k] = 0.0;
}

__global__ void fill_elements(int n, const double *x, const double *y, double density, double source,
                              double background, double *element_mass, double *area, double *energy) {
  int e = THIS;
  if (e >= n * n) return;
  int c[4];
  double dx[4], dy[4];
  corners(n, e, c);
  area[e] = quadrilateral(x, y, c, dx, dy);
  element_mass[e] = density * area[e];
  energy[e] = e == 0 ? source / element_mass[e] : background;
}

__global__ void node_masses(int n, const double *element_mass, double *mass) {
  int k = THIS;
  if (k >= (n + 1) * (n + 1)) return;
  int i = k % (n + 1), j = k / (n + 1);
  double sum = 0.0;
  for (int b = -1; b <= 0; b++)
    for (int a = -1; a <= 0; a++)
      if (i + a >= 0 && i + a < n && j + b >= 0 && j + b < n) sum += 0.25 * element_mass[(j + b) * n + i + a];
  mass[k] = sum;
}

__global__ void element_geometry(int n, const double *x, const double *y, const double *u, const double *v,
                                 double *area, double *rate) {
  int e = THIS;
  if (e >= n * n) return;
  int c[4];
  double dx[4], dy[4], r = 0.0;
  corners(n, e, c);
  area[e] = quadrilateral(x, y, c, dx, dy);
  for (int k = 0; k < 4; k++) r += dx[k] * u[c[k]] + dy[k] * v[c[k]];
  rate[e] = r;
}

__global__ void equation_of_state(int elements, Gas gas, const double *element_mass, const double *area,
                                  const double *energy, double *pressure, double *sound) {
  int e = THIS;
  if (e >= elements) return;
  double density = element_mass[e] / area[e];
  double inner = fmax(energy[e], 0.0);
  double p = (gas.gamma - 1.0) * density * inner;
  pressure[e] = p;
  sound[e] = sqrt(gas.gamma * p / density + 1e-20);
}

__global__ void artificial_viscosity(int elements, Gas gas, const double *element_mass, const double *area,
                                     const double *rate, const double *sound, double *viscosity) {
  int e = THIS;
  if (e >= elements) return;
  double q = 0.0;
  if (rate[e] < 0.0) {
    double density = element_mass[e] / area[e];
    double jump = rate[e] / sqrt(area[e]);
    q = density * (gas.quadratic * jump * jump + gas.linear * sound[e] * fabs(jump));
  }
  viscosity[e] = q;
}

__global__ void corner_forces(int n, const double *x, const double *y, const double *pressure,
                              const double *viscosity, double *fx, double *fy) {
  int e = THIS;
  if (e >= n * n) return;
  int c[4];
  double dx[4], dy[4];
  corners(n, e, c);
  quadrilateral(x, y, c, dx, dy);
  double p = pressure[e] + viscosity[e];
  for (int k = 0; k < 4; k++) {
    fx[4 * e + k] = p * dx[k];
    fy[4 * e + k] = p * dy[k];
  }
}

// What moves the corners of an element against each other without changing its area is damped.
__global__ void hourglass_forces(int n, Gas gas, const double *u, const double *v, const double *element_mass,
                                 const double *area, const double *sound, double *fx, double *fy) {
  int e = THIS;
  if (e >= n * n) return;
  int c[4];
  corners(n, e, c);
  double hu = 0.25 * ((u[c[0]] + u[c[2]]) - (u[c[1]] + u[c[3]]));
  double hv = 0.25 * ((v[c[0]] + v[c[2]]) - (v[c[1]] + v[c[3]]));
  double strength = gas.hourglass * element_mass[e] / area[e] * sound[e] * sqrt(area[e]);
  for (int k = 0; k < 4; k++) {
    double sign = k & 1 ? 1.0 : -1.0;
    fx[4 * e + k] += sign * strength * hu;
    fy[4 * e + k] += sign * strength * hv;
  }
}

// Each node takes the forces of the corners that meet there; walls are mirrors.
__global__ void accelerate(int n, double dt, const double *fx, const double *fy, const double *mass, double *u,
                           double *v, double *ub, double *vb) {
  int k = THIS;
  if (k >= (n + 1) * (n + 1)) return;
  int i = k % (n + 1), j = k / (n + 1);
  double sx = 0.0, sy = 0.0;
  for (int corner = 0; corner < 4; corner++) {
    // Corner 0 is the lower left one of the element to the upper right, and so on.
    int a = i - (corner == 1 || corner == 2), b = j - (corner >= 2);
    if (a < 0 || a >= n || b < 0 || b >= n) continue;
    int at = 4 * (b * n + a) + corner;
    sx += fx[at];
    sy += fy[at];
  }
  double nu = u[k] + dt * sx / mass[k], nv = v[k] + dt * sy / mass[k];
  if (i == 0 || i == n) nu = 0.0;
  if (j == 0 || j == n) nv = 0.0;
  ub[k] = 0.5 * (u[k] + nu);
  vb[k] = 0.5 * (v[k] + nv);
  u[k] = nu;
  v[k] = nv;
}

// The work that an element's corners do on their nodes comes out of its internal energy.
__global__ void do_work(int n, double dt, const double *fx, const double *fy, const double *ub,
                        const double *vb, const double *element_mass, double *energy) {
  int e = THIS;
  if (e >= n * n) return;
  int c[4];
  corners(n, e, c);
  double work = 0.0;
  for (int k = 0; k < 4; k++) work += fx[4 * e + k] * ub[c[k]] + fy[4 * e + k] * vb[c[k]];
  energy[e] -= dt * work / element_mass[e];
}

__global__ void move_nodes(int nodes, double dt, const double *ub, const double *vb, double *x, double *y) {
  int k = THIS;
  if (k >= nodes) return;
  x[k] += dt * ub[k];
  y[k] += dt * vb[k];
}

// The least time in which sound or compression crosses an element, for each block.
__global__ void time_limits(int elements, const double *area, const double *rate, const double *sound,
                            double *limits) {
  __shared__ double least[256];
  int e = THIS;
  double t = 1e30;
  if (e < elements) {
    double speed = sound[e] + 2.0 * fabs(rate[e]) / sqrt(area[e]);
    t = sqrt(area[e]) / speed;
  }
  least[threadIdx.x] = t;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) least[threadIdx.x] = fmin(least[threadIdx.x], least[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) limits[blockIdx.x] = least[0];
}
