// Points in records of 24 bytes, which no vector access reads: moved, and then looked up in the order of a permutation.
struct Point {
    double x, y, z;
};

extern "C" __global__ void move(Point *points, const double *step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Point p = points[i];
    double s = step[i];
    p.x += s * p.y;
    p.y -= s * p.x;
    p.z *= 1.0 + s;
    points[i] = p;
}

extern "C" __global__ void gather(const Point *points, const int *order, double *norm, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Point p = points[order[i]];
    norm[i] = sqrt(p.x * p.x + p.y * p.y + p.z * p.z);
}
