#!/usr/bin/env python3
"""Times of kernels whose threads do the work of several, measured on a GPU, beside times predicted from machine code.

    bench/elements.py plans KERF examples OUT [NAME...]        makes OUT/plans.json; needs clang
    bench/elements.py measure KERF WORKLOADS OUT               on a machine with a GPU, in a bundle or in the repository
    bench/elements.py predict KERF WORKLOADS OUT               where NVIDIA's assembler is
    bench/elements.py table OUT

Each workload runs at a size that fills a GPU and that a CPU can count, as it is and with everything in f32 (f16 for programs in f32), with 1, 2, 4 and 8 elements a thread: neighbours, and for some
runs of two. `table` compares ratios over one element a thread in the same formats, which is what a search decides by.
Variables: REPEATS (11), EACH (seconds of one run, 60).
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tomllib

REPEATS, EACH = os.environ.get("REPEATS", "11"), float(os.environ.get("EACH", "60"))
SIZES = {
    "black_scholes": "n=2000000", "black_scholes_f32": "n=4000000", "box_muller": "streams=131072 each=64", "backprop": "n_in=131072 n_out=64 epochs=1",
    "cfd": "nx=64 ny=64 nz=64 iterations=2", "conv2d": "width=1536 height=1024", "correlation": "n=512 m=512", "cutoff_coulomb": "bins=6",
    "gaussian": "n=512", "image_denoising": "width=640 height=360", "jacobi2d": "n=2050 steps=4", "lavamd": "nb=12", "mri_q": "voxels=131072",
    "nbody": "n=16384 steps=1", "srad": "rows=2048 columns=2048 steps=1", "stencil": "nx=256 ny=256 nz=128 steps=2",
}
LAYOUTS = [None, (2, None), (4, None), (8, None), (8, 2), (4, 1)]


def output(command):
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=EACH, check=False)
    except subprocess.TimeoutExpired:
        return None, f"more than {EACH:.0f} s"
    return (done.stdout, None) if done.returncode == 0 else (None, done.stderr.strip()[-300:])


def files(workloads, names):
    all_files = {p.stem: p for p in sorted([*workloads.glob("*.toml"), *workloads.glob("*/*.toml")])}
    return {n: all_files[n] for n in names or [n for n in SIZES if n in all_files]}


def plan_text(base, kernels, layout):
    plan = json.loads(base) if base else {"version": 1}
    if layout:
        factor, run = layout
        for k in kernels:
            coarsen = {"factor": factor, **({"run": run} if run else {})}
            plan.setdefault("kernels", {}).setdefault(k, {})["coarsen"] = coarsen
    return json.dumps(plan)


def sizes(file):
    return [w for s in SIZES.get(file.stem, "").split() for w in ["--size", s]]


def key(formats, layout):
    return f"{formats} " + ("1" if not layout else f"{layout[0]}" + (f",run={layout[1]}" if layout[1] else ""))


def plans(kerf, file, out):
    """Plans by name: formats and elements, for the kernels that can be coarsened by two."""
    w = tomllib.loads(file.read_text())
    source = [file.parent / w["source"], "--", *w.get("flags", [])]
    described, why = output([kerf, "inspect", "--format", "json", *source])
    if why:
        sys.exit(f"{file}: {why}")
    narrow = "f32" if '"f64"' in described else "f16"
    base, _ = output([kerf, "inspect", "--all-as", narrow, "--store-as", narrow, *source])
    able = []
    for k in [k["name"] for k in json.loads(described)["kernels"]]:
        path = out / "probe.json"
        path.write_text(plan_text(None, [k], (2, None)))
        if output([kerf, "run", file, "--device", "cpu", "--plan", path, "--quiet"])[1] is None:
            able.append(k)
    made = {}
    for formats, text in [("own", None), (narrow, base)]:
        if formats == "own" or text:
            for layout in LAYOUTS:
                if able or not layout:
                    made[key(formats, layout)] = plan_text(text, able, layout)
    return made


def plan_all(kerf, workloads, out, names):
    path = out / "plans.json"
    made = json.loads(path.read_text()) if path.exists() else {}
    for name, file in files(workloads, names).items():
        if name not in made:
            made[name] = plans(kerf, file, out)
            path.write_text(json.dumps(made, indent=1) + "\n")
            print(name, len(made[name]), flush=True)


def collect(workloads, out, target, command, seconds):
    path = out / target
    rows = json.loads(path.read_text()) if path.exists() else {}
    made = json.loads((out / "plans.json").read_text())
    for name, file in files(workloads, list(made)).items():
        if name in rows:
            continue
        found = {}
        for k, text in made[name].items():
            (out / "plan.json").write_text(text)
            got, why = output(command(file, out / "plan.json"))
            found[k] = seconds(json.loads(got)) if got else why
        rows[name] = found
        path.write_text(json.dumps(rows, indent=1) + "\n")
        told = {k: f"{1e3 * v:.4f}" if isinstance(v, float) else v for k, v in found.items()}
        print(name, told, flush=True)


def table(out):
    measured, predicted = (json.loads((out / f"{n}.json").read_text()) for n in ["measured", "predicted"])
    errors, kept, count = [], 0, 0
    for name in sorted(measured):
        own = {k: v for k, v in measured[name].items() if isinstance(v, float)}
        said = predicted.get(name, {})
        for formats in sorted({k.split()[0] for k in own}):
            one = f"{formats} 1"
            both = [k for k in own if k.split()[0] == formats and isinstance(said.get(k), float)]
            if one not in both or len(both) < 2:
                continue
            ratios = {k: (own[one] / own[k], said[one] / said[k]) for k in both}
            print(f"{name} {formats}: {1e3 * own[one]:.3f} ms, predicted {1e3 * said[one]:.3f}; "
                  + "  ".join(f"{k.split()[1]} {m:.2f} ({p:.2f})" for k, (m, p) in ratios.items() if k != one))
            errors += [abs(math.log(p / m)) for k, (m, p) in ratios.items() if k != one]
            best, chosen = max(m for m, _ in ratios.values()), max(ratios.values(), key=lambda r: r[1])[0]
            count += 1
            kept += best / chosen - 1 <= 0.05
    if count:
        print(f"{len(errors)} ratios, off by {100 * sum(errors) / len(errors):.1f} % in the mean; "
              f"the predicted choice is within 5 % of the best in {kept} of {count}")


def main():
    if sys.argv[1] == "table":
        return table(pathlib.Path(sys.argv[2]))
    what, kerf, workloads, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    out.mkdir(parents=True, exist_ok=True)
    if what == "plans":
        return plan_all(kerf, workloads, out, sys.argv[5:])
    if what == "measure":
        run = [kerf, "run", "--device", "cuda", "--repeats", REPEATS, "--format", "json", "--quiet"]
        command = lambda f, p: [*run, f, "--plan", p, *sizes(f)]
        return collect(workloads, out, "measured.json", command, lambda r: r["times"]["median_s"])
    command = lambda f, p: [kerf, "predict", f, "--plan", p, "--format", "json", "--quiet", *sizes(f)]
    return collect(workloads, out, "predicted.json", command, lambda r: r["seconds"])


if __name__ == "__main__":
    main()
