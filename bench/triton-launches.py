#!/usr/bin/env python3
"""Kernels of Triton, launched by Triton's own launcher through the driver API, compared with NumPy (pip install triton numpy).

    scripts/driver.sh python bench/triton-launches.py

No PyTorch: arrays are memory of the driver. Needs a C compiler, which Triton makes its launcher with.
"""
import ctypes
import sys

import numpy as np
import triton
import triton.language as tl

ROWS, COLUMNS = 8, 781

cuda = ctypes.CDLL("libcuda.so.1")


def check(code):
    if code != 0:
        sys.exit(f"a call of the driver failed: {code}")


class Array:
    """Device memory with what Triton asks of a tensor."""

    def __init__(self, host):
        self.shape, self.dtype, self.host = host.shape, str(host.dtype), host
        self.address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(host.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes)))

    def data_ptr(self):
        return self.address.value

    def numpy(self):
        out = np.empty_like(self.host)
        check(cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), self.address, ctypes.c_size_t(out.nbytes)))
        return out


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, stride, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < n
    v = tl.load(x + row * stride + i, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def layer_norm(x, out, weight, bias, stride, n, eps, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < n
    v = tl.load(x + row * stride + i, mask=inside, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(inside, v - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    w, b = tl.load(weight + i, mask=inside), tl.load(bias + i, mask=inside)
    tl.store(out + row * stride + i, d * r * w + b, mask=inside)


def close(name, got, want):
    worst = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
    print(f"{'ok  ' if worst <= 1e-5 else 'FAIL'} {name}: largest difference over largest value {worst:.3g}")
    return worst <= 1e-5


def add_case(rng):
    n = 5000
    a, b = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
    out = Array(np.zeros(n, dtype=np.float32))
    add[(triton.cdiv(n, 1024),)](Array(a), Array(b), out, n, B=1024)
    return out.numpy(), a.astype(float) + b


def softmax_case(rng):
    x = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    out = Array(np.zeros_like(x))
    softmax[(ROWS,)](out, Array(x), COLUMNS, COLUMNS, B=1024)
    e = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    return out.numpy(), e / e.sum(axis=1, keepdims=True)


def layer_norm_case(rng):
    x = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    w, c = rng.random(COLUMNS, dtype=np.float32), rng.random(COLUMNS, dtype=np.float32)
    out = Array(np.zeros_like(x))
    layer_norm[(ROWS,)](Array(x), out, Array(w), Array(c), COLUMNS, COLUMNS, 1e-5, B=1024)
    d = x.astype(float) - x.astype(float).mean(axis=1, keepdims=True)
    return out.numpy(), d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + c


def main():
    check(cuda.cuInit(0))
    rng = np.random.default_rng(1)
    ok = []
    for case in (add_case, softmax_case, layer_norm_case):
        name = case.__name__.removesuffix("_case")
        try:
            ok.append(close(name, *case(rng)))
        except RuntimeError as e:
            ok.append(False)
            print(f"refused {name}: {e}; the driver's message names the instruction")
    print(f"{sum(ok)} of {len(ok)}")
    sys.exit(0 if all(ok) else 1)


if __name__ == "__main__":
    main()
