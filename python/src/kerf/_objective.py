"""What a search by ``tune_kernel`` optimises: one value of results, or several."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from ._program import KerfError

#: Objectives of Kernel Tuner's, and whether more is better.
KNOWN: dict[str, bool] = {
    **dict.fromkeys(["time", "energy", "fitness", "cost", "loss", "duration", "nvml_energy", "nvml_power", "error"], False),
    **dict.fromkeys(["GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J"], True),
}


def is_number(v: Any) -> bool:
    """Whether a result's value counts: a finite number."""
    return isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and bool(np.isfinite(v))


class Objective:
    """Names of values, and which way each is better."""

    def __init__(self, objective: Any = None, higher: Any = None) -> None:
        names = [objective or "time"] if isinstance(objective or "time", str) else list(objective)
        if isinstance(objective, Mapping):
            higher = list(objective.values())
        given = [None] * len(names) if higher is None else list(higher) if isinstance(higher, (list, tuple)) else [higher] * len(names)
        if len(given) != len(names):
            raise KerfError(f"tune_kernel: {len(names)} objectives, and {len(given)} entries of objective_higher_is_better")
        self.names: list[str] = names
        self.higher: list[bool] = []
        for name, h in zip(names, given):
            known = KNOWN.get(name) if h is None else bool(h)
            if known is None:
                raise KerfError(
                    f"tune_kernel: whether more of {name!r} is better is not known", "set objective_higher_is_better"
                )
            self.higher.append(known)

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.names) > 1

    def value(self, result: Mapping[str, Any]) -> float | None:
        """The first objective of a result; None where it is no number."""
        if self.names[0] not in result:
            raise KerfError(f"tune_kernel: the objective {self.names[0]!r} is neither time nor a metric")
        v = result[self.names[0]]
        return float(v) if is_number(v) else None

    def cost(self, result: Mapping[str, Any]) -> float | None:
        """The first objective as something that is to be small."""
        v = self.value(result)
        return None if v is None else -v if self.higher[0] else v

    def best(self, results: Sequence[dict[str, Any]]) -> Any:
        """The best result; of several objectives those that none is better than in all."""
        counted = [r for r in results if all(is_number(r.get(n)) for n in self.names)]
        if not counted:
            return None
        if not self.several:
            return (max if self.higher[0] else min)(counted, key=lambda r: r[self.names[0]])
        return pareto(counted, self.names, self.higher)


def pareto(results: Sequence[dict[str, Any]], names: Sequence[str], higher: Sequence[bool]) -> list[dict[str, Any]]:
    """Results that no other one is at least as good as in everything and better than in something."""
    costs = [tuple(-r[n] if h else r[n] for n, h in zip(names, higher)) for r in results]

    def beaten(c: tuple[Any, ...]) -> bool:
        return any(o != c and all(a <= b for a, b in zip(o, c)) for o in costs)

    return [r for r, c in zip(results, costs) if not beaten(c)]
