"""Power by a PowerSensor2."""

from __future__ import annotations

from typing import Any

from .._program import UnsupportedError
from .observer import BenchmarkObserver


class PowerSensorObserver(BenchmarkObserver):
    """Refused by name: it needs a PowerSensor2 device at the machine."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("PowerSensorObserver has no counterpart in Kerf: it needs a PowerSensor2 device at the machine", "NVMLObserver measures the energy of launches on an NVIDIA GPU")

    def get_results(self) -> dict[str, Any]:
        raise NotImplementedError
