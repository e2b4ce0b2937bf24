"""``tuned``: kernels of CuPy and Numba that tune themselves at their first call.

The first call with arguments of some types and shapes tunes the kernel on copies of these arguments, or takes the
result that an earlier process kept; every call then launches the tuned code on the arrays themselves.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from typing import Any, Callable, Sequence, TypeVar

import numpy as np

from . import _arrays
from ._driver import DeviceArray, Driver, device_array, packed, parameters_of
from ._evaluation import gpu_here
from ._program import KerfError, Progress
from .frontends import from_cupy, from_numba
from .result import Result, load, tune
from .workload import Workload

#: Options of ``kerf tune`` that would change how a kernel is launched, or what its arrays hold.
FIXED = {"storage": "off"}
#: What is tuned where nothing is said: what leaves launches and arrays as they are.
WHAT = "precision,approx"
KEPT = ("precision", "approx", "algebra")

_Kernel = TypeVar("_Kernel")


def cache_folder() -> str:
    """Where results are kept: in the program's own cache."""
    named = os.environ.get("KERF_CACHE")
    if named:
        return named
    above = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(above, "kerf")


def _described(argument: Any) -> list[Any]:
    """Type and shape of an argument."""
    array = device_array(argument)
    if array is not None:
        return [array.dtype.str, list(array.shape)]
    if _arrays.is_array(argument):
        host = _arrays.to_host(argument)
        return [host.dtype.str, list(host.shape)]
    return [argument.dtype.str if isinstance(argument, np.generic) else type(argument).__name__]


def _three(extents: Any) -> tuple[int, int, int]:
    given = [int(extents)] if isinstance(extents, (int, np.integer)) else [int(e) for e in extents]
    if not 1 <= len(given) <= 3:
        raise KerfError(f"a grid and a block have one to three extents, not {len(given)}")
    x, y, z = [*given, 1, 1][:3]
    return x, y, z


class _Loaded:
    """A result, and its code in this process; without code where the original is what runs."""

    def __init__(self, result: Result, function: Any, parameters: list[Any]) -> None:
        self.result, self.function, self.parameters = result, function, parameters


