"""``tune_kernel`` and ``run_kernel``: calls of Kernel Tuner's, done by Kerf.

Names and meaning are those of Kernel Tuner's documented interface. Every configuration is compiled with its
parameters as macros, run, compared with ``answer`` where there is one, and timed: measured on a GPU, predicted for a
device profile elsewhere, where nothing has to be run without an answer. What has no counterpart is refused by name.
"""

from __future__ import annotations

import inspect
import os
import types
import warnings
from typing import Any, Iterable, Mapping, Sequence

from . import _arrays
from ._cache import Cache
from ._configuration import KernelCall, compiler_flags, language, unsupported
from ._evaluation import Arguments, Device, Evaluator, Verification, gpu_here, outputs_of
from ._expressions import checks
from ._objective import Objective
from ._program import KerfError, KerfWarning
from ._search import Search, seconds_of_environment
from ._strategy import drive, plan
from .accuracy import Tunable
from .observers import BenchmarkObserver, OutputObserver
from .result import tune
from .searchspace import Searchspace
from .util import StopCriterionReached


#: Configurations that a strategy is asked for at once where its choices do not depend on results.
BATCH = 16
#: Questions that a strategy asks before it is told of the first, where a GPU measures and the next ones are compiled meanwhile.
#: Over made-up kernels guided is 4.2 % from the optimum after 60 evaluations with 6, 5.5 % with 3, and 5.9 % with 1.
LAG = 6


class Options(dict):  # type: ignore[type-arg]
    """Options of a search, as entries and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__


class Runner:
    """What a strategy lets configurations be evaluated by."""

    def __init__(self, search: Search, space: Searchspace, seed: int | None) -> None:
        self.search, self.space, self._seed = search, space, seed
        self.ended = "finished"

    @property
    def budget_spent_fraction(self) -> float:
        """How much of the evaluations, or of the time, is used: 0 to 1."""
        s = self.search
        of_time = s.clock.spent_s() / s.clock.limit_s if s.clock.limit_s else 0.0
        return min(1.0, max(s.done / s.budget, of_time))

    def run(self, parameter_space: Iterable[Sequence[Any]], tuning_options: Any = None) -> list[dict[str, Any]]:
        """Results of configurations; raises ``StopCriterionReached`` when the search is over."""
        if self.search.over():
            raise StopCriterionReached("max_fevals" if self.search.done >= self.search.budget else "time_limit")
        return self.search.evaluate(parameter_space)

    def search_by_name(self, strategy: str | None, options: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Searches by a strategy of Kerf's."""
        name, budget, _, seed = plan(strategy, options, self.space.size)
        search, configs = self.search, self.space.list
        search.budget = budget
        if name is None:
            self.ended = "exhausted" if budget == len(configs) else "budget"
            try:
                search.evaluate(configs[:budget])
            except StopCriterionReached as e:
                self.ended = str(e)
        else:
            seed = self._seed if self._seed is not None else seed
            # Its choices do not depend on results: those that come next are compiled meanwhile.
            on_gpu = search.evaluator.device.gpu is not None
            at_once = max(search.at_once, BATCH) if name == "random" and on_gpu else search.at_once
            lag = LAG if on_gpu else 1
            self.ended = drive(name, self.space.tune_params, configs, budget, seed, at_once, search.costs, lag)
        return search.results


def _refused(given: Mapping[str, Any]) -> None:
    """Refuses arguments that have no counterpart; those that change nothing about results are left out with a warning."""
    if given.get("texmem_args"):
        raise unsupported("texmem_args", "textures are not read", "put the texture's array into a buffer, and read it by its index")
    for name in given.get("unknown") or {}:
        raise unsupported(f"the argument {name!r}", "Kernel Tuner 1.5 has none of this name either")
    for name, why in [
        ("compiler", "clang 22 compiles; KERF_CLANG names another"),
        ("log", "progress goes to standard error"),
        ("platform", "OpenCL C is run as CUDA is"),
    ]:
        if given.get(name):
            warnings.warn(f"{name} is left out: {why}", KerfWarning, stacklevel=3)


