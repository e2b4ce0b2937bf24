// Threads that synchronise by atomics, fences and named barriers.
#include <cuda/atomic>

// RUN lock<<<4, 32>>>(iin, iout, flag)
__global__ void lock(const int* iin, int* iout, int* flag) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(flag, 0, 1) != 0) {
    }
    __threadfence();
    iout[0] += iin[blockIdx.x];
    iout[1 + iout[0] % 8] = blockIdx.x;
    __threadfence();
    atomicExch(flag, 0);
}

// RUN last_block<<<4, 64>>>(in, out, flag)
__device__ float partials[64];
__global__ void last_block(const float* in, float* out, unsigned* flag) {
    __shared__ bool last;
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partials[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(flag, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        s[t] = t < gridDim.x ? partials[t] : 0.0f;
        __syncthreads();
        if (t == 0) {
            float sum = 0.0f;
            for (int b = 0; b < gridDim.x; b++) sum += s[b];
            out[0] = sum;
            *flag = 0;
        }
    }
}

// RUN volatile_flag<<<2, 32>>>(in, out, flag)
__global__ void volatile_flag(const float* in, float* out, int* flag) {
    volatile int* ready = flag;
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *ready = 1;
    } else {
        if (t == 0)
            while (*ready == 0) {
            }
        __syncthreads();
        __threadfence();
        out[32 + t] = out[31 - t];
    }
}

// RUN changed<<<4, 64>>>(in, iout, flag)
__global__ void changed(const float* in, int* iout, int* flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // Many threads write the same value.
    if (in[i] > 1.2f) {
        iout[i] = 1;
        *flag = 1;
    }
}

// RUN block_scope<<<2, 64>>>(iin, iout)
__global__ void block_scope(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* mine = iout + 32 * blockIdx.x;
    atomicAdd_block(&mine[iin[i] % 16], 1);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0; k < 16; k++) mine[16] += mine[k];
}

// RUN shared_histogram<<<2, 64>>>(iin, iout, n)
__global__ void shared_histogram(const int* iin, int* iout, int n) {
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[iin[i] % 16], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&iout[t], bins[t]);
}

// RUN release_acquire<<<2, 32>>>(in, out, flag)
__global__ void release_acquire(const float* in, float* out, int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = in[0];
        out[1] = in[1];
        ready.store(1, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) {
        }
        out[2] = out[0] + out[1];
    }
}

// RUN ticket_queue<<<4, 32>>>(iin, iout, flag)
__global__ void ticket_queue(const int* iin, int* iout, int* flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // Which place a thread gets is open, but it is its own.
    if (iin[i] & 1) iout[atomicAdd(flag, 1)] = 7;
}

// RUN named_barriers<<<1, 128>>>(in, out)
__global__ void named_barriers(const float* in, float* out) {
    __shared__ float s[128];
    int t = threadIdx.x, half = t / 64;
    s[t] = in[t];
    if (half == 0) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = s[63 - t];
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[t] = s[191 - t];
    }
}

// RUN producer_consumer<<<1, 64>>>(in, out)
__global__ void producer_consumer(const float* in, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    for (int k = 0; k < 3; k++) {
        if (t < 32) {
            s[t] = in[k * 32 + t];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[k * 32 + t - 32] = s[63 - t];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}

// RUN compare_and_swap_float<<<4, 64>>>(in, out)
__global__ void compare_and_swap_float(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* at = (int*)&out[i % 3];
    int old = *(volatile int*)at, assumed;
    do {
        assumed = old;
        old = atomicCAS(at, assumed, __float_as_int(__int_as_float(assumed) + in[i]));
    } while (old != assumed);
}

// RUN first_pass<<<2, 64>>>(in, scratch, n); second_pass<<<2, 64>>>(scratch, out, n)
__global__ void first_pass(const float* in, float* scratch, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) scratch[n - 1 - i] = in[i];
}
__global__ void second_pass(const float* scratch, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = scratch[i];
}

// RUN lock_of_the_block<<<2, 64>>>(iin, iout)
__global__ void lock_of_the_block(const int* iin, int* iout) {
    __shared__ int locked, most;
    if (threadIdx.x == 0) locked = 0, most = -1;
    __syncthreads();
    int v = iin[blockIdx.x * blockDim.x + threadIdx.x];
    bool done = false;
    while (!done) {
        if (atomicCAS(&locked, 0, 1) == 0) {
            __threadfence_block();
            if (v > most) most = v;
            __threadfence_block();
            atomicExch(&locked, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) iout[blockIdx.x] = most;
}

// The first guess of a compare-and-swap loop is a plain read (CUDA C++ Programming Guide, atomic functions).
// RUN guessed_plainly<<<4, 64>>>(d, dout, in, out)
__device__ double add_by_swaps(double* address, double value) {
    unsigned long long* word = (unsigned long long*)address;
    unsigned long long old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __double_as_longlong(value + __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}
__device__ void most_by_swaps(float* address, float value) {
    float old = *address;
    while (value > old) {
        int seen = atomicCAS((int*)address, __float_as_int(old), __float_as_int(value));
        if (seen == __float_as_int(old)) break;
        old = __int_as_float(seen);
    }
}
__global__ void guessed_plainly(const double* d, double* dout, const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ double sum;
    if (threadIdx.x == 0) sum = 0.0;
    __syncthreads();
    add_by_swaps(&sum, floor(d[i] * 64.0));
    add_by_swaps(&dout[0], floor(d[i] * 64.0));
    most_by_swaps(&out[0], in[i]);
    __syncthreads();
    if (threadIdx.x == 0) dout[1 + blockIdx.x] = sum;
}
