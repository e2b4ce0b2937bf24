"""``tune_kernel``: a call of Kernel Tuner's, done by Kerf.

Names and meaning are those of Kernel Tuner's documented interface. Every configuration is compiled with its
parameters as macros, run, compared with ``answer`` where there is one, and timed: measured on a GPU, predicted for a
device profile elsewhere. What has no counterpart is refused by name.
"""

import concurrent.futures
import inspect
import itertools
import math
import os
import re
import sys
import threading
import warnings

import numpy as np

from ._cache import Cache
from ._program import KerfError, KerfWarning, call_json
from ._strategy import Clock, drive, plan
from ._strategy import refuse as _refuse
from .result import tune
from .workload import In, InOut, Workload

BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
LANGUAGES = {"cuda": "cuda", "cupy": "cuda", "nvcuda": "cuda", "opencl": "opencl"}


# Objectives of Kernel Tuner's, and whether more is better.
OBJECTIVES = {
    **dict.fromkeys(["time", "energy", "fitness", "cost", "loss", "duration"], False),
    **dict.fromkeys(["GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J"], True),
}


def _evaluate(expression, params):
    """An expression of Kernel Tuner's: Python over the names of parameters, or a function of them."""
    if callable(expression):
        return expression(params)
    if not isinstance(expression, str):
        return expression
    try:
        return eval(expression, {"__builtins__": {}, "min": min, "max": max, "abs": abs, "round": round}, dict(params))
    except Exception as e:
        raise KerfError(f"tune_kernel: {expression!r} of {dict(params)}: {type(e).__name__}: {e}") from None


def _allowed(restrictions, params):
    """Whether a configuration satisfies expressions, functions of a dictionary or of parameters by name, or lists."""
    if restrictions is None:
        return True
    if isinstance(restrictions, str):
        return bool(_evaluate(restrictions, params))
    if callable(restrictions):
        return bool(_called(restrictions, params))
    if not isinstance(restrictions, (list, tuple)):
        _refuse(f"restrictions {type(restrictions).__name__}", "use expressions, functions, or a list of them")
    return all(_allowed(r, params) for r in restrictions)


def _called(function, params):
    """A function of a dictionary, or one whose arguments are names of parameters."""
    try:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        names = []
    if names and (len(names) > 1 or names[0] in params) and all(n in params for n in names):
        return function(**{n: params[n] for n in names})
    return function(dict(params))


def _sizes(problem_size, params):
    size = problem_size(params) if callable(problem_size) else problem_size
    size = [size] if isinstance(size, (int, np.integer, str, float)) else list(size)
    size = [_evaluate(s, params) for s in size]
    return [*size, 1, 1, 1][:3]


def _divisor(given, name, params):
    if given is None:
        return params.get(name, 1)
    if callable(given):
        return given(params)
    return math.prod(_evaluate(e, params) for e in given)


def _shape(problem_size, divs, names, params):
    """Grid and block of a configuration."""
    size = _sizes(problem_size, params)
    divisors = [_divisor(d, n, params) for d, n in zip(divs, names)]
    grid = [max(1, math.ceil(s / d)) for s, d in zip(size, divisors)]
    block = [int(params.get(n, d)) for n, d in zip(names, (256, 1, 1))]
    return grid, block


def _macro(v):
    return int(v) if isinstance(v, (bool, np.bool_)) else v


def _flags(defines, params, grid, block, options):
    if defines is None:
        named = {"kernel_tuner": 1, **params}
        named.update({f"grid_size_{a}": g for a, g in zip("xyz", grid)})
        named.update({n: b for n, b in zip(BLOCK_NAMES, block)})
    else:
        named = {k: v(params) if callable(v) else v for k, v in defines.items()}
    return [f"-D{k}={_macro(v)}" for k, v in named.items()] + list(options or [])


def _source(kernel_source, params):
    if callable(kernel_source):
        return kernel_source(params)
    if isinstance(kernel_source, (list, tuple)):
        return _source(kernel_source[0], params)
    return kernel_source


def _arguments(arguments, answer):
    """Arguments as buffers: what ``answer`` has is an output, as is what a pointer to const does not say otherwise."""
    out = []
    for i, a in enumerate(arguments):
        if isinstance(a, np.ndarray) and a.ndim > 0 and answer is not None:
            out.append(InOut(a) if answer[i] is not None else In(a))
        else:
            out.append(a)
    return out


def _differs(run, workload, args, answer, atol, verify):
    """Why a run is not the answer; None if it is."""
    got, names = [], []
    for i, expected in enumerate(answer):
        if expected is not None and not isinstance(args[i], InOut):
            raise KerfError(f"tune_kernel: answer[{i}] stands for an argument that is not an array")
        names.append(None if expected is None else workload._known[id(args[i])])
        got.append(None if expected is None else run.outputs[names[-1]])
    if verify is not None:
        # As Kernel Tuner calls it: with all arguments at once.
        try:
            takes = "atol" in inspect.signature(verify).parameters
        except (TypeError, ValueError):
            takes = False
        good = verify(answer, got, atol=atol) if takes else verify(answer, got)
        return None if good else "verify says that it is not the answer"
    for name, expected, have in zip(names, answer, got):
        if name is not None and not np.allclose(np.ravel(expected), np.ravel(have), atol=atol):
            return f"{name} is not the answer"
    return None


