"""Functions of Kernel Tuner's module ``util`` that scripts use: configurations as text, the best of results, files."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any, Mapping, Sequence

import numpy as np

from . import _expressions, _source
from ._configuration import BLOCK_NAMES, divisor, problem_extents, with_values
from ._objective import Objective, is_number, pareto


class ErrorConfig(str):
    """What a result has in the place of its objective where the configuration failed."""


class InvalidConfig(ErrorConfig):
    """It satisfies no restriction, or cannot be launched."""


class CompilationFailedConfig(ErrorConfig):
    """It does not compile."""


class RuntimeFailedConfig(ErrorConfig):
    """It failed when it ran, or gave another answer."""


class StopCriterionReached(Exception):
    """The search is over: its budget is used, or its time."""


class SkippableFailure(Exception):
    """A configuration failed, and the search goes on."""


class NpEncoder(json.JSONEncoder):
    """Writes numbers and arrays of numpy as JSON."""

    def default(self, o: Any) -> Any:
        if isinstance(o, np.generic):
            return o.item()
        return o.tolist() if isinstance(o, np.ndarray) else super().default(o)


class Timer:
    """A stop watch, in seconds."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begins anew."""
        self._began_s = time.perf_counter()

    def get(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._began_s

    def get_and_reset(self) -> float:
        """Seconds since it began, which is now."""
        passed = self.get()
        self.reset()
        return passed


def get_config_string(
    params: Mapping[str, Any], keys: Sequence[str] | None = None, units: Mapping[str, str] | None = None
) -> str:
    """A configuration, or a result, on one line: ``block_size_x=128, time=0.500ms``."""
    parts = []
    for k in params if keys is None else [k for k in keys if k in params]:
        v = params[k]
        text = f"{v:.3f}" if isinstance(v, (float, np.floating)) else str(v)
        parts.append(f"{k}={text}{(units or {}).get(k, '')}")
    return ", ".join(parts)


def get_instance_string(params: Mapping[str, Any]) -> str:
    """The values of a configuration, joined: ``128_2``."""
    return "_".join(str(v) for v in params.values())


def get_best_config(
    results: Sequence[dict[str, Any]], objective: str = "time", objective_higher_is_better: bool = False
) -> dict[str, Any]:
    """The result with the best value of an objective; those that failed do not count."""
    best = Objective(objective, objective_higher_is_better).best(results)
    if best is None:
        raise ValueError(f"no result has a number as {objective!r}")
    return dict(best)


def get_pareto_results(
    results: Sequence[dict[str, Any]],
    objectives: Sequence[str],
    objective_higher_is_better: Sequence[bool],
    mark_optima: bool = True,
) -> list[dict[str, Any]]:
    """Results that none is better than in all objectives; ``optimal`` says of each result whether it is one."""
    counted = [r for r in results if all(is_number(r.get(n)) for n in objectives)]
    best = pareto(counted, objectives, objective_higher_is_better)
    if mark_optima:
        kept = {id(r) for r in best}
        for r in results:
            r["optimal"] = id(r) in kept
    return best


def get_objective_defaults(objective: Any, objective_higher_is_better: Any = None) -> tuple[Any, Any]:
    """The objective, and whether more of it is better, where nothing was said."""
    own = Objective(objective, objective_higher_is_better)
    return (own.names, own.higher) if own.several else (own.names[0], own.higher[0])


def process_metrics(params: dict[str, Any], metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Adds metrics, each of which may use those before it."""
    for name, m in metrics.items():
        params[name] = _expressions.evaluate(m, params)
    return params


def check_restriction(restrict: Any, params: dict[str, Any]) -> bool:
    """Whether a configuration satisfies a restriction."""
    return _expressions.allowed(restrict, params)


def check_restrictions(restrictions: Any, params: dict[str, Any], verbose: bool = False) -> bool:
    """Whether a configuration satisfies all restrictions."""
    good = _expressions.allowed(restrictions, params)
    if verbose and not good:
        print(f"skipping config {get_instance_string(params)}: it does not satisfy the restrictions")
    return good


def replace_param_occurrences(string: str, params: Mapping[str, Any]) -> str:
    """The text with names of parameters replaced by their values."""
    return with_values(string, params)


def get_problem_size(problem_size: Any, params: Mapping[str, Any]) -> tuple[Any, ...]:
    """The problem's size along three axes for a configuration."""
    return tuple(problem_extents(problem_size, params))


def get_thread_block_dimensions(
    params: Mapping[str, Any], block_size_names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """The block of a configuration."""
    names = [*(block_size_names or []), *BLOCK_NAMES[len(block_size_names or []) :]]
    return tuple(int(params.get(n, d)) for n, d in zip(names, (256, 1, 1)))


def get_grid_dimensions(
    current_problem_size: Sequence[Any],
    params: Mapping[str, Any],
    grid_div: Sequence[Any],
    block_size_names: Sequence[str] | None = None,
) -> tuple[int, ...]:
    """The grid of a configuration."""
    names = [*(block_size_names or []), *BLOCK_NAMES[len(block_size_names or []) :]]
    size = [*current_problem_size, 1, 1, 1][:3]
    divisors = [divisor(d, n, params) for d, n in zip(grid_div, names)]
    return tuple(math.ceil(float(s) / float(d)) for s, d in zip(size, divisors))


def detect_language(kernel_string: str) -> str:
    """The language of a source, as ``lang`` names it."""
    return "OpenCL" if _source.language_of(kernel_string) == "opencl" else "CUDA"


def looks_like_a_filename(kernel_source: Any) -> bool:
    """Whether a source is the name of a file."""
    return isinstance(kernel_source, (str, os.PathLike)) and not _source.is_text(kernel_source)


def read_file(filename: str | os.PathLike[str]) -> str | None:
    """The contents of a file; None if there is none."""
    if not os.path.isfile(filename):
        return None
    with open(filename, encoding="utf-8") as f:
        return f.read()


def write_file(filename: str | os.PathLike[str], string: str) -> None:
    """Writes a file."""
    with open(filename, "w", encoding="utf-8") as f:
        f.write(string)


def get_kernel_string(kernel_source: Any, params: dict[str, Any] | None = None) -> str:
    """The text of a source that may be text, a file, or a function of the parameters."""
    if callable(kernel_source):
        kernel_source = kernel_source(params or {})
    return (read_file(kernel_source) or "") if looks_like_a_filename(kernel_source) else str(kernel_source)


def read_cache(cachefile: str | os.PathLike[str], open_cache: bool = True) -> dict[str, Any]:
    """The contents of a cache file, also of one that a search was stopped in."""
    from ._cache import read

    return read(cachefile)
