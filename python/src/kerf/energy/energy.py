"""Power as a function of the core clock: the model of Schoonhoven et al., "Going green" (PMBS at SC22).

Below a threshold the voltage is constant, above it grows with the clock; power is a constant and a part that grows with
clock times voltage squared, and is limited. Measuring it sets the GPU's clocks, which Kerf does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._program import KerfError, UnsupportedError


def estimated_voltage(clocks: Any, clock_threshold: float, voltage_scale: float) -> list[float]:
    """Voltage over that below the threshold, for clocks in MHz."""
    return [1.0 + max(0.0, float(c) - clock_threshold) * 1e-3 * voltage_scale for c in clocks]


def estimated_power(
    clocks: Any, clock_threshold: float, voltage_scale: float, clock_scale: float, power_max: float
) -> np.ndarray:
    """Power over that of an idle GPU, for clocks in MHz."""
    voltage = np.asarray(estimated_voltage(clocks, clock_threshold, voltage_scale))
    return np.minimum(1.0 + clock_scale * np.asarray(clocks, float) * 1e-3 * voltage**2, power_max)


def _clock_scale(x: np.ndarray, y: np.ndarray, threshold: float, voltage_scale: float, limit: float) -> float:
    """The factor that fits best for a threshold and a slope of the voltage: the model is linear in it below the limit."""
    below = y < 0.98 * limit
    part = (x * 1e-3 * np.asarray(estimated_voltage(x, threshold, voltage_scale)) ** 2)[below]
    square = float(part @ part)
    return float(part @ (y[below] - 1.0)) / square if square > 0 else 0.0


def fit_power_frequency_model(freqs: Any, nvml_power: Any) -> tuple[float, Any, tuple[float, float]]:
    """Fits the model; gives the clock at the threshold, the parameters, and what clocks and power were scaled by.

    Least squares: threshold and slope of the voltage by a grid that is refined three times around its best point, the
    factor in closed form, with a limit at the greatest power and without.
    """
    clocks, power = np.asarray(freqs, float), np.asarray(nvml_power, float)
    if len(clocks) != len(power) or len(clocks) < 3:
        raise KerfError("a fit takes power at three clocks or more")
    least_clock, least_power = float(clocks.min()), float(power.min())
    x, y = clocks - least_clock, power / least_power
    best: tuple[float, np.ndarray] = (np.inf, np.zeros(4))
    for limit in (float(y.max()), 2.0 * float(y.max())):
        thresholds, slopes = (0.0, float(x.max())), (0.0, 10.0)
        for _ in range(4):
            own: tuple[float, np.ndarray] = (np.inf, np.zeros(4))
            for t in np.linspace(*thresholds, 25):
                for v in np.linspace(*slopes, 25):
                    found = np.array([t, v, _clock_scale(x, y, t, v, limit), limit])
                    error = float(np.sum((estimated_power(x, *found) - y) ** 2))
                    own = (error, found) if error < own[0] else own
            best = own if own[0] < best[0] else best
            step_t, step_v = ((high - low) / 24 for low, high in (thresholds, slopes))
            thresholds = (max(0.0, own[1][0] - step_t), own[1][0] + step_t)
            slopes = (max(0.0, own[1][1] - step_v), own[1][1] + step_v)
    return float(best[1][0]) + least_clock, best[1], (least_clock, least_power)


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
