#!/usr/bin/env python3
"""What plans that were chosen without a GPU are worth on one: regret against plans found by measuring, promised against measured.

    bench/regret.py KERF WORKLOADS OUT [NAME...]      on a machine with a GPU, in a bundle or in the repository

Each workload NAME.toml below WORKLOADS is tuned twice, by `kerf tune --device cpu` into OUT/chosen (JOBS at a time, meanwhile) and by
`kerf tune --device cuda` into OUT/found; what is in OUT already is kept. Then the workload is run as it is, by the chosen plan and by
the found one in turn, LAPS times; medians of medians count. Regret is how much longer the chosen plan takes than the fastest of the three.

OUT/regret.json and OUT/regret.txt have a row a workload as soon as it is known; OUT/plans.tar.xz has plans and results. Variables: TOLERANCE (1e-3),
METRIC (rel_l2), BUDGET (30 evaluations without a GPU), JOBS (8), LAPS (3), REPEATS (10), LIMIT (seconds after which no workload is begun), EACH (300:
seconds that a search may take).
"""
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import time


def setting(name, default):
    return type(default)(os.environ.get(name, default))


TOLERANCE, METRIC = setting("TOLERANCE", "1e-3"), setting("METRIC", "rel_l2")
BUDGET, JOBS, LAPS, REPEATS = setting("BUDGET", 30), setting("JOBS", 8), setting("LAPS", 3), setting("REPEATS", 10)
LIMIT, EACH = setting("LIMIT", 1e9), setting("EACH", 300.0)
HEAD = f"{'workload':<20} {'program':>10} {'promised':>8} {'measured':>8} {'found':>8} {'regret':>8} {'promise off by':>14}"


class Failed(Exception):
    """A search or a run that gave nothing, and why."""


def kerf_output(command, seconds):
    try:
        out = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"{command[1]} took more than {seconds:.0f} s") from e
    if out.returncode != 0:
        raise Failed(f"{command[1]}: {out.stderr.strip()[-200:]}")
    return out.stdout


def tuned(kerf, file, folder, *more):
    """The folder of a search's result, and the result."""
    if not (folder / "result.json").is_file():
        command = [kerf, "tune", file, "--tolerance", TOLERANCE, "--metric", METRIC, "--quiet", "--out", folder, *more]
        folder.with_suffix(".txt").write_text(kerf_output(command, EACH))
    return folder, json.loads((folder / "result.json").read_text())


def run_s(kerf, file, plan):
    command = [kerf, "run", file, "--device", "cuda", "--repeats", REPEATS, "--format", "json", "--quiet"]
    if plan:
        command += ["--plan", plan]
    return json.loads(kerf_output(command, EACH))["times"]["median_s"]


def plan_of(folder, result):
    """The plan of a result that changes anything."""
    return folder / "plan.json" if result["verdict"] == "tuned" else None


def compare(kerf, file, chosen, found):
    plans = {"program": None, "chosen": plan_of(*chosen), "found": plan_of(*found)}
    samples = {key: [] for key in plans}
    for _ in range(LAPS):
        for key, plan in plans.items():
            if key == "program" or plan:
                samples[key].append(run_s(kerf, file, plan))
    times = {key: statistics.median(values) if values else None for key, values in samples.items()}
    program = times["program"]
    chosen_s, found_s = times["chosen"] or program, times["found"] or program
    promised = chosen[1]["speedup"]["value"] if plans["chosen"] else 1.0
    return {
        "program_s": program,
        "promised": promised,
        "measured": program / chosen_s,
        "found": program / found_s,
        "regret": chosen_s / min(program, found_s, chosen_s) - 1,
        "promise_error": promised / (program / chosen_s) - 1,
        "samples_s": samples,
    }


def row(name, r):
    return (
        f"{name:<20} {1e3 * r['program_s']:>7.3f} ms {r['promised']:>8.3f} {r['measured']:>8.3f} {r['found']:>8.3f} "
        f"{r['regret']:>7.1%} {r['promise_error']:>13.1%}"
    )


def pack(out):
    """Plans and results, without modules and caches."""
    with tarfile.open(out / "plans.tar.xz", "w:xz") as archive:
        for path in sorted([*out.glob("*/*/plan.json"), *out.glob("*/*/result.json"), *out.glob("*/*.txt")]):
            archive.add(path, path.relative_to(out))


def main():
    began = time.monotonic()
    kerf, workloads, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    files = {p.stem: p for p in sorted([*workloads.glob("*.toml"), *workloads.glob("*/*.toml")])}
    names = sys.argv[4:] or list(files)
    if unknown := [n for n in names if n not in files]:
        sys.exit(f"error: no workload {', '.join(unknown)} below {workloads}")
    for folder in ["chosen", "found"]:
        (out / folder).mkdir(parents=True, exist_ok=True)
    rows, lines = {}, []

    def say(line):
        print(line, flush=True)
        lines.append(line)
        (out / "regret.txt").write_text("\n".join(lines) + "\n")

    say(HEAD)
    pool = concurrent.futures.ThreadPoolExecutor(JOBS)
    alone = ["--device", "cpu", "--budget", BUDGET, "--workers", "1"]
    chosen = {n: pool.submit(tuned, kerf, files[n], out / "chosen" / n, *alone) for n in names}
    for name in names:
        if time.monotonic() - began > LIMIT:
            say(f"{name:<20} not begun: the time is over")
            chosen[name].cancel()
            continue
        try:
            found = tuned(kerf, files[name], out / "found" / name, "--device", "cuda")
            r = rows[name] = compare(kerf, files[name], chosen[name].result(), found)
        except (Failed, KeyError) as e:
            say(f"{name:<20} not compared: {e}")
            continue
        say(row(name, r))
        (out / "regret.json").write_text(json.dumps(rows, indent=1) + "\n")
    within = sum(r["regret"] <= 0.05 for r in rows.values())
    near = sum(abs(r["promise_error"]) <= 0.15 for r in rows.values())
    say(f"{len(rows)} of {len(names)} compared: regret at most 5 % in {within}, promised within 15 % of measured in {near}")
    pool.shutdown(cancel_futures=True)
    pack(out)


if __name__ == "__main__":
    main()