class TunedKernel:
    """A kernel that tunes itself: called as CuPy's ``kernel(grid, block, args)`` or Numba's ``kernel[grid, block](...)``."""

    def __init__(
        self,
        kernel: Any,
        tolerance: float,
        metric: str | None = None,
        cache: str | os.PathLike[str] | bool | None = None,
        progress: Progress = True,
        **options: Any,
    ) -> None:
        what = options.get("what", WHAT)
        kinds = what.split(",") if isinstance(what, str) else list(what)
        for kind in kinds:
            if kind not in KEPT:
                raise KerfError(f"kerf.tuned: what={kind!r} changes how the kernel is launched", "tune it with kerf.tune")
        for name, value in FIXED.items():
            if options.get(name, value) != value:
                raise KerfError(f"kerf.tuned: {name}={options[name]!r} changes what the arrays hold", "tune it with kerf.tune")
        self.kernel, self.tolerance, self.metric = kernel, float(tolerance), metric
        self._numba = hasattr(kernel, "py_func")
        if not self._numba and not (isinstance(getattr(kernel, "code", None), str) and hasattr(kernel, "name")):
            raise KerfError(
                f"kerf.tuned: {type(kernel).__name__} is no kernel of CuPy's (RawKernel) or Numba's (numba.cuda.jit)",
                "put @kerf.tuned above @cuda.jit, or call kerf.tuned(tolerance=...)(cupy.RawKernel(source, name))",
            )
        self._cache, self._progress = cache, progress
        self._options = {"what": ",".join(kinds), **FIXED, **{k: v for k, v in options.items() if k not in ("what", *FIXED)}}
        self._driver: Driver | None = None
        self._known: dict[str, _Loaded] = {}
        self.__doc__ = getattr(kernel, "__doc__", None)
        self.__name__ = getattr(kernel, "__name__", getattr(kernel, "name", "kernel"))

    @property
    def results(self) -> list[Result]:
        """The results of the calls so far, one for each set of types and shapes."""
        return [k.result for k in self._known.values()]

    def __repr__(self) -> str:
        return f"<kerf.TunedKernel {self.__name__}, tolerance {self.tolerance:g}, {len(self._known)} tuned>"

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches it as CuPy's ``RawKernel`` is launched."""
        if self._numba:
            raise KerfError("a kernel of Numba's is launched as kernel[grid, block](...)")
        self._launch(_three(grid), _three(block), args, int(shared_mem), stream)

    def __getitem__(self, where: Any) -> Callable[..., None]:
        """Launches it as Numba's kernels are launched: ``kernel[grid, block, stream, shared](...)``."""
        where = where if isinstance(where, tuple) else (where,)
        if len(where) < 2:
            raise KerfError("a launch has a grid and a block: kernel[grid, block](...)")
        grid, block, stream, shared = (*where, None, 0)[:4] if len(where) < 4 else where[:4]

        def launch(*args: Any) -> None:
            self._launch(_three(grid), _three(block), args, int(shared or 0), stream)

        return launch

    # A launch.

    def _launch(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared: int, stream: Any) -> None:
        if self._driver is None:
            self._driver = Driver()
        driver = self._driver
        quick = json.dumps([driver.device(), list(grid), list(block), shared, [_described(a) for a in args]])
        loaded = self._known.get(quick)
        if loaded is None:
            loaded = self._known[quick] = self._tuned(driver, grid, block, args, shared)
        if loaded.function is None:
            self._original(grid, block, args, shared, stream)
            return
        own: list[tuple[Any, DeviceArray]] = []  # arrays of the host, which Numba takes too
        try:
            placed = []
            for a in args:
                array = device_array(a)
                if array is None and _arrays.is_array(a):
                    array = driver.allocate(_arrays.to_host(a))
                    own.append((a, array))
                placed.append(array if array is not None else a)
            values = self._values(placed, loaded.parameters)
            driver.launch(loaded.function, grid, block, shared, _stream(stream, self._numba), values)
            for a, array in own:
                _arrays.write_back(a, driver.to_host(array))
        finally:
            for _, array in own:
                driver.free(array)

    def _values(self, args: Sequence[Any], parameters: Sequence[Any]) -> list[bytes]:
        """The bytes of each parameter. Numba passes an array as several."""
        flat: list[Any] = []
        for a in args:
            if not isinstance(a, DeviceArray):
                flat.append(a)
            elif self._numba:
                flat += [0, 0, a.nbytes // a.dtype.itemsize, a.dtype.itemsize, a.pointer, *a.shape, *a.strides]
            else:
                flat.append(a.pointer)
        if len(flat) != len(parameters):
            raise KerfError(f"{self.__name__} takes {len(parameters)} parameters, and {len(flat)} were given")
        return [packed(v, p) for v, p in zip(flat, parameters)]

    def _original(self, grid: Any, block: Any, args: Sequence[Any], shared: int, stream: Any) -> None:
        """Launches the kernel itself: no faster version was found."""
        if self._numba:
            self.kernel[grid, block, stream or 0, shared](*args)
        elif stream is not None and hasattr(stream, "__enter__"):
            with stream:
                self.kernel(grid, block, tuple(args), shared_mem=shared)
        else:
            self.kernel(grid, block, tuple(args), shared_mem=shared)

    # Its result.

    def _workload(self, driver: Driver, grid: Any, block: Any, args: Sequence[Any], shared: int) -> Workload:
        """The call as a workload, with copies of its arrays."""
        copies: dict[int, Any] = {}
        given = []
        for a in args:
            array = device_array(a)
            given.append(a if array is None else copies.setdefault(id(a), driver.to_host(array)))
        make = from_numba if self._numba else from_cupy
        more: dict[str, Any] = {"shared": shared} if shared else {}
        return make(self.kernel, grid, block, given, tolerance=self.tolerance, metric=self.metric, **more)

    def _key(self, driver: Driver, w: Workload, grid: Any, block: Any, args: Sequence[Any], shared: int) -> str:
        """What a result is kept by: source, types and shapes, launch, tolerance, device."""
        with open(w.source, encoding="utf-8") as f:
            source = f.read()
        if self._numba:
            # Numba's names count the kernels of a process.
            source = re.sub(r"_Z[\w$]+", "_Z", source)
        described = [_described(a) for a in args]
        what = [source, self.__name__, list(w.flags), described, list(grid), list(block), shared]
        all_of_it = [*what, self.tolerance, self.metric, sorted(self._options.items()), driver.device()[1]]
        return hashlib.sha256(json.dumps(all_of_it, default=str).encode()).hexdigest()[:32]

    def _tuned(self, driver: Driver, grid: Any, block: Any, args: Sequence[Any], shared: int) -> _Loaded:
        w = self._workload(driver, grid, block, args, shared)
        if self._cache is False:
            result = self._search(w, driver, os.path.join(tempfile.mkdtemp(prefix="kerf-tuned-"), "result"))
        else:
            above = os.path.join(cache_folder(), "tuned") if self._cache in (None, True) else os.fspath(self._cache)  # type: ignore[arg-type]
            result = self._kept(w, driver, os.path.join(above, self._key(driver, w, grid, block, args, shared)))
        # A raised plan may be slower, and is within the tolerance, which the kernel as written is not.
        if result.verdict not in ("tuned", "raised"):
            return _Loaded(result, None, [])
        name, parameters = parameters_of(result.ptx)
        return _Loaded(result, driver.load(result.ptx, name), parameters)

    def _kept(self, w: Workload, driver: Driver, folder: str) -> Result:
        """The result in a folder, made first where there is none. One process makes it, others wait."""
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with open(folder + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(os.path.join(folder, "result.json")):
                return load(folder)
            # What a process left that was stopped.
            shutil.rmtree(folder, ignore_errors=True)
            return self._search(w, driver, folder)

    def _search(self, w: Workload, driver: Driver, folder: str) -> Result:
        where: dict[str, Any] = {"device": "cuda", "gpu": driver.device()[0]} if gpu_here() else {"device": "cpu"}
        return tune(w, out=folder, progress=self._progress, **{**where, **self._options})


def _stream(stream: Any, numba: bool) -> int:
    """The driver's number of a stream; by default CuPy's current one, and Numba's default."""
    if stream is None or stream == 0:
        if numba:
            return 0
        try:
            import cupy

            return int(cupy.cuda.get_current_stream().ptr)
        except Exception:  # not installed, or without a GPU: the default stream
            return 0
    for name in ("ptr", "cuda_stream", "handle"):
        found = getattr(stream, name, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    return int(stream)


def tuned(
    tolerance: float,
    metric: str | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    progress: Progress = True,
    **options: Any,
) -> Callable[[_Kernel], TunedKernel]:
    """Makes a ``cupy.RawKernel`` or a ``numba.cuda.jit`` kernel tune itself at its first call.

    Results are kept by source, types and shapes of the arguments, launch, tolerance, options and device: in Kerf's
    cache, in the folder ``cache``, or for this process alone (``cache=False``). Options are those of ``kerf tune``;
    launches and what arrays hold are left as they are. Arrays stay where they are: what has
    ``__cuda_array_interface__`` or DLPack is not copied.
    """

    def decorate(kernel: _Kernel) -> TunedKernel:
        return TunedKernel(kernel, tolerance, metric, cache, progress, **options)

    return decorate
