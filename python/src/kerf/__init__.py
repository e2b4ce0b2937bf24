"""Kerf: the fastest version of a GPU kernel that stays within an error tolerance.

``compile`` shows what is in a source, ``Workload`` makes a run of kernels from numpy arrays, ``tune`` finds the
fastest version within a tolerance, ``judge`` compares a kernel with another one, and ``from_numba``, ``from_triton``
and ``from_cupy`` make workloads of kernels of these. ``tuned`` makes a kernel of CuPy or Numba tune itself at its first
call. ``tune_kernel``, ``run_kernel`` and the modules beside them read scripts of Kernel Tuner. All of it is done by the
program ``kerf``, which comes with this package; its failures are raised as ``KerfError`` with the text that the
command line prints.
"""

from typing import Any

from . import _absent, accuracy, file_utils, interface, observers, searchspace, strategies, util
from ._program import KerfError, KerfWarning, UnsupportedError, program
from .compiled import Program, compile
from .frontends import from_cupy, from_numba, from_triton
from .judgement import Judgement, judge
from .kernel_tuner import run_kernel, tune_cache, tune_kernel
from .result import Result, load, tune
from .selftuning import TunedKernel, tuned
from .workload import In, InOut, Launch, Out, Run, Workload

_absent.install()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("kerf-gpu")
        except metadata.PackageNotFoundError:
            raise AttributeError("the package kerf-gpu is not installed: its files are used where they are") from None
    why = _absent.refusal(name)
    raise why or AttributeError(f"module 'kerf' has no attribute {name!r}")


__all__ = [
    "In",
    "InOut",
    "Judgement",
    "KerfError",
    "KerfWarning",
    "Launch",
    "Out",
    "Program",
    "Result",
    "Run",
    "TunedKernel",
    "UnsupportedError",
    "Workload",
    "accuracy",
    "compile",
    "file_utils",
    "from_cupy",
    "from_numba",
    "from_triton",
    "interface",
    "judge",
    "load",
    "observers",
    "program",
    "run_kernel",
    "searchspace",
    "strategies",
    "tune",
    "tune_cache",
    "tune_kernel",
    "tuned",
    "util",
]
