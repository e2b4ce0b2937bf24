"""Evaluation of configurations: compiled, run, compared with the answer, timed, observed."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import inspect
import os
import threading
import time
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from . import _arrays
from ._closeness import RTOL, is_numpys
from ._configuration import KernelCall
from ._expressions import evaluate
from ._program import KerfError, UnsupportedError, call_json
from ._service import Service
from .accuracy import Tunable, TunablePrecision
from .observers import BenchmarkObserver, OutputObserver, PrologueObserver
from .workload import ArrayFiles, In, InOut, Run, Workload

#: What fails for want of a compiler or headers fails for every configuration.
OF_THE_MACHINE = ("the program kerf was not found", "clang 22 was not found", "no CUDA headers were found", "could not run ")
#: Seconds between two calls of an observer's ``during``.
DURING_S = 0.005
#: Configurations that are compiled while one is measured on a GPU; the measurement and the search need cores too.
AHEAD = min(6, (os.cpu_count() or 1) // 2)

#: Compiled configurations that are kept although they were not evaluated when they were expected.
REMEMBERED = 64

#: Elements that are compared at a time.
PIECE = 1 << 17

#: Parameters, the result or none, and why there is none.
Outcome = tuple[dict[str, Any], "dict[str, Any] | None", "str | None"]


@dataclasses.dataclass
class Device:
    """Where configurations run, as observers see it."""

    name: str
    #: Number of the GPU; None on the CPU executor.
    gpu: int | None = None
    env: dict[str, Any] = dataclasses.field(default_factory=dict)
    max_threads: int = 1024
    quiet: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The device in options of ``kerf run``."""
        return {"device": "cpu"} if self.gpu is None else {"device": "cuda", "gpu": self.gpu}


def gpu_here() -> bool:
    """Whether this machine has a GPU that Kerf can use."""
    _, doctor = call_json(["doctor"], accept=(0, 1, 2))
    return any(p["name"] == "GPU" and p["found"] for p in doctor["parts"])


