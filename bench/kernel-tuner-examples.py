#!/usr/bin/env python3
"""Runs scripts of Kernel Tuner with Kerf in its place: only their import is changed.

    KERF=target/release/kerf PYTHONPATH=python/src bench/kernel-tuner-examples.py SCRIPTS [--only WORD] [--seconds S]

SCRIPTS is a folder, or an archive of one. Each script that imports kernel_tuner is copied, its import changed
(`import kernel_tuner` becomes `import kerf as kernel_tuner`, `from kernel_tuner.x` becomes `from kerf.x`), and run in its
own folder with the Python that runs this program; files of tests with pytest. Searches end after --seconds each
(KERF_TUNE_KERNEL_SECONDS), scripts after --limit. The table says of each script whether it ran, was refused with a
reason, needs something that is not here, or failed, and how often the reason was printed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

REFUSED = re.compile(r"^(?:kerf\.[\w.]*UnsupportedError|E\s+kerf\.[\w.]*UnsupportedError): (.*)", re.M)
MISSING = re.compile(r"^(?:E\s+)?ModuleNotFoundError: No module named '([\w.]+)'", re.M)
NO_GPU = re.compile(r"CUDARuntimeError: (cudaError\w+)|(CUDA_ERROR_NO_DEVICE)")
RAISED = re.compile(r"^(?:E\s+)?([\w.]*(?:Error|Exception|Interrupt))(?:: (.*))?$", re.M)
CUT = re.compile(r"the search ended after .* with (\d+) of (\d+) configurations")
FAILED = re.compile(r"^(\d+) of \d+ configurations failed: (.*)$", re.M)


def changed(text):
    """The script with Kerf in place of Kernel Tuner."""
    text = re.sub(r"^(\s*)from kernel_tuner\b", r"\1from kerf", text, flags=re.M)
    text = re.sub(r"^(\s*)import kernel_tuner\.([\w.]+)[ \t]*$", r"\1import kerf.\2, kerf as kernel_tuner", text, flags=re.M)
    text = re.sub(r"^(\s*)import kernel_tuner\b(?=(\.\w+)* as )", r"\1import kerf", text, flags=re.M)
    return re.sub(r"^(\s*)import kernel_tuner\b", r"\1import kerf as kernel_tuner", text, flags=re.M)


def unpacked(given, into):
    """The scripts below a folder or an archive, copied."""
    if given.is_dir():
        shutil.copytree(given, into, dirs_exist_ok=True)
    else:
        with tarfile.open(given) as archive:
            archive.extractall(into, filter="data")
    found = sorted(p for p in into.rglob("*.py") if re.search(r"^\s*(import|from) kernel_tuner", p.read_text(errors="replace"), re.M))
    for p in found:
        p.write_text(changed(p.read_text()))
    return found


def outcome(code, out, err, timed_out):
    """What became of a script: a word, the reason, and how often it was printed."""
    text = out + "\n" + err
    searches = [f"{a} of {b} configurations" for a, b in CUT.findall(err)]
    if timed_out:
        return "out of time", "; ".join(searches), 0
    if code == 0:
        skipped = re.search(r"^SKIPPED .*?: (.*)$", out, re.M)
        if skipped:
            return "skipped itself", skipped[1], out.count(skipped[1])
        failures = [f"{n} configurations failed: {why}" for n, why in FAILED.findall(err)]
        return "ran", "; ".join([*searches, *failures]), 0
    if code in (-9, 137) or re.search(r"MemoryError|no memory for", text):
        return "out of memory", (re.findall(r"MemoryError: (.*)|(no memory for \d+ bytes)", text) or [("", "")])[-1][-1], 1
    for word, pattern in (("refused", REFUSED), ("needs a package", MISSING), ("needs a GPU", NO_GPU), ("failed", RAISED)):
        found = pattern.findall(text)
        if found:
            last = found[-1] if isinstance(found[-1], str) else ": ".join(x for x in found[-1] if x)
            core = last.split("\n")[0]
            # A reason is printed where it is raised; pytest quotes it once more.
            return word, core, 1 if "pytest" in out else max(1, text.count(core))
    return "failed", (err.strip().splitlines() or ["no message"])[-1], 1


def run(script, args):
    """Runs one script; gives its row."""
    tests = script.name.startswith("test_")
    words = [sys.executable, "-m", "pytest", "-q", "-rs", script.name] if tests else [sys.executable, script.name]
    env = {**os.environ, "KERF_TUNE_KERNEL_SECONDS": str(args.seconds), "MPLBACKEND": "Agg"}
    for name in ("KERF", "PYTHONPATH"):
        if name in env:
            env[name] = os.pathsep.join(os.path.abspath(p) for p in env[name].split(os.pathsep))
    limit = int(args.memory * 2**30)
    began = time.monotonic()
    child = subprocess.Popen(
        words, cwd=script.parent, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    timed_out = False
    try:
        out, err = child.communicate(timeout=args.limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(child.pid, 15)
        try:
            out, err = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            out, err = child.communicate()
    word, reason, times = outcome(child.returncode, out, err, timed_out)
    return {
        "script": f"{script.parent.name}/{script.name}",
        "outcome": word,
        "reason": reason,
        "printed": times,
        "seconds": round(time.monotonic() - began, 1),
        "tail": err[-2000:] if word in ("failed", "out of memory", "out of time") else "",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scripts", type=pathlib.Path)
    parser.add_argument("--only", default="", help="scripts whose path this expression is found in")
    parser.add_argument("--seconds", type=float, default=20, help="of each search")
    parser.add_argument("--limit", type=float, default=300, help="seconds of each script")
    parser.add_argument("--memory", type=float, default=64, help="GiB of each process's address space")
    parser.add_argument("--out", type=pathlib.Path, help="JSON with all rows")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="kernel-tuner-") as folder:
        for script in unpacked(args.scripts, pathlib.Path(folder)):
            if not re.search(args.only, str(script.relative_to(folder))):
                continue
            row = run(script, args)
            rows.append(row)
            print(f"| {row['script']} | {row['outcome']} | {row['reason'].replace('|', '/')[:300]} | {row['seconds']:.0f} |", flush=True)
            if args.out:
                args.out.write_text(json.dumps(rows, indent=1) + "\n")
    counts = collections.Counter(r["outcome"] for r in rows)
    print(f"\n{len(rows)} scripts: " + ", ".join(f"{n} {word}" for word, n in counts.most_common()))
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
