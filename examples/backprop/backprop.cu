// Training of a network with one hidden layer by back-propagation.
//
//   forward:  y_j = s(sum_i w_ji x_i + bias_j),  s(t) = 1 / (1 + exp(-t))
//   error:    e = target - y at the outputs,  e_j = sum_k w_kj d_k at the hidden units
//   adjust:   d_j = e_j y_j (1 - y_j),  change_ji = eta d_j x_i + momentum change_ji,  w += change
//
// The weights of a unit are a row of n_in + 1 values, the last of which is the bias.
//
// Build: nvcc -O2 -arch=native backprop.cu -o backprop                  (-DREAL=float for single)
// Run:   ./backprop [-in n] [-hidden n] [-out n] [-epochs n]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#ifndef REAL
#define REAL double
#endif

#define THREADS 128 // of layer_forward; a power of two

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__host__ __device__ inline REAL sigmoid(REAL t)
{
    return REAL(1) / (REAL(1) + exp(-t));
}

// One block of THREADS threads for each unit of the layer.
__global__ void layer_forward(const REAL *x, const REAL *w, REAL *y, int n_in)
{
    __shared__ REAL part[THREADS];
    const int tid = threadIdx.x;
    const REAL *row = w + blockIdx.x * (n_in + 1);

    REAL sum = 0;
    for (int i = tid; i < n_in; i += THREADS)
        sum += row[i] * x[i];
    part[tid] = sum;
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (tid < half)
            part[tid] += part[tid + half];
        __syncthreads();
    }

    if (tid == 0)
        y[blockIdx.x] = sigmoid(part[0] + row[n_in]);
}

// blockIdx.y is the unit; the threads in x are its weights.
__global__ void adjust_weights(const REAL *x, const REAL *y, const REAL *err, REAL *w, REAL *change,
                               int n_in, REAL eta, REAL momentum)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y;
    if (i > n_in)
        return;

    const REAL delta = err[j] * y[j] * (REAL(1) - y[j]);
    const REAL input = i < n_in ? x[i] : REAL(1);
    const int at = j * (n_in + 1) + i;
    const REAL step = eta * delta * input + momentum * change[at];
    w[at] += step;
    change[at] = step;
}

struct Layer {
    int n_in, n_out;
    std::vector<REAL> w, change, y, err;
    REAL *d_w, *d_change, *d_y, *d_err;

    size_t weights() const { return size_t(n_out) * (n_in + 1); }

    void create(int in, int out, std::mt19937 &gen)
    {
        n_in = in;
        n_out = out;
        std::uniform_real_distribution<double> init(-0.05, 0.05);
        w.resize(weights());
        for (REAL &v : w)
            v = REAL(init(gen));
        change.assign(weights(), REAL(0));
        y.assign(n_out, REAL(0));
        err.assign(n_out, REAL(0));
        CUDA_CHECK(cudaMalloc(&d_w, weights() * sizeof(REAL)));
        CUDA_CHECK(cudaMalloc(&d_change, weights() * sizeof(REAL)));
        CUDA_CHECK(cudaMalloc(&d_y, n_out * sizeof(REAL)));
        CUDA_CHECK(cudaMalloc(&d_err, n_out * sizeof(REAL)));
        CUDA_CHECK(cudaMemcpy(d_w, w.data(), weights() * sizeof(REAL), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemset(d_change, 0, weights() * sizeof(REAL)));
    }

    void destroy()
    {
        CUDA_CHECK(cudaFree(d_w));
        CUDA_CHECK(cudaFree(d_change));
        CUDA_CHECK(cudaFree(d_y));
        CUDA_CHECK(cudaFree(d_err));
    }

    void forward(const REAL *d_x)
    {
        layer_forward<<<n_out, THREADS>>>(d_x, d_w, d_y, n_in);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(y.data(), d_y, n_out * sizeof(REAL), cudaMemcpyDeviceToHost));
    }

    void adjust(const REAL *d_x, REAL eta, REAL momentum)
    {
        CUDA_CHECK(cudaMemcpy(d_err, err.data(), n_out * sizeof(REAL), cudaMemcpyHostToDevice));
        const int threads = 256;
        const dim3 grid((n_in + threads) / threads, n_out);
        adjust_weights<<<grid, threads>>>(d_x, d_y, d_err, d_w, d_change, n_in, eta, momentum);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(w.data(), d_w, weights() * sizeof(REAL), cudaMemcpyDeviceToHost));
    }
};

// The same network in double on the host.
struct HostLayer {
    int n_in, n_out;
    std::vector<double> w, change, y, err;

    explicit HostLayer(const Layer &l)
        : n_in(l.n_in), n_out(l.n_out), w(l.w.begin(), l.w.end()), change(l.weights(), 0.0),
          y(l.n_out), err(l.n_out)
    {
    }

