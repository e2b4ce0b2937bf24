#!/usr/bin/env python3
"""PTX of all examples, lifted again: the bits of the original on the same executor.

    bench/ptx-roundtrip.py KERF [--device cuda] [--ptx FOLDER] [--work FOLDER] [EXAMPLE ...]

Each workload of examples/ is run as it is, and once more from PTX: what `kerf inspect --emit ptx` writes, or NAME.ptx of
--ptx, compiled elsewhere (bench/nvrtc.py). The outputs of both runs are compared byte for byte, all NaNs being one value.
PTX of another compiler may differ: then the largest relative difference is shown. Exit status 1 if PTX that Kerf wrote gives
other bits, or anything is refused.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900)


def macros(workload):
    """Flags for the compiler, as the workload file gives them; folders from where it is."""
    return workload.get("flags", [])


def from_ptx(text, ptx):
    """The workload file with another source."""
    text = re.sub(r'(?m)^source\s*=.*$', f'source = "{ptx}"', text, count=1)
    return re.sub(r'(?m)^flags\s*=.*$', "", text, count=1)


def outputs(folder):
    return {p.name: p for p in sorted(folder.rglob("*.npy"))}


def compare(a, b):
    """Nothing if the arrays are the same, else how they differ."""
    x, y = numpy.load(a), numpy.load(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{x.dtype}{x.shape} became {y.dtype}{y.shape}"
    width = {2: "u2", 4: "u4", 8: "u8"}.get(x.dtype.itemsize)
    if x.dtype.kind != "f" or width is None:
        return "" if x.tobytes() == y.tobytes() else "other bytes"
    same = (x.view(width) == y.view(width)) | (numpy.isnan(x) & numpy.isnan(y))
    if same.all():
        return ""
    with numpy.errstate(all="ignore"):
        error = numpy.abs(x.astype("f8") - y.astype("f8")) / numpy.maximum(numpy.abs(x.astype("f8")), 1e-300)
    return f"{(~same).sum()} of {same.size} differ, at most {numpy.nanmax(error):.2e} relative"


def one(kerf, device, toml, ptx, work):
    text = toml.read_text()
    workload = tomllib.loads(text)
    source = toml.parent / workload["source"]
    own = ptx is None
    if own:
        ptx = work / f"{toml.stem}.ptx"
        emitted = run(kerf, "inspect", source, "--emit", "ptx", "--", *macros(workload))
        if emitted.returncode:
            return "no PTX: " + emitted.stderr.strip()
        ptx.write_text(emitted.stdout)
    copy = work / f"{toml.stem}.toml"
    copy.write_text(from_ptx(text, ptx))
    for file, folder in ((toml, "source"), (copy, "ptx")):
        done = run(kerf, "run", file, "--device", device, "-q", "--save", work / toml.stem / folder)
        if done.returncode:
            return f"{folder}: " + done.stderr.strip()
    first, second = outputs(work / toml.stem / "source"), outputs(work / toml.stem / "ptx")
    if first.keys() != second.keys() or not first:
        return f"outputs {sorted(first)} became {sorted(second)}"
    found = [f"{n}: {d}" for n in first if (d := compare(first[n], second[n]))]
    return "; ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kerf", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ptx", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("examples", nargs="*")
    a = parser.parse_intermixed_args()
    work = a.work or pathlib.Path(tempfile.mkdtemp(prefix="ptx-"))
    work.mkdir(parents=True, exist_ok=True)
    wrong = tried = 0
    for toml in sorted((ROOT / "examples").glob("*/*.toml")):
        if a.examples and toml.stem not in a.examples:
            continue
        ptx = a.ptx and a.ptx / f"{toml.stem}.ptx"
        if ptx and not ptx.exists():
            print(f"{toml.stem:24} no PTX", flush=True)
            continue
        begun = time.time()
        try:
            said = one(a.kerf.resolve(), a.device, toml, ptx, work)
        except subprocess.TimeoutExpired:
            said = "took too long"
        tried += 1
        wrong += bool(said)
        print(f"{toml.stem:24} {time.time() - begun:5.1f} s  {said or 'same bits'}", flush=True)
    print(f"{tried - wrong} of {tried} give the bits of the original")
    sys.exit(1 if wrong and not a.ptx else 0)


if __name__ == "__main__":
    main()
