"""``Workload``: kernels, their launches and their data from numpy arrays."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import tempfile
import threading
from typing import Any, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _arrays, _elements, _source, _toml
from ._folder import Folder, in_memory
from ._program import CallJson, KerfError, call_json, option_words
from .compiled import Plan, Program

#: A number of threads or blocks along each axis, or expressions of sizes and parameters.
Extents = Union[int, str, Sequence[Union[int, str]]]
_Path = Union[str, "os.PathLike[str]"]


class _Buffer:
    """An array that a kernel works on."""

    output = False

    def __init__(
        self,
        array: Any,
        name: str | None = None,
        type: _elements.Element | None = None,
        symbol: str | None = None,
        seed: int | None = None,
    ) -> None:
        self.array: np.ndarray = _arrays.to_host(array) if _arrays.is_array(array) else np.asarray(array)
        self.name, self.type, self.symbol, self.seed = name, type, symbol, seed
        if self.array.size == 0:
            raise KerfError("an array without elements cannot be a buffer", "leave the argument away, or give it one")


class In(_Buffer):
    """An array that is only read."""


class InOut(_Buffer):
    """An array that is read and written; compared with the reference."""

    output = True


class Out(_Buffer):
    """An array that is only written: it begins as zeros. Also by shape: ``Out((n, m), dtype="f4")``."""

    output = True

    def __init__(self, array: Any, dtype: Any = None, **more: Any) -> None:
        if dtype is not None:
            array = np.zeros(array, dtype)
        super().__init__(array, **more)


class Launch:
    """A launch of a kernel. Grid, block and shared memory are numbers or expressions of sizes and parameters."""

    def __init__(
        self, kernel: str, grid: Extents, block: Extents, args: Iterable[Any], shared: int | str | None = None
    ) -> None:
        self.kernel, self.args, self.shared = kernel, list(args), shared
        self.grid, self.block = _extents(grid), _extents(block)


def _extents(e: Extents) -> list[Any]:
    return [e] if isinstance(e, (str, int, np.integer)) else list(e)


class ArrayFiles:
    """Files of arrays that several workloads have: each array is written once."""

    def __init__(self) -> None:
        self._folder = Folder("kerf-arrays-")
        self._files: dict[int, tuple[np.ndarray, str]] = {}
        self._writing = threading.Lock()

    def path(self, array: np.ndarray) -> str:
        """The file of an array, which must not change any more."""
        with self._writing:
            known = self._files.get(id(array))
            if known is None:
                path = os.path.join(self._folder.name, f"{len(self._files)}.npy")
                np.save(path, _elements.plain(array), allow_pickle=False)
                # The array is kept alive with its number.
                known = self._files[id(array)] = (array, path)
            return known[1]


class Run:
    """What a run gave."""

    def __init__(self, data: dict[str, Any], outputs: dict[str, np.ndarray], code: int) -> None:
        #: The document of ``kerf run --format json``.
        self.data = data
        #: Outputs by name.
        self.outputs = outputs
        #: Whether every output that was compared is within its tolerance.
        self.accepted = code == 0

    @property
    def times_s(self) -> list[float]:
        """Seconds of each timed run."""
        return list((self.data.get("times") or {}).get("samples_s") or [])

    @property
    def errors(self) -> dict[str, list[dict[str, Any]]]:
        """Errors by output, where there was a reference: a list for each, one entry a field."""
        return {o["name"]: o.get("errors") or [] for o in self.data["outputs"]}

    def __repr__(self) -> str:
        names = ", ".join(f"{n} {a.dtype}{list(a.shape)}" for n, a in self.outputs.items())
        return f"<kerf.Run on {self.data['device']['name']}: {names}>"


def _loaded(path: str, in_memory: bool) -> np.ndarray:
    """The array of a file that goes away. One in memory is mapped, and lives as long as the array."""
    if in_memory:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    loaded: np.ndarray = np.load(path, allow_pickle=False)
    return loaded


class Workload:
    """A program of kernels that runs once: ``Workload(source, kernel, grid, block, args)``, or with ``launches``.

    ``args`` are ``In``, ``Out`` and ``InOut`` of arrays, numbers, and strings, which are expressions. An array by
    itself is read only where the parameter is a pointer to const, and read and written elsewhere. An array that
    several launches have is one buffer. ``symbols`` are ``__constant__`` and ``__device__`` variables by name.
    ``launch_space``, ``constraints`` and ``default`` are what ``--what launch`` tunes; ``macros`` are those of its
    parameters that the source uses without defining or asking for them.
    """

    def __init__(
        self,
        source: _Path,
        kernel: str | None = None,
        grid: Extents | None = None,
        block: Extents | None = None,
        args: Iterable[Any] = (),
        *,
        shared: int | str | None = None,
        launches: Sequence[Launch] | None = None,
        symbols: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        launch_space: Mapping[str, Sequence[Any]] | None = None,
        constraints: Sequence[str] = (),
        default: Mapping[str, Any] | None = None,
        macros: Sequence[str] = (),
        tolerance: float | None = None,
        metric: str | None = None,
        accept: Mapping[str, Any] | None = None,
        flags: Sequence[str] = (),
        seed: int = 0,
        language: str | None = None,
        array_files: ArrayFiles | None = None,
        call: CallJson = call_json,
    ) -> None:
        if launches is None:
            if kernel is None or grid is None or block is None:
                raise KerfError("a workload needs kernel, grid and block, or launches")
            launches = [Launch(kernel, grid, block, args, shared)]
        elif kernel is not None:
            raise KerfError("a workload has one kernel or launches, not both")
        self._folder, self._call = Folder(), call
        self._next: Sequence[Workload] = ()
        self.flags, self.seed, self.sizes = list(flags), seed, dict(sizes or {})
        self._array_files = array_files
        self._text = source if isinstance(source, str) and _source.is_text(source) else None
        self._language = language
        middle = {m: (launch_space or {})[m][len((launch_space or {})[m]) // 2] for m in macros}
        defined = [f"-D{m}={(default or {}).get(m, v)}" for m, v in middle.items()]
        # Where it is read from later too: what is compiled is kept by its place.
        placed = _source.place(source, self._folder.name, language)
        self._program = Program(pathlib.Path(placed), language, [*flags, *defined], call=call)
        self.source = self._program.path
        self._space = (dict(launch_space or {}), list(constraints), default, list(macros))
        self._accept: dict[str, Any] = {"metric": metric, "tolerance": tolerance, **(accept or {})}
        self._buffers: dict[str, _Buffer] = {}
        self._known: dict[int, str] = {}
        self._alive: list[Any] = []
        self._steps: list[dict[str, Any]] = []
        for name, array in (symbols or {}).items():
            own = array if isinstance(array, _Buffer) else In(array)
            own.symbol = name
            self._place(own, own, name, None)
        for step in launches:
            self._steps.append(self._launch(step))
        self.path = self.save(self._folder.name)

    @classmethod
    def read(cls, path: _Path) -> Workload:
        """A workload file as it is."""
        self = cls.__new__(cls)
        self.path, self._buffers = os.path.abspath(os.fspath(path)), {}
        self._call, self._next = call_json, ()
        return self

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return [n for n, b in self._buffers.items() if b.output]

    def name_of(self, array: Any) -> str | None:
        """The name of the buffer that an array, an ``In``, an ``Out`` or an ``InOut`` became."""
        return self._known.get(id(array))

    def _place(self, key: Any, buffer: _Buffer, name: str, param: Mapping[str, Any] | None) -> str:
        """Takes a buffer up, once; gives its name."""
        known = self._known.get(id(key))
        if known is not None:
            return known
        wanted = re.sub(r"\W", "_", buffer.name or name or "buffer")
        taken = {*self._buffers, *self.sizes, *self._space[0], "i", "rand"}
        unique, n = wanted, 2
        while unique in taken:
            if buffer.name:
                raise KerfError(f"the name {wanted} is taken", "give the array another name")
            unique, n = f"{wanted}_{n}", n + 1
        if buffer.type is None:
            buffer.type = _elements.vector(_elements.type_of(buffer.array.dtype), param)
        self._buffers[unique] = buffer
        # The key is kept alive with its number.
        self._known[id(key)] = unique
        self._alive.append(key)
        return unique

    def _launch(self, step: Launch) -> dict[str, Any]:
        kernel = self._program.kernel(step.kernel)
        params = kernel["params"]
        args: list[Any] = []
        for i, a in enumerate(step.args):
            param = params[i] if i < len(params) else None
            name = param["name"] if param else f"arg{i}"
            if _arrays.is_array(a):
                const = param is not None and param["type_name"].startswith("const ")
                args.append(self._place(a, In(a) if const else InOut(a), name, param))
            elif isinstance(a, _Buffer):
                args.append(self._place(a, a, name, param))
            elif isinstance(a, (np.generic, np.ndarray)):
                args.append(a.item())
            else:
                args.append(a)
        return {"kernel": step.kernel, "grid": step.grid, "block": step.block, "shared": step.shared, "args": args}

    def toml(self, source: str | None = None) -> str:
        """The workload file."""
        head = {"source": source or self.source, "flags": self.flags or None, "seed": self.seed or None}
        parts = [_toml.table(None, head)]
        if self.sizes:
            parts.append(_toml.table("[sizes]", self.sizes))
        for name, b in self._buffers.items():
            file = None if isinstance(b, Out) else self._array_files.path(b.array) if self._array_files else name + ".npy"
            per = 1 if b.array.dtype.kind == "c" else _elements.scalars_of(b.type or "")
            scalar = isinstance(b.type, str) and "x" not in b.type
            entries: dict[str, Any] = {
                "name": name,
                "type": b.type,
                "len": b.array.size // per,
                "init": None if file is None else {"file": file},
                "output": True if b.output else None,
                "symbol": b.symbol,
                "seed": b.seed,
                "shape": list(b.array.shape) if b.output and scalar and b.array.ndim > 1 else None,
            }
            parts.append(_toml.table("[[buffer]]", entries))
        for s in self._steps:
            parts.append(_toml.table("[[launch]]", s))
        space, constraints, default, macros = self._space
        if space:
            entries = {**space, "constraints": constraints or None, "default": default, "macros": macros or None}
            parts.append(_toml.table("[launch_space]", entries))
        if self._accept.get("tolerance") is not None:
            own = {k: v for k, v in self._accept.items() if k != "outputs"}
            parts.append(_toml.table("[accept]", own))
            for name, v in (self._accept.get("outputs") or {}).items():
                parts.append(_toml.table(f"[accept.outputs.{_toml.key(name)}]", v))
        return "\n\n".join("\n".join(p) for p in parts) + "\n"

    def save(self, folder: _Path) -> str:
        """Writes workload, arrays and, where it was text, source into a folder; gives the workload's path."""
        os.makedirs(folder, exist_ok=True)
        source = self.source
        if self._text is not None:
            source = os.path.basename(_source.place(self._text, os.fspath(folder), self._language))
        for name, b in self._buffers.items():
            if not isinstance(b, Out) and self._array_files is None:
                np.save(os.path.join(folder, name + ".npy"), _elements.plain(b.array), allow_pickle=False)
        path = os.path.join(os.path.abspath(folder), "workload.toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.toml(source))
        return path

    def expect(self, following: Sequence[Workload]) -> None:
        """Workloads that are likely to be run next by the same service, in the same way."""
        self._next = following

    def _words_of_run(self, options: Mapping[str, Any]) -> list[str]:
        return ["run", self.path, *option_words(options)]

    def run(self, reference: bool = False, plan: Plan | None = None, outputs: bool = True, **options: Any) -> Run:
        """Runs it, as ``kerf run`` does with the same options; gives a ``Run``, without outputs where they are not wanted."""
        need = sum(b.array.nbytes for b in self._buffers.values() if b.output) if outputs else 0
        memory = in_memory(need)
        folder = tempfile.mkdtemp(prefix="kerf-run-", dir=memory)
        try:
            if plan is not None and not isinstance(plan, (str, os.PathLike)):
                path = os.path.join(folder, "plan.json")
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(plan, f)
                plan = path
            options = {"reference": reference, "plan": plan, **options}
            own = {**options, "save": folder if outputs else None}
            ahead = {"ahead": [w._words_of_run(options) for w in self._next]} if self._next else {}
            code, data = self._call(self._words_of_run(own), accept=(0, 1), **ahead)
            found: dict[str, np.ndarray] = {}
            for o in data["outputs"] if outputs else []:
                loaded = _loaded(o["saved"], memory is not None)
                buffer = self._buffers.get(o["name"])
                found[o["name"]] = _elements.back(loaded, buffer.array) if buffer is not None else loaded
                o["saved"] = None
            return Run(data, found, code)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def predict(self, **options: Any) -> dict[str, Any]:
        """The predicted time, as ``kerf predict --format json`` prints it."""
        return dict(self._call(["predict", self.path, *option_words(options)])[1])
