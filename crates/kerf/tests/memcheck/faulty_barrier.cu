// Barriers that not all threads of a block reach, or not at the same place.

// RUN first_half_waits<<<2, 64>>>(in, out)
__global__ void first_half_waits(const float* in, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = in[i];
    if (t < 32) {
        s[t] = v;
        __syncthreads(); // FAULT barrier
        v += s[31 - t];
    }
    out[i] = v;
}

// RUN barrier_in_both<<<2, 64>>>(in, out)
__global__ void barrier_in_both(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 32) {
        s[t] = in[i];
        __syncthreads(); // FAULT barrier
    } else {
        s[t] = 2.0f * in[i];
        __syncthreads(); // FAULT barrier
    }
    out[i] = s[63 - t];
}

// RUN early_break<<<2, 64>>>(in, out)
__global__ void early_break(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = in[i];
    for (int k = 0; k < 4; k++) {
        if (v > 1.9f) break;
        s[t] = v;
        __syncthreads(); // FAULT barrier
        v *= 1.1f;
    }
    out[i] = v;
}

// RUN continue_around<<<2, 64>>>(in, out)
__global__ void continue_around(const float* in, float* out) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = in[i];
    for (int k = 0; k < 3; k++) {
        if ((t + k) % 5 == 0 && k < 2) continue;
        v += 1.0f;
        __syncthreads(); // FAULT barrier
    }
    out[i] = v;
}

// RUN own_trip_count<<<1, 64>>>(in, out)
__global__ void own_trip_count(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    for (int k = 0; k <= t / 32; k++) {
        v *= 0.5f;
        __syncthreads(); // FAULT barrier
    }
    out[t] = v;
}

// RUN counting_half<<<1, 64>>>(in, iout)
__global__ void counting_half(const float* in, int* iout) {
    int t = threadIdx.x, many = -1;
    if (t >= 32)
        many = __syncthreads_count(in[t] > 1.5f); // FAULT barrier
    iout[t] = many;
}

// RUN in_a_function<<<(2, 1), (8, 8)>>>(in, out)
__device__ float exchange(float* s, int t, float v) {
    s[t] = v;
    __syncthreads(); // FAULT barrier
    return s[t ^ 1];
}
__global__ void in_a_function(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.y * 8 + threadIdx.x, i = blockIdx.x * 64 + t;
    float v = in[i];
    if (threadIdx.y != 7) v += exchange(s, t, v);
    out[i] = v;
}