class Arguments:
    """Arguments of a kernel: arrays on the host, once each, and which of them are compared."""

    def __init__(self, arguments: Sequence[Any], wanted: Sequence[bool] | None = None) -> None:
        self.given = list(arguments)
        self.wanted = list(wanted) if wanted is not None else None
        self.files = ArrayFiles()
        self._hosts: dict[tuple[int, int], np.ndarray] = {}
        self._keep: list[Any] = []  # arrays are known by their number, which is theirs while they live
        self._lock = threading.Lock()

    def _host(self, place: int, array: Any) -> np.ndarray:
        """The array at a place on the host. An array that is passed twice is two, as each argument has its own memory."""
        with self._lock:
            known = self._hosts.get((place, id(array)))
            if known is None:
                host = np.ascontiguousarray(_arrays.to_host(array))
                if host.size == 0:
                    host = np.zeros(1, host.dtype)  # a pointer to nothing that may be read
                known = self._hosts[(place, id(array))] = host.view() if host is array else host
                self._keep.append(array)
            return known

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of a configuration, as far as they are known before it is chosen."""
        arrays = [a.array if isinstance(a, TunablePrecision) else a for a in self.given]
        return sum(int(getattr(a, "nbytes", 0)) for a in arrays)

    def of(self, params: Mapping[str, Any]) -> list[Any]:
        """The arguments of a configuration."""
        out: list[Any] = []
        for i, a in enumerate(self.given):
            if isinstance(a, Tunable):
                a = a.select_for_configuration(params)
            if not _arrays.is_array(a):
                out.append(a)
            elif self.wanted is None:
                out.append(self._host(i, a))
            else:
                out.append((InOut if self.wanted[i] else In)(self._host(i, a)))
        return out


def outputs_of(run: Run, workload: Workload, args: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """What a kernel left in the arguments that are wanted, None for the others."""
    out = []
    for a, w in zip(args, wanted):
        name = workload.name_of(a) if w else None
        out.append(run.outputs[name] if name is not None else None)
    return out


def all_close(expected: np.ndarray, have: np.ndarray, atol: float) -> bool:
    """What ``numpy.allclose`` says of arrays in one row, a piece at a time: its temporary arrays stay in the cache."""
    if expected.shape != have.shape:
        return bool(np.allclose(expected, have, atol=atol))
    pieces = (slice(k, k + PIECE) for k in range(0, expected.size, PIECE))
    return all(np.allclose(expected[p], have[p], atol=atol) for p in pieces)


def _difference(c: Mapping[str, Any]) -> str:
    """How an output differs from the answer, which ``kerf run`` has compared."""
    said = f"{c['beyond']} of {c['values']} values are beyond the tolerance, the first at {c['first_beyond']}"
    if c["not_finite"]:
        said += f"; {c['not_finite']} of them NaN or infinite on a side"
    if c["beyond"] > c["not_finite"] and c["largest_difference"] is not None:
        said += f"; the largest difference is {c['largest_difference']:g}"
    return said


class Verification:
    """Whether an output is the answer: by ``numpy.allclose``, a function of the caller's, or observers alone."""

    def __init__(self, answer: Any, atol: float | None, verify: Any, arguments: Sequence[Any], judged_by_observers: bool) -> None:
        if answer is not None:
            if len(answer) != len(arguments):
                raise KerfError(f"tune_kernel: answer has {len(answer)} entries, and arguments {len(arguments)}")
            for i, (expected, a) in enumerate(zip(answer, arguments)):
                if expected is not None and not _arrays.is_array(a) and not isinstance(a, Tunable):
                    raise KerfError(f"tune_kernel: answer[{i}] stands for an argument that is not an array")
            answer = [_arrays.to_host(e) if e is not None and _arrays.is_array(e) else e for e in answer]
        self.answer, self.atol, self.verify = answer, atol, verify
        self._by_observers = judged_by_observers
        self.needed = answer is not None or verify is not None
        if not self.needed:
            self.wanted = None
        elif answer is not None:
            self.wanted = [e is not None for e in answer]
        else:
            self.wanted = [_arrays.is_array(a) or isinstance(a, Tunable) for a in arguments]

    def files(self, args: Sequence[Any], workload: Workload, files: ArrayFiles) -> dict[str, str] | None:
        """Files of what outputs are expected to be, by their names, where ``kerf run`` can compare them.

        None where this process has to: there is a function of the caller's, or numpy compares in other ways.
        """
        if self.verify is not None or self._by_observers or self.answer is None:
            return None
        found = {}
        for expected, a in zip(self.answer, args):
            if expected is None:
                continue
            name = workload.name_of(a)
            if name is None or not is_numpys(expected, a.array, self.tolerance):
                return None
            found[name] = files.path(expected)
        return found or None

    @property
    def tolerance(self) -> float:
        """The absolute tolerance."""
        return 1e-8 if self.atol is None else self.atol

    def refused(self, run: Run, workload: Workload, args: Sequence[Any]) -> str | None:
        """Why the output of a run, which was compared where it ran, is not the answer; None if it is."""
        found = {o["name"]: o.get("answer") for o in run.data["outputs"]}
        for i, (expected, a) in enumerate(zip(self.answer, args)):
            c = None if expected is None else found[workload.name_of(a)]
            if c is not None and not c["accepted"]:
                return f"argument {i} is not the answer: {_difference(c)}"
        return None

    def differs(self, got: Sequence[Any]) -> str | None:
        """Why an output is not the answer; None if it is."""
        if self.verify is not None:
            # As Kernel Tuner calls it: with all arguments at once.
            try:
                takes = "atol" in inspect.signature(self.verify).parameters
            except (TypeError, ValueError):
                takes = False
            good = self.verify(self.answer, got, atol=self.atol) if takes else self.verify(self.answer, got)
            return None if good else "verify says that it is not the answer"
        if self._by_observers or self.answer is None:
            return None
        for i, (expected, have) in enumerate(zip(self.answer, got)):
            if expected is not None and not all_close(np.ravel(expected), np.ravel(have), self.tolerance):
                return f"argument {i} is not the answer"
        return None