    void forward(const std::vector<double> &x)
    {
        for (int j = 0; j < n_out; ++j) {
            const double *row = &w[size_t(j) * (n_in + 1)];
            double s = row[n_in];
            for (int i = 0; i < n_in; ++i)
                s += row[i] * x[i];
            y[j] = 1.0 / (1.0 + std::exp(-s));
        }
    }

    void adjust(const std::vector<double> &x, double eta, double momentum)
    {
        for (int j = 0; j < n_out; ++j) {
            const double delta = err[j] * y[j] * (1.0 - y[j]);
            for (int i = 0; i <= n_in; ++i) {
                double &c = change[size_t(j) * (n_in + 1) + i];
                c = eta * delta * (i < n_in ? x[i] : 1.0) + momentum * c;
                w[size_t(j) * (n_in + 1) + i] += c;
            }
        }
    }
};

// e_j = sum_k w_kj d_k, with the weights from before the adjustment of the layer above.
template <class Upper, class T> static void propagate(const Upper &upper, std::vector<T> &err)
{
    for (size_t j = 0; j < err.size(); ++j) {
        T s = 0;
        for (int k = 0; k < upper.n_out; ++k)
            s += upper.w[size_t(k) * (upper.n_in + 1) + j] * upper.err[k] * upper.y[k] *
                 (T(1) - upper.y[k]);
        err[j] = s;
    }
}

template <class Out> static double output_error(Out &out, const std::vector<double> &target)
{
    double s = 0.0;
    for (int k = 0; k < out.n_out; ++k) {
        const double e = target[k] - double(out.y[k]);
        out.err[k] = e;
        s += 0.5 * e * e;
    }
    return s;
}

int main(int argc, char **argv)
{
    int n_in = 4096, n_hidden = 64, n_out = 8, epochs = 20;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-in") && i + 1 < argc) n_in = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-hidden") && i + 1 < argc) n_hidden = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-out") && i + 1 < argc) n_out = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-epochs") && i + 1 < argc) epochs = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: %s [-in n] [-hidden n] [-out n] [-epochs n]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n_in < 1 || n_hidden < 1 || n_out < 1 || epochs < 1) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    std::mt19937 gen(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<REAL> x(n_in);
    for (REAL &v : x)
        v = REAL(unit(gen));
    const std::vector<double> x_ref(x.begin(), x.end());
    std::vector<double> target(n_out);
    for (double &v : target)
        v = 0.1 + 0.8 * unit(gen);
    const REAL eta = REAL(0.05), momentum = REAL(0.3);

    Layer hidden, out;
    hidden.create(n_in, n_hidden, gen);
    out.create(n_hidden, n_out, gen);
    HostLayer hidden_ref(hidden), out_ref(out);
    REAL *d_x;
    CUDA_CHECK(cudaMalloc(&d_x, n_in * sizeof(REAL)));
    CUDA_CHECK(cudaMemcpy(d_x, x.data(), n_in * sizeof(REAL), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    double first = 0.0, last = 0.0;
    for (int e = 0; e < epochs; ++e) {
        hidden.forward(d_x);
        out.forward(hidden.d_y);
        last = output_error(out, target);
        if (e == 0)
            first = last;
        propagate(out, hidden.err);
        out.adjust(hidden.d_y, eta, momentum);
        hidden.adjust(d_x, eta, momentum);
    }
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

    for (int e = 0; e < epochs; ++e) {
        hidden_ref.forward(x_ref);
        out_ref.forward(hidden_ref.y);
        output_error(out_ref, target);
        propagate(out_ref, hidden_ref.err);
        out_ref.adjust(hidden_ref.y, double(eta), double(momentum));
        hidden_ref.adjust(x_ref, double(eta), double(momentum));
    }
    double worst = 0.0;
    for (size_t i = 0; i < hidden.weights(); ++i)
        worst = std::fmax(worst, std::fabs(double(hidden.w[i]) - hidden_ref.w[i]));
    for (size_t i = 0; i < out.weights(); ++i)
        worst = std::fmax(worst, std::fabs(double(out.w[i]) - out_ref.w[i]));

    const double limit = sizeof(REAL) == 8 ? 1e-12 : 1e-4;
    const bool ok = worst <= limit && (epochs == 1 || last < first);
    std::printf("%d-%d-%d, %d epochs, %.3f ms, squared error %.6f -> %.6f\n", n_in, n_hidden, n_out,
                epochs, ms, first, last);
    std::printf("largest error of a weight %.3e (limit %.0e): %s\n", worst, limit,
                ok ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    hidden.destroy();
    out.destroy();
    CUDA_CHECK(cudaFree(d_x));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
