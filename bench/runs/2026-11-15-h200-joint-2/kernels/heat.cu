#define BX 32
#define BY 8
__constant__ double coef[3];
__global__ void heat2d(const double *__restrict__ in, double *__restrict__ out, int nx, int ny, double dt) {
  __shared__ double tile[BY + 2][BX + 2];
  int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  if (x < nx && y < ny) {
    tile[ly][lx] = in[y * nx + x];
    if (threadIdx.x == 0) tile[ly][0] = x > 0 ? in[y * nx + x - 1] : in[y * nx + x];
    if (threadIdx.x == BX - 1 || x == nx - 1) tile[ly][lx + 1] = x < nx - 1 ? in[y * nx + x + 1] : in[y * nx + x];
    if (threadIdx.y == 0) tile[0][lx] = y > 0 ? in[(y - 1) * nx + x] : in[y * nx + x];
    if (threadIdx.y == BY - 1 || y == ny - 1) tile[ly + 1][lx] = y < ny - 1 ? in[(y + 1) * nx + x] : in[y * nx + x];
  }
  __syncthreads();
  if (x < nx && y < ny)
    out[y * nx + x] = tile[ly][lx] + dt * (coef[0] * tile[ly][lx] + coef[1] * (tile[ly][lx - 1] + tile[ly][lx + 1]) + coef[2] * (tile[ly - 1][lx] + tile[ly + 1][lx]));
}
