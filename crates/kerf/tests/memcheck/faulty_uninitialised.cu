// Values that nobody wrote. One defect in each kernel; the marked line is the one a report has to name.

// RUN stencil_halo<<<4, 64>>>(in, out, n)
__global__ void stencil_halo(const float* in, float* out, int n) {
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t + 1] = in[i];
    if (t == 0) s[0] = i > 0 ? in[i - 1] : 0.0f;
    // The right end of the halo is forgotten.
    __syncthreads();
    out[i] = 0.25f * s[t] + 0.5f * s[t + 1]
           + 0.25f * s[t + 2]; // FAULT uninitialised
}

// RUN accumulator<<<4, 64>>>(in, out, n)
__global__ void accumulator(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float acc; // FAULT uninitialised
    for (int k = 0; k < 4; k++) acc += in[(i + k) % n];
    out[i] = acc;
}

// RUN partial_array<<<4, 64>>>(in, out, n)
__global__ void partial_array(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w[5]; // FAULT uninitialised
    for (int k = 0; k < 4; k++) w[k] = in[(i + k) % n];
    float sum = 0.0f;
    for (int k = 0; k < 5; k++) sum += w[k];
    out[i] = sum;
}

// RUN struct_field<<<4, 64>>>(in, out, n)
struct Particle {
    float x, y, z;
    int kind;
};

__device__ Particle make_particle(float x, float y) {
    Particle p; // FAULT uninitialised
    p.x = x;
    p.y = y;
    p.kind = 1;
    return p;
}
__global__ void struct_field(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Particle p = make_particle(in[i], in[n - 1 - i]);
    out[i] = p.kind == 1 ? p.x * p.x + p.y * p.y + p.z * p.z : 0.0f;
}

// RUN branch_decides<<<2, 64>>>(in, out, n)
__global__ void branch_decides(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool large; // FAULT uninitialised
    if (in[i] > 1.5f) large = true;
    if (large)
        out[i] = 1.0f;
    else
        out[i] = 0.0f;
}

// RUN scratch_read<<<4, 64>>>(in, scratch, out, n)
__global__ void scratch_read(const float* in, float* scratch, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = scratch[i]; // FAULT uninitialised
    sum += in[i];
    scratch[i] = sum;
    out[i] = sum;
}

// RUN even_only<<<2, 64>>>(in, scratch, n); all_of_them<<<4, 64>>>(scratch, out, n)
__global__ void even_only(const float* in, float* scratch, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) scratch[i] = in[i];
}
__global__ void all_of_them(const float* scratch, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = scratch[i] * 2.0f; // FAULT uninitialised
}

// RUN table_of_indices<<<4, 64>>>(in, out, n)
__global__ void table_of_indices(const float* in, float* out, int n) {
    __shared__ unsigned char table[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    // 63 entries are filled.
    if (t > 0) table[t] = 63 - t;
    __syncthreads();
    int k = table[63 - t]; // FAULT uninitialised
    out[i] = in[blockIdx.x * blockDim.x + k];
}