def _metrics(metrics, result):
    for name, m in (metrics or {}).items():
        result[name] = _evaluate(m, result)


def _options(given):
    """Compiler options that clang has too; nvcc's others are named and left out."""
    kept, left, words = [], [], list(given or [])
    while words:
        w = str(words.pop(0))
        if w in ("-I", "-D", "-U", "-include", "-std", "--std") and words:
            kept.append(w.replace("--", "-") + ("=" if w.endswith("std") else "") + str(words.pop(0)))
        elif w.startswith(("-I", "-D", "-U", "-std=")):
            kept.append(w)
        elif w.startswith("--std="):
            kept.append(w[1:])
        else:
            left.append(w)
    if left:
        warnings.warn(
            f"compiler_options {left} are left out: clang optimises as Kerf asks it to; "
            "kerf.tune(..., what='approx') chooses what -use_fast_math does everywhere",
            KerfWarning,
            stacklevel=3,
        )
    return kept


def _device_seconds(prediction):
    """Seconds on the device, without what a launch costs the host: what a timer on a GPU shows."""
    return sum(launch["device_seconds"] * launch["repeats"] for launch in prediction["launches"])


def _gpu_here():
    _, doctor = call_json(["doctor"], accept=(0, 1, 2))
    return any(p["name"] == "GPU" and p["found"] for p in doctor["parts"])


