#!/usr/bin/env python3
"""Kernels of Triton, compiled to PTX without a GPU and run by Kerf, against numpy (pip install triton numpy).

    bench/triton-kernels.py KERF [--device cuda] [--work FOLDER]

Addition of vectors, softmax and layer normalisation of rows, a product of matrices on tensor cores, for sm_80. Each is run with --reference; its output is compared
with numpy's in double precision. Exit status 1 if one of them is refused or is off by more than 1e-5 of the largest value.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import triton
import triton.language as tl
from triton.compiler import ASTSource

ROWS, COLUMNS, BLOCK = 8, 781, 1024
# Rows, columns and inner size of a product of matrices, whose columns are one tile.
SIZE, TILE = (128, 64, 96), 64


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
    v = tl.load(x + row * stride + i, mask=inside, other=0.0).to(tl.float32)
    d = tl.where(inside, v - tl.sum(v, axis=0) / n, 0.0)
    s = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    scaled = d * s * tl.load(weight + i, mask=inside) + tl.load(bias + i, mask=inside)
    tl.store(out + row * stride + i, scaled, mask=inside)


@triton.jit
def matmul(a, b, out, m, n, k, B: tl.constexpr):
    rows, columns, inner = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B), tl.arange(0, 32)
    left, right = a + rows[:, None] * k + inner[None, :], b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((B, B), dtype=tl.float32)
    for done in range(0, tl.cdiv(k, 32)):
        rest = k - done * 32
        x = tl.load(left, mask=inner[None, :] < rest, other=0.0)
        y = tl.load(right, mask=inner[:, None] < rest, other=0.0)
        total = tl.dot(x, y, total)
        left += 32
        right += 32 * n
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=inside)


def cases(arrays):
    """Kernel, signature, arguments, grid, what numpy gives."""
    x, y, h, w, b = (arrays[n].astype("f8") for n in ("x", "y", "h", "w", "b"))
    n = ROWS * COLUMNS
    yield add, dict(x="*fp32", y="*fp32", out="*fp32", n="i32"), ["x", "y", "out", n], -(-n // BLOCK), x + y
    e = numpy.exp(x - x.max(1, keepdims=True))
    shape = [COLUMNS, COLUMNS]
    signature = dict(out="*fp32", x="*fp32", stride="i32", n="i32")
    yield softmax, signature, ["out", "x", *shape], ROWS, e / e.sum(1, keepdims=True)
    d = h - h.mean(1, keepdims=True)
    normal = d / numpy.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    signature = dict(x="*fp16", out="*fp32", weight="*fp32", bias="*fp32", stride="i32", n="i32", eps="fp32")
    yield layer_norm, signature, ["h", "out", "w", "b", *shape, 1e-5], ROWS, normal
    m, n, k = SIZE
    signature = dict(a="*fp16", b="*fp16", out="*fp32", m="i32", n="i32", k="i32")
    product = arrays["left"].astype("f8") @ arrays["right"].astype("f8")
    yield matmul, signature, ["left", "right", "out", m, n, k], -(-m // TILE), product


def workload(name, arrays, arguments, grid, made, elements):
    text = f'source = "{name}.ptx"\nseed = 1\n'
    for buffer in dict.fromkeys(a for a in arguments if isinstance(a, str)):
        kind = {"f2": "f16", "f4": "f32"}[arrays.get(buffer, arrays["x"]).dtype.str[1:]]
        size = arrays[buffer].size if buffer in arrays else elements
        filled = "output = true" if buffer == "out" else f'init = {{ file = "{buffer}.npy" }}'
        text += f'[[buffer]]\nname = "{buffer}"\ntype = "{kind}"\nlen = {size}\n{filled}\n'
    # Triton adds two pointers to scratch memory that these kernels do not use.
    text += '[[buffer]]\nname = "scratch"\ntype = "u8"\nlen = 16\n'
    given = ", ".join(repr(a).replace("'", '"') for a in [*arguments, "scratch", "scratch"])
    threads = 32 * made.metadata.num_warps
    text += f'[[launch]]\nkernel = "{name}"\ngrid = [{grid}]\nblock = [{threads}]\nargs = [{given}]\n'
    if made.metadata.shared:
        text += f"shared = {made.metadata.shared}\n"
    return text + '[accept]\nmetric = "rel_linf"\ntolerance = 1e-5\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kerf", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--work", type=pathlib.Path)
    a = parser.parse_args()
    work = a.work or pathlib.Path(tempfile.mkdtemp(prefix="triton-"))
    work.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    sizes = dict(x=(ROWS, COLUMNS), y=(ROWS, COLUMNS), h=(ROWS, COLUMNS), w=(COLUMNS,), b=(COLUMNS,))
    sizes.update(left=(SIZE[0], SIZE[2]), right=(SIZE[2], SIZE[1]))
    halves = ("h", "left", "right")
    arrays = {n: random.standard_normal(s).astype("f2" if n in halves else "f4") for n, s in sizes.items()}
    for name, array in arrays.items():
        numpy.save(work / f"{name}.npy", array)
    target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
    wrong = 0
    for kernel, signature, arguments, grid, expected in cases(arrays):
        name = kernel.__name__
        source = ASTSource(fn=kernel, signature=dict(signature, B="constexpr"), constexprs={"B": TILE if name == "matmul" else BLOCK})
        made = triton.compile(source, target=target)
        (work / f"{name}.ptx").write_text(made.asm["ptx"])
        (work / f"{name}.toml").write_text(workload(name, arrays, arguments, grid, made, expected.size))
        command = [a.kerf.resolve(), "run", f"{name}.toml", "--device", a.device, "--reference", "-q", "--save", name]
        done = subprocess.run([str(c) for c in command], cwd=work, capture_output=True, text=True)
        if done.returncode:
            wrong += 1
            print(f"{name:12} {done.stderr.strip()}")
            continue
        got = numpy.load(work / name / "out.npy").reshape(expected.shape)
        error = numpy.abs(got - expected).max() / numpy.abs(expected).max()
        wrong += not error < 1e-5
        print(f"{name:12} {error:.2e} of the largest value away from numpy, {made.asm['ptx'].count(chr(10))} lines of PTX")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
