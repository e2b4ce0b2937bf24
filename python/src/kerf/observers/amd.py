"""Power and clocks of AMD GPUs."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class AMDSMIObserver(BenchmarkObserver):
    """Refused by name: Kerf makes code for NVIDIA GPUs."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("AMDSMIObserver has no counterpart in Kerf: Kerf makes code for NVIDIA GPUs", "NVMLObserver measures the energy of launches on an NVIDIA GPU")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError
