// A program of the driver API, without CUDA's headers: it opens libcuda.so.1 and finds every call by name.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static int (*proc)(const char *, void **, int, uint64_t, int *);

static void *entry(const char *name) {
    void *p = 0;
    if (proc == 0 || proc(name, &p, 12000, 0, 0) != 0 || p == 0) {
        printf("no %s\n", name);
        exit(1);
    }
    return p;
}
#define CALL(name, ...) ((int (*)())entry(#name))(__VA_ARGS__)
#define CHECK(want, name, ...)                                          \
    do {                                                                \
        int result_ = CALL(name, __VA_ARGS__);                              \
        if (result_ != (want)) {                                            \
            printf("%s: %d, not %d\n", #name, result_, (want));             \
            exit(1);                                                    \
        }                                                               \
    } while (0)

typedef uint64_t handle;

static char *text_of(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!f || fread(text, 1, (1 << 16) - 1, f) == 0) exit(2);
    fclose(f);
    return text;
}

enum { N = 1000 };

// y = a * x + y on the device, and the same here.
static void check_kernel(handle f, int as_buffer) {
    double x[N], y[N], got[N];
    for (int i = 0; i < N; i++) x[i] = 0.1 * i, y[i] = i;
    handle dx, dy;
    CHECK(0, cuMemAlloc, &dx, sizeof x);
    CHECK(0, cuMemAlloc, &dy, sizeof y);
    CHECK(0, cuMemcpyHtoD, dx, x, sizeof x);
    CHECK(0, cuMemcpyHtoD, dy, y, sizeof y);
    struct { handle x, y; double a; int n; } all = {dx, dy, 2.7, N};
    void *each[] = {&all.x, &all.y, &all.a, &all.n};
    size_t bytes = sizeof all;
    void *extra[] = {(void *)1, &all, (void *)2, &bytes, (void *)0};
    int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
        entry("cuLaunchKernel");
    int r = launch(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, 0, as_buffer ? 0 : each, as_buffer ? extra : 0);
    if (r != 0) {
        printf("cuLaunchKernel: %d\n", r);
        exit(1);
    }
    CHECK(0, cuCtxSynchronize, 0);
    CHECK(0, cuMemcpyDtoH, got, dy, sizeof got);
    double worst = 0;
    for (int i = 0; i < N; i++) {
        double d = got[i] - (2.7 * x[i] + y[i]);
        if (d < 0) d = -d;
        if (d > worst) worst = d;
    }
    printf("worst difference %.3g\n", worst);
    CHECK(0, cuMemFree, dx);
    CHECK(0, cuMemFree, dy);
}

// PTX inside a fat binary, inside what compilers put around one.
static void *fatbin_of(const char *ptx) {
    size_t n = strlen(ptx) + 1, padded = (n + 7) / 8 * 8;
    char *fat = calloc(1, 16 + 64 + padded);
    *(uint32_t *)fat = 0xba55ed50;
    *(uint16_t *)(fat + 4) = 1;
    *(uint16_t *)(fat + 6) = 16;
    *(uint64_t *)(fat + 8) = 64 + padded;
    char *e = fat + 16;
    *(uint16_t *)e = 1;
    *(uint32_t *)(e + 4) = 64;
    *(uint32_t *)(e + 8) = padded;
    *(uint32_t *)(e + 28) = 80;
    memcpy(e + 64, ptx, n);
    struct { uint32_t magic, version; void *data, *name; } *w = calloc(1, sizeof *w);
    w->magic = 0x466243b1;
    w->version = 1;
    w->data = fat;
    return w;
}

static void check_images(const char *ptx) {
    handle m, f, link;
    CHECK(0, cuModuleLoadData, &m, fatbin_of(ptx));
    CHECK(0, cuModuleGetFunction, &f, m, "axpy");
    check_kernel(f, 1);
    CHECK(0, cuModuleUnload, m);
    CHECK(400, cuModuleGetFunction, &f, m, "axpy");
    CHECK(0, cuLinkCreate, 0, 0, 0, &link);
    CHECK(0, cuLinkAddData, link, 1, ptx, strlen(ptx) + 1, "axpy.ptx", 0, 0, 0);
    void *image;
    size_t bytes;
    CHECK(0, cuLinkComplete, link, &image, &bytes);
    CHECK(0, cuLibraryLoadData, &m, image, 0, 0, 0, 0, 0, 0);
    CHECK(0, cuLinkDestroy, link);
    CHECK(0, cuLibraryGetKernel, &f, m, "axpy");
    check_kernel(f, 0);
    CHECK(209, cuModuleLoadData, &m, "\177ELF\2\1\1");
    char log[512] = "";
    int names[] = {5, 6};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CHECK(218, cuModuleLoadDataEx, &m, ".version 8.0\n.target sm_80\n.address_size 64\nnonsense", 2, names, values);
    printf("log: %s\n", log);
    const char *name;
    CHECK(0, cuGetErrorName, 218, &name);
    printf("%s\n", name);
}

int main(int argc, char **argv) {
    char *ptx = text_of(argv[1]);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    proc = dlsym(library, "cuGetProcAddress_v2");
    int version, device, multiprocessors, blocks;
    handle context, m, f, f2, counter;
    size_t bytes;
    CHECK(0, cuInit, 0);
    CHECK(0, cuDriverGetVersion, &version);
    CHECK(0, cuDeviceGet, &device, 0);
    CHECK(101, cuDeviceGet, &device, 1);
    CHECK(0, cuDeviceGetAttribute, &multiprocessors, 16, 0);
    CHECK(0, cuDevicePrimaryCtxRetain, &context, 0);
    CHECK(0, cuCtxSetCurrent, context);
    CHECK(0, cuModuleLoadData, &m, ptx);
    CHECK(500, cuModuleGetFunction, &f, m, "missing");
    CHECK(0, cuModuleGetFunction, &f, m, "axpy");
    CHECK(0, cuModuleGetFunction, &f2, m, "axpy");
    CHECK(0, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, f, 128, (size_t)0);
    printf("version %d, %d multiprocessors, %d blocks, same handle %d\n", version, multiprocessors, blocks, f == f2);
    check_kernel(f, 0);
    if (argc > 2) return 0;
    check_kernel(f, 1);
    CHECK(0, cuModuleGetGlobal, &counter, &bytes, m, "scale");
    printf("a variable of %zu bytes\n", bytes);
    check_images(ptx);
    return 0;
}
