"""The program ``kerf``: where it is, how it is called, and its failures as exceptions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

#: Where lines of progress go: to standard error, nowhere, or to a function of one line.
Progress = Union[bool, Callable[[str], object]]


#: What runs ``kerf --format json``: `call_json`, or a service that does.
CallJson = Callable[..., "tuple[int, Any]"]


class KerfError(Exception):
    """What ``kerf`` could not do, in the words of the command line."""

    def __init__(self, message: str, help: str | None = None, code: int = 2) -> None:
        self.message, self.help, self.code = message, help, code
        super().__init__(message if help is None else f"{message}\nhelp: {help}")


class UnsupportedError(KerfError):
    """An interface of another tool, or hardware, that Kerf has no counterpart for or that is not here; named in the message."""


class KerfWarning(UserWarning):
    """What ``kerf`` warned of."""


def program() -> str:
    """Path of the program: ``KERF``, else the one installed with this package, else the one in ``PATH``."""
    named = os.environ.get("KERF")
    if named:
        return named
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_install", "bin", "kerf")
    if os.access(inside, os.X_OK):
        return inside
    beside = os.path.join(os.path.dirname(sys.executable), "kerf")
    schemes = ["posix_user"] if "posix_user" in sysconfig.get_scheme_names() else []
    folders = [sysconfig.get_path("scripts")] + [sysconfig.get_path("scripts", s) for s in schemes]
    for path in [os.path.join(f, "kerf") for f in folders] + [beside]:
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("kerf")
    if found:
        return found
    raise KerfError("the program kerf was not found", "install the wheel again, or set KERF to the program")


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as options of the command line; what it does not know, it refuses itself."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, dict):
            flag = "--size" if flag == "--sizes" else flag
            for k, v in value.items():
                words += [flag, f"{k}={v}"]
        elif isinstance(value, (list, tuple, set)):
            words += [flag, ",".join(str(v) for v in value)]
        elif isinstance(value, float):
            words += [flag, repr(value)]
        else:
            words += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return words


def _failure(lines: Sequence[str], code: int) -> KerfError:
    """The exception that the lines of standard error tell of."""
    text = "\n".join(lines)
    if not text.startswith("error: "):
        end = f"kerf ended with code {code}" if code >= 0 else f"kerf was ended by signal {-code}"
        return KerfError(text.strip() or end, code=code)
    text = text[len("error: ") :]
    message, mark, help = text.rpartition("\nhelp: ")
    return KerfError(message, help, code) if mark else KerfError(text, code=code)


def call(
    words: Sequence[str], progress: Progress = False, accept: Iterable[int] = (0,), cwd: str | None = None
) -> tuple[int, str]:
    """Runs ``kerf``; gives its exit code and standard output. Progress goes to ``sys.stderr`` or a function line by line.

    Code 2 is a failure where nothing was printed, also where it is accepted.
    """
    path = program()
    try:
        child = subprocess.Popen(
            [path, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
        )
    except OSError as e:
        raise KerfError(f"could not run {path}: {e.strerror}") from None
    assert child.stdout is not None and child.stderr is not None
    output, errors = child.stdout, child.stderr
    said: list[str] = []
    warned: list[str] = []
    failed: list[str] = []
    raised: list[BaseException] = []

    def listen() -> None:
        for line in errors:
            line = line.rstrip("\n")
            said.append(line)
            if line.startswith("warning: "):
                warned.append(line[len("warning: ") :])
            elif line.startswith("error: ") or failed:
                failed.append(line)
            elif progress and not raised:
                try:
                    _told(progress, line)
                except BaseException as e:  # given to the caller, whose function it is
                    raised.append(e)
                    child.terminate()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        out = output.read()
        code = child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        listener.join()
        output.close()
        errors.close()
    if raised:
        raise raised[0]
    for w in warned:
        warnings.warn(w, KerfWarning, stacklevel=3)
    if code not in accept or (code == 2 and not out.strip()):
        raise _failure(failed or said, code)
    return code, out


def _told(progress: Progress, line: str) -> None:
    if callable(progress):
        progress(line)
    else:
        print(line, file=sys.stderr, flush=True)


def call_json(words: Sequence[str], progress: Progress = False, accept: Iterable[int] = (0,)) -> tuple[int, Any]:
    """Runs ``kerf --format json``; gives the exit code and the document."""
    code, out = call(["--format", "json", *words], progress, accept)
    return code, json.loads(out)
