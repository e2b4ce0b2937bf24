"""The program ``kerf``: where it is, how it is called, and its failures as exceptions."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import warnings


class KerfError(Exception):
    """What ``kerf`` could not do, in the words of the command line."""

    def __init__(self, message, help=None, code=2):
        self.message, self.help, self.code = message, help, code
        super().__init__(message if help is None else f"{message}\nhelp: {help}")


class KerfWarning(UserWarning):
    """What ``kerf`` warned of."""


def program():
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


def option_words(options):
    """Keyword arguments as options of the command line; what it does not know, it refuses itself."""
    words = []
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


def _failure(lines, code):
    """The exception that the lines of standard error tell of."""
    text = "\n".join(lines)
    if not text.startswith("error: "):
        end = f"kerf ended with code {code}" if code >= 0 else f"kerf was ended by signal {-code}"
        return KerfError(text.strip() or end, code=code)
    text = text[len("error: ") :]
    message, mark, help = text.rpartition("\nhelp: ")
    return KerfError(message, help, code) if mark else KerfError(text, code=code)


def call(words, progress=False, accept=(0,), cwd=None):
    """Runs ``kerf``; gives its exit code and standard output. Progress goes to ``sys.stderr`` line by line.

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
    said, warned, failed = [], [], []

    def listen():
        for line in child.stderr:
            line = line.rstrip("\n")
            said.append(line)
            if line.startswith("warning: "):
                warned.append(line[len("warning: ") :])
            elif line.startswith("error: ") or failed:
                failed.append(line)
            elif progress:
                print(line, file=sys.stderr, flush=True)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        out = child.stdout.read()
        code = child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        listener.join()
        child.stdout.close()
        child.stderr.close()
    for w in warned:
        warnings.warn(w, KerfWarning, stacklevel=3)
    if code not in accept or (code == 2 and not out.strip()):
        raise _failure(failed or said, code)
    return code, out


def call_json(words, progress=False, accept=(0,)):
    """Runs ``kerf --format json``; gives the exit code and the document."""
    code, out = call(["--format", "json", *words], progress, accept)
    return code, json.loads(out)
