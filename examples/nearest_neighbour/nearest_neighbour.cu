// The K records nearest to each of several places.
//
//   d(i) = sqrt((lat_i - lat)^2 + (lng_i - lng)^2)
//
// `euclid` has a thread for each record and place; `nearest` has a block for each place, whose threads
// keep sorted lists of the K least distances, merged by a tree in shared memory.
//
// Build: nvcc -O2 -arch=native nearest_neighbour.cu -o nearest_neighbour   (-DREAL=double for double)
// Run:   ./nearest_neighbour [-records n] [-places n]

#include <algorithm>

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define K 4
#define THREADS 128 // of `nearest`; a power of two
#define MOST_PLACES 512
#define FAR REAL(1e30)

struct Place {
    REAL lat, lng;
};

__constant__ Place places[MOST_PLACES];

__global__ void euclid(const Place *records, REAL *distances, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int q = blockIdx.y;
    if (i >= n)
        return;
    const REAL dlat = records[i].lat - places[q].lat;
    const REAL dlng = records[i].lng - places[q].lng;
    distances[q * n + i] = sqrt(dlat * dlat + dlng * dlng);
}

struct Nearest { // ascending
    REAL d[K];
};

__device__ void insert(Nearest &list, REAL d)
{
    if (d >= list.d[K - 1])
        return;
    list.d[K - 1] = d;
#pragma unroll
    for (int k = K - 1; k > 0; --k) {
        const REAL low = fmin(list.d[k - 1], list.d[k]);
        list.d[k] = fmax(list.d[k - 1], list.d[k]);
        list.d[k - 1] = low;
    }
}

__global__ void nearest(const REAL *distances, REAL *least, int n)
{
    __shared__ Nearest lists[THREADS];

    const REAL *row = distances + blockIdx.x * n;
    Nearest mine;
    for (int k = 0; k < K; ++k)
        mine.d[k] = FAR;
    for (int i = threadIdx.x; i < n; i += THREADS)
        insert(mine, row[i]);
    lists[threadIdx.x] = mine;
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            for (int k = 0; k < K; ++k)
                insert(mine, lists[threadIdx.x + half].d[k]);
            lists[threadIdx.x] = mine;
        }
        __syncthreads();
    }
    if (threadIdx.x < K)
        least[blockIdx.x * K + threadIdx.x] = lists[0].d[threadIdx.x];
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("records", 1 << 18), count = options("places", 64, MOST_PLACES);
    options.done("[-records n] [-places n]");

    Array<Place> records(n);
    Array<REAL> distances(size_t(n) * count), least(size_t(count) * K);
    std::vector<Place> from(count);
    Random random;
    for (int i = 0; i < n; ++i)
        records[i] = {REAL(random.uniform(7, 60)), REAL(random.uniform(0, 180))};
    for (Place &p : from)
        p = {REAL(random.uniform(7, 60)), REAL(random.uniform(0, 180))};
    records.up();
    CUDA_CHECK(cudaMemcpyToSymbol(places, from.data(), count * sizeof(Place)));

    Timer timer;
    const dim3 grid(ceil_div(n, 256), count);
    euclid<<<grid, 256>>>(records.device, distances.device, n);
    nearest<<<count, THREADS>>>(distances.device, least.device, n);
    const float ms = timer.stop();
    least.down();

    Worst worst(1e-3);
    std::vector<double> all(n);
    for (int q = 0; q < count; ++q) {
        for (int i = 0; i < n; ++i)
            all[i] = std::hypot(double(records[i].lat) - from[q].lat,
                double(records[i].lng) - from[q].lng);
        std::partial_sort(all.begin(), all.begin() + std::min(K, n), all.end());
        for (int k = 0; k < K && k < n; ++k)
            worst.add(least[q * K + k], all[k]);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-13 : 1e-5);
}
