"""``tune`` and what it gives."""

import html
import json
import os
import tempfile

from ._folder import Folder
from ._program import KerfError, call, call_json, option_words
from .workload import Workload


class Result:
    """A result folder of ``kerf tune``."""

    def __init__(self, folder, keep=()):
        self.folder = os.path.abspath(folder)
        self._keep = keep  # what has to live as long: the workload, a temporary folder
        self._rows = None
        with open(os.path.join(self.folder, "result.json"), encoding="utf-8") as f:
            #: The document ``result.json``.
            self.data = json.load(f)

    @property
    def verdict(self):
        """``tuned``, ``unchanged`` or ``unmet``."""
        return self.data["verdict"]

    @property
    def speedup(self):
        """Speed-up of the plan; ``data["speedup"]`` says whether it was measured or predicted."""
        return self.data["speedup"]["value"] if self.data.get("speedup") else 1.0

    @property
    def error(self):
        """Error of the plan on the tuning inputs; infinite where outputs are not numbers."""
        e = self.data["error"]
        return float("inf") if e is None else e

    @property
    def best(self):
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
    def plan(self):
        """The plan as ``kerf run --plan`` takes it."""
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as f:
            return json.load(f)

    @property
    def ptx(self):
        """The tuned kernels as PTX."""
        with open(os.path.join(self.folder, "tuned.ptx"), encoding="utf-8") as f:
            return f.read()

    @property
    def evaluations(self):
        """Every evaluation, in order, as a list of dictionaries: ``pandas.DataFrame(r.evaluations)``."""
        if self._rows is None:
            _, data = call_json(["report", self.folder, "--evaluations"])
            own = ["number", "phase", "seed", "perturbed", "error", "time", "within", "failure", "wall_s"]
            columns = own + [g["name"] for g in data["groups"]]
            self._rows = [{c: row[c] for c in columns} for row in data["evaluations"]]
        return self._rows

    def report(self, path=None):
        """Writes the page; gives its path."""
        _, data = call_json(["report", self.folder, *option_words({"out": path})])
        return data["page"]

    def explain(self):
        """What was cut, what was not, and why."""
        return call(["explain", self.folder, "--color", "never"])[1]

    def markdown(self):
        """A summary for a pull request."""
        return call(["report", self.folder, "--markdown"])[1]

    def check(self, **options):
        """Validates the plan on fresh inputs; gives the document of ``kerf check --format json``."""
        return call_json(["check", self.folder, *option_words(options)], accept=(0, 1))[1]

    def __repr__(self):
        kind = self.best["kind"]
        return f"<kerf.Result {self.verdict}: {self.speedup:.2f}x {kind}, error {self.error:.3g}>"

    def _repr_html_(self):
        """The verdict and the plan as a table, and the whole page in a frame of its own."""
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
            "<details><summary>The whole page</summary>"
            f'<iframe sandbox="allow-scripts" style="width:100%;height:48em;border:1px solid #888" srcdoc="{page}">'
            "</iframe></details>"
        )


def load(folder):
    """A result folder that is there."""
    if not os.path.exists(os.path.join(folder, "result.json")):
        call(["explain", os.fspath(folder)])
        raise KerfError(f"{folder} has no result.json")
    return Result(folder)


def tune(workload, *, out=None, progress=True, **options):
    """Finds the fastest version within the tolerance; options are those of ``kerf tune``.

    ``workload`` is a ``Workload`` or the path of a workload file. ``out`` is the result folder, by default a
    temporary one that goes with the result; a workload made from arrays is then written into it too, so that
    ``kerf check`` finds it. Words of the language get an underscore: ``lambda_="on"``.
    """
    if not isinstance(workload, Workload):
        workload = Workload.read(workload)
    keep = [workload]
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
    call(words, progress, accept=(0, 1))
    return Result(folder, keep)
