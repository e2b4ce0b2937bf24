"""Sources of kernels: a file, or text that becomes one."""

from __future__ import annotations

import os
import re

from ._program import KerfError

SUFFIXES = {"cuda": ".cu", "opencl": ".cl", "llvm": ".ll", "ptx": ".ptx"}


def is_text(source: object) -> bool:
    """Whether a source is program text, not the name of a file."""
    return isinstance(source, str) and ("\n" in source or "{" in source)


def language_of(text: str) -> str:
    """The language of program text, by words that only one of them has."""
    if re.search(r"\b__global__\b", text):
        return "cuda"
    if re.search(r"\b(__kernel|kernel\s+void)\b", text):
        return "opencl"
    if re.search(r"^\s*\.version\s", text, re.M) and re.search(r"\.(entry|func)\b", text):
        return "ptx"
    if re.search(r"\bdefine\b.*\bptx_kernel\b", text):
        return "llvm"
    return "cuda"


def suffix(text: str, language: str | None) -> str:
    """The ending of a file with this text."""
    name = (language or language_of(text)).lower()
    if name not in SUFFIXES:
        raise KerfError(f"language {language!r} is not known", "use cuda, opencl, ptx or llvm")
    return SUFFIXES[name]


def place(source: str | os.PathLike[str], folder: str, language: str | None = None, name: str = "kernel") -> str:
    """The path of a source: text is written into ``folder``, a file stays where it is."""
    if isinstance(source, str) and is_text(source):
        path = os.path.join(folder, name + suffix(source, language))
        with open(path, "w", encoding="utf-8") as f:
            f.write(source)
        return path
    return os.path.abspath(os.fspath(source))
