"""Power by the library PMT."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class PMTObserver(BenchmarkObserver):
    """Refused by name: the library PMT would measure the whole process that runs the kernel, not the kernel."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("PMTObserver has no counterpart in Kerf: the library PMT would measure the whole process that runs the kernel, not the kernel", "NVMLObserver measures the energy of launches on an NVIDIA GPU")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError
