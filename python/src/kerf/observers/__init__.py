"""Observers of ``tune_kernel``: what is read while configurations run, with the interface of Kernel Tuner's observers."""

from .observer import BenchmarkObserver, ContinuousObserver, IterationObserver, OutputObserver, PrologueObserver

__all__ = ["BenchmarkObserver", "ContinuousObserver", "IterationObserver", "OutputObserver", "PrologueObserver"]
