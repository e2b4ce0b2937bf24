#!/usr/bin/env python3
"""Runs the commands of README.md and of tutorials as a reader would, and compares what they print.

    scripts/test-readme.py [KERF]       KERF: the program, target/debug/kerf by default

A document's commands run in a fresh folder that holds a copy of `examples`, with the program in PATH. The mark before a block says what it is:

    <!-- ci: run -->            a shell session, which has to succeed; all of a document's are one session
    <!-- ci: output -->         lines that the session printed
    <!-- ci: file NAME -->      a file that the reader is told to save
    <!-- ci: console -->        commands behind `$ `, and lines that each of them prints

Lines have to be printed in this order. A line `...` stands for any lines, `...` in a line for any text; other lines follow each other, and
numbers may differ by a tenth.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"^<!-- ci: run -->\n```[a-z]*\n(.*?)^```$", re.M | re.S)

OUTPUT = re.compile(r"^<!-- ci: output -->\n```[a-z]*\n(.*?)^```$", re.M | re.S)
STEP = re.compile(r"^<!-- ci: (file|console)(?: (\S+))? -->\n```[a-z]*\n(.*?)^```$", re.M | re.S)
# Those whose commands take seconds; a search of the first tutorial takes two minutes.
TUTORIALS = ["docs/tutorials/is-it-right.md", "docs/tutorials/application.md"]
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(wanted, got):
    """Whether two lines have the same text, and numbers that differ by no more than a tenth."""
    parts = [NUMBER.sub("\0", p) for p in wanted.rstrip().split("...")]
    pattern = ".*".join(re.escape(p).replace("\0", f"({NUMBER.pattern})") for p in parts)
    m = re.fullmatch(pattern, got.rstrip())
    pairs = zip(NUMBER.findall(wanted), m.groups() if m else [])
    return m is not None and all(abs(float(a) - float(b)) <= 0.1 * max(float(a), float(b)) for a, b in pairs)


def missing(expected, printed):
    """The first line of a block that is not printed where it should be; None if all are."""
    lines, at, skip = printed.splitlines(), 0, True
    for wanted in expected.splitlines():
        if wanted.strip() == "...":
            skip = True
            continue
        found = next((i for i in range(at, len(lines) if skip else min(at + 1, len(lines))) if alike(wanted, lines[i])), None)
        if found is None:
            return wanted
        at, skip = found + 1, False
    return None


def commands(text):
    """Commands of the marked blocks: (first line, text)."""
    found = []
    for m in BLOCK.finditer(text):
        line = text.count("\n", 0, m.start(1)) + 1
        body = m.group(1)
        if re.search(r"^\$ ", body, re.M):
            for i, l in enumerate(body.split("\n")):
                if l.startswith("$ "):
                    found.append((line + i, l[2:]))
        else:
            found.append((line, body.rstrip("\n")))
    return found


def session(kerf, d):
    """A folder to work in, and the environment: the program in PATH, a cache of its own."""
    bin, home = os.path.join(d, "bin"), os.path.join(d, "kerf")
    os.makedirs(bin)
    shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(home, "examples"))
    os.symlink(kerf, os.path.join(bin, "kerf"))
    env = {**os.environ, "PATH": bin + os.pathsep + os.environ["PATH"], "KERF_CACHE": os.path.join(d, "cache")}
    cuda = os.path.join(ROOT, ".kerf/cuda")
    if os.path.isdir(cuda):
        env.setdefault("KERF_CUDA", cuda)
    return home, env


def run_readme(kerf, d):
    """The README's sessions as one, which has to succeed and to print what the README shows."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    found = commands(text)
    marks = text.count("<!-- ci: run -->")
    if not found or len(BLOCK.findall(text)) != marks:
        sys.exit(f"README.md: {marks} marks, {len(BLOCK.findall(text))} blocks behind them")
    home, env = session(kerf, d)
    script = "set -euo pipefail\n"
    for line, c in found:
        told = c.splitlines()[0]
        script += f"printf '%s\\n' {shlex.quote(f'README.md:{line}: {told}')} >&2\n{c}\n"
    p = subprocess.run(["bash", "-c", script], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if p.returncode != 0:
        sys.stdout.buffer.write(p.stdout)
        sys.exit(f"error: a command of README.md failed with code {p.returncode}; it is the last one named above")
    outputs = OUTPUT.findall(text)
    for expected in outputs:
        if (line := missing(expected, p.stdout.decode(errors="replace"))) is not None:
            sys.stdout.buffer.write(p.stdout)
            sys.exit(f"error: README.md shows a line that the commands above did not print there: {line}")
    print(f"{len(found)} blocks of commands of README.md run as written, {len(outputs)} outputs as shown")


def steps(text):
    """What a tutorial asks for, in order: ("file", name, content) or ("console", command, expected output)."""
    found = []
    for m in STEP.finditer(text):
        what, name, body = m.groups()
        if what == "file":
            found.append(("file", name, body))
            continue
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            found.append(("console", command, expected))
    return found


def run_tutorial(kerf, name, d):
    """A tutorial's commands, one by one; what each prints is compared, whatever its exit code."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        found = steps(f.read())
    home, env = session(kerf, d)
    for what, told, text in found:
        if what == "file":
            with open(os.path.join(home, told), "w", encoding="utf-8") as f:
                f.write(text)
            continue
        p = subprocess.run(["bash", "-c", told], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = p.stdout.decode(errors="replace")
        if (line := missing(text, printed)) is not None:
            sys.exit(f"{printed}error: {name} shows a line that `{told}` did not print there: {line}")
    print(f"{sum(s[0] == 'console' for s in found)} commands of {name} print what it shows")


def main():
    kerf = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "target/debug/kerf"))
    for name in TUTORIALS:
        with tempfile.TemporaryDirectory(prefix="kerf-tutorial-") as d:
            run_tutorial(kerf, name, d)
    with tempfile.TemporaryDirectory(prefix="kerf-readme-") as d:
        run_readme(kerf, d)


if __name__ == "__main__":
    main()
