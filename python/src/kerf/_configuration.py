"""A kernel of ``tune_kernel``, and what each configuration of its parameters makes of it: source, macros, grid, block."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import warnings
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np

from . import _source
from ._expressions import evaluate
from ._program import KerfError, KerfWarning, UnsupportedError
from .workload import ArrayFiles, Workload

BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
#: Threads of a block, at most, on every NVIDIA GPU.
MAX_THREADS = 1024
LANGUAGES = {"cuda": "cuda", "cupy": "cuda", "nvcuda": "cuda", "opencl": "opencl"}
#: What text has that is, or may include, a kernel.
KERNEL = re.compile(r'__global__|\bkernel\s+void|__kernel|\.entry|ptx_kernel|#\s*include\s*"|##')
#: Parameters that Kernel Tuner sets on the GPU, not in the source.
GPU_SETTINGS = ("nvml_pwr_limit", "nvml_gr_clock", "nvml_mem_clock", "tegra_gr_clock")

Divisor = Union[None, str, Sequence[Any], Callable[[Mapping[str, Any]], Any]]


def unsupported(name: str, why: str, help: str | None = None) -> UnsupportedError:
    """What cannot be done, named as the caller named it."""
    return UnsupportedError(f"tune_kernel: {name} has no counterpart in Kerf: {why}", help)


def language(lang: str | None, kernel_source: Any) -> str | None:
    """Kerf's language for Kernel Tuner's; None where the source tells it."""
    if lang is None:
        first = kernel_source[0] if isinstance(kernel_source, (list, tuple)) and kernel_source else kernel_source
        if isinstance(first, (str, os.PathLike)) and os.fspath(first).endswith((".c", ".cpp", ".F90", ".f90", ".jl")):
            raise unsupported(f"the source {os.fspath(first)}", "kernels are CUDA C++ (.cu) or OpenCL C (.cl)")
        return None
    if lang.lower() not in LANGUAGES:
        why = "host code is not tuned" if lang.lower() in ("c", "fortran") else "kernels are CUDA C++ or OpenCL C"
        raise unsupported(f"lang {lang!r}", why)
    return LANGUAGES[lang.lower()]


def compiler_flags(given: Sequence[Any] | None) -> list[str]:
    """Compiler options that clang has too; nvcc's others are named and left out."""
    kept: list[str] = []
    left: list[str] = []
    words = [str(w) for w in given or []]
    while words:
        w = words.pop(0)
        if w in ("-I", "-D", "-U", "-include", "-std", "--std") and words:
            kept.append(w.replace("--", "-") + ("=" if w.endswith("std") else "") + words.pop(0))
        elif w.startswith(("-I", "-D", "-U", "-std=")):
            kept.append(w)
        elif w.startswith("--std="):
            kept.append(w[1:])
        else:
            left.append(w)
    if left:
        warnings.warn(
            f"compiler_options {left} are left out: clang optimises as Kerf asks it to; "
            "kerf.tune(..., what='approx') chooses what -use_fast_math does everywhere",
            KerfWarning,
            stacklevel=4,
        )
    return kept


def problem_extents(problem_size: Any, params: Mapping[str, Any]) -> list[Any]:
    """The problem's size along three axes."""
    size = problem_size(params) if callable(problem_size) else problem_size
    size = [size] if isinstance(size, (int, float, str, np.number)) else list(size)
    return [*(evaluate(s, params) for s in size), 1, 1, 1][:3]


def divisor(given: Divisor, name: str, params: Mapping[str, Any]) -> Any:
    """What the problem's size along an axis is divided by."""
    if given is None:
        return params.get(name, 1)
    if callable(given):
        return given(params)
    if isinstance(given, str):
        return evaluate(given, params)
    return math.prod(evaluate(e, params) for e in given)


