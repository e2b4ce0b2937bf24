#!/usr/bin/env python3
"""Functions made to measure against the library's, inside a bundle on a GPU machine.

    kerf bundle bench/functions/*.toml examples/black_scholes/black_scholes.toml ... --out BUNDLE
    bench/functions.py BUNDLE OUT [--cpu] [--predict DEVICE] [NAME ...]

1. bits: a plan with a made function gives the same bits on the CPU executor and on the GPU, for arguments of which some are
   outside its range;
2. times: each function of bench/functions at four errors, against the library's;
3. tunes: the other workloads of the bundle with doubles, at 1e-9 and 1e-12, with and without made functions.

Needs the program `kerf` in the bundle, python3 and nothing else. Every run is bounded; in all about six minutes. With --cpu
nothing is measured: it shows that the script runs. With --predict there is no GPU: times are predicted for a device from machine
code (BUNDLE may be bench/functions, with KERF the program). Names choose functions, and leave out the searches.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ERRORS = ["1e-3", "1e-6", "1e-9", "1e-12"]
# The call's site, and arguments that the kernels compute: from half of the smallest to the largest; of two, both ranges.
CASES = {
    "exp_f64": (5, "exp", (-7.0, 0.0), None),
    "log_f64": (5, "log", (0.25, 100.0), None),
    "sin_f64": (5, "sin", (0.005, 3.0), None),
    "cos_f64": (5, "cos", (0.005, 30.0), None),
    "tanh_f64": (5, "tanh", (0.005, 2.0), None),
    "erf_f64": (5, "erf", (0.005, 2.0), None),
    "exp_f32": (5, "exp", (-7.0, 0.0), None),
    "log_f32": (5, "log", (0.25, 100.0), None),
    "sin_f32": (5, "sin", (0.0078125, 30.0), None),
    "sincos_f64": (5, "sincos", (0.005, 60.0), None),
    "pow_f64": (9, "pow", (0.01, 50.0), (-3.0, 3.0)),
    "powc_f64": (5, "pow", (0.01, 50.0), (0.41666, 0.41666)),
    "cube_f64": (5, "pow", (0.01, 50.0), (3.0, 3.0)),
    "hypot_f64": (9, "hypot", (-10.0, 10.0), (-10.0, 10.0)),
    "rhypot_f64": (9, "rhypot", (-10.0, 10.0), (-10.0, 10.0)),
    "atan2_f64": (9, "atan2", (-10.0, 10.0), (-10.0, 10.0)),
    "sincos_f32": (5, "sincos", (0.0078125, 60.0), None),
    "pow_f32": (9, "pow", (0.0078125, 50.0), (-3.0, 3.0)),
    "powc_f32": (5, "pow", (0.0078125, 50.0), (0.41665998101234436, 0.41665998101234436)),
    "hypot_f32": (9, "hypot", (-10.0, 10.0), (-10.0, 10.0)),
    "atan2_f32": (9, "atan2", (-10.0, 10.0), (-10.0, 10.0)),
}
TUNED = ["black_scholes", "lavamd", "box_muller", "gmm_data_term", "reaction_rates"]
LIMIT_S = 1200 if "--predict" in sys.argv else 400
KERF = os.environ.get("KERF", "./kerf")
START = time.monotonic()


def left():
    return LIMIT_S - (time.monotonic() - START)


class Bundle:
    """Runs of the program in the bundle's folder."""

    def __init__(self, folder, out, device, profile=None):
        self.folder, self.out, self.device, self.profile = folder, out, device, profile
        out.mkdir(parents=True, exist_ok=True)
        self.log = open(out / "commands.jsonl", "w")

    def kerf(self, *args, seconds=20):
        seconds = min(seconds, left())
        if seconds < 1:
            return None, "no time left"
        try:
            p = subprocess.run([KERF, *args], cwd=self.folder, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            self.note(args, "timeout", "")
            return None, f"more than {seconds:.0f} s"
        self.note(args, p.returncode, p.stderr[-400:])
        return (p.stdout, None) if p.returncode in (0, 1) and p.stdout else (None, p.stderr.strip().split("\n")[0])

    def note(self, args, status, told):
        line = {"s": round(time.monotonic() - START, 2), "args": args, "status": status, "stderr": told}
        self.log.write(json.dumps(line) + "\n")
        self.log.flush()

    def made(self, name, error, inner=False):
        """A file with a plan that has a made function; with `inner` for a part of the range only."""
        site, function, first, second = CASES[name]
        if inner:
            first, second = (r and (r[0] + 0.25 * (r[1] - r[0]), r[1] - 0.25 * (r[1] - r[0])) for r in (first, second))
        words = ["function", function, "--from", repr(first[0]), "--to", repr(first[1]), "--error", error, "--type", name[-3:], "--emit", "plan"]
        if second:
            words += ["--second-from", repr(second[0]), "--second-to", repr(second[1])]
        for measure in ["--relative", "--absolute"]:
            text, why = self.kerf(*words, measure)
            if text:
                break
        else:
            return None, why
        f = json.loads(text)
        path = self.out / f"{name}-{error}{'-inner' if inner else ''}.plan.json"
        plan = {"version": 1, "kernels": {name: {"made": [{"sites": [site], "function": f}]}}}
        path.write_text(json.dumps(plan))
        return path, f

    def run(self, name, device, plan=None, cpu_sizes=False, repeats="30"):
        words = ["run", f"{name}.toml", "--device", device, "--format", "json", "--repeats", repeats]
        words += ["--cpu-sizes"] if cpu_sizes else []
        words += ["--plan", str(plan)] if plan else []
        text, why = self.kerf(*words)
        return (json.loads(text), None) if text else (None, why)

    def time(self, name, plan=None):
        """Seconds of the kernel."""
        if not self.profile:
            r, why = self.run(name, self.device, plan)
            return (r and {"seconds": r["times"]["median_s"], "times": r["times"]}), why
        words = ["predict", f"{name}.toml", "--profile", self.profile, "--size", "n=262144", "--format", "json"]
        words += ["--plan", str(plan)] if plan else []
        text, why = self.kerf(*words, seconds=120)
        if not text:
            return None, why
        r = json.loads(text)
        return {"seconds": sum(x["device_seconds"] * x["repeats"] for x in r["launches"])}, None


def bits(b, names):
    """Digests on both devices, of arguments inside and outside."""
    print("bits: CPU executor and GPU")
    bad = 0
    for name in names:
        for error in ["1e-3", "1e-9"] if name.endswith("f64") else ["1e-3"]:
            plan, f = b.made(name, error, inner=True)
            if not plan:
                print(f"  {name} {error}: not made: {f}")
                continue
            digests = []
            for device in ["cpu", b.device]:
                r, why = b.run(name, device, plan, cpu_sizes=True, repeats="1")
                digests.append(r["outputs"][0]["digest"] if r else why)
            same = digests[0] == digests[1]
            bad += not same
            print(f"  {name} {error}: {'identical' if same else 'DIFFERENT'} {digests[0] if same else digests}", flush=True)
    return bad


def times(b, names):
    """Times of the library's function and of the made ones: measured, or predicted for a device."""
    what = f"predicted for {b.profile}, from machine code" if b.profile else "median of the launches"
    print(f"times: {what}, of the library's function and of the made one")
    rows = []
    for name in names:
        own, why = b.time(name)
        if not own:
            print(f"  {name}: {why}")
            continue
        base = own["seconds"]
        print(f"  {name}: library {1e3 * base:.4f} ms", flush=True)
        for error in ERRORS if name.endswith("f64") else ERRORS[:2]:
            plan, f = b.made(name, error)
            r, why = b.time(name, plan) if plan else (None, f)
            if not r:
                print(f"    {error}: {why}")
                continue
            t = r["seconds"]
            row = {"name": name, "error": error, "measure": f["measure"], "proven": f["proven"], "degree": f["degree"], "pieces": f["pieces"], "library_s": base, "made_s": t}
            rows.append(row | ({"predicted": b.profile} if b.profile else {"times": r["times"], "library": own["times"]}))
            pieces = f" {f['pieces']} pieces" if f["pieces"] > 1 else ""
            print(f"    {error}: {1e3 * t:.4f} ms, {base / t:.3f} times as fast, degree {f['degree']}{pieces}, {f['measure']}", flush=True)
    (b.out / "times.json").write_text(json.dumps(rows, indent=1))


def tunes(b):
    print("tunes: speed-up with everything, at a budget of 30")
    for name in TUNED:
        if not (b.folder / f"{name}.toml").exists():
            continue
        for tolerance in ["1e-9", "1e-12"]:
            out = b.out / f"{name}-{tolerance}"
            words = ["tune", f"{name}.toml", "--device", b.device, "--tolerance", tolerance, "--budget", "30", "--validate", "6", "--out", str(out), "--format", "json", "--yes"]
            text, why = b.kerf(*words, seconds=30)
            if not text:
                print(f"  {name} {tolerance}: {why}", flush=True)
                continue
            r = json.loads(text)
            s = r["speedup"]
            interval = f" [{s['low']:.3f}, {s['high']:.3f}]" if s.get("low") else ""
            made = sorted({x["made"] for x in r["sites"] if x.get("made")})
            offered = sum(bool(g.get("made")) for g in r["groups"])
            print(f"  {name} {tolerance}: {r['verdict']} {s['value']:.3f}{interval}, error {r['error']:.2e}, {r['effort']['search']} evaluations; {offered} groups had made functions; {made}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bundle", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("names", nargs="*", help="functions: " + ", ".join(CASES))
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--predict", metavar="DEVICE")
    a = p.parse_intermixed_args()
    names = a.names or list(CASES)
    b = Bundle(a.bundle.resolve(), a.out.resolve(), "cpu" if a.cpu else "cuda", a.predict)
    bad = 0 if a.predict else bits(b, names)
    print(f"{time.monotonic() - START:.0f} s")
    times(b, names)
    print(f"{time.monotonic() - START:.0f} s")
    if not a.names and not a.predict:
        tunes(b)
    print(f"{time.monotonic() - START:.0f} s; {bad} DIFFERENT")
    sys.exit(bool(bad))


main()
