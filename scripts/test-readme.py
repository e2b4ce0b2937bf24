#!/usr/bin/env python3
"""Runs the commands of README.md that are marked `<!-- ci: run -->`, in order, as a reader would.

    scripts/test-readme.py [KERF]       KERF: the program, target/debug/kerf by default

They run as one shell session in a fresh folder that holds a copy of `examples`, with the program in PATH. Of a block
with prompts (`$ `) the commands are taken; what they print is not compared.
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
    print(f"{len(found)} commands of README.md run as written")


if __name__ == "__main__":
    main()
