"""The cost function that strategies call, and their options."""

from __future__ import annotations

import sys
from typing import Any, Mapping, Sequence

import numpy as np

from .._objective import Objective
from .._program import KerfError
from ..searchspace import Searchspace
from ..util import ErrorConfig, InvalidConfig, StopCriterionReached


def get_options(strategy_options: Mapping[str, Any] | None, options: Mapping[str, Any], unsupported: Sequence[str] = ()) -> list[Any]:
    """The values of a strategy's options: those given, or the defaults in ``options`` (a description and a value each)."""
    given = dict(strategy_options or {})
    general = {"max_fevals", "time_limit", "fraction", "seed", "x0", "searchspace_construction_options", *unsupported}
    for name in given:
        if name not in options and name not in general:
            raise KerfError(f"tune_kernel: the strategy has no option {name!r}", "it has " + ", ".join(options))
    return [given.get(name, default[1]) for name, default in options.items()]


class CostFunc:
    """What a configuration costs: its objective, small is good. Calling it evaluates; the search's end is an exception.

    With ``snap`` values are those nearest in the space, with ``scaling`` they are between 0 and 1 along each parameter.
    What fails costs ``invalid_value``; with ``return_invalid`` it is the error itself.
    """

    def __init__(
        self,
        searchspace: Searchspace,
        tuning_options: Any,
        runner: Any,
        *,
        scaling: bool = False,
        snap: bool = True,
        return_invalid: bool = False,
        invalid_value: float = sys.float_info.max,
        **_: Any,
    ) -> None:
        self.searchspace, self.tuning_options, self.runner = searchspace, tuning_options, runner
        self.scaling, self.snap, self.return_invalid, self.invalid_value = scaling, snap, return_invalid, invalid_value
        self.results: list[dict[str, Any]] = []
        self._objective = Objective(tuning_options["objective"], tuning_options["objective_higher_is_better"])

    @property
    def budget_spent_fraction(self) -> float:
        """How much of the evaluations, or of the time, is used: 0 to 1."""
        return float(self.runner.budget_spent_fraction)

    def _config(self, x: Sequence[Any]) -> tuple[Any, ...]:
        values = list(self.searchspace.tune_params.values())
        if self.scaling:
            places = [min(len(v) - 1, max(0, int(float(u) * len(v)))) for u, v in zip(x, values)]
            return tuple(v[i] for v, i in zip(values, places))
        if self.snap:
            return tuple(_nearest(u, v) for u, v in zip(x, values))
        return tuple(x)

    def __call__(self, x: Sequence[Any], check_restrictions: bool = True) -> Any:
        return self.eval(x, check_restrictions)

    def eval(self, x: Sequence[Any], check_restrictions: bool = True) -> Any:
        """The cost of a configuration."""
        return self.eval_all([x], check_restrictions)[0]

    def eval_all(self, xs: Sequence[Sequence[Any]], check_restrictions: bool = True) -> list[Any]:
        """The costs of configurations."""
        configs = [self._config(x) for x in xs]
        valid = [c for c in configs if self.searchspace.is_param_config_valid(c)]
        found = dict(zip(valid, self.runner.run(valid, self.tuning_options)))
        costs: list[Any] = []
        for c in configs:
            result = found.get(c) or {**dict(zip(self.searchspace.param_names, c)), self._objective.names[0]: InvalidConfig("no configuration")}
            if c in found:
                self.results.append(result)
            value = result[self._objective.names[0]]
            if isinstance(value, ErrorConfig):
                costs.append(value if self.return_invalid else self.invalid_value)
            else:
                cost = self._objective.cost(result)
                costs.append(self.invalid_value if cost is None else cost)
        return costs

    def get_results(self) -> list[dict[str, Any]]:
        """The results of all calls."""
        return self.results

    def get_num_unique_results(self) -> int:
        """How many configurations were evaluated."""
        names = self.searchspace.param_names
        return len({tuple(r[n] for n in names) for r in self.results})

    def get_bounds(self) -> list[tuple[Any, Any]]:
        """The least and the greatest of each parameter as the function takes it; its places where it is no number."""
        if self.scaling:
            return [(0.0, 1.0)] * self.searchspace.num_params
        values = self.searchspace.tune_params.values()
        return [(min(v), max(v)) if _numeric(v) else (0, len(v) - 1) for v in values]

    def get_start_pos(self) -> list[Any]:
        """Where to begin: ``x0`` of the options, or the middle of the bounds."""
        given = (self.tuning_options.get("strategy_options") or {}).get("x0")
        return list(given) if given is not None else [(low + high) / 2 for low, high in self.get_bounds()]

    def get_bounds_x0_eps(self) -> tuple[list[tuple[Any, Any]], list[Any], float]:
        """Bounds, where to begin, and the least distance of two values."""
        bounds = self.get_bounds()
        if self.scaling:
            eps = 1.0 / max(len(v) for v in self.searchspace.tune_params.values())
        else:
            steps = [float(np.min(np.diff(np.unique(v)))) for v in self.searchspace.tune_params.values() if _numeric(v) and len(set(v)) > 1]
            eps = min(steps, default=1.0)
        return bounds, self.get_start_pos(), eps


def _numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(v, (int, float, np.number)) for v in values)


def _nearest(x: Any, values: Sequence[Any]) -> Any:
    """The value of a parameter nearest to a number; of values that are no numbers, the one at that place."""
    if x in values:
        return x
    if _numeric(values):
        return min(values, key=lambda v: abs(v - x))
    if isinstance(x, (int, float, np.number)):
        return values[min(len(values) - 1, max(0, round(float(x))))]
    return x


def snap_to_nearest_config(x: Sequence[Any], tune_params: Mapping[str, Sequence[Any]]) -> list[Any]:
    """For each parameter the value nearest to a number."""
    return [_nearest(u, v) for u, v in zip(x, tune_params.values())]


__all__ = ["CostFunc", "StopCriterionReached", "get_options", "snap_to_nearest_config"]
