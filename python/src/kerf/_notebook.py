"""Progress in a notebook: one output of the cell, which is replaced while a search runs."""

from __future__ import annotations

import html
import sys
from typing import Any, Callable

from ._program import Progress

#: Lines of progress that are shown at once.
SHOWN = 8


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter's, which shows HTML."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running: Any = shell.get_ipython()
    return running is not None and getattr(running, "kernel", None) is not None


class Live:
    """The last lines of progress in the output of a cell."""

    def __init__(self, title: str) -> None:
        self._title, self._lines = title, [""]
        self._handle: Any = None

    def _html(self) -> str:
        text = html.escape("\n".join(self._lines[-SHOWN:]).strip("\n"))
        return f'<div><b>{html.escape(self._title)}</b><pre style="margin:0">{text}</pre></div>'

    def __call__(self, line: str) -> None:
        from IPython.display import HTML, display

        self._lines.append(line)
        shown = HTML(self._html())
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


def shown(progress: Progress, title: str) -> Progress:
    """Where progress goes: into the cell where it is wanted and this is a notebook."""
    if progress is True and in_notebook():
        live: Callable[[str], object] = Live(title)
        return live
    return progress
