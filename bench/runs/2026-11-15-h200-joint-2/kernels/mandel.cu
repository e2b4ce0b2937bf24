__global__ void mandel(float *img, int w, int h, double x0, double y0, double scale, int maxit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return;
  double cx = x0 + px * scale, cy = y0 + py * scale, zx = 0, zy = 0;
  int it = 0;
  while (zx * zx + zy * zy < 256.0 && it < maxit) { double t = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = t; ++it; }
  img[py * w + px] = it == maxit ? 0.f : it + 1 - log(log(sqrt(zx * zx + zy * zy))) / log(2.0);
}