def with_values(text: str, params: Mapping[str, Any]) -> str:
    """The text with names of parameters replaced by their values."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: str(params[m[0]]) if m[0] in params else m[0], text)


def _macro(v: Any) -> Any:
    return int(v) if isinstance(v, (bool, np.bool_)) else v


@dataclasses.dataclass
class KernelCall:
    """A kernel and how its configurations launch it; the fields are arguments of ``tune_kernel``."""

    name: str
    source: Any
    problem_size: Any
    grid_div: tuple[Divisor, Divisor, Divisor] = (None, None, None)
    block_size_names: Sequence[str] | None = None
    smem_args: Mapping[str, Any] | None = None
    cmem_args: Mapping[str, Any] | None = None
    defines: Mapping[str, Any] | None = None
    flags: Sequence[str] = ()
    language: str | None = None

    def __post_init__(self) -> None:
        given = list(self.block_size_names or [])
        self.blocks = [*given, *BLOCK_NAMES[len(given) :]]
        if self.smem_args and set(self.smem_args) != {"size"}:
            raise unsupported(f"smem_args {sorted(set(self.smem_args) - {'size'})}", "only size is known")
        self.symbols = {k: np.atleast_1d(np.asarray(v)) for k, v in (self.cmem_args or {}).items()}

    @property
    def is_plain(self) -> bool:
        """Whether nothing of a configuration is made by functions of the caller's."""
        source = self.source[0] if isinstance(self.source, (list, tuple)) and self.source else self.source
        made = [source, self.problem_size, *self.grid_div, *(self.defines or {}).values()]
        return not any(callable(m) for m in made)

    def check_parameters(self, tune_params: Mapping[str, Sequence[Any]]) -> None:
        """Refuses parameters that cannot be tuned, by name."""
        for name, values in tune_params.items():
            if name in GPU_SETTINGS:
                raise unsupported(f"the parameter {name}", "Kerf sets no clocks and no power limits")
            if self.defines is None and not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
                raise KerfError(f"tune_kernel: the parameter {name!r} is no name of C")
            if len(values) == 0:
                raise KerfError(f"tune_kernel: the parameter {name} has no values")

    def shape(self, params: Mapping[str, Any]) -> tuple[list[int], list[int]]:
        """Grid and block of a configuration."""
        size = problem_extents(self.problem_size, params)
        divisors = [divisor(d, n, params) for d, n in zip(self.grid_div, self.blocks)]
        grid = [max(1, math.ceil(float(s) / float(d))) for s, d in zip(size, divisors)]
        block = [int(params.get(n, d)) for n, d in zip(self.blocks, (256, 1, 1))]
        return grid, block

    def obstacle(self, params: Mapping[str, Any]) -> str | None:
        """Why a configuration cannot be launched on any GPU."""
        block = self.shape(params)[1]
        if min(block) < 1 or math.prod(block) > MAX_THREADS:
            return f"a block of {' x '.join(map(str, block))} threads; a block has 1 to {MAX_THREADS}"
        return None

    def _macros(self, params: Mapping[str, Any], grid: Sequence[int], block: Sequence[int]) -> list[str]:
        named: dict[str, Any]
        if self.defines is None:
            named = {"kernel_tuner": 1, **params}
            named.update({f"grid_size_{a}": g for a, g in zip("xyz", grid)})
            named.update(dict(zip(BLOCK_NAMES, block)))
        else:
            named = {k: v(params) if callable(v) else v for k, v in self.defines.items()}
        return [f"-D{k}={_macro(v)}" for k, v in named.items()]

    def _text(self, params: Mapping[str, Any]) -> tuple[str | os.PathLike[str], list[str]]:
        """The source of a configuration, and folders that it includes files from."""
        source, beside = self.source, []
        if isinstance(source, (list, tuple)):
            beside = [f"-I{os.path.dirname(os.path.abspath(f))}" for f in source[1:] if not _source.is_text(f) and not callable(f)]
            source = source[0]
        if callable(source):
            source = source(dict(params))
        if not isinstance(source, (str, os.PathLike)):
            raise KerfError(f"tune_kernel: the kernel source is a {type(source).__name__}, not text or a file")
        return source, list(dict.fromkeys(beside))

    def sources(self, params: Mapping[str, Any]) -> tuple[str | os.PathLike[str], str, list[str]]:
        """Source, kernel and include folders of a configuration. A kernel with template arguments is instantiated."""
        source, beside = self._text(params)
        text = source if isinstance(source, str) and _source.is_text(source) else None
        if text is not None and self.language is None and not KERNEL.search(text):
            raise unsupported("a source without a kernel (__global__, __kernel)", "host code is not tuned")
        if "<" not in self.name:
            return source, self.name, beside
        if text is None:
            beside.insert(0, f"-I{os.path.dirname(os.path.abspath(source))}")
            with open(source, encoding="utf-8") as f:
                text = f.read()
        kernel = with_values(self.name, params)
        used = f"\nstatic inline void kerf_instantiation() {{ auto kernel = &{kernel}; (void)kernel; }}\n"
        return text + used, kernel.split("<", 1)[0].strip(), beside

    def workload(
        self, params: Mapping[str, Any], args: Sequence[Any], files: ArrayFiles | None = None, **more: Any
    ) -> Workload:
        """The workload of a configuration."""
        grid, block = self.shape(params)
        source, kernel, beside = self.sources(params)
        shared = evaluate(self.smem_args["size"], params) if self.smem_args else None
        return Workload(
            source,
            kernel,
            grid,
            block,
            args,
            shared=None if shared is None else int(shared),
            symbols=self.symbols,
            flags=[*self._macros(params, grid, block), f"-I{os.getcwd()}", *beside, *self.flags],
            language=self.language,
            array_files=files,
            **more,
        )


__all__ = ["BLOCK_NAMES", "KernelCall", "compiler_flags", "divisor", "language", "problem_extents", "unsupported", "with_values"]
