"""A kernel as a function of Python: ``PythonKernel`` of Kernel Tuner's interface."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from . import _arrays
from ._configuration import KernelCall, language
from ._evaluation import Arguments, gpu_here, outputs_of
from ._program import KerfError
from ._service import Service


class PythonKernel:
    """A kernel in one configuration; calling it runs it and gives its outputs as a list.

    ``inputs`` says which arguments a call brings (others keep what they had here), ``outputs`` which are given back;
    by default all arrays are both. Arrays of CuPy, PyTorch and Numba are written to. For calls that are to stay on the
    GPU ``kerf.tuned`` launches kernels on arrays where they are.
    """

    def __init__(
        self,
        kernel_name: str,
        kernel_string: Any,
        problem_size: Any,
        arguments: Sequence[Any],
        params: Mapping[str, Any] | None = None,
        inputs: Sequence[bool] | None = None,
        outputs: Sequence[bool] | None = None,
        device: int = 0,
        platform: int = 0,
        block_size_names: Sequence[str] | None = None,
        grid_div_x: Any = None,
        grid_div_y: Any = None,
        grid_div_z: Any = None,
        verbose: bool = True,
        lang: str | None = None,
        results_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self._call = KernelCall(
            kernel_name,
            kernel_string,
            problem_size,
            (grid_div_x, grid_div_y, grid_div_z),
            block_size_names,
            language=language(lang, kernel_string),
        )
        if params is None and results_file is not None:
            from .integration import TuneResults

            params = TuneResults(results_file).get_best_config(problem_size=problem_size)
        self.params = dict(params or {})
        self.arguments = list(arguments)
        arrays = [_arrays.is_array(a) for a in self.arguments]
        self.inputs = list(inputs) if inputs is not None else [True] * len(arrays)
        self.outputs = list(outputs) if outputs is not None else arrays
        for name, flags in (("inputs", self.inputs), ("outputs", self.outputs)):
            if len(flags) != len(arrays):
                raise KerfError(f"PythonKernel: {name} has {len(flags)} entries, and arguments {len(arrays)}")
        self._service = Service()
        self._options: dict[str, Any] = {"device": "cuda", "gpu": device} if gpu_here() else {"device": "cpu"}

    def update_gpu_args(self, args: Sequence[Any]) -> None:
        """Takes the arguments of a call that are inputs."""
        if len(args) != len(self.arguments):
            raise KerfError(f"PythonKernel: {len(args)} arguments were given, and {len(self.arguments)} are expected")
        self.arguments = [new if own else old for new, old, own in zip(args, self.arguments, self.inputs)]

    def run_kernel(self, args: Sequence[Any]) -> list[Any]:
        """Runs the kernel; gives its outputs."""
        self.update_gpu_args(args)
        wanted = [w and _arrays.is_array(a) for w, a in zip(self.outputs, self.arguments)]
        own = Arguments(self.arguments, wanted)
        placed = own.of(self.params)
        w = self._call.workload(self.params, placed, own.files, call=self._service.call_json)
        out = []
        for i, result in enumerate(outputs_of(w.run(**self._options), w, placed, wanted)):
            if result is None:
                continue
            if type(args[i]).__module__.split(".")[0] == "numpy":
                self.arguments[i] = result
                out.append(result)
            else:
                _arrays.write_back(args[i], result)
                out.append(args[i])
        return out

    def __call__(self, *args: Any) -> list[Any]:
        return self.run_kernel(args)