def tune_kernel(
    kernel_name,
    kernel_source,
    problem_size,
    arguments,
    tune_params,
    grid_div_x=None,
    grid_div_y=None,
    grid_div_z=None,
    restrictions=None,
    answer=None,
    atol=1e-6,
    verify=None,
    verbose=False,
    lang=None,
    device=0,
    platform=0,
    smem_args=None,
    cmem_args=None,
    texmem_args=None,
    compiler=None,
    compiler_options=None,
    defines=None,
    log=None,
    iterations=7,
    block_size_names=None,
    quiet=False,
    strategy=None,
    strategy_options=None,
    cache=None,
    metrics=None,
    simulation_mode=False,
    observers=None,
    objective=None,
    objective_higher_is_better=None,
    *,
    run_on=None,
    profile="h200",
    tolerance=None,
    tune_options=None,
):
    """Tunes a kernel as Kernel Tuner's ``tune_kernel`` does; gives ``(results, env)``.

    ``results`` has a dictionary for each configuration that ran: its parameters, ``time`` in milliseconds,
    ``kind`` (measured or predicted), ``times`` where they were measured, and the metrics. ``env["best"]`` is the best
    of them, ``env["failed"]`` has those that did not run or were not the answer, with the reason.

    Of Kerf's own: ``run_on`` is "cuda" or "cpu" (by default the GPU number ``device`` if this machine has one, else
    the CPU, with times predicted for ``profile``). ``env["strategy"]`` names the strategy that ran. With ``tolerance`` the best configuration's precision is tuned
    too, with ``tune_options`` for ``kerf.tune``; ``env["tuned"]`` is the ``kerf.Result``.
    """
    for name, value, why in [
        ("texmem_args", texmem_args, "textures are not read"),
        ("compiler", compiler, "clang 22 compiles; KERF_CLANG names another"),
        ("log", log, "progress goes to standard error"),
        ("observers", observers or None, "kerf run --energy measures energy"),
        ("platform", platform or None, "OpenCL C is run as CUDA is"),
    ]:
        if value is not None:
            _refuse(name, why)
    if lang is not None and lang.lower() not in LANGUAGES:
        _refuse(f"lang {lang!r}", "kernels are CUDA C++ or OpenCL C")
    language = LANGUAGES[lang.lower()] if lang else None
    if smem_args and set(smem_args) != {"size"}:
        _refuse(f"smem_args {sorted(set(smem_args) - {'size'})}", "only size is known")
    if answer is not None and len(answer) != len(arguments):
        raise KerfError(f"tune_kernel: answer has {len(answer)} entries, and arguments {len(arguments)}")
    for name, values in tune_params.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise KerfError(f"tune_kernel: the parameter {name!r} is no name of C")
        if len(values) == 0:
            raise KerfError(f"tune_kernel: the parameter {name} has no values")
    names = [*(block_size_names or []), *BLOCK_NAMES[len(block_size_names or []) :]]
    objective = objective or "time"
    if not isinstance(objective, str):
        _refuse(f"objective {objective!r}", "one is optimised; metrics has the others")
    higher = OBJECTIVES.get(objective) if objective_higher_is_better is None else bool(objective_higher_is_better)
    if higher is None:
        raise KerfError(
            f"tune_kernel: whether more of {objective!r} is better is not known", "set objective_higher_is_better"
        )
    if simulation_mode and cache is None:
        raise KerfError("tune_kernel: simulation_mode takes its times from a cache", "name a file as cache")
    if run_on is None:
        run_on = "cuda" if not simulation_mode and _gpu_here() else "cpu"
    if run_on == "cpu" and not quiet and not simulation_mode:
        warnings.warn(
            f"times are predicted for profile {profile}; run_on='cuda' measures them on a GPU", KerfWarning, stacklevel=2
        )

    keys = list(tune_params)
    every = [dict(zip(keys, values)) for values in itertools.product(*tune_params.values())]
    configs = [p for p in every if _allowed(restrictions, p)]
    if not configs:
        raise KerfError("tune_kernel: no configuration satisfies the restrictions")
    name, budget, seconds, seed = plan(strategy, strategy_options, len(configs))
    args = _arguments(arguments, answer)
    include = ["-I" + os.getcwd(), *_options(compiler_options)]
    kept = Cache(cache, kernel_name, problem_size, tune_params, objective, f"{run_on} {device}" if run_on == "cuda" else profile)

    def workload(params, **more):
        grid, block = _shape(problem_size, (grid_div_x, grid_div_y, grid_div_z), names, params)
        shared = _evaluate(smem_args["size"], params) if smem_args else None
        return Workload(
            _source(kernel_source, params),
            kernel_name,
            grid,
            block,
            args,
            shared=None if shared is None else int(shared),
            symbols=dict(cmem_args or {}),
            flags=_flags(defines, params, grid, block, include),
            language=language,
            **more,
        )

    def one(params):
        known = kept.get(params)
        if known is not None:
            return params, *known
        if simulation_mode:
            return params, None, "it is not in the cache"
        params, result, why = evaluated(params)
        with writing:
            kept.put(params, result, why)
        return params, result, why

    def evaluated(params):
        try:
            w = workload(params)
            where = {"device": run_on, "gpu": device} if run_on == "cuda" else {}
            run = w.run(repeats=iterations if run_on == "cuda" else 1, warmup=1 if run_on == "cuda" else 0, **where)
            if answer is not None:
                wrong = _differs(run, w, args, answer, atol, verify)
                if wrong:
                    return params, None, wrong
            result = dict(params)
            if run_on == "cuda":
                result["times"] = [1e3 * t for t in run.times_s]
                result["time"] = 1e3 * run.data["times"]["median_s"]
                result["kind"] = "measured"
            else:
                result["time"] = 1e3 * _device_seconds(w.predict(profile=profile))
                result["kind"] = "predicted"
            _metrics(metrics, result)
            return params, result, None
        except KerfError as e:
            if e.message.startswith("tune_kernel:"):
                raise
            return params, None, str(e)

    results, failed, writing = [], [], threading.Lock()
    clock = Clock(seconds)
    # On a GPU one at a time: two would disturb each other's times.
    at_once = 1 if run_on == "cuda" else max(1, os.cpu_count() or 1)

    def noted(params, result, why):
        if result is None:
            failed.append({**params, "reason": why})
        else:
            results.append(result)
        if not quiet and (verbose or result is not None):
            told = why if result is None else f"{objective} {result.get(objective)}"
            done = len(results) + len(failed)
            print(f"{done} of {budget}: {params}: {told}", file=sys.stderr, flush=True)
        value = None if result is None else result.get(objective)
        if result is not None and value is None:
            raise KerfError(f"tune_kernel: the objective {objective!r} is neither time nor a metric")
        # A strategy wants something positive that is to be small.
        return None if value is None or value <= 0 else float(1.0 / value if higher else value)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:

        def measure(some):
            return None if clock.over() else [noted(*r) for r in pool.map(one, some)]

        if name is None:
            for k in range(0, budget, at_once):
                if measure(configs[k : min(k + at_once, budget)]) is None:
                    break
            ended = "time_limit" if clock.over() else "exhausted" if budget == len(configs) else "budget"
        else:
            ended = drive(name, tune_params, configs, budget, seed, at_once, measure)
    if not results:
        raise KerfError(
            f"tune_kernel: none of {len(failed)} configurations ran; the first: "
            + (failed[0]["reason"] if failed else "the time limit was over before")
        )
    best = (max if higher else min)(results, key=lambda r: r[objective])
    env = {"best": best, "failed": failed, "device": run_on, "profile": profile if run_on == "cpu" else None}
    env.update(strategy=name or "brute_force", ended=ended, configurations=len(configs))
    if tolerance is not None:
        w = workload({k: best[k] for k in keys}, tolerance=tolerance)
        more = {"device": run_on, "gpu": device} if run_on == "cuda" else {"profile": profile}
        env["tuned"] = tune(w, progress=not quiet, **{**more, **(tune_options or {})})
    return results, env
