"""Results kept by GPU and problem size, and headers made of them: Kernel Tuner's module of this name."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Mapping, Sequence

from ._objective import Objective
from ._program import KerfError
from .util import NpEncoder

VERSION = "1.0"


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    if not isinstance(data, dict) or "data" not in data:
        raise KerfError(f"{os.fspath(path)} holds no results of store_results")
    return data


def _size(problem_size: Any) -> str:
    if isinstance(problem_size, (str, int)) or not hasattr(problem_size, "__iter__"):
        return str(problem_size)
    return "x".join(str(s) for s in problem_size)


def store_results(
    results_filename: str | os.PathLike[str],
    kernel_name: str,
    kernel_string: Any,
    tune_params: Mapping[str, Sequence[Any]],
    problem_size: Any,
    results: Sequence[Mapping[str, Any]],
    env: Mapping[str, Any],
    top: float = 3,
    objective: str | None = None,
    objective_higher_is_better: bool | None = None,
) -> None:
    """Keeps the best ``top`` percent of results in a file, beside those of other GPUs and problem sizes."""
    goal = Objective(objective, objective_higher_is_better)
    counted = [r for r in results if not isinstance(r.get(goal.names[0]), str) and goal.value(r) is not None]
    if not counted:
        raise KerfError("store_results: there is no result to keep")
    counted.sort(key=lambda r: goal.value(r) or 0.0, reverse=goal.higher[0])
    kept = counted[: max(1, round(len(counted) * top / 100))]
    device = str(env.get("device_name", "unknown")).replace(" ", "_")
    data: dict[str, Any] = {
        "version_number": VERSION,
        "tunable_parameters": list(tune_params),
        "kernel_name": kernel_name,
        "kernel_string": kernel_string if isinstance(kernel_string, str) else str(kernel_string),
        "objective": goal.names[0],
        "objective_higher_is_better": goal.higher[0],
        "data": [],
    }
    if os.path.exists(results_filename):
        old = _read(results_filename)
        if old.get("kernel_name") != kernel_name:
            raise KerfError(f"store_results: {os.fspath(results_filename)} has results of {old.get('kernel_name')!r}")
        data["data"] = old["data"]
    own = {"device_name": device, "problem_size": _size(problem_size)}
    data["data"] = [d for d in data["data"] if any(d.get(k) != v for k, v in own.items())]
    names = [*tune_params, goal.names[0]]
    data["data"] += [{**own, **{k: r[k] for k in names if k in r}} for r in kept]
    with open(results_filename, "w", encoding="utf-8") as f:
        json.dump(data, f, cls=NpEncoder, indent=1)


class TuneResults:
    """Results that ``store_results`` kept."""

    def __init__(self, results_filename: str | os.PathLike[str]) -> None:
        self.meta = _read(results_filename)
        self.data: list[dict[str, Any]] = self.meta["data"]

    def get_best_config(self, gpu_name: str = "default", problem_size: Any = None) -> dict[str, Any]:
        """The best parameters for a GPU and a problem size; where there are none, those that most often are best."""
        goal = Objective(self.meta["objective"], self.meta["objective_higher_is_better"])
        names = self.meta["tunable_parameters"]
        gpu = gpu_name.replace(" ", "_")
        some = [d for d in self.data if d["device_name"] == gpu] or self.data
        if problem_size is not None:
            some = [d for d in some if d["problem_size"] == _size(problem_size)] or some
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for d in some:
            groups.setdefault((d["device_name"], d["problem_size"]), []).append(d)
        best = [tuple(goal.best(g)[n] for n in names) for g in groups.values()]
        if not best:
            raise KerfError("TuneResults: there are no results")
        return dict(zip(names, collections.Counter(best).most_common(1)[0][0]))


def create_device_targets(
    header_filename: str | os.PathLike[str],
    results_filename: str | os.PathLike[str],
    objective: str | None = None,
    objective_higher_is_better: bool | None = None,
) -> None:
    """Writes a C header that defines the best parameters by ``TARGET_<GPU>``, and by default those best most often."""
    results = TuneResults(results_filename)
    lines = ["/* Best parameters by GPU; made from " + os.path.basename(os.fspath(results_filename)) + " */"]
    word = "#if"
    for gpu in sorted({d["device_name"] for d in results.data}):
        lines.append(f"{word} defined(TARGET_{''.join(c if c.isalnum() else '_' for c in gpu)})")
        lines += [f"#define {k} {v}" for k, v in results.get_best_config(gpu).items()]
        word = "#elif"
    lines += ["#else", *(f"#define {k} {v}" for k, v in results.get_best_config("default").items()), "#endif"]
    with open(header_filename, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
