"""One search of ``tune_kernel``: what is evaluated, kept, said, and when it ends."""

from __future__ import annotations

import concurrent.futures
import os
import re
import sys
import threading
import time
import warnings
from typing import Any, Iterable, Mapping, Sequence

from ._cache import Cache
from ._evaluation import AHEAD, Evaluator, Outcome
from ._objective import Objective
from ._program import KerfError, KerfWarning
from .util import RuntimeFailedConfig, StopCriterionReached, get_config_string

#: A search ends where so many configurations, the first, have failed for the same reason and none has run.
SAME_FAILURES = 24
#: Words of reasons that another configuration need not have.
RESOURCES = re.compile(r"threads|shared memory|registers|is not the answer")
#: Seconds that a search may take where the script gives no ``time_limit``.
SECONDS = "KERF_TUNE_KERNEL_SECONDS"


class Clock:
    """Whether a limit in seconds is over."""

    def __init__(self, seconds: float | None) -> None:
        self.began = time.monotonic()
        self.limit_s = None if seconds is None else float(seconds)

    def spent_s(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.began

    def over(self) -> bool:
        """Whether the limit is over."""
        return self.limit_s is not None and self.spent_s() >= self.limit_s


def seconds_of_environment() -> float | None:
    """The limit that ``KERF_TUNE_KERNEL_SECONDS`` sets for scripts that cannot be changed."""
    text = os.environ.get(SECONDS, "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds > 0:
        raise KerfError(f"{SECONDS} is {text!r}, and seconds are expected")
    return seconds


def _alike(why: str) -> str:
    """A reason without what differs between configurations: numbers, files."""
    return re.sub(r"\S*/\S+|\d+(\.\d+)?|-D\S+", "", why)


class Search:
    """Evaluates configurations, each once, and keeps their results in order."""

    def __init__(
        self,
        evaluator: Evaluator,
        names: Sequence[str],
        objective: Objective,
        cache: Cache,
        *,
        budget: int,
        seconds: float | None = None,
        at_once: int = 1,
        simulation: bool = False,
        quiet: bool = False,
        verbose: bool = False,
    ) -> None:
        self.evaluator, self.names, self.objective = evaluator, list(names), objective
        self.budget, self.at_once, self.clock = budget, at_once, Clock(seconds)
        self.results: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []
        self._cache, self._simulation = cache, simulation
        self._quiet, self._verbose = quiet, verbose
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._reasons: dict[str, int] = {}
        self._writing = threading.Lock()
        self._workers = concurrent.futures.ThreadPoolExecutor(at_once)
        evaluator.service.workers = at_once

    @property
    def done(self) -> int:
        """Configurations that were evaluated."""
        return len(self.results) + len(self.failed)

    def over(self) -> bool:
        """Whether the budget is used, or the time."""
        return self.done >= self.budget or self.clock.over()

    def _one(self, params: dict[str, Any]) -> Outcome:
        known = self._cache.get(params)
        if known is not None:
            return params, *known
        if self._simulation:
            return params, None, "it is not in the cache"
        params, result, why = self.evaluator.evaluate(params)
        with self._writing:
            self._cache.put(params, result, why)
        return params, result, why

    def evaluate(self, configs: Iterable[Sequence[Any]], likely: Iterable[Sequence[Any]] = ()) -> list[dict[str, Any]]:
        """Results of configurations; that of one that failed has an error in the place of its objective.

        ``likely`` are those that may well be asked for next.
        """
        wanted = [tuple(c) for c in configs]
        new = [c for c in dict.fromkeys(wanted) if c not in self._known]
        later = [c for c in dict.fromkeys(map(tuple, likely)) if c not in self._known and c not in new]
        for k in range(0, len(new), self.at_once):
            if self.over():
                raise StopCriterionReached("max_fevals" if self.done >= self.budget else "time_limit")
            some = new[k : k + min(self.at_once, self.budget - self.done)]
            self._expect([*new[k + len(some) :], *later][: self.budget - self.done - len(some)])
            for config, outcome in zip(some, self._workers.map(self._one, [dict(zip(self.names, c)) for c in some])):
                self._known[config] = self._noted(*outcome)
        return [self._known[c] for c in wanted if c in self._known]

    def _expect(self, following: Sequence[Sequence[Any]]) -> None:
        """Has configurations compiled that come next, those that a cache does not have."""
        configs = [dict(zip(self.names, c)) for c in following[:AHEAD]]
        if not self._simulation:
            self.evaluator.expect([c for c in configs if self._cache.get(c) is None])

    def costs(
        self, configs: Sequence[Mapping[str, Any]], likely: Sequence[Mapping[str, Any]] = ()
    ) -> list[float | None] | None:
        """What is to be small for each configuration, for a strategy of Kerf's; None when the time is over."""
        if self.clock.over():
            return None
        try:
            results = self.evaluate(*([tuple(c[n] for n in self.names) for c in some] for some in (configs, likely)))
        except StopCriterionReached:
            return None
        return [self._positive(r) for r in results]

    def _positive(self, result: Mapping[str, Any]) -> float | None:
        value = None if isinstance(result.get(self.objective.names[0]), str) else self.objective.value(result)
        if value is None or value <= 0:
            return None
        return 1.0 / value if self.objective.higher[0] else value

    def _noted(self, params: dict[str, Any], result: dict[str, Any] | None, why: str | None) -> dict[str, Any]:
        if result is not None:
            self.objective.value(result)  # refuses an objective that is nowhere
            self.results.append(result)
            if not self._quiet:
                shown = {k: v for k, v in result.items() if k in (*params, "time", *self.objective.names, *self._metrics())}
                self._say(f"{self.done} of {self.budget}: {get_config_string(shown, units={'time': 'ms'})}")
            return result
        reason = str(why)
        self.failed.append({**params, "reason": reason})
        alike = _alike(reason)
        self._reasons[alike] = self._reasons.get(alike, 0) + 1
        launched = [f for f in self.failed if not RESOURCES.search(f["reason"])]
        if not self.results and len(launched) == SAME_FAILURES and len({_alike(f["reason"]) for f in launched}) == 1:
            raise KerfError(
                f"tune_kernel: the first {SAME_FAILURES} configurations all failed, and alike; the first, "
                f"{get_config_string(params)}: {launched[0]['reason']}"
            )
        return {**params, self.objective.names[0]: RuntimeFailedConfig(reason)}

    def _metrics(self) -> list[str]:
        return list(self.evaluator.metrics)

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the workers, and what they have started."""
        self.evaluator.close()
        self._workers.shutdown(cancel_futures=True)

    def summarise(self) -> None:
        """Says each reason of failures once, and whether the time ended the search."""
        if self._quiet:
            return
        for alike, count in self._reasons.items():
            first = next(f for f in self.failed if _alike(f["reason"]) == alike)
            lines = first["reason"].split("\n")
            shown = lines if self._verbose else lines[: 2 if lines[0].endswith(":") else 1]
            self._say(f"{count} of {self.done} configurations failed: " + "\n  ".join(shown))
        if self.clock.over() and self.done < self.budget:
            warnings.warn(
                f"the search ended after {self.clock.spent_s():.0f} s (time_limit, or {SECONDS}) with {self.done} of "
                f"{self.budget} configurations",
                KerfWarning,
                stacklevel=3,
            )
