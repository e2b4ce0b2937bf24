// Warp operations with lanes that are not there, or masks that do not fit.

// RUN exited_lanes<<<2, 64>>>(in, out)
__global__ void exited_lanes(const float* in, float* out) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t % 32 >= 20) return;
    float v = in[i];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffff, v, d); // FAULT lane
    if (t % 32 == 0) out[i] = v;
}

// RUN mask_without_caller<<<1, 32>>>(in, out)
__global__ void mask_without_caller(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    if (t < 16)
        v = __shfl_xor_sync(0x00007fff, v, 1); // FAULT lane
    out[t] = v;
}

// RUN half_mask<<<1, 64>>>(in, out)
__global__ void half_mask(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    if (t % 32 < 16)
        v += __shfl_down_sync(0x0000ffff, v, 8); // FAULT lane
    out[t] = v;
}

// RUN two_ballots<<<1, 32>>>(in, iout)
__global__ void two_ballots(const float* in, int* iout) {
    int t = threadIdx.x;
    unsigned b;
    if (t < 16)
        b = __ballot_sync(0xffffffff, in[t] > 1.5f); // FAULT lane
    else
        b = __ballot_sync(0xffffffff, in[t] < 1.5f); // FAULT lane
    iout[t] = __popc(b);
}

// RUN short_warp<<<1, 48>>>(in, out)
__global__ void short_warp(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    // The second warp has 16 lanes.
    v += __shfl_xor_sync(0xffffffff, v, 16); // FAULT lane
    out[t] = v;
}

// RUN odd_from_even<<<1, 32>>>(iin, iout)
__global__ void odd_from_even(const int* iin, int* iout) {
    int t = threadIdx.x, v = iin[t];
    if (t & 1)
        v = __shfl_sync(0xaaaaaaaa, v, t - 1); // FAULT lane
    iout[t] = v;
}

// RUN absent_leader<<<1, 64>>>(iin, iout)
__global__ void absent_leader(const int* iin, int* iout) {
    int t = threadIdx.x, v = iin[t];
    if (t % 32 > 3) {
        unsigned here = __activemask();
        v = __shfl_sync(here, v, 0); // FAULT lane
    }
    iout[t] = v;
}