def _observers(given: Sequence[Any] | None) -> list[BenchmarkObserver]:
    """Observers, or functions and classes that make them."""
    made = []
    for o in given or []:
        if not isinstance(o, BenchmarkObserver) and callable(o):
            o = o()
        if not isinstance(o, BenchmarkObserver):
            raise KerfError(
                f"tune_kernel: the observer {o!r} is no BenchmarkObserver", "derive it from kerf.observers.BenchmarkObserver"
            )
        made.append(o)
    return made


def _device(run_on: str | None, number: int, profile: str, simulation: bool, quiet: bool) -> Device:
    """Where configurations run."""
    if run_on is None:
        run_on = "cuda" if not simulation and gpu_here() else "cpu"
    if run_on not in ("cpu", "cuda"):
        raise KerfError(f"tune_kernel: run_on is {run_on!r}", 'it is "cuda" or "cpu"')
    if run_on == "cpu" and not quiet and not simulation:
        warnings.warn(
            f"times are predicted for profile {profile}; run_on='cuda' measures them on a GPU", KerfWarning, stacklevel=3
        )
    if run_on == "cuda":
        return Device(f"cuda {number}", number, quiet=quiet)
    return Device(profile, None, quiet=quiet)


def _workers(parallel: bool | int | None, evaluator: Evaluator) -> int:
    """Configurations that are evaluated at once: on a GPU one, since two would disturb each other's times."""
    if evaluator.device.gpu is not None or evaluator.observers:
        return 1
    if parallel is not None and parallel is not True and int(parallel) > 0:
        return int(parallel)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # The executor has the arrays, what they were before, and a copy for the file.
    room = free // max(1, 4 * evaluator.arguments.nbytes)
    return int(max(1, min(os.cpu_count() or 1, room)))


def _searched(runner: Runner, strategy: Any, strategy_options: Mapping[str, Any] | None, options: Options) -> str:
    """Lets a strategy search; gives its name."""
    own = getattr(strategy, "strategy_name", None) if isinstance(strategy, types.ModuleType) else None
    if strategy is None or isinstance(strategy, str) or own:
        name = own or strategy
        runner.search_by_name(name, strategy_options)
        return plan_name(name)
    if not callable(getattr(strategy, "tune", None)):
        raise KerfError(
            f"tune_kernel: the strategy {strategy!r} has no function tune",
            "pass a name, or an object with tune(searchspace, runner, tuning_options)",
        )
    try:
        strategy.tune(runner.space, runner, options)
    except StopCriterionReached as e:
        runner.ended = str(e)
    return str(getattr(strategy, "__name__", type(strategy).__name__))


