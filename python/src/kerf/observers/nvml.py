"""Power, energy, temperature and clocks of an NVIDIA GPU, as NVML gives them (package ``nvidia-ml-py``)."""

from __future__ import annotations

import time
from typing import Any, Sequence

from .._program import UnsupportedError
from .observer import BenchmarkObserver

#: What can be observed.
OBSERVABLES = ("power_readings", "nvml_power", "nvml_energy", "core_freq", "mem_freq", "temperature", "gr_voltage")


def _nvml() -> Any:
    """The library, initialised; an error that says why where it is not to be had."""
    try:
        import pynvml
    except ImportError:
        raise UnsupportedError("NVML: the package pynvml is not installed", "pip install nvidia-ml-py") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as e:
        raise UnsupportedError(f"NVML: there is no NVIDIA GPU on this machine ({e})") from None
    return pynvml


class nvml:
    """A GPU by its number."""

    def __init__(self, device_id: int = 0, **_: Any) -> None:
        self._lib = _nvml()
        self.dev = self._lib.nvmlDeviceGetHandleByIndex(int(device_id))

    @property
    def pwr_usage_mw(self) -> int:
        return int(self._lib.nvmlDeviceGetPowerUsage(self.dev))

    def pwr_usage(self) -> int:
        """Power in milliwatts."""
        return self.pwr_usage_mw

    def energy_usage(self) -> int:
        """Energy since the driver was loaded, in millijoules."""
        return int(self._lib.nvmlDeviceGetTotalEnergyConsumption(self.dev))

    @property
    def gr_clock(self) -> int:
        """Graphics clock in MHz."""
        return int(self._lib.nvmlDeviceGetClockInfo(self.dev, self._lib.NVML_CLOCK_GRAPHICS))

    @property
    def mem_clock(self) -> int:
        """Memory clock in MHz."""
        return int(self._lib.nvmlDeviceGetClockInfo(self.dev, self._lib.NVML_CLOCK_MEM))

    @property
    def temperature(self) -> int:
        """Temperature in degrees Celsius."""
        return int(self._lib.nvmlDeviceGetTemperature(self.dev, self._lib.NVML_TEMPERATURE_GPU))

    @property
    def supported_mem_clocks(self) -> list[int]:
        """Memory clocks in MHz."""
        return [int(c) for c in self._lib.nvmlDeviceGetSupportedMemoryClocks(self.dev)]

    @property
    def supported_gr_clocks(self) -> dict[int, list[int]]:
        """Graphics clocks in MHz by memory clock."""
        get = self._lib.nvmlDeviceGetSupportedGraphicsClocks
        return {m: [int(c) for c in get(self.dev, m)] for m in self.supported_mem_clocks}

    @property
    def pwr_constraints(self) -> tuple[int, int]:
        """The least and the greatest power limit in milliwatts."""
        low, high = self._lib.nvmlDeviceGetPowerManagementLimitConstraints(self.dev)
        return int(low), int(high)


