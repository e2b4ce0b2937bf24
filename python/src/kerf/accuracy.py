"""Accuracy as something to tune: arguments in several precisions, and observers of the error of a kernel's output.

The interface is that of Kernel Tuner's module of this name. ``kerf.tune`` goes further: it tunes the precision of each
variable of a kernel, and validates what it finds on other inputs; here whole arrays have a type.
"""

from __future__ import annotations

import re
from collections import UserDict
from typing import Any, Callable, Mapping

import numpy as np

from . import _arrays
from ._program import KerfError
from .observers import OutputObserver

#: Names of types in a source, and numpy's.
TYPES = {
    "half": np.float16,
    "float16": np.float16,
    "__half": np.float16,
    "float": np.float32,
    "float32": np.float32,
    "double": np.float64,
    "float64": np.float64,
}


class Tunable(UserDict):  # type: ignore[type-arg]
    """An argument that depends on a tunable parameter: an array for each of its values."""

    def __init__(self, param_key: str, arrays: Mapping[Any, Any]) -> None:
        self.param_key = param_key
        super().__init__(arrays)

    def select_for_configuration(self, params: Mapping[str, Any]) -> Any:
        """The array for a configuration."""
        if callable(self.param_key):
            option = self.param_key(params)
        elif self.param_key in params:
            option = params[self.param_key]
        else:
            raise KerfError(f"tune_kernel: an argument depends on {self.param_key!r}, which is no tunable parameter")
        if option not in self.data:
            known = ", ".join(str(k) for k in self.data)
            raise KerfError(f"tune_kernel: an argument has no array for {self.param_key} = {option!r}", f"it has {known}")
        return self.data[option]


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes.bfloat16


class TunablePrecision(Tunable):
    """An array in several precisions, of which a tunable parameter chooses one: ``half``, ``float``, ``double``.

    ``dtypes`` names others. Where ``ml_dtypes`` is installed there is ``bfloat16`` too. Copies are made when a
    configuration first asks for them.
    """

    def __init__(self, param_key: str, array: Any, dtypes: Mapping[str, Any] | None = None) -> None:
        self.array = _arrays.to_host(array) if _arrays.is_array(array) else array
        if dtypes is None:
            dtypes = {"half": np.float16, "float": np.float32, "double": np.float64}
            if _bfloat16() is not None:
                dtypes["bfloat16"] = _bfloat16()
        self.dtypes = dict(dtypes)
        super().__init__(param_key, dict.fromkeys(self.dtypes))

    def __getitem__(self, key: Any) -> Any:
        if self.data[key] is None:
            wanted = self.dtypes[key]
            dtype = np.dtype(TYPES.get(wanted, wanted) if isinstance(wanted, str) else wanted)
            self.data[key] = self.array if self.array.dtype == dtype else self.array.astype(dtype)
        return self.data[key]

    def select_for_configuration(self, params: Mapping[str, Any]) -> Any:
        super().select_for_configuration(params)  # refuses what is not there
        return self[self.param_key(params) if callable(self.param_key) else params[self.param_key]]


def _relative(x: np.ndarray, y: np.ndarray, eps: float) -> np.ndarray:
    return np.abs(x - y) / np.maximum(np.abs(x), eps)


def _log_difference(x: np.ndarray, y: np.ndarray, eps: float) -> np.ndarray:
    return np.abs(np.log10(np.abs(x) + eps) - np.log10(np.abs(y) + eps))


#: Error metrics of a reference, an output and the least divisor, by what their names have in common.
METRICS: dict[str, Callable[[np.ndarray, np.ndarray, float], Any]] = {
    "mse": lambda x, y, eps: np.mean(np.square(x - y)),
    "rmse": lambda x, y, eps: np.sqrt(np.mean(np.square(x - y))),
    "nrmse": lambda x, y, eps: np.sqrt(np.mean(np.square(x - y)) / max(float(np.mean(np.square(x))), eps)),
    "rmsre": lambda x, y, eps: np.sqrt(np.mean(np.square(_relative(x, y, eps)))),
    "mae": lambda x, y, eps: np.mean(np.abs(x - y)),
    "mre": lambda x, y, eps: np.mean(_relative(x, y, eps)),
    "male": lambda x, y, eps: np.mean(_log_difference(x, y, eps)),
    "rmsle": lambda x, y, eps: np.sqrt(np.mean(np.square(_log_difference(x, y, eps)))),
    "max": lambda x, y, eps: np.max(np.abs(x - y)),
    "max_rel": lambda x, y, eps: np.max(_relative(x, y, eps)),
}
ALIASES = {
    "smse": "nrmse",
    "meansquarederror": "mse",
    "squarederror": "mse",
    "rootmeansquarederror": "rmse",
    "normalizedrootmeansquarederror": "nrmse",
    "rootmeansquaredrelativeerror": "rmsre",
    "rootmeansquarerelativeerror": "rmsre",
    "rmsrelativeerror": "rmsre",
    "meanabsoluteerror": "mae",
    "meanabsolute": "mae",
    "absoluteerror": "mae",
    "absolute": "mae",
    "abs": "mae",
    "meanrelativeerror": "mre",
    "relativeerror": "mre",
    "relative": "mre",
    "rel": "mre",
    "meanabsolutelogerror": "male",
    "rootmeansquaredlogerror": "rmsle",
    "maxabs": "max",
    "maxabsoluteerror": "max",
    "maximum": "max",
    "linf": "max",
    "maxrel": "max_rel",
    "maxrelativeerror": "max_rel",
}


def error_metric_from_name(user_key: str, EPS: float = 1e-8) -> Callable[[np.ndarray, np.ndarray], float]:
    """A function of the reference and the output, for a name: ``RMSE``, ``mean relative error``, ``max_rel``."""
    key = re.sub(r"[\s_-]", "", str(user_key)).lower()
    name = ALIASES.get(key, key if key in METRICS else None)
    if name is None:
        raise KerfError(f"there is no error metric {user_key!r}", "there are " + ", ".join(METRICS) + ", or pass a function")
    metric = METRICS[name]

    def error(reference: np.ndarray, output: np.ndarray) -> float:
        # In double precision: the difference of two halves would be rounded to one.
        kind = np.complex128 if np.iscomplexobj(reference) or np.iscomplexobj(output) else np.float64
        x, y = (np.ravel(np.asarray(a, dtype=kind)) for a in (reference, output))
        return float(metric(x, y, EPS))

    return error


class AccuracyObserver(OutputObserver):
    """Adds the error of each configuration's output against ``answer`` to its result, by the name ``key``.

    ``metric`` is a name or a function of the reference and the output; ``atol`` the least divisor of relative errors.
    Of several outputs the greatest error counts. Where there is such an observer, ``answer`` does not reject
    configurations; ``verify`` still does.
    """

    def __init__(self, metric: Any = None, key: str = "error", *, atol: float = 1e-8) -> None:
        if metric is None:
            metric = "rmse"
        self.metric: Callable[[Any, Any], Any] = metric if callable(metric) else error_metric_from_name(metric, atol)
        self.key = key
        self._result: float | None = None

    def process_output(self, answer: Any, output: Any) -> None:
        errors = [self.metric(a, o) for a, o in zip(answer, output) if a is not None]
        if not errors:
            raise KerfError("AccuracyObserver: tune_kernel got no answer to compare with", "pass answer=[..., None]")
        worst = max(errors)
        self._result = worst.item() if isinstance(worst, np.generic) else worst

    def get_results(self) -> dict[str, Any]:
        return {self.key: self._result}


__all__ = ["AccuracyObserver", "Tunable", "TunablePrecision", "error_metric_from_name"]
