// Runs one kernel of this folder under OpenCL, with the sizes and inputs of its workload file.
// Usage: pocl_bench KERNEL WARMUP REPEATS [NAME=FILE.npy ...]
// Prints one JSON object: device, driver, seconds from enqueue to finish (samples_s) and of the
// profiling event (event_s), and for each file the distance |ours - file| / |file| of output NAME.

#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void die(const char *what, int code)
{
    fprintf(stderr, "pocl_bench: %s (%d)\n", what, code);
    exit(1);
}
#define CHECK(call) do { cl_int e_ = (call); if (e_ != CL_SUCCESS) die(#call, e_); } while (0)

// An input is base + (i * a % m) / m * scale + shift; a = 0: zero, an output where named.
typedef struct { const char *name; int f64; size_t len; long a, m; double base, scale, shift; int out; } Buf;
typedef struct { char kind; int buf; double number; size_t bytes; } Arg; // b buffer, i int, f float, d double, l local
typedef struct { const char *name; size_t global[2], local[2]; Buf bufs[6]; Arg args[9]; } Bench;

#define B(k) { .kind = 'b', .buf = k }
#define I(v) { .kind = 'i', .number = v }
#define F(v) { .kind = 'f', .number = v }
#define D(v) { .kind = 'd', .number = v }
#define L(v) { .kind = 'l', .bytes = v }

enum { TRIAD = 16777216, OPTIONS = 4194304, VOXELS = 16384, NK = 512, BODIES = 8192, GRID = 4096, MAT = 512, SUM = 16777216 };

static const Bench benches[] = {
    { "triad", { TRIAD, 1 }, { 256, 1 },
      { { "a", 1, TRIAD, .out = 1 }, { "b", 1, TRIAD, 7919, 10007, 0, 1, 0 }, { "c", 1, TRIAD, 7907, 10009, 0, 1, 0 } },
      { B(0), B(1), B(2), D(3.0), I(TRIAD) } },
    { "black_scholes", { OPTIONS, 1 }, { 128, 1 },
      { { "spot", 1, OPTIONS, 7919, 10007, 25, 10, 0 }, { "strike", 1, OPTIONS, 7907, 10009, 20, 20, 0 },
        { "years", 1, OPTIONS, 7901, 10037, 0.25, 1.75, 0 }, { "call", 1, OPTIONS, .out = 1 }, { "put", 1, OPTIONS, .out = 1 } },
      { B(0), B(1), B(2), B(3), B(4), D(0.02), D(0.30), I(OPTIONS) } },
    { "mri_q", { VOXELS, 1 }, { 128, 1 },
      { { "x", 0, VOXELS, 7919, 10007, 0, 2, -1 }, { "y", 0, VOXELS, 7907, 10009, 0, 2, -1 }, { "z", 0, VOXELS, 7901, 10037, 0, 2, -1 },
        { "samples", 0, 4 * NK, 7919, 10007, 0, 4, -2 }, { "qr", 0, VOXELS, .out = 1 }, { "qi", 0, VOXELS, .out = 1 } },
      { B(0), B(1), B(2), B(3), B(4), B(5), I(VOXELS), I(NK) } },
    { "nbody", { BODIES, 1 }, { 128, 1 },
      { { "bodies", 0, 4 * BODIES, 7919, 10007, 0, 1, 0 }, { "acc", 0, 4 * BODIES, .out = 1 } },
      { B(0), B(1), L(128 * 16), F(0.01), I(BODIES) } },
    { "stencil", { GRID, GRID }, { 32, 8 },
      { { "from", 0, (size_t)GRID * GRID, 7919, 10007, 0, 1, 0 }, { "to", 0, (size_t)GRID * GRID, .out = 1 } },
      { B(0), B(1), L(34 * 10 * 4), F(0.5), F(0.125), I(GRID) } },
    { "matmul", { MAT, MAT }, { 16, 16 },
      { { "a", 1, MAT * MAT, 7919, 10007, 0, 1, 0 }, { "b", 1, MAT * MAT, 7907, 10009, 0, 1, 0 }, { "c", 1, MAT * MAT, .out = 1 } },
      { B(0), B(1), B(2), L(16 * 16 * 8), L(16 * 16 * 8), I(MAT) } },
    { "reduce", { SUM / 4, 1 }, { 256, 1 },
      { { "x", 1, SUM, 7919, 10007, 0, 1, 0 }, { "sums", 1, SUM / 1024, .out = 1 } },
      { B(0), B(1), L(256 * 8), I(SUM) } },
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        die(path, 0);
    fseek(f, 0, SEEK_END);
    *len = ftell(f);
    rewind(f);
    char *s = malloc(*len + 1);
    if (!s || fread(s, 1, *len, f) != *len)
        die(path, 1);
    s[*len] = 0;
    fclose(f);
    return s;
}

static double at(const void *p, int f64, size_t i)
{
    return f64 ? ((const double *)p)[i] : ((const float *)p)[i];
}

