"""Modules and functions of Kernel Tuner's that Kerf has no counterpart for: importing them says why."""

from __future__ import annotations

import sys
from typing import Any

from ._program import UnsupportedError

#: Their names below ``kernel_tuner``, and why they are not here.
MODULES = {
    "backends": "kernels are compiled and run by the program kerf",
    "core": "kernels are compiled and run by the program kerf",
    "hyper": "settings of strategies are not tuned",
    "runners": "kerf.kernel_tuner.Runner evaluates configurations",
    "utils": "directives (OpenACC, OpenMP) and Fortran are not read",
    "observers.cupy": "times are the program's own",
    "observers.hip": "Kerf makes code for NVIDIA GPUs",
    "observers.nvcuda": "times are the program's own",
    "observers.opencl": "times are the program's own",
    "observers.pycuda": "times are the program's own",
    "observers.compiler": "host code is not tuned",
    "strategies.pyatf_strategies": "spaces of pyATF are not read",
    "strategies.pymoo_minimize": "brute_force and random_sample give the results for several objectives",
    "strategies.skopt": "guided models time by a Gaussian process too",
}
FUNCTIONS = {"tune_kernel_T1": "kerf search reads and writes T1 files"}


def refusal(name: str) -> UnsupportedError | None:
    """Why a name of Kernel Tuner's is not here; None for others."""
    parts = name.split(".")
    known = {**MODULES, **FUNCTIONS}
    for k in range(1, len(parts) + 1):
        why = known.get(".".join(parts[:k]))
        if why is not None:
            return UnsupportedError(f"kernel_tuner.{name} has no counterpart in Kerf: {why}")
    return None


class _Finder:
    """Says why a module is not here, where the import system would say that it is not found."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, name = fullname.partition(".")
        why = refusal(name) if package == __package__ and name else None
        if why is not None:
            raise why


def install() -> None:
    """Has imports of these modules refused by name. It comes after all other finders."""
    sys.meta_path[:] = [f for f in sys.meta_path if getattr(f, "__module__", None) != __name__]
    sys.meta_path.append(_Finder)
