"""Clocks, temperature and power of NVIDIA's Jetson."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class TegraObserver(BenchmarkObserver):
    """Refused by name: it reads a Jetson's files, and Kerf runs on x86-64 machines."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("TegraObserver has no counterpart in Kerf: it reads a Jetson's files, and Kerf runs on x86-64 machines", "NVMLObserver measures the energy of launches on an NVIDIA GPU")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError


def get_tegra_gr_clocks(n: int | None = None, quiet: bool = False) -> dict[str, list[int]]:
    """Refused by name, as ``TegraObserver``."""
    raise UnsupportedError("get_tegra_gr_clocks has no counterpart in Kerf: Kerf runs on x86-64 machines, not on a Jetson")
