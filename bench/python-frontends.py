#!/usr/bin/env python3
"""Kernels of Numba, Triton and CuPy as workloads of kerf (pip install numba-cuda triton cupy-cuda12x numpy; no GPU is needed).

    KERF=target/debug/kerf PYTHONPATH=python/src bench/python-frontends.py

Each is run on the CPU executor against a reference and compared with NumPy. What is not installed is said, and fails.
"""
import math
import sys

import numpy as np

import kerf

N = 1000
X = np.random.default_rng(1).uniform(0.5, 4, N)
GRID = (N + 127) // 128


def numba_case():
    from numba import cuda

    @cuda.jit
    def price(x, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = math.exp(-x[i]) * math.sqrt(x[i])

    out = kerf.Out(np.zeros(N), name="out")
    return kerf.from_numba(price, GRID, 128, [kerf.In(X, name="x"), out, N], tolerance=1e-12), np.exp(-X) * np.sqrt(X), 1e-13


def cupy_case():
    import cupy

    code = 'extern "C" __global__ void scale(const double *x, double *out, int n) {\n' \
           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = 3.0 * x[i] + 1.0;\n}\n"
    kernel = cupy.RawKernel(code, "scale")
    out = kerf.Out(np.zeros(N), name="out")
    return kerf.from_cupy(kernel, GRID, 128, [X, out, np.int32(N)], tolerance=1e-12), 3 * X + 1, 1e-15


def triton_case():
    import triton
    import triton.language as tl

    global add

    @triton.jit
    def add(x, y, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        inside = i < n
        tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)

    globals()["tl"] = tl
    x = X.astype(np.float32)
    out = kerf.Out(np.zeros(N, np.float32), name="out")
    made = kerf.from_triton(add, GRID, [x, kerf.In(x + 1), out, N], constants={"B": 128}, tolerance=1e-5)
    return made, x.astype(float) + (x + np.float32(1)), 1e-6


def main():
    failed = 0
    for case in (numba_case, triton_case, cupy_case):
        name = case.__name__.removesuffix("_case")
        try:
            workload, want, rtol = case()
            run = workload.run(reference=True)
            worst = float(np.max(np.abs(run.outputs["out"] - want) / np.abs(want)))
            ok = run.accepted and worst <= rtol
            print(f"{'ok  ' if ok else 'FAIL'} {name}: max relative difference {worst:.3g}, accepted {run.accepted}")
        except (ImportError, kerf.KerfError) as e:
            ok = False
            print(f"FAIL {name}: {e}")
        failed += not ok
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
