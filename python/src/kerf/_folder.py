"""Temporary folders that go with what uses them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


#: A file system in memory, and the least that is worth to be there.
MEMORY, LEAST_BYTES = "/dev/shm", 1 << 20
#: It has to have so many times the room: other threads and processes write there at the same time.
MARGIN = 16


def in_memory(nbytes: int) -> str | None:
    """A folder in memory with room for so many bytes; None where there is none, or a place for files was named."""
    if nbytes < LEAST_BYTES or any(os.environ.get(v) for v in ("TMPDIR", "TEMP", "TMP")):
        return None
    try:
        room = os.statvfs(MEMORY)
    except OSError:
        return None
    return MEMORY if os.access(MEMORY, os.W_OK) and room.f_bavail * room.f_frsize > MARGIN * nbytes else None


class Folder:
    """A folder, removed when nobody has it any more or the interpreter ends."""

    def __init__(self, prefix: str = "kerf-") -> None:
        self.name = tempfile.mkdtemp(prefix=prefix)
        self._end = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
