// Accesses whose address does not suit their size.

// RUN float4_at_one<<<1, 32>>>(in, out)
__global__ void float4_at_one(const float* in, float* out) {
    int t = threadIdx.x;
    const float4* v = reinterpret_cast<const float4*>(in + 1);
    float4 a = v[t]; // FAULT alignment
    out[t] = a.x + a.y + a.z + a.w;
}

// RUN double_in_floats<<<1, 32>>>(in, dout)
__global__ void double_in_floats(const float* in, double* dout) {
    int t = threadIdx.x;
    const float* odd = in + 2 * t + 1;
    dout[t] = *(const double*)odd; // FAULT alignment
}

// RUN int_in_bytes<<<1, 32>>>(bytes, iout)
__global__ void int_in_bytes(const unsigned char* bytes, int* iout) {
    int t = threadIdx.x;
    // A header of 6 bytes.
    const unsigned char* body = bytes + 6;
    iout[t] = *(const int*)(body + 4 * t); // FAULT alignment
}

// RUN short_in_bytes<<<1, 32>>>(bytes, iout)
__global__ void short_in_bytes(const unsigned char* bytes, int* iout) {
    int t = threadIdx.x;
    iout[t] = *(const short*)(bytes + 3 * t); // FAULT alignment
}

// RUN carved_shared<<<1, 32, 1024>>>(in, out)
__global__ void carved_shared(const float* in, float* out) {
    extern __shared__ char room[];
    int t = threadIdx.x;
    float* first = (float*)room;
    // 33 floats, and the doubles behind them.
    double* second = (double*)(first + 33);
    first[t] = in[t];
    second[t] = in[t]; // FAULT alignment
    __syncthreads();
    out[t] = first[31 - t] + (float)second[31 - t];
}

struct __align__(16) Body {
    float x, y, z, mass;
};

// RUN aligned_struct<<<1, 16>>>(in, out)
__global__ void aligned_struct(const float* in, float* out) {
    int t = threadIdx.x;
    const Body* bodies = reinterpret_cast<const Body*>(in + 2);
    Body b = bodies[t]; // FAULT alignment
    out[t] = b.mass * (b.x + b.y + b.z);
}

// RUN wide_atomic<<<1, 32>>>(iout)
__global__ void wide_atomic(int* iout) {
    int t = threadIdx.x;
    unsigned long long* counter = (unsigned long long*)(iout + 1);
    atomicAdd(counter, (unsigned long long)t); // FAULT alignment
}
