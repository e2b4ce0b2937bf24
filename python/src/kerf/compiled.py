"""``compile``: what is in a source, and the code that it becomes."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence, Union

from . import _source
from ._folder import Folder
from ._program import CallJson, call, call_json


#: A plan: the document, or its file.
Plan = Union[Mapping[str, Any], str, "os.PathLike[str]"]


class Program:
    """A compiled source: its kernels, with parameters and floating-point operations, as IR and as PTX."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        language: str | None = None,
        flags: Sequence[str] = (),
        arch: str = "sm_90",
        *,
        call: CallJson = call_json,
    ) -> None:
        self._folder, self._call = Folder(), call
        self.path = _source.place(source, self._folder.name, language)
        self.arch, self.flags = arch, list(flags)
        _, self.data = call(self._words())

    def _words(self, *more: str) -> list[str]:
        rest = ["--", *self.flags] if self.flags else []
        return ["inspect", self.path, "--arch", self.arch, *more, *rest]

    @property
    def kernels(self) -> dict[str, dict[str, Any]]:
        """Kernels by name: dictionaries with ``params``, ``sites``, ``groups`` and ``obstacles``."""
        return {k["name"]: k for k in self.data["kernels"]}

    def kernel(self, name: str) -> dict[str, Any]:
        """One kernel; what is not there is refused as the command line does."""
        found = self.kernels.get(name)
        if found is None:
            found = self._call(self._words("--kernel", name))[1]["kernels"][0]
        return found

    def _emit(self, form: str, plan: Plan | None) -> str:
        if plan is None:
            return call(self._words("--emit", form))[1]
        if not isinstance(plan, (str, os.PathLike)):
            path = os.path.join(self._folder.name, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            plan = path
        return call(self._words("--emit", form, "--plan", os.fspath(plan)))[1]

    def ptx(self, plan: Plan | None = None) -> str:
        """The PTX, with a plan (a dictionary or a file) carried out first if there is one."""
        return self._emit("ptx", plan)

    def ir(self, plan: Plan | None = None) -> str:
        """The prepared LLVM IR, in which operations are numbered."""
        return self._emit("ir", plan)

    def __repr__(self) -> str:
        return f"<kerf.Program {os.path.basename(self.path)}: {', '.join(self.kernels)}>"


def compile(
    source: str | os.PathLike[str], language: str | None = None, flags: Sequence[str] = (), arch: str = "sm_90"
) -> Program:
    """Compiles a file, or program text, of CUDA C++, OpenCL C or LLVM IR."""
    return Program(source, language, flags, arch)
