#!/usr/bin/env python3
"""What plans that were chosen without a GPU are worth on one: regret against plans found by measuring, promised against measured.

    bench/regret.py KERF WORKLOADS CHOSEN FOUND OUT.json [NAME...]

CHOSEN and FOUND hold folders NAME or NAME-TOLERANCE with results of `kerf tune --device cpu` and `kerf tune --device cuda` for the
workload NAME.toml below WORKLOADS (a bundle). Each workload is run as it is, by the plan of CHOSEN and by that of FOUND in turn, LAPS
times; medians of medians count. Regret is how much longer the chosen plan takes than the faster of the found plan and the program itself.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

LAPS = int(os.environ.get("LAPS", "3"))
REPEATS = os.environ.get("REPEATS", "10")


def result(folder, name):
    for path in sorted([folder / name, *folder.glob(f"{name}-1e-*")]):
        if (path / "result.json").is_file():
            return path, json.loads((path / "result.json").read_text())
    return None, None


def workload(folder, name):
    return next(iter(sorted([*folder.glob(f"{name}.toml"), *folder.glob(f"*/{name}.toml")])), None)


def run_s(kerf, file, plan):
    command = [kerf, "run", file, "--device", "cuda", "--repeats", REPEATS, "--format", "json", "--quiet"]
    if plan:
        command += ["--plan", plan]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if out.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {out.stderr.strip()[-200:]}")
    return json.loads(out.stdout)["times"]["median_s"]


def tuned(path, r):
    """The plan of a result that changes anything."""
    return path / "plan.json" if r["verdict"] == "tuned" else None


def compare(kerf, file, chosen, found):
    plans = {"program": None, "chosen": tuned(*chosen), "found": tuned(*found)}
    samples = {key: [] for key in plans}
    for _ in range(LAPS):
        for key, plan in plans.items():
            if key == "program" or plan:
                samples[key].append(run_s(kerf, file, plan))
    times = {key: statistics.median(values) if values else None for key, values in samples.items()}
    program = times["program"]
    chosen_s = times["chosen"] or program
    best_s = min(program, times["found"] or program, chosen_s)
    promised = chosen[1]["speedup"]["value"] if plans["chosen"] else 1.0
    return {
        "program_s": program,
        "promised": promised,
        "measured": program / chosen_s,
        "found": program / (times["found"] or program),
        "regret": chosen_s / best_s - 1,
        "promise_error": promised / (program / chosen_s) - 1,
        "samples_s": samples,
    }


def main():
    kerf, workloads, chosen, found, out = sys.argv[1], *map(pathlib.Path, sys.argv[2:6])
    names = sys.argv[6:] or sorted({p.parent.name.rsplit("-1e-", 1)[0] for p in chosen.glob("*/result.json")})
    rows = {}
    print(f"{'workload':<20} {'program':>10} {'promised':>8} {'measured':>8} {'found':>8} {'regret':>8} {'promise off by':>14}")
    for name in names:
        a, b, file = result(chosen, name), result(found, name), workload(workloads, name)
        if not (a[0] and b[0] and file):
            print(f"{name:<20} not compared: {'no workload' if not file else 'no result without a GPU' if not a[0] else 'no result by measuring'}")
            continue
        try:
            r = rows[name] = compare(kerf, file, a, b)
        except (RuntimeError, subprocess.TimeoutExpired, KeyError) as e:
            print(f"{name:<20} failed: {e}")
            continue
        print(
            f"{name:<20} {1e3 * r['program_s']:>7.3f} ms {r['promised']:>8.3f} {r['measured']:>8.3f} {r['found']:>8.3f} "
            f"{r['regret']:>7.1%} {r['promise_error']:>13.1%}",
            flush=True,
        )
        out.write_text(json.dumps(rows, indent=1) + "\n")
    within = sum(r["regret"] <= 0.05 for r in rows.values())
    near = sum(abs(r["promise_error"]) <= 0.15 for r in rows.values())
    print(f"{len(rows)} compared: regret at most 5 % in {within}, promised within 15 % of measured in {near}")


if __name__ == "__main__":
    main()
