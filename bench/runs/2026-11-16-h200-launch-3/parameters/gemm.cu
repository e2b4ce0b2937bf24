// c = a b, square matrices; each block makes BM x BN of c, each thread WM x WN of these.
#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef BK
#define BK 8
#endif
#ifndef WM
#define WM 2
#endif
#ifndef WN
#define WN 2
#endif
__global__ void __launch_bounds__(BM / WM * (BN / WN)) gemm(const double *a, const double *b, double *c, int n) {
  __shared__ double as[BK][BM], bs[BK][BN];
  const int threads = BM / WM * (BN / WN);
  int row = blockIdx.y * BM, col = blockIdx.x * BN, t = threadIdx.x;
  int tr = t / (BN / WN), tc = t % (BN / WN);
  double acc[WM][WN] = {};
  for (int k0 = 0; k0 < n; k0 += BK) {
    for (int i = t; i < BM * BK; i += threads) as[i % BK][i / BK] = a[(row + i / BK) * n + k0 + i % BK];
    for (int i = t; i < BN * BK; i += threads) bs[i / BN][i % BN] = b[(k0 + i / BN) * n + col + i % BN];
    __syncthreads();
    for (int k = 0; k < BK; k++)
      for (int i = 0; i < WM; i++)
        for (int j = 0; j < WN; j++) acc[i][j] += as[k][tr * WM + i] * bs[k][tc * WN + j];
    __syncthreads();
  }
  for (int i = 0; i < WM; i++)
    for (int j = 0; j < WN; j++) c[(row + tr * WM + i) * n + col + tc * WN + j] = acc[i][j];
}