def plan_name(strategy: str | None) -> str:
    """The name of Kerf's strategy for Kernel Tuner's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plan(strategy, None, 1)[0] or "brute_force"


def _environment(search: Search, runner: Runner) -> dict[str, Any]:
    """What the search ran on, and what it found."""
    device, profile = search.evaluator.device, search.evaluator.profile
    best = search.objective.best(search.results)
    totals = {f"total_{k}": sum(r.get(k) or 0 for r in search.results) for k in ("compile_time", "verification_time", "benchmark_time")}
    return {
        "best": best,
        "best_config": best,
        "failed": search.failed,
        "device": "cpu" if device.gpu is None else "cuda",
        "device_name": device.name,
        "profile": profile if device.gpu is None else None,
        "iterations": search.evaluator.iterations,
        "ended": runner.ended,
        "configurations": runner.space.size,
        **totals,
    }


def tune_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    restrictions: Any = None,
    answer: Sequence[Any] | None = None,
    atol: float | None = 1e-6,
    verify: Any = None,
    verbose: bool = False,
    lang: str | None = None,
    device: int = 0,
    platform: int = 0,
    smem_args: Mapping[str, Any] | None = None,
    cmem_args: Mapping[str, Any] | None = None,
    texmem_args: Mapping[str, Any] | None = None,
    compiler: str | None = None,
    compiler_options: Sequence[str] | None = None,
    defines: Mapping[str, Any] | None = None,
    log: Any = None,
    iterations: int = 7,
    block_size_names: Sequence[str] | None = None,
    quiet: bool = False,
    strategy: Any = None,
    strategy_options: Mapping[str, Any] | None = None,
    cache: str | os.PathLike[str] | None = None,
    metrics: Mapping[str, Any] | None = None,
    simulation_mode: bool | None = False,
    parallel: bool | int | None = None,
    observers: Sequence[Any] | None = None,
    objective: Any = None,
    objective_higher_is_better: Any = None,
    objectives: Any = None,
    seed: int | None = None,
    *,
    run_on: str | None = None,
    profile: str = "h200",
    tolerance: float | None = None,
    tune_options: Mapping[str, Any] | None = None,
    **unknown: Any,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Tunes a kernel as Kernel Tuner's ``tune_kernel`` does; gives ``(results, env)``.

    ``results`` has a dictionary for each configuration that ran: its parameters, ``time`` in milliseconds,
    ``kind`` (measured or predicted), ``times`` where they were measured, what observers saw, and the metrics.
    ``env["best"]`` is the best of them (of several objectives a list), ``env["failed"]`` has those that did not run or
    were not the answer, with the reason. ``env["strategy"]`` names the strategy that ran, ``env["ended"]`` why it ended.

    Of Kerf's own: ``run_on`` is "cuda" or "cpu" (by default the GPU number ``device`` if this machine has one, else
    the CPU, with times predicted for ``profile``). With ``tolerance`` the best configuration's precision is tuned
    too, with ``tune_options`` for ``kerf.tune``; ``env["tuned"]`` is the ``kerf.Result``. The variable
    ``KERF_TUNE_KERNEL_SECONDS`` limits searches of scripts that set no ``time_limit``.
    """
    _refused({"texmem_args": texmem_args, "compiler": compiler, "log": log, "platform": platform, "unknown": unknown})
    call = KernelCall(
        kernel_name, kernel_source, problem_size, (grid_div_x, grid_div_y, grid_div_z), block_size_names,
        smem_args, cmem_args, defines, compiler_flags(compiler_options), language(lang, kernel_source),
    )  # fmt: skip
    call.check_parameters(tune_params)
    goal = Objective(objectives if objectives is not None else objective, objective_higher_is_better)
    watching = _observers(observers)
    verification = Verification(answer, atol, verify, arguments, any(isinstance(o, OutputObserver) for o in watching))
    if simulation_mode and cache is None:
        raise KerfError("tune_kernel: simulation_mode takes its times from a cache", "name a file as cache")
    checks(restrictions, list(tune_params))
    where = _device(run_on, device, profile, bool(simulation_mode), quiet)
    space = Searchspace(tune_params, restrictions, block_size_names=call.blocks, seed=seed)
    budget, seconds = _limits(strategy, strategy_options, space)
    evaluator = Evaluator(
        call, arguments, where, verification, profile=profile, iterations=iterations, observers=watching, metrics=metrics
    )
    named = f"cuda {device}" if where.gpu is not None else profile
    kept = Cache(cache, kernel_name, problem_size, tune_params, goal.names if goal.several else goal.names[0], named)
    search = Search(
        evaluator, list(tune_params), goal, kept, budget=budget, seconds=seconds, at_once=_workers(parallel, evaluator),
        simulation=bool(simulation_mode), quiet=quiet, verbose=verbose,
    )  # fmt: skip
    options = Options(
        strategy_options=dict(strategy_options or {}), tune_params=dict(tune_params), restrictions=restrictions,
        objective=goal.names if goal.several else goal.names[0],
        objective_higher_is_better=goal.higher if goal.several else goal.higher[0],
        max_fevals=budget, time_limit=seconds, metrics=metrics, verbose=verbose, cache=cache, seed=seed,
    )  # fmt: skip
    env = _search(search, Runner(search, space, seed), strategy, strategy_options, options)
    if tolerance is not None:
        env["tuned"] = _precision(evaluator, {k: env["best"][k] for k in tune_params}, tolerance, tune_options, quiet)
    return search.results, env


def _limits(strategy: Any, strategy_options: Mapping[str, Any] | None, space: Searchspace) -> tuple[int, float | None]:
    """Evaluations and seconds of a search."""
    if not space.size:
        raise KerfError("tune_kernel: no configuration satisfies the restrictions")
    if strategy is None or isinstance(strategy, str):
        _, budget, seconds, _ = plan(strategy, strategy_options, space.size)
    else:
        own = {k: v for k, v in (strategy_options or {}).items() if k in ("max_fevals", "time_limit")}
        _, budget, seconds, _ = plan(None, own, space.size)
    return budget, seconds_of_environment() if seconds is None else seconds


