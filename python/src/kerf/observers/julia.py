"""Kernels of Julia."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class JuliaObserver(BenchmarkObserver):
    """Refused by name: kernels are CUDA C++ or OpenCL C."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("JuliaObserver has no counterpart in Kerf: kernels are CUDA C++ or OpenCL C", "write the kernel in CUDA C++")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError
