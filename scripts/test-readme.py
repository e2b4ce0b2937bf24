#!/usr/bin/env python3
"""Runs the commands of README.md that are marked `<!-- ci: run -->`, in order, as a reader would.

    scripts/test-readme.py [KERF]       KERF: the program, target/debug/kerf by default

They run as one shell session in a fresh folder that holds a copy of `examples`, with the program in PATH. Of a block
with prompts (`$ `) the commands are taken. A block marked `<!-- ci: output -->` is compared with what the commands before
it printed: its lines occur there in this order, a line `...` stands for any lines, other lines follow each other, and
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
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(wanted, got):
    """Whether two lines have the same text, and numbers that differ by no more than a tenth."""
    if NUMBER.sub("#", wanted.rstrip()) != NUMBER.sub("#", got.rstrip()):
        return False
    pairs = zip(map(float, NUMBER.findall(wanted)), map(float, NUMBER.findall(got)))
    return all(abs(a - b) <= 0.1 * max(abs(a), abs(b)) for a, b in pairs)


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


def main():
    kerf = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "target/debug/kerf"))
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    found = commands(text)
    marks = text.count("<!-- ci: run -->")
    if not found or len(BLOCK.findall(text)) != marks:
        sys.exit(f"README.md: {marks} marks, {len(BLOCK.findall(text))} blocks behind them")
    with tempfile.TemporaryDirectory(prefix="kerf-readme-") as d:
        bin = os.path.join(d, "bin")
        home = os.path.join(d, "kerf")
        os.makedirs(bin)
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(home, "examples"))
        os.symlink(kerf, os.path.join(bin, "kerf"))
        script = "set -euo pipefail\n"
        for line, c in found:
            told = c.splitlines()[0]
            script += f"printf '%s\\n' {shlex.quote(f'README.md:{line}: {told}')} >&2\n{c}\n"
        env = {**os.environ, "PATH": bin + os.pathsep + os.environ["PATH"], "KERF_CACHE": os.path.join(d, "cache")}
        cuda = os.path.join(ROOT, ".kerf/cuda")
        if os.path.isdir(cuda):
            env.setdefault("KERF_CUDA", cuda)
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


if __name__ == "__main__":
    main()
