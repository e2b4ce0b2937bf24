"""Temporary folders that go with what uses them."""

from __future__ import annotations

import shutil
import tempfile
import weakref


class Folder:
    """A folder, removed when nobody has it any more or the interpreter ends."""

    def __init__(self, prefix: str = "kerf-") -> None:
        self.name = tempfile.mkdtemp(prefix=prefix)
        self._end = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
