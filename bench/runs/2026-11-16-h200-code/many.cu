// assorted kernels in usual styles
__global__ void spmv(const int *__restrict__ ptr, const int *__restrict__ col, const double *__restrict__ val, const double *__restrict__ x, double *__restrict__ y, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) { double s = 0; for (int k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * x[col[k]]; y[r] = s; }
}
__global__ void spmv_norestrict(const int *ptr, const int *col, const float *val, const float *x, float *y, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) { float s = 0; for (int k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * x[col[k]]; y[r] = s; }
}
__global__ void spmv_vector(const int *__restrict__ ptr, const int *__restrict__ col, const double *__restrict__ val, const double *__restrict__ x, double *__restrict__ y, int n) {
  int lane = threadIdx.x & 31, r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (r >= n) return;
  double s = 0;
  for (int k = ptr[r] + lane; k < ptr[r + 1]; k += 32) s += val[k] * x[col[k]];
  for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(~0u, s, o);
  if (!lane) y[r] = s;
}
struct P { float x, y, z; };
__global__ void lj(const P *__restrict__ pos, const int *__restrict__ nb, P *__restrict__ f, int n, int k, float cut2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  P a = pos[i], s = {0, 0, 0};
  for (int j = 0; j < k; j++) {
    P b = pos[nb[j * n + i]];
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < cut2) { float q = 1.0f / r2, q6 = q * q * q, w = q * q6 * (48 * q6 - 24); s.x += w * dx; s.y += w * dy; s.z += w * dz; }
  }
  f[i] = s;
}
__global__ void kmeans(const float *feat, const float *cl, int *member, int n, int nf, int nc) {
  int p = blockIdx.x * blockDim.x + threadIdx.x; if (p >= n) return;
  int best = 0; float md = 3e38f;
  for (int c = 0; c < nc; c++) {
    float d = 0; for (int f = 0; f < nf; f++) { float t = feat[f * n + p] - cl[c * nf + f]; d += t * t; }
    if (d < md) { md = d; best = c; }
  }
  member[p] = best;
}
__constant__ double w9[9]; __constant__ int ex[9], ey[9];
__global__ void lbm(const double *__restrict__ f, double *__restrict__ g, int nx, int ny, double omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  double q[9], rho = 0, ux = 0, uy = 0;
  for (int i = 0; i < 9; i++) {
    int sx = (x - ex[i] + nx) % nx, sy = (y - ey[i] + ny) % ny;
    q[i] = f[(i * ny + sy) * nx + sx]; rho += q[i]; ux += q[i] * ex[i]; uy += q[i] * ey[i];
  }
  ux /= rho; uy /= rho; double u2 = ux * ux + uy * uy;
  for (int i = 0; i < 9; i++) {
    double eu = ex[i] * ux + ey[i] * uy, eq = w9[i] * rho * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * u2);
    g[(i * ny + y) * nx + x] = q[i] + omega * (eq - q[i]);
  }
}
__constant__ double w19[19]; __constant__ int e19[19][3];
__global__ void lbm3(const double *__restrict__ f, double *__restrict__ g, int n, double omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x; if (x >= n) return;
  double q[19], rho = 0, u[3] = {0, 0, 0};
  for (int i = 0; i < 19; i++) { q[i] = f[i * n + x]; rho += q[i]; for (int d = 0; d < 3; d++) u[d] += q[i] * e19[i][d]; }
  double u2 = 0; for (int d = 0; d < 3; d++) { u[d] /= rho; u2 += u[d] * u[d]; }
  for (int i = 0; i < 19; i++) {
    double eu = 0; for (int d = 0; d < 3; d++) eu += e19[i][d] * u[d];
    g[i * n + x] = q[i] + omega * (w19[i] * rho * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * u2) - q[i]);
  }
}
__global__ void hotspot3d(const float *__restrict__ p, const float *__restrict__ tin, float *__restrict__ tout, int nx, int ny, int nz, float ce, float cw, float cn, float cs, float ct, float cb, float cc, float s) {
  int i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
  int c = i + j * nx, xy = nx * ny;
  int W = i == 0 ? c : c - 1, E = i == nx - 1 ? c : c + 1, N = j == 0 ? c : c - nx, S = j == ny - 1 ? c : c + nx;
  float t1, t2, t3; t1 = t2 = tin[c]; t3 = tin[c + xy];
  tout[c] = cc * t2 + cw * tin[W] + ce * tin[E] + cs * tin[S] + cn * tin[N] + cb * t1 + ct * t3 + s * p[c] + ct * 80.f;
  c += xy; W += xy; E += xy; N += xy; S += xy;
  for (int k = 1; k < nz - 1; ++k) {
    t1 = t2; t2 = t3; t3 = tin[c + xy];
    tout[c] = cc * t2 + cw * tin[W] + ce * tin[E] + cs * tin[S] + cn * tin[N] + cb * t1 + ct * t3 + s * p[c] + ct * 80.f;
    c += xy; W += xy; E += xy; N += xy; S += xy;
  }
}
#define T 16
__global__ void gemm_reg(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int n) {
  __shared__ float a[T][64], b[T][64];
  float acc[4][4] = {};
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  for (int k0 = 0; k0 < n; k0 += T) {
    for (int i = t; i < T * 64; i += 256) { a[i % T][i / T] = A[(blockIdx.y * 64 + i / T) * n + k0 + i % T]; b[i / 64][i % 64] = B[(k0 + i / 64) * n + blockIdx.x * 64 + i % 64]; }
    __syncthreads();
    for (int k = 0; k < T; k++) for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) acc[i][j] += a[k][ty * 4 + i] * b[k][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) C[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = acc[i][j];
}
__global__ void softmax(const float *in, float *out, int n) {
  const float *r = in + blockIdx.x * n; float *o = out + blockIdx.x * n;
  __shared__ float sh[32]; float m = -3e38f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, r[i]);
  for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = m; __syncthreads();
  for (int i = 0; i < blockDim.x / 32; i++) m = fmaxf(m, sh[i]);
  float s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) s += expf(r[i] - m);
  for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  __syncthreads(); if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = s; __syncthreads();
  s = 0; for (int i = 0; i < blockDim.x / 32; i++) s += sh[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) o[i] = expf(r[i] - m) / s;
}
__global__ void saxpy_stride(int n, double a, const double *x, double *y) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i]; }
__global__ void saxpy_stride_r(int n, double a, const double *__restrict__ x, double *__restrict__ y) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i]; }
__global__ void hist(const unsigned char *d, unsigned *h, int n) {
  __shared__ unsigned s[256]; for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0; __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[d[i]], 1u);
  __syncthreads(); for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&h[i], s[i]);
}
__global__ void conv5(const float *__restrict__ in, float *__restrict__ out, const float *__restrict__ k, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  float s = 0;
  for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++) { int xx = min(max(x + i, 0), w - 1), yy = min(max(y + j, 0), h - 1); s += in[yy * w + xx] * k[(j + 2) * 5 + i + 2]; }
  out[y * w + x] = s;
}
__global__ void convr(const float *__restrict__ in, float *__restrict__ out, const float *__restrict__ k, int w, int h, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  float s = 0;
  for (int j = -r; j <= r; j++) for (int i = -r; i <= r; i++) { int xx = min(max(x + i, 0), w - 1), yy = min(max(y + j, 0), h - 1); s += in[yy * w + xx] * k[(j + r) * (2 * r + 1) + i + r]; }
  out[y * w + x] = s;
}
struct M3 { double a[9]; };
__global__ void mat3(const M3 *__restrict__ x, const M3 *__restrict__ y, M3 *__restrict__ z, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x; if (t >= n) return;
  M3 p = x[t], q = y[t], r;
  for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { double s = 0; for (int k = 0; k < 3; k++) s += p.a[i * 3 + k] * q.a[k * 3 + j]; r.a[i * 3 + j] = s; }
  z[t] = r;
}
__global__ void chol8(double *A, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x; if (t >= n) return;
  double a[8][8]; for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) a[i][j] = A[(i * 8 + j) * n + t];
  for (int j = 0; j < 8; j++) { double d = a[j][j]; for (int k = 0; k < j; k++) d -= a[j][k] * a[j][k]; d = sqrt(d); a[j][j] = d;
    for (int i = j + 1; i < 8; i++) { double s = a[i][j]; for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k]; a[i][j] = s / d; } }
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) A[(i * 8 + j) * n + t] = a[i][j];
}
__global__ void transpose(const double *in, double *out, int w, int h) {
  __shared__ double t[32][33]; int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void horner(const double *__restrict__ c, const double *__restrict__ x, double *__restrict__ y, int n, int deg) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  double s = c[deg]; for (int k = deg - 1; k >= 0; k--) s = s * x[i] + c[k]; y[i] = s;
}
__global__ void mandel(int *out, int w, int h, double x0, double y0, double dx, int most) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y; if (px >= w || py >= h) return;
  double cx = x0 + px * dx, cy = y0 + py * dx, a = 0, b = 0; int k = 0;
  while (k < most && a * a + b * b < 4) { double t = a * a - b * b + cx; b = 2 * a * b + cy; a = t; k++; }
  out[py * w + px] = k;
}
__global__ void bfs(const int *__restrict__ ptr, const int *__restrict__ adj, int *dist, int n, int level, int *more) {
  int v = blockIdx.x * blockDim.x + threadIdx.x; if (v >= n || dist[v] != level) return;
  for (int e = ptr[v]; e < ptr[v + 1]; e++) { int u = adj[e]; if (dist[u] < 0) { dist[u] = level + 1; *more = 1; } }
}
__global__ void scan_block(const float *in, float *out, int n) {
  __shared__ float t[512]; int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x; t[l] = i < n ? in[i] : 0;
  for (int s = 1; s < blockDim.x; s *= 2) { __syncthreads(); float v = l >= s ? t[l - s] : 0; __syncthreads(); t[l] += v; }
  if (i < n) out[i] = t[l];
}
