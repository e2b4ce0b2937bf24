"""``tune`` and what it gives."""

from __future__ import annotations

import html
import json
import os
import tempfile
from typing import Any, Sequence

from . import _notebook
from ._folder import Folder
from ._program import KerfError, Progress, call, call_json, option_words
from .workload import Workload


class Result:
    """A result folder of ``kerf tune``."""

    def __init__(self, folder: str | os.PathLike[str], keep: Sequence[Any] = ()) -> None:
        self.folder = os.path.abspath(folder)
        self._keep = keep  # what has to live as long: the workload, a temporary folder
        self._rows: list[dict[str, Any]] | None = None
        with open(os.path.join(self.folder, "result.json"), encoding="utf-8") as f:
            #: The document ``result.json``.
            self.data: dict[str, Any] = json.load(f)

    @property
    def verdict(self) -> str:
        """``tuned``, ``unchanged``, ``raised`` (slower or not, within a tolerance that the program itself misses) or ``unmet``."""
        return str(self.data["verdict"])

    @property
    def speedup(self) -> float:
        """Speed-up of the plan; ``data["speedup"]`` says whether it was measured or predicted."""
        return float(self.data["speedup"]["value"]) if self.data.get("speedup") else 1.0

    @property
    def error(self) -> float:
        """Error of the plan on the tuning inputs; infinite where outputs are not numbers."""
        e = self.data["error"]
        return float("inf") if e is None else float(e)

    @property
    def best(self) -> dict[str, Any]:
        """The plan: ``formats`` by group, ``speedup``, ``error``, ``kind`` (measured or predicted) and ``plan``."""
        kind = (self.data.get("speedup") or {}).get("kind", "predicted")
        return {
            "formats": {g["name"]: g["format"] for g in self.data["groups"]},
            "speedup": self.speedup,
            "error": self.error,
            "kind": kind,
            "plan": self.plan,
        }

    @property
    def plan(self) -> dict[str, Any]:
        """The plan as ``kerf run --plan`` takes it."""
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as f:
            return dict(json.load(f))

    @property
    def ptx(self) -> str:
        """The tuned kernels as PTX."""
        with open(os.path.join(self.folder, "tuned.ptx"), encoding="utf-8") as f:
            return f.read()

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """Every evaluation, in order, as a list of dictionaries: ``pandas.DataFrame(r.evaluations)``."""
        if self._rows is None:
            _, data = call_json(["report", self.folder, "--evaluations"])
            own = ["number", "phase", "seed", "perturbed", "error", "time", "within", "failure", "wall_s"]
            columns = own + [g["name"] for g in data["groups"]]
            self._rows = [{c: row[c] for c in columns} for row in data["evaluations"]]
        return self._rows

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes the page; gives its path."""
        _, data = call_json(["report", self.folder, *option_words({"out": path})])
        return str(data["page"])

    def explain(self) -> str:
        """What was cut, what was not, and why."""
        return call(["explain", self.folder, "--color", "never"])[1]

    def markdown(self) -> str:
        """A summary for a pull request."""
        return call(["report", self.folder, "--markdown"])[1]

    def check(self, **options: Any) -> dict[str, Any]:
        """Validates the plan on fresh inputs; gives the document of ``kerf check --format json``."""
        return dict(call_json(["check", self.folder, *option_words(options)], accept=(0, 1))[1])

    def __repr__(self) -> str:
        kind = self.best["kind"]
        return f"<kerf.Result {self.verdict}: {self.speedup:.2f}x {kind}, error {self.error:.3g}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the plan as a table, and the whole page in a frame of its own."""
        text = html.escape
        tolerance = self.data["criteria"]["tolerance"]
        head = f"{self.verdict}: {self.speedup:.2f}x {self.best['kind']}, error {self.error:.3g} (at most {tolerance:g})"
        rows = "".join(
            f"<tr><td>{text(g['name'])}</td><td>{text(g['formats'][0])}</td><td>{text(g['format'])}</td></tr>"
            for g in self.data["groups"]
        )
        with tempfile.TemporaryDirectory(prefix="kerf-") as d:
            with open(self.report(os.path.join(d, "page.html")), encoding="utf-8") as f:
                page = text(f.read(), quote=True)
        return (
            f"<p><b>Kerf</b> {text(head)}</p>"
            f"<table><thead><tr><th>group</th><th>from</th><th>to</th></tr></thead><tbody>{rows}</tbody></table>"
            "<details open><summary>The whole page</summary>"
            f'<iframe sandbox="allow-scripts" style="width:100%;height:48em;border:1px solid #888" srcdoc="{page}">'
            "</iframe></details>"
        )


def load(folder: str | os.PathLike[str]) -> Result:
    """A result folder that is there."""
    if not os.path.exists(os.path.join(folder, "result.json")):
        call(["explain", os.fspath(folder)])
        raise KerfError(f"{folder} has no result.json")
    return Result(folder)


def tune(
    workload: Workload | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> Result:
    """Finds the fastest version within the tolerance; options are those of ``kerf tune``.

    ``workload`` is a ``Workload`` or the path of a workload file. ``out`` is the result folder, by default a
    temporary one that goes with the result; a workload made from arrays is then written into it too, so that
    ``kerf check`` finds it. ``progress`` goes to standard error, in a notebook into the cell's output, or to a function
    of one line. Words of the language get an underscore: ``lambda_="on"``.
    """
    if not isinstance(workload, Workload):
        workload = Workload.read(workload)
    keep: list[Any] = [workload]
    path = workload.path
    if out is None:
        holder = Folder("kerf-result-")
        keep.append(holder)
        folder = os.path.join(holder.name, "result")
    else:
        folder = os.fspath(out)
        if workload._buffers:
            path = workload.save(os.path.join(folder, "workload"))
    words = ["--format", "json", "tune", path, "--out", folder, *option_words(options)]
    call(words, _notebook.shown(progress, "kerf tune"), accept=(0, 1))
    return Result(folder, keep)
