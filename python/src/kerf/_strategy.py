"""Strategies by the names that Kernel Tuner has for them, driven by ``kerf search drive``."""

from __future__ import annotations

import json
import subprocess
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence

from ._configuration import unsupported
from ._program import KerfError, KerfWarning, _failure, program

# Kernel Tuner's name: Kerf's strategy, and whether that is another method of the same kind.
STRATEGIES: dict[str, tuple[str, bool]] = {
    "random_sample": ("random", False),
    "simulated_annealing": ("annealing", False),
    "dual_annealing": ("annealing", True),
    "diff_evo": ("differential", False),
    "genetic_algorithm": ("naive-ga", False),
    "bayes_opt": ("guided", False),
    "greedy_mls": ("local", False),
    "mls": ("local", False),
    "ordered_greedy_mls": ("local", False),
    "greedy_ils": ("local", False),
    "minimize": ("local", True),
    "basinhopping": ("local", True),
    "pso": ("differential", True),
    "firefly_algorithm": ("differential", True),
}
OWN = ("guided", "random", "naive-ga", "annealing", "differential", "local")

# Settings of Kernel Tuner's strategies, which Kerf's choose themselves.
SETTINGS = frozenset(
    """T T_min alpha maxiter popsize method mutation_chance constraint_aware w c1 c2 B0 gamma neighbor neighbour
    restart no_improvement random_walk order strict covariancekernel covariancelengthscale acq_params initial_sample_size
    samplingmethod samplingiter diversity num_initial_samples""".split()
)
# How many it runs where nothing says so, as Kernel Tuner's own defaults of evaluations.
DEFAULT_BUDGET = 100


def plan(
    strategy: str | None, options: Mapping[str, Any] | None, count: int
) -> tuple[str | None, int, float | None, int]:
    """Kerf's strategy for a name, its budget, seconds and seed; the name is None for brute force."""
    options = dict(options or {})
    limits = {k: options.pop(k, None) for k in ("max_fevals", "fraction", "time_limit", "seed")}
    name: str | None
    if strategy in (None, "brute_force"):
        name, other = None, False
    elif strategy in STRATEGIES:
        name, other = STRATEGIES[strategy]
    elif strategy.replace("_", "-") in OWN:
        name, other = strategy.replace("_", "-"), False
    else:
        known = ", ".join(["brute_force", *STRATEGIES, *OWN])
        raise KerfError(f"tune_kernel: there is no strategy {strategy!r}", f"there are {known}")
    ignored = sorted(k for k in options if k in SETTINGS)
    unknown = sorted(k for k in options if k not in SETTINGS)
    if unknown:
        raise unsupported(f"strategy_options {unknown}", "max_fevals, fraction, time_limit and seed are known")
    if name is None and (ignored or any(v is not None for k, v in limits.items() if k not in ("max_fevals", "time_limit", "seed"))):
        raise unsupported(f"strategy_options {sorted(ignored) or ['fraction']}", "brute_force takes max_fevals and time_limit")
    if other:
        warnings.warn(f"{strategy} is done by Kerf's {name}, the nearest that it has", KerfWarning, stacklevel=5)
    if ignored:
        warnings.warn(f"strategy_options {ignored} are ignored: Kerf's {name} has no such settings", KerfWarning, stacklevel=5)
    return (name, *_limits(name, limits, count))


def _limits(name: str | None, limits: Mapping[str, Any], count: int) -> tuple[int, float | None, int]:
    """Budget, seconds and seed."""
    if limits["max_fevals"] is not None:
        budget = int(limits["max_fevals"])
    elif limits["fraction"] is not None or name == "random":
        share = 0.1 if limits["fraction"] is None else limits["fraction"]
        budget = max(1, -int(-share * count // 1))
    else:
        budget = count if name is None else DEFAULT_BUDGET
    if budget < 1:
        raise KerfError(f"tune_kernel: max_fevals is {budget}, and one evaluation is the least")
    return min(budget, count), limits["time_limit"], int(limits["seed"] or 1)


#: Takes configurations, and those that are likely to come next; gives what is to be small for each of the former, or None
#: where the time is over.
Measure = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], "list[float | None] | None"]


def drive(
    name: str,
    tune_params: Mapping[str, Sequence[Any]],
    configs: Sequence[Sequence[Any]],
    budget: int,
    seed: int,
    at_once: int,
    measure: Measure,
    lag: int = 1,
) -> str:
    """Lets a strategy ask for configurations, which ``measure`` evaluates.

    With a ``lag`` it asks so many questions before it is told of the first, where it can: the next ones are known meanwhile.
    """
    keys = list(tune_params)
    values = {k: list(tune_params[k]) for k in keys}
    points = [[values[k].index(v) for k, v in zip(keys, c)] for c in configs]
    task = {
        "schema": "kerf.search-drive/1",
        "parameters": [{"name": k, "values": [str(v) for v in values[k]]} for k in keys],
        "points": points,
        "strategy": name,
        "seed": seed,
        "budget": budget,
        "at_once": at_once,
        "lag": lag,
    }

    def named(points: Iterable[Sequence[int]]) -> list[dict[str, Any]]:
        return [{k: values[k][i] for k, i in zip(keys, point)} for point in points]

    child = subprocess.Popen(
        [program(), "search", "drive"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    try:
        print(json.dumps(task), file=child.stdin, flush=True)
        for line in child.stdout:
            said = json.loads(line)
            if "ask" not in said:
                return str(said["done"])
            answers = measure(named(said["ask"]), named(said["likely"]))
            if answers is None:
                return "time_limit"
            for point, value in zip(said["ask"], answers):
                print(json.dumps({"point": point, "time": value}), file=child.stdin, flush=True)
        raise _failure(child.stderr.read().splitlines(), child.wait())
    except BrokenPipeError:
        raise _failure(child.stderr.read().splitlines(), child.wait()) from None
    finally:
        child.terminate()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