class Evaluator:
    """Evaluates configurations of one call of ``tune_kernel``."""

    def __init__(
        self,
        call: KernelCall,
        arguments: Sequence[Any],
        device: Device,
        verification: Verification,
        *,
        profile: str,
        iterations: int = 7,
        observers: Sequence[BenchmarkObserver] = (),
        metrics: Mapping[str, Any] | None = None,
    ) -> None:
        self.call, self.device, self.verification = call, device, verification
        self.profile, self.iterations, self.metrics = profile, iterations, dict(metrics or {})
        self.observers = list(observers)
        self.arguments = Arguments(arguments, verification.wanted)
        #: What compiles, runs and predicts all configurations.
        self.service = Service()
        self._expected: dict[tuple[Any, ...], concurrent.futures.Future[tuple[list[Any], Workload]]] = {}
        #: Of these, what was expected last, the likeliest first.
        self._likely: list[tuple[Any, ...]] = []
        self._compilers: concurrent.futures.ThreadPoolExecutor | None = None
        for o in self.observers:
            o.register_device(device)

    def _made(self, params: Mapping[str, Any]) -> tuple[list[Any], Workload]:
        """Arguments and workload of a configuration, compiled."""
        args = self.arguments.of(params)
        return args, self.call.workload(params, args, self.arguments.files, call=self.service.call_json)

    def expect(self, configs: Iterable[dict[str, Any]]) -> None:
        """Begins to compile configurations that are likely to be evaluated next, the likeliest first, while a GPU measures.

        What was expected before, and has not begun, does not hold these up.
        """
        if self.device.gpu is None or AHEAD == 0 or not self.call.is_plain:
            return
        if self._compilers is None:
            self._compilers = concurrent.futures.ThreadPoolExecutor(AHEAD)
        wanted = {tuple(params.values()): params for params in configs}
        for key in [k for k in self._expected if k not in wanted]:
            if self._expected[key].cancel():
                del self._expected[key]
        for key, params in wanted.items():
            # The likeliest to be evaluated are the last to be forgotten, and the first to go on to the driver.
            known = self._expected.pop(key, None)
            if known is not None:
                self._expected[key] = known
            elif self._can_be_launched(params):
                self._expected[key] = self._compilers.submit(self._made, params)
        self._likely = list(wanted)
        while len(self._expected) > REMEMBERED:
            del self._expected[next(iter(self._expected))]

    def _can_be_launched(self, params: Mapping[str, Any]) -> bool:
        try:
            return self.call.obstacle(params) is None
        except Exception:  # told when its turn comes
            return False

    def close(self) -> None:
        """Ends what compiles and runs configurations."""
        for f in self._expected.values():
            f.cancel()
        self.service.close()
        if self._compilers is not None:
            self._compilers.shutdown(cancel_futures=True)

    def evaluate(self, params: dict[str, Any]) -> Outcome:
        """Evaluates a configuration. What fails for every configuration is raised, what fails for this one is told."""
        try:
            why = self.call.obstacle(params)
            if why is not None:
                return params, None, why
            return self._evaluated(params)
        except UnsupportedError:
            raise
        except KerfError as e:
            if e.message.startswith(("tune_kernel:", "AccuracyObserver:", *OF_THE_MACHINE)):
                raise
            return params, None, str(e)

    def _evaluated(self, params: dict[str, Any]) -> Outcome:
        result = dict(params)
        clock = _Clock()
        expected = self._expected.pop(tuple(params.values()), None)
        # What waits behind others is made at once.
        ready = expected is not None and not expected.cancel()
        args, w = expected.result() if expected is not None and ready else self._made(params)
        result["compile_time"] = clock.passed_ms()
        result["verification_time"] = 0.0
        run, answers = None, None
        if self.device.gpu is not None or self.verification.needed or self.observers:
            answers = self.verification.files(args, w, self.arguments.files)
            run = self._run(w, params, answers)
        if run is not None and self.verification.needed:
            why = self._refused(run, w, args, answers is not None)
            if why is not None:
                return params, None, why
            result["verification_time"] = clock.passed_ms()
        self._time(w, run, result)
        result["benchmark_time"] = clock.passed_ms()
        result.update(strategy_time=0.0, framework_time=0.0)
        result["timestamp"] = datetime.datetime.now(datetime.timezone.utc).isoformat()
        for o in self.observers:
            result.update(o.get_results())
        for name, m in self.metrics.items():
            result[name] = evaluate(m, result)
        return params, result, None

    def _refused(self, run: Run, w: Workload, args: Sequence[Any], compared: bool) -> str | None:
        """Why an output is not the answer; None if it is. ``compared``: where it ran."""
        if compared:
            return self.verification.refused(run, w, args)
        got = outputs_of(run, w, args, self.verification.wanted or [])
        for o in self.observers:
            if isinstance(o, OutputObserver):
                o.process_output(self.verification.answer, got)
        return self.verification.differs(got)

    def _time(self, w: Workload, run: Run | None, result: dict[str, Any]) -> None:
        """The time of a configuration in milliseconds: measured on a GPU, predicted elsewhere."""
        if run is not None and self.device.gpu is not None:
            result["times"] = [1e3 * t for t in run.times_s]
            result["time"] = 1e3 * run.data["times"]["median_s"]
            result["kind"] = "measured"
        if self.device.gpu is None or self._asking("process_prediction"):
            prediction = w.predict(profile=self.profile)
            for o in self._asking("process_prediction"):
                o.process_prediction(prediction)  # type: ignore[attr-defined]
            if self.device.gpu is None:
                # Without what a launch costs the host: what a timer on a GPU shows.
                seconds = sum(launch["device_seconds"] * launch["repeats"] for launch in prediction["launches"])
                result["time"], result["kind"] = 1e3 * seconds, "predicted"

    def _asking(self, name: str) -> list[BenchmarkObserver]:
        return [o for o in self.observers if hasattr(o, name)]

    def _run(self, w: Workload, params: Mapping[str, Any], answers: Mapping[str, str] | None) -> Run:
        """Runs a configuration with its observers around it. Outputs with files are compared where they are."""
        wanted = self.verification.needed and answers is None
        options: dict[str, Any] = {**self.device.options, "outputs": wanted, "no_digests": True}
        compared = {} if answers is None else {"answer": answers, "rtol": RTOL, "atol": float(self.verification.tolerance)}
        options.update(compared)
        if self.device.gpu is None:
            options.update(repeats=1, warmup=0)
        else:
            options.update(repeats=self.iterations, warmup=1)
            energy_s = [o.continuous_duration for o in self._asking("wants_energy") if o.wants_energy]  # type: ignore[attr-defined]
            if energy_s:
                options["energy"] = float(max(energy_s))
        # What was compiled by now goes on to the driver.
        likely = [self._expected[k] for k in self._likely if k in self._expected]
        ready = [f for f in likely if f.done() and f.exception() is None]
        if ready:
            w.expect([f.result()[1] for f in ready[:AHEAD]])
        for o in self.observers:
            o.register_configuration(dict(params))
        for o in [o for o in self.observers if isinstance(o, PrologueObserver)]:
            _observed([o], w, {**options, **dict.fromkeys(compared), "repeats": 1, "outputs": False, "energy": None})
        run = _observed([o for o in self.observers if not isinstance(o, PrologueObserver)], w, options)
        energy: dict[str, float] = run.data.get("energy") or {}
        for o in self._asking("process_energy") if energy else []:
            o.process_energy(energy["per_run_j"], energy["mean_w"])  # type: ignore[attr-defined]
        return run


def _observed(observers: Sequence[BenchmarkObserver], w: Workload, options: dict[str, Any]) -> Run:
    """A run of a workload, with the observers' calls around it."""
    if not observers:
        return w.run(**options)
    for o in observers:
        o.before_start()
    ended: list[Any] = []

    def work() -> None:
        try:
            ended.append(w.run(**options))
        except BaseException as e:  # raised where it was asked for
            ended.append(e)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    for o in observers:
        o.after_start()
    while worker.is_alive():
        for o in observers:
            o.during()
        worker.join(DURING_S)
    for o in observers:
        o.after_finish()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    run: Run = ended[0]
    return run


class _Clock:
    """Milliseconds since it was last asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def passed_ms(self) -> float:
        now = time.perf_counter()
        passed, self._last = 1e3 * (now - self._last), now
        return passed
