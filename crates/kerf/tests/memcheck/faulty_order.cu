// Results that depend on which block, or thread, comes first: what synchronises is incomplete.

// RUN plain_total<<<4, 64>>>(in, out)
__global__ void plain_total(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        out[0] += in[i]; // FAULT order
}

// RUN flag_without_fence<<<2, 32>>>(in, out, flag)
__global__ void flag_without_fence(const float* in, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0 && t == 0) {
        out[0] = in[0]; // FAULT order
        atomicExch(flag, 1);
    }
    if (blockIdx.x == 1 && t == 0 && atomicAdd(flag, 0) == 1) {
        __threadfence();
        out[1] = out[0]; // FAULT order
    }
}

// RUN atomic_on_one_side<<<4, 64>>>(iin, iout)
__global__ void atomic_on_one_side(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&iout[0], iin[i]); // FAULT order
    if (threadIdx.x == 63) iout[1 + blockIdx.x] = iout[0]; // FAULT order
}

// RUN volatile_on_one_side<<<2, 32>>>(iin, iout)
__global__ void volatile_on_one_side(const int* iin, int* iout) {
    int t = threadIdx.x;
    if (blockIdx.x == 0)
        *(volatile int*)&iout[t] = iin[t] + 1; // FAULT order
    else
        iout[32 + t] = iout[t]; // FAULT order
}

// RUN lock_without_fence<<<4, 32>>>(iin, iout, flag)
__global__ void lock_without_fence(const int* iin, int* iout, int* flag) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(flag, 0, 1) != 0) {
    }
    iout[0] += iin[blockIdx.x] + 1; // FAULT order
    atomicExch(flag, 0);
}

// RUN fence_of_the_block<<<2, 32>>>(in, out, flag)
__global__ void fence_of_the_block(const float* in, float* out, int* flag) {
    int t = threadIdx.x;
    volatile int* ready = flag;
    if (blockIdx.x == 0 && t == 0) {
        out[0] = in[0]; // FAULT order
        __threadfence_block();
        *ready = 1;
    }
    if (blockIdx.x == 1 && t == 0) {
        while (*ready == 0) {
        }
        __threadfence();
        out[1] = 2.0f * out[0]; // FAULT order
    }
}

// RUN last_block_unfenced<<<4, 64>>>(in, out, flag)
__global__ void last_block_unfenced(const float* in, float* out, int* flag) {
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) {
        out[1 + blockIdx.x] = in[blockIdx.x]; // FAULT order
        // __threadfence() is missing.
        last = atomicAdd(flag, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++)
            sum += out[1 + b]; // FAULT order
        out[0] = sum;
    }
}
