"""Kerf: the fastest version of a GPU kernel that stays within an error tolerance.

``compile`` shows what is in a source, ``Workload`` makes a run of kernels from numpy arrays, ``tune`` finds the
fastest version within a tolerance, ``judge`` compares a kernel with another one, ``tune_kernel`` reads a call of Kernel Tuner's, and
``from_numba``, ``from_triton`` and ``from_cupy`` make workloads of kernels of these. All of it is done by the
program ``kerf``, which comes with this package; its failures are raised as ``KerfError`` with the text that the
command line prints.
"""

from ._program import KerfError, KerfWarning, program
from .compiled import Program, compile
from .frontends import from_cupy, from_numba, from_triton
from .judgement import Judgement, judge
from .kernel_tuner import tune_kernel
from .result import Result, load, tune
from .workload import In, InOut, Launch, Out, Run, Workload

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
    "Workload",
    "compile",
    "from_cupy",
    "from_numba",
    "from_triton",
    "judge",
    "load",
    "program",
    "tune",
    "tune_kernel",
]
