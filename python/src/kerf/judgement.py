"""``judge`` and what it gives."""

from __future__ import annotations

import os
from typing import Any, Mapping

from ._program import Progress, call_json, option_words
from .workload import Workload


class Judgement:
    """What ``kerf judge`` says of a candidate."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: The document of ``kerf judge --format json``.
        self.data = data

    @property
    def decision(self) -> str:
        """``accepted``, ``refused`` or ``undecided``."""
        return self.data["decision"]

    @property
    def accepted(self) -> bool | None:
        """Whether the candidate is accepted; ``None`` where nothing could be judged."""
        return None if self.decision == "undecided" else self.decision == "accepted"

    @property
    def correct(self) -> bool | None:
        """Whether it is right on every input that counts; ``None`` where none does."""
        return self.data["correct"]

    @property
    def speedup(self) -> float | None:
        """Speed-up over the original, or ``None``; ``data["speed"]["kind"]`` says whether it was measured or predicted."""
        speed = self.data.get("speed")
        return speed["speedup"] if speed else None

    @property
    def defects(self) -> list[dict[str, Any]]:
        """What is wrong, each with its smallest input, as a list of dictionaries."""
        return self.data["defects"]

    def __bool__(self) -> bool:
        return self.accepted is True

    def __repr__(self) -> str:
        why = "; ".join(d["words"] for d in self.defects)
        return f"<kerf.Judgement {self.decision}{': ' + why if why else ''}>"


def judge(
    candidate: str | os.PathLike[str],
    workload: Workload | str | os.PathLike[str] | None = None,
    against: str | os.PathLike[str] | None = None,
    *,
    map: Mapping[str, str] | None = None,
    progress: Progress = False,
    **options: Any,
) -> Judgement:
    """Is a kernel a correct and faster version of another one? Options are those of ``kerf judge``.

    ``candidate`` is a source file. ``workload`` is a ``Workload`` or the path of a workload file of the original;
    ``against`` is the original's source, where there is no workload. ``map`` names kernels and parameters of the
    original, and what the candidate calls them.
    """
    words = ["judge", os.fspath(candidate)]
    if workload is not None:
        path = workload.path if isinstance(workload, Workload) else os.fspath(workload)
        words += ["--workload", path]
    if against is not None:
        words += ["--against", os.fspath(against)]
    for name, other in (map or {}).items():
        words += ["--map", f"{name}={other}"]
    _, data = call_json([*words, *option_words(options)], progress, accept=(0, 1, 2))
    return Judgement(data)
