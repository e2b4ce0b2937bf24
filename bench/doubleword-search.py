#!/usr/bin/env python3
"""What double words do in a search: predicted speed-ups of f64 programs with pairs of f32, and programs mended by wider formats.

    bench/doubleword-search.py KERF OUT [NAME...]

Each f64 example NAME is tuned with --tolerance 1e-9 --metric rel_l2 for each profile of PROFILES, with dw32 among the formats, and for rtx4090 without it.
Nothing is measured but errors: all times are predictions, from counting runs (--no-assembler), as for all plans with double words. The loop of
bench/doubleword/pi.cu, by which NVIDIA's CCCL compares its pairs of float with double, is predicted for PI with all operations as dw32. The programs of crates/kerf/tests/tune/raised, whose own error is above the
tolerance, are tuned with the tolerances of their tests.

OUT/predicted.json and OUT/raised.json have a row a search, written as soon as it is known; what is there is not made again. OUT/table.md has both as tables.
OUT/plans/NAME/plan.json are the plans for rtx4090, examples' and raised, for bench/doubleword-plans.sh. Variables: BUDGET (24), VALIDATE (4 other inputs), EACH (900 seconds).
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET, VALIDATE, EACH = os.environ.get("BUDGET", "24"), os.environ.get("VALIDATE", "4"), float(os.environ.get("EACH", "900"))
PROFILES = ["rtx4090", "b300"]
EXAMPLES = ["black_scholes", "nbody", "lavamd", "mri_q", "reaction_rates", "matmul"]
WITHOUT = ["--formats", "f32,f16,bf16"]
PI = ["b300", "rtx5090", "rtx4090", "h200"]
PI_SIZES = ["--size", "blocks=512", "--size", "terms=64"]
RAISED = [("dot", "2ulp", "h200"), ("dot", "2ulp", "rtx4090"), ("variance", "1e-5", "h200"), ("variance", "1e-5", "rtx4090"),
          ("horner", "1e-6", "h200"), ("horner", "1e-6", "rtx4090")]


def tuned(kerf, workload, folder, *more):
    """The result of a search, or what went wrong in a line."""
    command = [kerf, "tune", workload, "--device", "cpu", "--out", folder, "--budget", BUDGET, "--validate", VALIDATE, "--no-assembler", *more]
    began = time.time()
    try:
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=EACH, check=False)
    except subprocess.TimeoutExpired:
        return None, f"more than {EACH:.0f} s"
    file = folder / "result.json"
    if run.returncode not in (0, 1) or not file.exists():
        return None, run.stderr.strip()[-200:]
    return json.loads(file.read_text()), f"{time.time() - began:.0f} s"


def operations(result):
    """How many operations have which format in the plan, of those that changed."""
    counts = {}
    for site in result["sites"]:
        if site["from"] != site["to"] and site["op"] not in ("load", "store"):
            counts[site["to"]] = counts.get(site["to"], 0) + 1
    return counts


def row(result, said):
    if result is None:
        return {"failed": said}
    return {"verdict": result["verdict"], "speedup": result["speedup"]["value"], "kind": result["speedup"]["kind"], "by": result["speedup"]["by"],
            "error": result["error"], "own_error": result["floor"]["error"], "tolerance": result["criteria"]["tolerance"],
            "metric": result["criteria"]["metric"], "operations": operations(result), "raised": result.get("raised"),
            "evaluations": result["effort"]["search"], "raising": result["effort"].get("raising", 0), "wall": said}


def keep(file, rows):
    file.write_text(json.dumps(rows, indent=1) + "\n")


def keep_plan(out, folder, name):
    plan = out / "plans" / name / "plan.json"
    plan.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "plan.json", plan)


def predicted(kerf, out, names):
    file = out / "predicted.json"
    rows = json.loads(file.read_text()) if file.exists() else {}
    for name in names:
        for profile in PROFILES:
            for kind, more in (("dw32", []), ("without", WITHOUT)):
                key = f"{name} {profile} {kind}"
                if key in rows or (kind == "without" and profile != "rtx4090"):
                    continue
                folder = out / "searches" / key.replace(" ", "-")
                workload = ROOT / "examples" / name / f"{name}.toml"
                result, said = tuned(kerf, workload, folder, "--profile", profile, "--tolerance", "1e-9", "--metric", "rel_l2", *more)
                rows[key] = row(result, said)
                keep(file, rows)
                print(key, json.dumps(rows[key])[:160], flush=True)
                if result and kind == "dw32" and profile == "rtx4090" and result["verdict"] == "tuned":
                    keep_plan(out, folder, name)
    return rows


def raised(kerf, out):
    file = out / "raised.json"
    rows = json.loads(file.read_text()) if file.exists() else {}
    for name, tolerance, profile in RAISED:
        key = f"{name} {profile}"
        if key in rows:
            continue
        workload = ROOT / "crates/kerf/tests/tune/raised" / f"{name}.toml"
        folder = out / "searches" / f"raised-{name}-{profile}"
        result, said = tuned(kerf, workload, folder, "--profile", profile, "--tolerance", tolerance)
        if result and profile == "rtx4090" and result["verdict"] == "raised":
            keep_plan(out, folder, name)
        rows[key] = row(result, said)
        keep(file, rows)
        print(key, json.dumps(rows[key])[:200], flush=True)
    return rows


def pi(kerf, out):
    """Seconds of the loop in f64 and in dw32, by profile."""
    folder = ROOT / "bench" / "doubleword"
    plan = out / "pi-dw32.json"
    plan.write_text(subprocess.run([kerf, "inspect", folder / "pi.cu", "--all-as", "dw32"], capture_output=True, text=True, check=True).stdout)
    rows = {}
    for profile in PI:
        seconds = []
        for more in ([], ["--plan", plan]):
            command = [kerf, "predict", folder / "pi.toml", "--profile", profile, "--no-assembler", "--format", "json", *PI_SIZES, *more]
            run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
            seconds.append(json.loads(run.stdout)["launches"][0]["device_seconds"])
        rows[profile] = {"f64_s": seconds[0], "dw32_s": seconds[1], "speedup": seconds[0] / seconds[1]}
    keep(out / "pi.json", rows)
    return rows


def counted(operations):
    return ", ".join(f"{n} {f}" for f, n in sorted(operations.items())) or "none"


def table(rows, raised_rows, names):
    lines = ["| example | profile | with dw32, predicted | operations | error | without, predicted | error |", "|---|---|---|---|---|---|---|"]
    for name in names:
        for profile in PROFILES:
            pair = [rows.get(f"{name} {profile} {k}", {"failed": ""}) for k in ("dw32", "without")]
            cells = [f["failed"] if "failed" in f else f"{f['speedup']:.2f}x" if f["verdict"] == "tuned" else f["verdict"] for f in pair]
            errors = [f"{f['error']:.1e}" if f.get("error") is not None else "" for f in pair]
            lines.append(f"| {name} | {profile} | {cells[0]} | {counted(pair[0].get('operations', {}))} | {errors[0]} | {cells[1]} | {errors[1]} |")
    lines += ["", "| program | tolerance | profile | own error | plan's | raised operations | lowered | time, predicted |", "|---|---|---|---|---|---|---|---|"]
    for name, tolerance, profile in RAISED:
        f = raised_rows.get(f"{name} {profile}", {"failed": "not run"})
        if "failed" in f:
            lines.append(f"| {name} | {tolerance} | {profile} | {f['failed']} | | | | |")
            continue
        r = f["raised"] or {"operations": 0, "of": 0}
        total = sum(f["operations"].values())
        lines.append(f"| {name} | {tolerance} | {profile} | {f['own_error']:.2e} | {f['error']:.2e} | {r['operations']} of {r['of']} | "
                     f"{total - r['operations']} | {1 / f['speedup']:.2f} of the program's |")
    return "\n".join(lines) + "\n"


def main():
    kerf, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    names = sys.argv[3:] or EXAMPLES
    out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(pi(kerf, out)))
    mended = raised(kerf, out)
    rows = predicted(kerf, out, names)
    (out / "table.md").write_text(table(rows, mended, names))
    print((out / "table.md").read_text())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
