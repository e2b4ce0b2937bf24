#!/usr/bin/env python3
"""Kernels that tune themselves (kerf.tuned), launched for real: on a GPU, or without one on Kerf's driver.

    KERF=target/debug/kerf PYTHONPATH=python/src scripts/driver.sh python bench/tuned-kernels.py [raw numba cupy]
    KERF=target/release/kerf PYTHONPATH=python/src python bench/tuned-kernels.py cupy numba      # on a GPU

`raw` has CUDA source and memory of the driver alone, as another library would bring it; `numba` a kernel of
numba.cuda.jit, with arrays on the device and with arrays of numpy; `cupy` a RawKernel with arrays of CuPy. Each is called
twice and compared with numpy: the first call tunes, the second must not, and both must be within the tolerance without
being the original's bits. What cannot run here is said, and fails.
"""
import math
import sys
import tempfile
import types
import unittest.mock

import numpy as np

import kerf
from kerf import _driver, selftuning

N = 4096
TOLERANCE = 1e-5
X = np.random.default_rng(1).uniform(0.5, 4, N)
WANT = np.exp(-X) * np.sqrt(X)
SOURCE = """extern "C" __global__ void price(const double *x, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = exp(-x[i]) * sqrt(x[i]);
}
"""


def compared(name, got, searches):
    """One line, and whether it is good."""
    worst = float(np.max(np.abs(got - WANT) / np.abs(WANT)))
    good = worst <= TOLERANCE and searches == 1
    print(f"{'ok  ' if good else 'FAIL'} {name}: max relative error {worst:.3g}, {searches} search", flush=True)
    return good


def tuned(kernel, folder):
    return kerf.tuned(tolerance=TOLERANCE, cache=folder, budget=8, validate=2, progress=False)(kernel)


def raw(folder, search):
    driver = _driver.Driver()

    class Array:
        """Memory of the driver with the interface that libraries share."""

        def __init__(self, host):
            self.on_device = driver.allocate(host)
            d = self.on_device
            self.__cuda_array_interface__ = {"shape": d.shape, "typestr": d.dtype.str, "data": (d.pointer, False), "version": 3}

    kernel = tuned(types.SimpleNamespace(code=SOURCE, name="price", options=()), folder)
    x, out = Array(X), Array(np.zeros(N))
    for _ in range(2):
        kernel((N // 128,), (128,), [x, out, np.int32(N)])
    return compared(f"raw ({kernel.results[0]!r})", driver.to_host(out.on_device), search.call_count)


def numba(folder, search):
    from numba import cuda

    @cuda.jit
    def price(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = math.exp(-x[i]) * math.sqrt(x[i])

    kernel = tuned(price, folder)
    x, out = cuda.to_device(X), cuda.to_device(np.zeros(N))
    kernel[N // 128, 128](x, out)
    kernel[N // 128, 128](x, out)
    good = compared(f"numba ({kernel.results[0]!r})", out.copy_to_host(), search.call_count)
    host = np.zeros(N)
    kernel[N // 128, 128](X, host)
    return compared("numba, arrays of numpy", host, search.call_count) and good


def cupy(folder, search):
    import cupy as cp

    kernel = tuned(cp.RawKernel(SOURCE, "price"), folder)
    x, out = cp.asarray(X), cp.zeros(N)
    for _ in range(2):
        kernel((N // 128,), (128,), (x, out, np.int32(N)))
    return compared(f"cupy ({kernel.results[0]!r})", out.get(), search.call_count)


def main():
    failed = 0
    for case in [globals()[n] for n in sys.argv[1:] or ("raw", "numba", "cupy")]:
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(selftuning, "tune", wraps=selftuning.tune) as search:
            try:
                failed += not case(folder, search)
            except (ImportError, kerf.KerfError) as e:
                print(f"FAIL {case.__name__}: {e}", flush=True)
                failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