def _search(
    search: Search, runner: Runner, strategy: Any, strategy_options: Mapping[str, Any] | None, options: Options
) -> dict[str, Any]:
    """Searches; gives the environment."""
    try:
        name = _searched(runner, strategy, strategy_options, options)
    finally:
        search.close()
    if not search.results:
        first = search.failed[0]["reason"] if search.failed else "the time limit was over before"
        raise KerfError(f"tune_kernel: none of {len(search.failed)} configurations ran; the first: {first}")
    search.summarise()
    return {**_environment(search, runner), "strategy": name}


def _precision(
    evaluator: Evaluator, params: dict[str, Any], tolerance: float, tune_options: Mapping[str, Any] | None, quiet: bool
) -> Any:
    """Tunes the precision of a configuration."""
    device = evaluator.device
    w = evaluator.call.workload(params, evaluator.arguments.of(params), tolerance=tolerance)
    more: dict[str, Any] = {"profile": evaluator.profile} if device.gpu is None else dict(device.options)
    return tune(w, progress=not quiet, **{**more, **(tune_options or {})})


def run_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    params: Mapping[str, Any],
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    lang: str | None = None,
    device: int = 0,
    platform: int = 0,
    smem_args: Mapping[str, Any] | None = None,
    cmem_args: Mapping[str, Any] | None = None,
    texmem_args: Mapping[str, Any] | None = None,
    compiler: str | None = None,
    compiler_options: Sequence[str] | None = None,
    defines: Mapping[str, Any] | None = None,
    block_size_names: Sequence[str] | None = None,
    quiet: bool = False,
    log: Any = None,
    *,
    run_on: str | None = None,
    **unknown: Any,
) -> list[Any]:
    """Runs a kernel once as Kernel Tuner's ``run_kernel`` does; gives its arguments as they are afterwards.

    Arrays of numpy are not written to; arrays of other libraries (CuPy, PyTorch, Numba) are.
    """
    _refused({"texmem_args": texmem_args, "compiler": compiler, "log": log, "platform": platform, "unknown": unknown})
    call = KernelCall(
        kernel_name, kernel_source, problem_size, (grid_div_x, grid_div_y, grid_div_z), block_size_names,
        smem_args, cmem_args, defines, compiler_flags(compiler_options), language(lang, kernel_source),
    )  # fmt: skip
    call.check_parameters({k: [v] for k, v in params.items()})
    obstacle = call.obstacle(params)
    if obstacle is not None:
        raise KerfError(f"run_kernel: {obstacle}")
    where = _device(run_on, device, "h200", False, True)
    wanted = [_arrays.is_array(a) or isinstance(a, Tunable) for a in arguments]
    own = Arguments(arguments, wanted)
    args = own.of(params)
    w = call.workload(params, args, own.files)
    got = outputs_of(w.run(**where.options), w, args, wanted)
    out = []
    for given, result in zip(arguments, got):
        if result is None:
            out.append(given)
        elif isinstance(given, Tunable) or type(given).__module__.split(".")[0] == "numpy":
            out.append(result)
        else:
            _arrays.write_back(given, result)
            out.append(given)
    return out


def tune_cache(cache_path: str | os.PathLike[str], restrictions: Any = None, **more: Any) -> Any:
    """Searches among the configurations of a cache file, with its times."""
    from ._cache import read

    data = read(cache_path)
    params = {k: data["tune_params"][k] for k in data["tune_params_keys"]}
    taken = inspect.signature(tune_kernel).parameters
    given = {"simulation_mode": True, "quiet": True, **{k: v for k, v in more.items() if k in taken}}
    evaluated = {tuple(e[k] for k in params) for e in data["cache"].values() if all(k in e for k in params)}
    limits = [*(restrictions if isinstance(restrictions, (list, tuple)) else [restrictions] if restrictions else [])]
    known = [lambda p: tuple(p[k] for k in params) in evaluated, *limits]
    return tune_kernel(
        data["kernel_name"], "", data.get("problem_size", 1), [], params, restrictions=known, cache=cache_path, **given
    )
