#!/usr/bin/env python3
"""Kernels of Numba through the driver API, compared with NumPy.

    pip install numba-cuda cuda-bindings numpy        (nvJitLink must not be installed: its machine code needs a GPU)
    scripts/driver.sh python bench/numba-kernels.py
"""
import math
import sys

import numpy as np
from numba import cuda, float32, float64


@cuda.jit
def axpy(x, y, a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def transcendental(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.exp(-x[i]) * math.sin(x[i]) + math.sqrt(x[i]) + math.log(x[i])


TILE = 16


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), dtype=float32)
    sb = cuda.shared.array((TILE, TILE), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for t in range((a.shape[1] + TILE - 1) // TILE):
        sa[tx, ty] = a[x, ty + t * TILE] if x < a.shape[0] and ty + t * TILE < a.shape[1] else 0
        sb[tx, ty] = b[tx + t * TILE, y] if y < b.shape[1] and tx + t * TILE < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += sa[tx, k] * sb[k, ty]
        cuda.syncthreads()
    if x < c.shape[0] and y < c.shape[1]:
        c[x, y] = total


@cuda.jit
def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
        offset //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


@cuda.jit
def local_array(x, out):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array(4, dtype=float64)
        for k in range(4):
            a[k] = x[i] ** k
        s = 0.0
        for k in range(4):
            s += a[3 - k]
        out[i] = s


def close(name, got, want, rtol):
    worst = float(np.max(np.abs(np.asarray(got, dtype=float) - want) / np.maximum(np.abs(want), 1e-300)))
    ok = worst <= rtol
    print(f"{'ok  ' if ok else 'FAIL'} {name}: max relative difference {worst:.3g}")
    return ok


def main():
    rng = np.random.default_rng(1)
    n = 10_000
    x, y = rng.uniform(0.5, 4, n), rng.uniform(0.5, 4, n)
    blocks = (n + 127) // 128
    ok = []
    out = np.zeros(n)
    axpy[blocks, 128](x, y, 2.5, out)
    ok.append(close("axpy", out, 2.5 * x + y, 1e-15))
    dx, dout = cuda.to_device(x), cuda.device_array(n)
    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    start.record(stream)
    transcendental[blocks, 128, stream](dx, dout)
    end.record(stream)
    end.synchronize()
    ok.append(close("transcendental", dout.copy_to_host(), np.exp(-x) * np.sin(x) + np.sqrt(x) + np.log(x), 1e-13))
    a, b = rng.random((70, 50), dtype=np.float32), rng.random((50, 90), dtype=np.float32)
    c = np.zeros((70, 90), dtype=np.float32)
    matmul[(5, 6), (TILE, TILE)](a, b, c)
    ok.append(close("matmul", c, a.astype(float) @ b, 1e-5))
    numbers = rng.integers(0, 16, n).astype(np.int32)
    bins = np.zeros(16, dtype=np.int32)
    histogram[blocks, 128](numbers, bins)
    ok.append(close("histogram", bins, np.bincount(numbers, minlength=16), 0))
    total = np.zeros(1)
    warp_sum[blocks, 128](x, total)
    ok.append(close("warp_sum", total, np.array([x.sum()]), 1e-12))
    local_array[blocks, 128](x, out)
    ok.append(close("local_array", out, 1 + x + x**2 + x**3, 1e-13))
    print(f"{sum(ok)} of {len(ok)}")
    sys.exit(0 if all(ok) else 1)


if __name__ == "__main__":
    main()
