#!/usr/bin/env python3
"""Runs vosen/ptx_tests (one test a PTX instruction, through the driver API) with Kerf's libcuda on the CPU executor.

    bench/ptx-tests.py SOURCES LIBCUDA OUT [--filter REGEX] [--elements N] [--jobs N]

SOURCES is a checkout of https://github.com/vosen/ptx_tests, LIBCUDA Kerf's library (target/debug/libkerfcuda.so), OUT a
folder for the record: summary.json and one line a test in tests.tsv. A copy of the sources is built with the nightly
compiler that they ask for. The suite tries 2^32 inputs of every instruction, which is made for GPUs: the copy tries N of them
(65,536): all of a domain that is no larger, else a permutation of the whole domain up to the N-th. Every test is a process.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SAMPLED = """    let total_elements = (Test::MAX_VALUE as usize + 1).min({n});
    let domain = Test::MAX_VALUE as u64 + 1;
    let scattered = |i: usize| match domain > {n} {{
        true => (i as u64 * 2654435761 % domain) as u32,
        false => i as u32,
    }};"""


# GMP tests itself for minutes unless it is told not to.
UNTESTED_GMP = """
[target.'cfg(not(windows))'.dependencies.gmp-mpfr-sys]
version = "1.7"
default-features = false
features = ["mpfr", "c-no-tests"]
"""


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"the suite is another one than this script knows: {text.count(old)} times {old!r}")
    return text.replace(old, new)


def build(sources, work, elements):
    """A copy of the suite with fewer inputs; gives the program."""
    copy = work / "ptx_tests"
    if not copy.exists():
        shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("target", ".git"))
    original = (pathlib.Path(sources) / "src/test.rs").read_text()
    text = replaced(original, "let total_elements = 2.pow(32);", f"let total_elements: usize = {elements};")
    text = replaced(text, "    let total_elements = Test::MAX_VALUE as usize + 1;", SAMPLED.format(n=elements))
    text = replaced(text, "t.generate((elment_start + i) as u32)", "t.generate(scattered(elment_start + i))")
    if (copy / "src/test.rs").read_text() != text:
        (copy / "src/test.rs").write_text(text)
    manifest = (pathlib.Path(sources) / "Cargo.toml").read_text() + UNTESTED_GMP
    if (copy / "Cargo.toml").read_text() != manifest:
        (copy / "Cargo.toml").write_text(manifest)
    env = dict(os.environ, CARGO_PROFILE_RELEASE_LTO="off", CARGO_PROFILE_RELEASE_CODEGEN_UNITS="16",
               CARGO_PROFILE_RELEASE_OPT_LEVEL="1")
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "+nightly", "build", "--release"], cwd=copy, env=env, check=True)
    return copy / "target/release/ptx_tests"


def outcome(stdout, stderr, code):
    """What became of a test: passed, refused by name, or failed, and why."""
    said = " ".join(line.removeprefix("kerf: ") for line in stderr.splitlines() if line.startswith("kerf: "))
    if re.search(r": OK$", stdout, re.M):
        return "passed", ""
    if code is None:
        return "failed", "time limit"
    if "Compilation mismatch" in stdout:
        return "failed", "accepted: " + stdout.split("didn't expect")[1].strip()
    if "FAIL - with input" in stdout:
        found = re.search(r"FAIL - with input (.*)\n +computed on GPU: (.*)\n +computed on CPU: (.*)\n +(passed.*)", stdout)
        return "failed", "; ".join(found.groups()) if found else stdout.strip()
    if said:
        return "refused", said
    return "failed", (stdout + stderr).strip().splitlines()[-1] if (stdout + stderr).strip() else f"exit {code}"


def run_one(program, libcuda, number, count, limit):
    command = [program, libcuda, "--shard-index", str(number), "--shard-count", str(count)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        return outcome(done.stdout, done.stderr, done.returncode)
    except subprocess.TimeoutExpired as e:
        return outcome((e.stdout or b"").decode(), (e.stderr or b"").decode(), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources")
    parser.add_argument("libcuda", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/kerf-ptx-tests"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--elements", type=int, default=1 << 16)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    program = build(args.sources, args.work, args.elements)
    names = subprocess.run([program, "-l"], capture_output=True, text=True, check=True).stdout.split()
    chosen = [i for i, n in enumerate(names) if re.search(args.filter, n)]
    libcuda = args.libcuda.resolve()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda i: run_one(program, libcuda, i, len(names), args.limit), chosen))
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [(names[i], *r) for i, r in zip(chosen, results)]
    lines = ["\t".join(x.replace("\t", " ").replace("\n", " ") for x in row) for row in rows]
    (args.out / "tests.tsv").write_text("test\tresult\twhy\n" + "\n".join(lines) + "\n")
    counts = collections.Counter(r[0] for r in results)
    summary = {"tests": len(rows), "elements": args.elements, **{k: counts[k] for k in ("passed", "refused", "failed")}}
    (args.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
