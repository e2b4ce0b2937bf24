// Doubles that travel as two halves, of which device code loses the shadow.
__global__ void fill(const double *x, double *third) { third[threadIdx.x] = x[threadIdx.x] / 3; }

__global__ void halves(const double *third, double *out)
{
    const int *from = (const int *)third;
    int *to = (int *)out;
    to[threadIdx.x] = from[threadIdx.x];
}

__global__ void use(double *out) { out[threadIdx.x] *= 2; }