static double distance(const char *path, const Buf *b, const void *ours)
{
    size_t len, head;
    char *s = slurp(path, &len);
    if (len < 12 || memcmp(s, "\x93NUMPY", 6))
        die("not a .npy file", 0);
    unsigned char *h = (unsigned char *)s + 8; // length of the header: 2 bytes in version 1, then 4
    head = s[6] == 1 ? 10 + h[0] + 256u * h[1] : 12 + h[0] + 256u * h[1] + 65536u * h[2] + 16777216u * h[3];
    size_t each = b->f64 ? 8 : 4;
    if (len - head != b->len * each || !memmem(s, head, b->f64 ? "<f8" : "<f4", 3))
        die("another type or length in the .npy file", 0);
    char *theirs = malloc(b->len * each);
    memcpy(theirs, s + head, b->len * each);
    double d = 0, n = 0;
    for (size_t i = 0; i < b->len; ++i) {
        double x = at(ours, b->f64, i), y = at(theirs, b->f64, i);
        d += (x - y) * (x - y);
        n += y * y;
    }
    free(theirs);
    free(s);
    return sqrt(d / n);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: pocl_bench KERNEL WARMUP REPEATS [NAME=FILE.npy ...]", 0);
    const Bench *bench = NULL;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; ++i)
        if (!strcmp(benches[i].name, argv[1]))
            bench = &benches[i];
    if (!bench)
        die("no such kernel", 0);
    int warmup = atoi(argv[2]), repeats = atoi(argv[3]);

    cl_platform_id platforms[16];
    cl_uint count = 0;
    CHECK(clGetPlatformIDs(16, platforms, &count));
    cl_device_id device = NULL;
    char text[256] = "", version[256] = "";
    for (cl_uint i = 0; i < count && !device; ++i) {
        CHECK(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof text, text, NULL));
        if (strstr(text, "Portable Computing Language"))
            CHECK(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL));
    }
    if (!device)
        die("PoCL is not installed", 0);
    cl_uint units = 0;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));

    cl_int err;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    CHECK(err);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    CHECK(err);
    char path[512];
    size_t len;
    snprintf(path, sizeof path, "%s.cl", bench->name);
    const char *source = slurp(path, &len);
    cl_program program = clCreateProgramWithSource(context, 1, &source, &len, &err);
    CHECK(err);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        die(log, 0);
    }
    cl_kernel kernel = clCreateKernel(program, bench->name, &err);
    CHECK(err);

    cl_mem mems[6] = { 0 };
    for (int b = 0; b < 6 && bench->bufs[b].name; ++b) {
        const Buf *u = &bench->bufs[b];
        size_t bytes = u->len * (u->f64 ? 8 : 4);
        void *host = calloc(1, bytes);
        if (u->a)
            for (size_t i = 0; i < u->len; ++i) {
                double v = u->base + (double)((long)i * u->a % u->m) / (double)u->m * u->scale + u->shift;
                if (u->f64)
                    ((double *)host)[i] = v;
                else
                    ((float *)host)[i] = (float)v;
            }
        mems[b] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
        CHECK(err);
        CHECK(clEnqueueWriteBuffer(queue, mems[b], CL_TRUE, 0, bytes, host, 0, NULL, NULL));
        free(host);
    }
    for (int a = 0; a < 9 && bench->args[a].kind; ++a) {
        const Arg *g = &bench->args[a];
        int i = (int)g->number;
        float f = (float)g->number;
        switch (g->kind) {
        case 'b': CHECK(clSetKernelArg(kernel, a, sizeof(cl_mem), &mems[g->buf])); break;
        case 'i': CHECK(clSetKernelArg(kernel, a, sizeof i, &i)); break;
        case 'f': CHECK(clSetKernelArg(kernel, a, sizeof f, &f)); break;
        case 'd': CHECK(clSetKernelArg(kernel, a, sizeof(double), &g->number)); break;
        case 'l': CHECK(clSetKernelArg(kernel, a, g->bytes, NULL)); break;
        }
    }

    double *wall = malloc(repeats * sizeof *wall), *event = malloc(repeats * sizeof *event);
    for (int r = -warmup; r < repeats; ++r) {
        cl_event done;
        double t = now();
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, bench->global, bench->local, 0, NULL, &done));
        CHECK(clFinish(queue));
        t = now() - t;
        cl_ulong from, to;
        CHECK(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL));
        CHECK(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL));
        clReleaseEvent(done);
        if (r >= 0) {
            wall[r] = t;
            event[r] = 1e-9 * (to - from);
        }
    }

    printf("{\"device\": \"%s\", \"version\": \"%s\", \"compute_units\": %u, \"samples_s\": [", text, version, units);
    for (int r = 0; r < repeats; ++r)
        printf("%s%.9f", r ? ", " : "", wall[r]);
    printf("], \"event_s\": [");
    for (int r = 0; r < repeats; ++r)
        printf("%s%.9f", r ? ", " : "", event[r]);
    printf("], \"distance\": {");
    for (int a = 4, first = 1; a < argc; ++a) {
        char *eq = strchr(argv[a], '=');
        if (!eq)
            die("NAME=FILE.npy expected", 0);
        *eq = 0;
        for (int b = 0; b < 6 && bench->bufs[b].name; ++b) {
            const Buf *u = &bench->bufs[b];
            if (strcmp(u->name, argv[a]))
                continue;
            size_t bytes = u->len * (u->f64 ? 8 : 4);
            void *host = malloc(bytes);
            CHECK(clEnqueueReadBuffer(queue, mems[b], CL_TRUE, 0, bytes, host, 0, NULL, NULL));
            printf("%s\"%s\": %.3g", first ? "" : ", ", u->name, distance(eq + 1, u, host));
            first = 0;
            free(host);
        }
    }
    printf("}}\n");
    return 0;
}
