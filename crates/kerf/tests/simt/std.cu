// Atomics and containers of the standard library for the device.
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/limits>
__global__ void standard(int* out) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> shared_sum;
    int t = threadIdx.x;
    if (t == 0) shared_sum.store(0);
    __syncthreads();
    shared_sum.fetch_add(t);
    cuda::atomic_ref<int, cuda::thread_scope_device> ref(out[0]);
    ref.fetch_add(2);
    cuda::atomic_ref<int> most(out[1]);
    most.fetch_max(t * 3, cuda::memory_order_relaxed);
    __syncthreads();
    cuda::std::array<int, 4> a{1, 2, 3, 4};
    if (t == 0) out[2] = shared_sum.load() + a[3] + cuda::std::numeric_limits<short>::max();
    int old = 100;
    if (t == 7) out[3] = cuda::atomic_ref<int>(out[4]).compare_exchange_strong(old, 5) ? 1 : old;
}
