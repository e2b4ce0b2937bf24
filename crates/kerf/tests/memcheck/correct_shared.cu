// Shared memory and barriers, used correctly. Nothing here may be accused.

// RUN double_buffer<<<1, 64>>>(in, out)
__global__ void double_buffer(const float* in, float* out) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    buffer[0][t] = in[t];
    __syncthreads();
    float sum = 0.0f;
    for (int step = 0; step < 3; step++) {
        int now = step & 1;
        buffer[1 - now][t] = in[64 * (step + 1) + t];
        sum += buffer[now][63 - t];
        // One barrier is enough: the next step writes what this one read.
        __syncthreads();
    }
    out[t] = sum + buffer[1][63 - t];
}

// RUN matmul_tiles<<<(4, 4), (4, 4)>>>(in, out)
__global__ void matmul_tiles(const float* in, float* out) {
    __shared__ float a[4][4], b[4][4];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 4 + tx, row = blockIdx.y * 4 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < 16; k0 += 4) {
        a[ty][tx] = in[row * 16 + k0 + tx];
        b[ty][tx] = in[(k0 + ty) * 16 + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    out[row * 16 + col] = sum;
}

// RUN padded_transpose<<<(2, 2), (8, 4)>>>(in, out)
__global__ void padded_transpose(const float* in, float* out) {
    __shared__ float tile[8][8 + 1];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int j = 0; j < 8; j += 4) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * 16 + x];
    __syncthreads();
    x = blockIdx.y * 8 + threadIdx.x;
    y = blockIdx.x * 8 + threadIdx.y;
    for (int j = 0; j < 8; j += 4) out[(y + j) * 16 + x] = tile[threadIdx.x][threadIdx.y + j];
}

// RUN early_return<<<3, 96>>>(in, out, n)
__global__ void early_return(const float* in, float* out, int n) {
    __shared__ float s[96];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    // 32 threads of the last block leave; those count as arrived.
    if (i >= n) return;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t ^ 1];
}

// RUN hillis_steele<<<1, 64>>>(in, out)
__global__ void hillis_steele(const float* in, float* out) {
    __shared__ float s[2][64];
    int t = threadIdx.x, from = 0;
    s[0][t] = in[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0.0f);
        from = 1 - from;
        __syncthreads();
    }
    out[t] = s[from][t];
}

// RUN blelloch<<<1, 64>>>(iin, iout)
__global__ void blelloch(const int* iin, int* iout) {
    __shared__ int s[128];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = iin[2 * t];
    s[2 * t + 1] = iin[2 * t + 1];
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int v = s[a];
            s[a] = s[b];
            s[b] += v;
        }
    }
    __syncthreads();
    iout[2 * t] = s[2 * t];
    iout[2 * t + 1] = s[2 * t + 1];
}

// RUN bitonic_sort<<<2, 64>>>(iin, iout)
__global__ void bitonic_sort(const int* iin, int* iout) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = iin[i];
    __syncthreads();
    for (unsigned k = 2; k <= 64; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            unsigned other = t ^ j;
            if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {
                int v = s[t];
                s[t] = s[other];
                s[other] = v;
            }
            __syncthreads();
        }
    iout[i] = s[t];
}

// RUN stencil_3d<<<(2, 2, 2), (4, 4, 2)>>>(in, out)
__global__ void stencil_3d(const float* in, float* out) {
    // 8 x 8 x 4 points, zero outside.
    __shared__ float s[4][6][6];
    int bx = blockIdx.x * 4, by = blockIdx.y * 4, bz = blockIdx.z * 2;
    int t = (threadIdx.z * 4 + threadIdx.y) * 4 + threadIdx.x;
    for (int k = t; k < 4 * 6 * 6; k += 32) {
        int z = k / 36, y = k / 6 % 6, x = k % 6;
        int gx = bx + x - 1, gy = by + y - 1, gz = bz + z - 1;
        bool inside = gx >= 0 && gx < 8 && gy >= 0 && gy < 8 && gz >= 0 && gz < 4;
        s[z][y][x] = inside ? in[(gz * 8 + gy) * 8 + gx] : 0.0f;
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1, z = threadIdx.z + 1;
    out[((bz + z - 1) * 8 + by + y - 1) * 8 + bx + x - 1] =
        s[z][y][x - 1] + s[z][y][x + 1] + s[z][y - 1][x] + s[z][y + 1][x] + s[z - 1][y][x] + s[z + 1][y][x]
        - 6.0f * s[z][y][x];
}

// RUN tree_reduce<<<4, 64>>>(in, out)
__global__ void tree_reduce(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    for (int d = 32; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// RUN unrolled_last_warp<<<4, 64>>>(in, out)
__global__ void unrolled_last_warp(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        float v = s[t] + s[t + 32];
        s[t] = v;
        __syncwarp();
        for (int d = 16; d > 0; d /= 2) {
            v += t < d ? s[t + d] : 0.0f;
            __syncwarp();
            s[t] = v;
            __syncwarp();
        }
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// RUN carved_dynamic<<<2, 64, 1152>>>(in, out)
__global__ void carved_dynamic(const float* in, float* out) {
    extern __shared__ __align__(16) unsigned char room[];
    double* doubles = reinterpret_cast<double*>(room);
    float4* quads = reinterpret_cast<float4*>(doubles + 64);
    float* floats = reinterpret_cast<float*>(quads + 16);
    short* shorts = reinterpret_cast<short*>(floats + 64);
    unsigned char* flags = reinterpret_cast<unsigned char*>(shorts + 32);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    doubles[t] = in[i];
    if (t < 16) quads[t] = make_float4(t, in[i], 2.0f, 1.0f);
    floats[t] = 0.5f * in[i];
    if (t < 32) shorts[t] = t;
    flags[t] = t & 1;
    __syncthreads();
    out[i] = (float)doubles[63 - t] + quads[t / 4].y + floats[t ^ 3] + shorts[t / 2] + flags[t ^ 1];
}

// RUN uniform_barriers<<<2, 64>>>(in, out, n)
__global__ void uniform_barriers(const float* in, float* out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    // All threads of a block agree.
    if (blockIdx.x == 1 && n > 100) {
        __syncthreads();
        out[i] = s[63 - t];
    } else {
        out[i] = s[t];
    }
    for (int k = 0; k < 10; k++) {
        __syncthreads();
        if (k == 3 + blockIdx.x) break;
        if (t == k) s[t] += 1.0f;
    }
}

// RUN fused_predicates<<<2, 64>>>(in, iout)
__global__ void fused_predicates(const float* in, int* iout) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    __shared__ int rounds;
    if (t == 0) rounds = 0;
    int left = (int)(in[i] * 3.0f);
    while (__syncthreads_or(left > 0)) {
        if (left > 0) left--;
        if (t == 0) rounds++;
    }
    int many = __syncthreads_count(in[i] > 1.5f);
    iout[i] = many + rounds;
}

// RUN return_in_a_loop<<<2, 64>>>(in, out)
__global__ void return_in_a_loop(const float* in, float* out) {
    __shared__ float left;
    int t = threadIdx.x;
    if (t == 63) left = in[t];
    for (int r = 0; r < 64; r++) {
        __syncthreads();
        if (t == r && t != 63) {
            left += 1.0f;
            out[blockIdx.x * 64 + t] = left;
            return;
        }
    }
    out[blockIdx.x * 64 + t] = -left;
}
