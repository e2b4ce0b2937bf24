// h LABEL=cubin,... : each kernel in turn under each label; medians over the first label's
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <cmath>
#include <functional>
#define CK(x) do { CUresult r = (x); if (r) { const char *s; cuGetErrorString(r, &s); printf("%s:%d %s %s\n", #x, __LINE__, s, cur.c_str()); fflush(stdout); exit(1); } } while (0)
static std::string cur;
struct Arg { char b[8]; size_t n; };
template <class T> Arg A(T v) { Arg a; a.n = sizeof v; memcpy(a.b, &v, sizeof v); return a; }
struct Case { std::string file, kernel; unsigned g[3], t[3], sh; std::vector<Arg> args; CUdeviceptr out; size_t bytes; std::function<void(CUmodule)> init; };
static unsigned long long st = 88172645463325252ull;
static double rnd() { st ^= st << 13; st ^= st >> 7; st ^= st << 17; return (st >> 11) * 0x1p-53; }
template <class T> CUdeviceptr up(const std::vector<T> &v) { CUdeviceptr p; CK(cuMemAlloc(&p, v.size() * sizeof(T))); CK(cuMemcpyHtoD(p, v.data(), v.size() * sizeof(T))); return p; }
int main(int c, char **v) {
  CK(cuInit(0)); CUdevice d; CK(cuDeviceGet(&d, 0)); CUcontext x; CK(cuDevicePrimaryCtxRetain(&x, d)); CK(cuCtxSetCurrent(x));
  const size_t N = 1 << 24;
  std::vector<double> hd(N); std::vector<float> hf(N); std::vector<int> hi(N);
  for (size_t i = 0; i < N; i++) { hd[i] = rnd() + 0.1; hf[i] = (float)hd[i]; }
  CUdeviceptr D1 = up(hd), D2 = up(hd), F1 = up(hf), F2 = up(hf), O; CK(cuMemAlloc(&O, N * 8));
  const int rows = 1 << 17, per = 48; std::vector<int> ptr(rows + 1), col(rows * per); for (int i = 0; i <= rows; i++) ptr[i] = i * per; for (auto &k : col) k = rnd() * rows;
  CUdeviceptr PTR = up(ptr), COL = up(col);
  const int np = 1 << 17, nn = 64; std::vector<int> nb((size_t)np * nn); for (auto &k : nb) k = rnd() * np; CUdeviceptr NB = up(nb);
  std::vector<int> tp(3 * 32768); for (auto &k : tp) k = rnd() * 32768 / 3; CUdeviceptr TP = up(tp);
  std::vector<unsigned char> hb(N); for (auto &b : hb) b = rnd() * 256; CUdeviceptr BY = up(hb);
  std::vector<int> dist(rows, -1); for (int i = 0; i < rows; i += 7) dist[i] = 3; CUdeviceptr DI = up(dist);
  std::vector<Case> cs;
  auto add = [&](const char *f, const char *k, std::vector<unsigned> g, std::vector<unsigned> t, std::vector<Arg> a, CUdeviceptr out, size_t bytes, unsigned sh = 0, std::function<void(CUmodule)> init = nullptr) {
    Case q; q.file = f; q.kernel = k; for (int i = 0; i < 3; i++) { q.g[i] = i < (int)g.size() ? g[i] : 1; q.t[i] = i < (int)t.size() ? t[i] : 1; } q.sh = sh; q.args = a; q.out = out; q.bytes = bytes; q.init = init; cs.push_back(q); };
  add("tissue", "_Z6tissuePKiPKfS2_PfS2_S2_iiii", {512}, {256}, {A(TP), A(F1), A(F2), A(O), A(F1), A(F2), A(32768), A(32768), A(4), A(1)}, O, 32768 * 4);
  const int nx = 256, ny = 252, nz = 248; size_t pitch = 256;
  add("wave", "_Z4stepPKdPdS0_iiimii", {(nx + 31) / 32, (ny + 7) / 8}, {32, 8}, {A(D1), A(O), A(D2), A(nx), A(ny), A(nz), A(pitch), A(0), A(nz)}, O, pitch * ny * nz * 8, 0, [&](CUmodule m) {
    CUdeviceptr p; size_t n; double co[5] = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}; CK(cuModuleGetGlobal(&p, &n, m, "c_coef")); CK(cuMemcpyHtoD(p, co, std::min(n, sizeof co)));
    struct { double a, b, c; int s; } q = {1e-6, 1e-2, 0.015, 8}; CK(cuModuleGetGlobal(&p, &n, m, "c_par")); CK(cuMemcpyHtoD(p, &q, std::min(n, sizeof q))); });
  add("many", "_Z4spmvPKiS0_PKdS2_Pdi", {rows / 256}, {256}, {A(PTR), A(COL), A(D1), A(D2), A(O), A(rows)}, O, rows * 8);
  add("many", "_Z15spmv_norestrictPKiS0_PKfS2_Pfi", {rows / 256}, {256}, {A(PTR), A(COL), A(F1), A(F2), A(O), A(rows)}, O, rows * 4);
  add("many", "_Z11spmv_vectorPKiS0_PKdS2_Pdi", {rows / 8}, {256}, {A(PTR), A(COL), A(D1), A(D2), A(O), A(rows)}, O, rows * 8);
  add("many", "_Z2ljPK1PPKiPS_iif", {np / 256}, {256}, {A(F1), A(NB), A(O), A(np), A(nn), A(0.5f)}, O, np * 12);
  add("many", "_Z6kmeansPKfS0_Piiii", {np / 256}, {256}, {A(F1), A(F2), A(O), A(np), A(34), A(8)}, O, np * 4);
  auto lb = [&](CUmodule m) { CUdeviceptr p; size_t n; double w[9] = {4./9,1./9,1./9,1./9,1./9,1./36,1./36,1./36,1./36}; int ex[9] = {0,1,0,-1,0,1,-1,-1,1}, ey[9] = {0,0,1,0,-1,1,1,-1,-1}; CK(cuModuleGetGlobal(&p, &n, m, "w9")); CK(cuMemcpyHtoD(p, w, n)); CK(cuModuleGetGlobal(&p, &n, m, "ex")); CK(cuMemcpyHtoD(p, ex, n)); CK(cuModuleGetGlobal(&p, &n, m, "ey")); CK(cuMemcpyHtoD(p, ey, n)); };
  add("many", "_Z3lbmPKdPdiid", {1024 / 64, 1024 / 4}, {64, 4}, {A(D1), A(O), A(1024), A(1024), A(1.2)}, O, 9 * 1024 * 1024 * 8, 0, lb);
  auto l3 = [&](CUmodule m) { CUdeviceptr p; size_t n; double w[19]; int e[57]; for (int i = 0; i < 19; i++) w[i] = 1. / 19; for (int i = 0; i < 57; i++) e[i] = (i * 7) % 3 - 1; CK(cuModuleGetGlobal(&p, &n, m, "w19")); CK(cuMemcpyHtoD(p, w, n)); CK(cuModuleGetGlobal(&p, &n, m, "e19")); CK(cuMemcpyHtoD(p, e, n)); };
  add("many", "_Z4lbm3PKdPdid", {3200}, {256}, {A(D1), A(O), A(3200 * 256), A(1.2)}, O, 19ull * 3200 * 256 * 8, 0, l3);
  add("many", "_Z9hotspot3dPKfS0_Pfiiiffffffff", {8, 128}, {64, 4}, {A(F1), A(F2), A(O), A(512), A(512), A(60), A(.1f), A(.1f), A(.1f), A(.1f), A(.1f), A(.1f), A(.4f), A(.01f)}, O, 512 * 512 * 60 * 4);
  add("many", "_Z8gemm_regPKfS0_Pfi", {16, 16}, {16, 16}, {A(F1), A(F2), A(O), A(1024)}, O, 1024 * 1024 * 4);
  add("many", "_Z7softmaxPKfPfi", {4096}, {256}, {A(F1), A(O), A(4096)}, O, N * 4);
  add("many", "_Z12saxpy_strideidPKdPd", {132 * 8}, {256}, {A((int)N), A(0.5), A(D1), A(O)}, O, N * 8);
  add("many", "_Z14saxpy_stride_ridPKdPd", {132 * 8}, {256}, {A((int)N), A(0.5), A(D1), A(O)}, O, N * 8);
  add("many", "_Z4histPKhPji", {132 * 8}, {256}, {A(BY), A(O), A((int)N)}, O, 1024);
  add("many", "_Z5conv5PKfPfS0_ii", {64, 1024}, {64, 4}, {A(F1), A(O), A(F2), A(4096), A(4096)}, O, N * 4);
  add("many", "_Z5convrPKfPfS0_iii", {32, 512}, {64, 4}, {A(F1), A(O), A(F2), A(2048), A(2048), A(3)}, O, 2048 * 2048 * 4);
  add("many", "_Z4mat3PK2M3S1_PS_i", {4096}, {256}, {A(D1), A(D2), A(O), A(4096 * 256)}, O, 4096 * 256 * 72);
  add("many", "_Z5chol8Pdi", {512}, {128}, {A(O), A(512 * 128)}, O, 64 * 512 * 128 * 8);
  add("many", "_Z9transposePKdPdii", {128, 128}, {32, 8}, {A(D1), A(O), A(4096), A(4096)}, O, N * 8);
  add("many", "_Z6hornerPKdS0_Pdii", {4096}, {256}, {A(D1), A(D2), A(O), A(4096 * 256), A(61)}, O, 4096 * 256 * 8);
  add("many", "_Z6mandelPiiidddi", {32, 256}, {32, 4}, {A(O), A(1024), A(1024), A(-2.0), A(-1.2), A(0.0025), A(256)}, O, 1024 * 1024 * 4);
  add("many", "_Z3bfsPKiS0_PiiiS1_", {rows / 256}, {256}, {A(PTR), A(COL), A(DI), A(rows), A(3), A(O)}, DI, rows * 4);
  add("many", "_Z10scan_blockPKfPfi", {N / 512}, {512}, {A(F1), A(O), A((int)N)}, O, N * 4);
  struct L { std::string n, dir; }; std::vector<L> ls; for (int i = 1; i < c; i++) { std::string s = v[i]; size_t e = s.find('='); ls.push_back({s.substr(0, e), s.substr(e + 1)}); }
  CUevent a, b; CK(cuEventCreate(&a, 0)); CK(cuEventCreate(&b, 0)); std::vector<double> logs(ls.size(), 0); int count = 0;
  printf("%-34s %10s", "kernel", "us first"); for (auto &l : ls) printf(" %8s", l.n.c_str()); printf("   same bits as last\n");
  for (auto &q : cs) {
    cur = q.kernel; std::vector<CUfunction> fs; std::vector<CUmodule> ms; 
    for (auto &l : ls) { CUmodule m; CUfunction f; cur = l.n + " " + q.kernel; CK(cuModuleLoad(&m, (l.dir + "/" + q.file + ".cubin").c_str())); CK(cuModuleGetFunction(&f, m, q.kernel.c_str())); if (q.init) q.init(m); fs.push_back(f); ms.push_back(m); }
    std::vector<void *> ps; for (auto &r : q.args) ps.push_back(r.b);
    std::vector<unsigned long long> h; auto go = [&](int k) { CK(cuLaunchKernel(fs[k], q.g[0], q.g[1], q.g[2], q.t[0], q.t[1], q.t[2], q.sh, 0, ps.data(), 0)); };
    auto reset = [&] { if (q.out == DI) CK(cuMemcpyHtoD(DI, dist.data(), dist.size() * 4)); else if (q.kernel == "_Z5chol8Pdi") { std::vector<double> m(64 * 512 * 128); for (int e = 0; e < 64; e++) for (int t = 0; t < 512 * 128; t++) m[(size_t)e * 512 * 128 + t] = e / 8 == e % 8 ? 9 : 1.0 / (1 + e % 8 + e / 8); CK(cuMemcpyHtoD(O, m.data(), m.size() * 8)); } else CK(cuMemsetD8(O, 0, N * 8)); CK(cuCtxSynchronize()); };
    std::vector<char> buf(q.bytes);
    for (size_t k = 0; k < fs.size(); k++) { reset(); go(k); CK(cuCtxSynchronize()); CK(cuMemcpyDtoH(buf.data(), q.out, q.bytes)); unsigned long long s = 1469598103934665603ull; for (size_t i = 0; i + 8 <= q.bytes; i += 8) { unsigned long long w; memcpy(&w, &buf[i], 8); s = (s ^ w) * 1099511628211ull; } h.push_back(s); }
    reset(); CK(cuEventRecord(a, 0)); go(0); CK(cuEventRecord(b, 0)); CK(cuEventSynchronize(b)); float ms1; CK(cuEventElapsedTime(&ms1, a, b)); int reps = std::max(1, std::min(50, (int)(2.0 / ms1)));
    std::vector<std::vector<double>> t(fs.size()); int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 15;
    for (int r = 0; r < rounds; r++) for (size_t k = 0; k < fs.size(); k++) { if (q.kernel == "_Z5chol8Pdi") reset(); go(k); CK(cuEventRecord(a, 0)); for (int i = 0; i < reps; i++) go(k); CK(cuEventRecord(b, 0)); CK(cuEventSynchronize(b)); float ms; CK(cuEventElapsedTime(&ms, a, b)); t[k].push_back(ms / reps); }
    std::vector<double> med; for (auto &s : t) { std::sort(s.begin(), s.end()); med.push_back(s[s.size() / 2]); }
    printf("%-34s %10.2f", q.kernel.c_str(), med[0] * 1e3); for (size_t k = 0; k < fs.size(); k++) { printf(" %8.3f", med[k] / med[0]); logs[k] += log(med[k] / med[0]); } count++;
    printf("  "); for (auto s : h) printf(" %c", s == h.back() ? '=' : 'x'); printf("\n"); fflush(stdout);
    for (auto m : ms) cuModuleUnload(m);
  }
  printf("%-34s %10s", "geometric mean", ""); for (double l : logs) printf(" %8.3f", exp(l / count)); printf("\n");
}
