#!/usr/bin/env python3
"""What the checker costs: every example plain, under `--memcheck=memory` and under `--memcheck`.

    bench/memcheck.py --kerf target/release/kerf --out FOLDER [--threads 2] [--only NAME ...]

The three take turns, `--repeats` times each, on the same number of threads (races are looked for on one); the ratios
are of medians of the times that the executor spends in kernels. Examples are run at the sizes of their files.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = {"plain": [], "memory": ["--memcheck=memory"], "all": ["--memcheck"]}


def seconds(kerf, workload, way, threads, limit):
    command = [kerf, "run", workload, "--warmup", "0", "--repeats", "1", "--format", "json", "--threads", str(threads)]
    try:
        r = subprocess.run(command + WAYS[way], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"no end within {limit} s"
    if r.returncode:
        return None, r.stderr.strip().splitlines()[-1]
    return json.loads(r.stdout)["times"]["median_s"], None


def measure(kerf, workload, o):
    times, said = {w: [] for w in WAYS}, {}
    for _ in range(o.repeats):
        for way in WAYS:
            if way in said:
                continue
            t, problem = seconds(kerf, workload, way, o.threads, o.limit)
            if problem:
                said[way] = problem
            else:
                times[way].append(t)
    return {"times_s": times, "said": said}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kerf", required=True)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--limit", type=int, default=300)
    p.add_argument("--only", nargs="*", default=[])
    o = p.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    lines = ["example            plain, ms   memory, times      all, times"]
    rows = {}
    for workload in sorted(ROOT.glob("examples/*/*.toml")):
        name = workload.stem
        if o.only and name not in o.only:
            continue
        row = rows[name] = measure(o.kerf, workload, o)
        t = {w: statistics.median(v) for w, v in row["times_s"].items() if v}
        ratio = lambda w: f"{t[w] / t['plain']:.1f}" if w in t and "plain" in t else "-"
        lines.append(f"{name:18} {t.get('plain', 0) * 1e3:9.2f} {ratio('memory'):>15} {ratio('all'):>15}  {'; '.join(f'{w}: {s}' for w, s in row['said'].items())}")
        print(lines[-1], flush=True)
        (o.out / "slowdown.txt").write_text("\n".join(lines) + "\n")
        (o.out / "slowdown.json").write_text(json.dumps(rows, indent=1) + "\n")


main()
