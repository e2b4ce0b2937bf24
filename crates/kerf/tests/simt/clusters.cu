// Thread-block clusters, refused kernel by kernel; the others of the file run.
__global__ void __cluster_dims__(2, 1, 1) has_shape(int* out) { out[threadIdx.x] = 1; }
__global__ void has_rank(int* out) {
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    out[threadIdx.x] = r;
}
__global__ void waits(int* out) {
    __nvvm_barrier_cluster_arrive();
    __nvvm_barrier_cluster_wait();
    out[threadIdx.x] = 1;
}
__global__ void runs(int* out) { out[threadIdx.x] = threadIdx.x + 1; }
