"""``tune_kernel``, ``run_kernel`` and ``tune_cache`` by the name of the module that Kernel Tuner has them in."""

from .kernel_tuner import run_kernel, tune_cache, tune_kernel

__all__ = ["run_kernel", "tune_cache", "tune_kernel"]
