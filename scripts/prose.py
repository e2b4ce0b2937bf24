#!/usr/bin/env python3
"""Spelling and style of the documents, by codespell and proselint.

    scripts/prose.py        prints what they find, and fails if that is anything

Both are in .kerf/python, where scripts/setup.sh --dev puts them. Code, commands and links are taken out of the text before proselint
sees it; scripts/proselint.json leaves out checks of taste. Records, which are data, are not checked.
"""
import concurrent.futures
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / ".kerf" / "python" / "bin"
# British spellings, names and terms that codespell takes for mistakes.
WORDS = ROOT / "scripts" / "spelling.txt"
SPELLED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples", "python", "scripts", "crates"]


def documents():
    yield from (ROOT / n for n in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
    # Pages made from doc comments are left out.
    yield from sorted(f for f in (ROOT / "docs").glob("**/*.md") if "<!-- Made by" not in f.read_text())


def word(number):
    """A word that stands for something else, and for nothing else."""
    return "q" + "".join("abcdefghij"[int(d)] for d in str(number))


def prose(text):
    """The sentences of a page, line by line as it was: no code, tables' bars, markup or links."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|^#[^\n]*$", "", text, flags=re.S | re.M)
    # Each a word of its own, so that two in a row are no repetition.
    number = itertools.count()
    text = re.sub(r"`[^`]*`|<[a-z/][^>]*>|\b[\d.,]+\b", lambda m: word(next(number)), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r" *\|", lambda m: f". {word(next(number))} ", re.sub(r"[*>]+", "", text))


def spelling():
    p = subprocess.run(
        [str(BIN / "python"), "-m", "codespell_lib", "--ignore-words", str(WORDS), "--skip", "*.json,*.svg,*.lock,*.gz,*.csv,target,*.txt,*/data/*,*.ll,*.ptx,*/tests/*,*tests.rs,*/tests.rs,mistakes.rs,suggest.rs", *SPELLED],
        cwd=ROOT, capture_output=True, text=True,
    )
    return [l for l in (p.stdout + p.stderr).splitlines() if l and not l.startswith("WARNING")]


def style():
    """What proselint says of the documents, in two processes."""
    with tempfile.TemporaryDirectory() as d:
        files = {}
        for f in documents():
            name = str(f.relative_to(ROOT)).replace("/", "--")
            (pathlib.Path(d) / name).write_text(prose(f.read_text()))
            files[name] = str(f.relative_to(ROOT))
        names = sorted(files)

        def lint(part):
            command = [str(BIN / "python"), "-m", "proselint", "--output-format", "compact", "check", "--config", str(ROOT / "scripts" / "proselint.json"), *part]
            p = subprocess.run(command, cwd=d, capture_output=True, text=True)
            if p.returncode > 1 and not p.stdout:
                return [f"proselint: {p.stderr.strip() or p.stdout.strip()}"]
            return (p.stdout + p.stderr).splitlines()

        with concurrent.futures.ThreadPoolExecutor() as pool:
            lines = [l for found in pool.map(lint, [names[0::2], names[1::2]]) for l in found if l.strip()]
        return [re.sub(r"^\S*?([\w-]+--)*[\w-]+\.md", lambda m: files.get(m.group(0).split("/")[-1], m.group(0)), l) for l in lines]


def main():
    for tool in ["codespell_lib", "proselint"]:
        if subprocess.run([str(BIN / "python"), "-c", f"import {tool}"], capture_output=True).returncode != 0 if (BIN / "python").exists() else True:
            print(f"error: {tool} is not in .kerf/python; scripts/setup.sh --dev installs it", file=sys.stderr)
            return 2
    found = spelling() + style()
    print("\n".join(found) if found else "spelling and style: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
