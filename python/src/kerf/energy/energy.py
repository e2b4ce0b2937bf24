"""Power as a function of the core clock: the model of Schoonhoven et al., "Going green" (PMBS at SC22).

Below a threshold the voltage is constant, above it grows with the clock; power is a constant and a part that grows with
clock times voltage squared, and is limited. Measuring it sets the GPU's clocks, which Kerf does not.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from .._program import KerfError, UnsupportedError


def estimated_voltage(clocks: Sequence[float], clock_threshold: float, voltage_scale: float) -> list[float]:
    """Voltage over that below the threshold, for clocks in MHz."""
    return [1.0 + max(0.0, float(c) - clock_threshold) * 1e-3 * voltage_scale for c in clocks]


def estimated_power(
    clocks: Sequence[float], clock_threshold: float, voltage_scale: float, clock_scale: float, power_max: float
) -> np.ndarray:
    """Power over that of an idle GPU, for clocks in MHz."""
    voltage = np.asarray(estimated_voltage(clocks, clock_threshold, voltage_scale))
    return np.minimum(1.0 + clock_scale * np.asarray(clocks, float) * 1e-3 * voltage**2, power_max)


def fit_power_frequency_model(freqs: Any, nvml_power: Any) -> tuple[float, Any, tuple[float, float]]:
    """Fits the model; gives the clock at the threshold, the parameters, and what clocks and power were scaled by."""
    try:
        from scipy import optimize
    except ImportError as e:
        raise KerfError(f"scipy is needed: {e}", "pip install scipy") from e
    freqs, power = np.asarray(freqs, float), np.asarray(nvml_power, float)
    least_clock, least_power = float(freqs.min()), float(power.min())
    x, y = freqs - least_clock, power / least_power
    start = [0.5 * float(x.max()), 1.0, max(1e-3, float(y.max() - 1) / max(1e-3, float(x.max()) * 1e-3)), float(y.max())]
    upper = [float(x.max()), 100.0, 1e3, 2.0 * float(y.max())]
    start = [min(s, u) for s, u in zip(start, upper)]
    found, _ = optimize.curve_fit(estimated_power, x, y, p0=start, bounds=([0.0] * 4, upper), maxfev=20000)
    return float(found[0]) + least_clock, found, (least_clock, least_power)


def get_frequency_range_around_ridge(
    ridge_frequency: float, all_frequencies: Any, freq_range: float, number_of_freqs: int, verbose: bool = False
) -> list[Any]:
    """At most so many of the clocks within ``freq_range`` percent of the ridge."""
    share = float(freq_range) / 100
    near = [f for f in np.asarray(all_frequencies) if (1 - share) * ridge_frequency <= f <= (1 + share) * ridge_frequency]
    count = int(number_of_freqs)
    if len(near) > count:
        near = [near[round(i * (len(near) - 1) / max(1, count - 1))] for i in range(count)]
    if verbose:
        print(f"clocks within {freq_range} % of {ridge_frequency} MHz: {near}")
    return near


def create_power_frequency_model(*_: Any, **__: Any) -> Any:
    """Refused by name: Kerf sets no clocks."""
    raise UnsupportedError(
        "create_power_frequency_model has no counterpart in Kerf: Kerf sets no clocks of a GPU",
        "fit_power_frequency_model takes power that was measured otherwise",
    )


get_frequency_power_relation_fp32 = create_power_frequency_model
