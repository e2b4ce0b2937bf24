#!/usr/bin/env python3
"""The index of the records under bench/runs.

    scripts/records.py           writes bench/runs/README.md
    scripts/records.py --check   fails where it is out of date, a record has not the form, or a record that is named
                                 anywhere in the tree is neither there nor listed in bench/runs/removed.tsv

A record is a folder with a README.md whose first line is its title, and which has a table with the rows `device`, `command`, `commit`
and `raw data`. One that a later record repeats leaves the
tree; removed.tsv keeps what it came to in a line.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "bench" / "runs"
INDEX = RUNS / "README.md"
NAMED = re.compile(r"bench/runs/(20\d\d-\d\d-\d\d-[a-z0-9-]*[a-z0-9])")
NEAR = re.compile(r"\.\./(20\d\d-\d\d-\d\d-[a-z0-9-]*[a-z0-9])")
HEAD = """# Records

One folder for each measurement that a document refers to: how it was made, on which device, its raw data and its losses.
Newest first. [Measured](../../docs/measured.md) has one row for each claim. This page is written by `scripts/records.py`.

"""


def removed():
    lines = (RUNS / "removed.tsv").read_text().splitlines()[1:]
    return dict(line.split("\t", 1) for line in lines)


def title(folder):
    readme = folder / "README.md"
    first = readme.read_text().split("\n", 1)[0] if readme.exists() else ""
    if not first.startswith("# "):
        raise SystemExit(f"error: {readme.relative_to(ROOT)} has no title in its first line")
    # The date is in the folder's name.
    return re.sub(r", (\d+ November 2026|2026-\d\d-\d\d)", "", first[2:])


def index():
    folders = sorted((f for f in RUNS.iterdir() if f.is_dir()), reverse=True)
    text = HEAD + "| record | |\n|---|---|\n"
    text += "".join(f"| [{f.name}]({f.name}/README.md) | {title(f)} |\n" for f in folders)
    text += "\n## Repeated since\n\nThese have left the tree; the history has them.\n\n| record | what it came to |\n|---|---|\n"
    text += "".join(f"| {name} | {what} |\n" for name, what in sorted(removed().items(), reverse=True))
    return text


def unknown_names():
    known = {f.name for f in RUNS.iterdir() if f.is_dir()} | set(removed())
    ends = {".md", ".rs", ".py", ".sh", ".toml", ".json"}
    places = [ROOT / d for d in ("crates", "docs", "bench", "scripts", "python", "examples")]
    files = [f for d in places for f in d.rglob("*") if f.suffix in ends] + sorted(ROOT.glob("*.md"))
    for f in files:
        text = f.read_text(errors="replace")
        names = NAMED.findall(text) + (NEAR.findall(text) if RUNS in f.parents else [])
        for name in sorted(set(names) - known):
            yield f"{f.relative_to(ROOT)} names the record {name}, which is not in bench/runs"


def without_form():
    for readme in sorted(RUNS.glob("*/README.md")):
        rows = set(re.findall(r"^\| (device|command|commit|raw data) \|", readme.read_text(), re.M))
        for row in [r for r in ("device", "command", "commit", "raw data") if r not in rows]:
            yield f"{readme.relative_to(ROOT)} has no row `| {row} | ... |`; other records end with such a table"


def main():
    text = index()
    if sys.argv[1:] != ["--check"]:
        INDEX.write_text(text)
        return 0
    found = list(unknown_names()) + list(without_form())
    if not INDEX.exists() or INDEX.read_text() != text:
        found.append("bench/runs/README.md is out of date; scripts/records.py writes it")
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
