"""Classes that observers are derived from.

A configuration runs in a process of ``kerf``, with all of its iterations. So ``before_start``, ``after_start`` and
``after_finish`` are called once a configuration, around that run, and ``during`` again and again while it goes on.
``get_results`` adds to the configuration's result; metrics and the objective can use what it gives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Mapping, Sequence


class BenchmarkObserver(ABC):
    """What observes the run of each configuration."""

    #: The device: ``name``, ``gpu`` (its number) or None on the CPU, ``env``.
    dev: Any = None

    def register_device(self, dev: Any) -> None:
        """Called once, before anything runs."""
        self.dev = dev

    def register_configuration(self, params: Mapping[str, Any]) -> None:
        """Called with each configuration before it runs."""

    def before_start(self) -> None:
        """Called before the run begins."""

    def after_start(self) -> None:
        """Called when the run has begun."""

    def during(self) -> None:
        """Called again and again while the run goes on."""

    def after_finish(self) -> None:
        """Called when the run has ended."""

    @abstractmethod
    def get_results(self) -> dict[str, Any]:
        """What was observed, by name; called once a configuration."""


class IterationObserver(BenchmarkObserver):
    """An observer of iterations; as every observer, it sees all iterations of a configuration as one run."""


class ContinuousObserver(BenchmarkObserver):
    """An observer that another one starts for a longer run."""

    def __init__(self, name: str, observables: Sequence[str], parent: Any, continuous_duration: float = 1) -> None:
        self.name, self.observables, self.parent = name, list(observables), parent
        self.continuous_duration = continuous_duration
        self.results: dict[str, Any] = {}

    def get_results(self) -> dict[str, Any]:
        """What was observed since it was last asked."""
        results, self.results = self.results, {}
        return results


class OutputObserver(BenchmarkObserver):
    """An observer of what a kernel computed. Where there is one, it judges outputs in place of ``numpy.allclose``."""

    @abstractmethod
    def process_output(self, answer: Any, output: Any) -> Any:
        """Called with the lists of all arguments: the answer that ``tune_kernel`` got, and what was computed."""

    def get_results(self) -> dict[str, Any]:
        """Nothing by default."""
        return {}


class PrologueObserver(BenchmarkObserver):
    """An observer of a run of its own, before the timed one."""