class NVMLObserver(BenchmarkObserver):
    """Observes a GPU by NVML while a configuration runs: the names in ``OBSERVABLES``.

    Energy is that of the timed launches, as ``kerf run --energy`` measures it (joules a run of the kernel), and power
    is energy over time. The others are means of readings during the run, which has what the program does beside the
    kernel in it.
    """

    #: ``tune_kernel`` has energy measured for an observer that says so.
    wants_energy = False

    def __init__(
        self,
        observables: Sequence[str],
        device: int | None = None,
        save_all: bool = False,
        nvidia_smi_fallback: str | None = None,
        use_locked_clocks: bool = False,
        continuous_duration: float = 1,
    ) -> None:
        unknown = [o for o in observables if o not in OBSERVABLES]
        if unknown or not observables:
            raise UnsupportedError(f"NVMLObserver: {unknown or 'nothing'} cannot be observed", "there are " + ", ".join(OBSERVABLES))
        if "gr_voltage" in observables:
            raise UnsupportedError("NVMLObserver: gr_voltage has no counterpart in Kerf: NVML has no call for it")
        self.observables, self.save_all = list(observables), save_all
        #: Seconds over which energy is measured; steady figures take 5.
        self.continuous_duration = float(continuous_duration)
        self._number = device
        self.wants_energy = any(o in ("nvml_energy", "nvml_power") for o in observables)
        self.nvml = nvml(device or 0)
        self._readings: dict[str, list[float]] = {}
        self._energy: tuple[float, float] | None = None
        self._began_s = 0.0

    def register_device(self, dev: Any) -> None:
        super().register_device(dev)
        if dev.gpu is None:
            raise UnsupportedError("NVMLObserver: kernels run on the CPU executor here, which NVML does not see")
        if self._number is None and dev.gpu:
            self.nvml = nvml(dev.gpu)

    def process_energy(self, joules: float, watts: float) -> None:
        """Takes what ``kerf run --energy`` measured: joules of one run of the kernel, and mean power."""
        self._energy = (joules, watts)

    def before_start(self) -> None:
        self._readings = {o: [] for o in self.observables if o not in ("nvml_energy", "nvml_power")}
        self._energy, self._began_s = None, time.perf_counter()

    def during(self) -> None:
        read = {
            "core_freq": lambda: self.nvml.gr_clock,
            "mem_freq": lambda: self.nvml.mem_clock,
            "temperature": lambda: self.nvml.temperature,
        }
        for name, values in self._readings.items():
            if name == "power_readings":
                values.append(self.nvml.pwr_usage() / 1e3)
            else:
                values.append(float(read[name]()))

    def after_finish(self) -> None:
        self.during()

    def get_results(self) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for name, values in self._readings.items():
            results[name] = list(values) if name == "power_readings" else sum(values) / max(1, len(values))
            if self.save_all and name != "power_readings":
                results[name + "s"] = list(values)
        if self._energy is not None:
            joules, watts = self._energy
            if "nvml_energy" in self.observables:
                results["nvml_energy"] = joules
            if "nvml_power" in self.observables:
                results["nvml_power"] = watts
        return results


def _thinned(values: list[Any], n: int | None) -> list[Any]:
    """``n`` of the values, from the first to the last at equal distances."""
    if not n or n >= len(values):
        return values
    return [values[round(i * (len(values) - 1) / max(1, n - 1))] for i in range(n)]


def get_nvml_gr_clocks(device: int, n: int | None = None, quiet: bool = False) -> dict[str, list[int]]:
    """Graphics clocks of a GPU as a tunable parameter; ``tune_kernel`` sets no clocks, and says so."""
    gpu = nvml(device)
    clocks = sorted(gpu.supported_gr_clocks[max(gpu.supported_mem_clocks)])
    return {"nvml_gr_clock": _thinned(clocks, n)}


def get_nvml_mem_clocks(device: int, n: int | None = None, quiet: bool = False) -> dict[str, list[int]]:
    """Memory clocks of a GPU as a tunable parameter."""
    return {"nvml_mem_clock": _thinned(sorted(nvml(device).supported_mem_clocks), n)}


def get_nvml_pwr_limits(device: int, n: int | None = None, quiet: bool = False) -> dict[str, list[int]]:
    """Power limits of a GPU in watts as a tunable parameter."""
    low, high = (w // 1000 for w in nvml(device).pwr_constraints)
    return {"nvml_pwr_limit": _thinned(list(range(low, high + 1, 5)), n)}


def get_idle_power(device: int, n: int = 5, sleep_s: float = 0.1) -> float:
    """Watts that a GPU takes with nothing to do: the mean of ``n`` readings."""
    gpu, readings = nvml(device), []
    for _ in range(n):
        time.sleep(sleep_s)
        readings.append(gpu.pwr_usage() / 1e3)
    return sum(readings) / len(readings)
