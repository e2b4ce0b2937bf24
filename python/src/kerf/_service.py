"""A process of ``kerf serve`` that does many jobs: it keeps devices, inputs and code between them."""

from __future__ import annotations

import collections
import json
import os
import queue
import subprocess
import threading
import warnings
import weakref
from typing import Any, Iterable, Sequence

from ._program import KerfError, KerfWarning, _failure, call_json, program

#: Lines of standard error that are kept for the message of a process that ended.
LAST_LINES = 40
#: A process that ends so often before it answers anything is not started again.
TRIES = 3
#: What jobs of a service that was closed are told.
CLOSED = "the search has ended"


def _surroundings() -> tuple[Any, ...]:
    """What a process takes over from this one when it starts."""
    try:
        folder: str | None = os.getcwd()
    except OSError:
        folder = None
    return program(), folder, dict(os.environ)


def _end(child: subprocess.Popen[str], starter: int) -> None:
    """Ends a process; its workers end with it. One that this process has from its parent is not its to end."""
    if os.getpid() == starter:
        child.terminate()
        child.wait()


class _Process:
    """A running ``kerf serve`` and the jobs that it has not answered."""

    def __init__(self, surroundings: tuple[Any, ...], workers: int) -> None:
        self.surroundings = surroundings
        path = surroundings[0]
        try:
            self.child = subprocess.Popen(
                [path, "serve", "--workers", str(workers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as e:
            raise KerfError(f"could not run {path}: {e.strerror}") from None
        self.answered = False
        self.over = False
        self._last: collections.deque[str] = collections.deque(maxlen=LAST_LINES)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read, self._listen)]
        for t in self._threads:
            t.start()
        self._ended = weakref.finalize(self, _end, self.child, os.getpid())

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                break  # half a line: it was ended while it wrote
            self.answered = True
            with self._lock:
                waiting = self._waiting.pop(answer["id"], None)
            if waiting is not None:
                waiting.put(answer)
        with self._lock:
            self.over = True
            lost, self._waiting = self._waiting, {}
        for waiting in lost.values():
            waiting.put(None)

    def _listen(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self._last.append(line.rstrip("\n"))

    @property
    def busy(self) -> bool:
        """Whether there are jobs without an answer."""
        with self._lock:
            return bool(self._waiting)

    def ask(self, words: Sequence[str], ahead: Sequence[Sequence[str]]) -> dict[str, Any] | None:
        """The answer to a job, or None where the process ends before it gives one."""
        assert self.child.stdin is not None
        waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            if self.over:
                return None
            self._number += 1
            number = self._number
            self._waiting[number] = waiting
            job = {"id": number, "arguments": list(words), "ahead": [list(a) for a in ahead]}
            try:
                self.child.stdin.write(json.dumps(job) + "\n")
                self.child.stdin.flush()
            except OSError:
                del self._waiting[number]
                return None
        try:
            return waiting.get()
        except BaseException:  # an interrupt: what is being done is wanted no longer
            self.end()
            raise

    def end(self) -> None:
        """Ends it."""
        self._ended()
        for t in self._threads:
            t.join()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:
                pass


class Service:
    """Does what ``call_json`` does for runs, predictions and inspections, by one process for all of them.

    The process is started with the first job, and again where it has ended. A job that it ended over is done by a
    process of its own, which tells why.
    """

    def __init__(self, workers: int = 1) -> None:
        #: Runs at a time; before the first job.
        self.workers = workers
        self._process: _Process | None = None
        self._failures = 0
        self._closed = False
        self._lock = threading.Lock()

    def _current(self) -> _Process | None:
        """The process for the next job; None where a process for this job alone is to do it."""
        surroundings = _surroundings()
        with self._lock:
            if self._closed:
                raise KerfError(CLOSED)
            known = self._process
            if known is not None and (known.over or known.surroundings != surroundings):
                if not known.over and known.busy:
                    return None
                self._failures = 0 if known.answered else self._failures + 1
                known.end()
                self._process = None
            if self._process is None:
                if self._failures >= TRIES:
                    return None
                self._process = _Process(surroundings, self.workers)
                weakref.finalize(self, self._process.end)
            return self._process

    def call_json(
        self, words: Sequence[str], progress: Any = False, accept: Iterable[int] = (0,), ahead: Sequence[Sequence[str]] = ()
    ) -> tuple[int, Any]:
        """Gives the exit code and the document. ``ahead`` are words of runs that are likely to come next."""
        process = self._current()
        answer = None if process is None else process.ask(words, ahead)
        if answer is None and self._closed:
            raise KerfError(CLOSED)
        if answer is None:
            return call_json(words, progress, accept)
        code, document = answer["code"], answer["document"]
        lines = [line for note in answer["notes"] for line in note.split("\n")]
        for line in lines:
            if line.startswith("warning: "):
                warnings.warn(line[len("warning: ") :], KerfWarning, stacklevel=3)
        if code not in accept or document is None:
            error = answer["error"]
            if error is not None:
                help = "" if error["help"] is None else f"\nhelp: {error['help']}"
                lines = f"error: {error['message']}{help}".split("\n")
            raise _failure(lines, code)
        return code, document

    def close(self) -> None:
        """Ends the process, if there is one. What is being done fails, and so does what is asked for later."""
        self._closed = True
        with self._lock:
            if self._process is not None:
                self._process.end()
                self._process = None


__all__ = ["Service"]
