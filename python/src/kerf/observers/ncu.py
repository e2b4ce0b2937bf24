"""Hardware counters by Nsight Compute."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class NCUObserver(BenchmarkObserver):
    """Refused by name: it profiles kernels of its own process, and Kerf runs them in another."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("NCUObserver has no counterpart in Kerf: it profiles kernels of its own process, and Kerf runs them in another", "kerf predict --device cuda --counters ncu reads hardware counters")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError
