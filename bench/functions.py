#!/usr/bin/env python3
"""Functions made to measure against the library's, inside a bundle on a GPU machine.

    kerf bundle bench/functions/*.toml examples/black_scholes/black_scholes.toml ... --out BUNDLE
    bench/functions.py BUNDLE OUT [--cpu]

1. bits: a plan with a made function gives the same bits on the CPU executor and on the GPU, for arguments of which some are
   outside its range;
2. times: each function of bench/functions at four errors, against the library's;
3. tunes: the other workloads of the bundle with doubles, at 1e-9 and 1e-12, with and without made functions.

Needs the program `kerf` in the bundle, python3 and nothing else. Every run is bounded; in all about four minutes. With --cpu
nothing is measured: it shows that the script runs.
"""
import json
import pathlib
import subprocess
import sys
import time

SITE = 5
ERRORS = ["1e-3", "1e-6", "1e-9", "1e-12"]
# Arguments that the kernels compute: from half of the smallest to the largest.
CASES = {
    "exp_f64": ("exp", -7.0, 0.0),
    "log_f64": ("log", 0.25, 100.0),
    "sin_f64": ("sin", 0.005, 3.0),
    "cos_f64": ("cos", 0.005, 30.0),
    "tanh_f64": ("tanh", 0.005, 2.0),
    "erf_f64": ("erf", 0.005, 2.0),
    "exp_f32": ("exp", -7.0, 0.0),
    "log_f32": ("log", 0.25, 100.0),
    "sin_f32": ("sin", 0.0078125, 30.0),
}
TUNED = ["black_scholes", "lavamd", "box_muller", "gmm_data_term", "reaction_rates"]
LIMIT_S = 225
START = time.monotonic()


def left():
    return LIMIT_S - (time.monotonic() - START)


class Bundle:
    """Runs of the program in the bundle's folder."""

    def __init__(self, folder, out, device):
        self.folder, self.out, self.device = folder, out, device
        out.mkdir(parents=True, exist_ok=True)
        self.log = open(out / "commands.jsonl", "w")

    def kerf(self, *args, seconds=20):
        seconds = min(seconds, left())
        if seconds < 1:
            return None, "no time left"
        try:
            p = subprocess.run(["./kerf", *args], cwd=self.folder, capture_output=True, text=True, timeout=seconds)
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
        function, low, high = CASES[name]
        if inner:
            low, high = low + 0.25 * (high - low), high - 0.25 * (high - low)
        words = ["function", function, "--from", repr(low), "--to", repr(high), "--error", error, "--type", name[-3:], "--emit", "plan"]
        for measure in ["--relative", "--absolute"]:
            text, why = self.kerf(*words, measure)
            if text:
                break
        else:
            return None, why
        f = json.loads(text)
        path = self.out / f"{name}-{error}{'-inner' if inner else ''}.plan.json"
        plan = {"version": 1, "kernels": {name: {"made": [{"sites": [SITE], "function": f}]}}}
        path.write_text(json.dumps(plan))
        return path, f

    def run(self, name, device, plan=None, cpu_sizes=False, repeats="30"):
        words = ["run", f"{name}.toml", "--device", device, "--format", "json", "--repeats", repeats]
        words += ["--cpu-sizes"] if cpu_sizes else []
        words += ["--plan", str(plan)] if plan else []
        text, why = self.kerf(*words)
        return (json.loads(text), None) if text else (None, why)


def bits(b):
    """Digests on both devices, of arguments inside and outside."""
    print("bits: CPU executor and GPU")
    bad = 0
    for name in CASES:
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


def times(b):
    print("times: median of the launches, of the library's function and of the made one")
    rows = []
    for name in CASES:
        own, why = b.run(name, b.device)
        if not own:
            print(f"  {name}: {why}")
            continue
        base = own["times"]["median_s"]
        print(f"  {name}: library {1e3 * base:.4f} ms", flush=True)
        for error in ERRORS if name.endswith("f64") else ERRORS[:2]:
            plan, f = b.made(name, error)
            r, why = b.run(name, b.device, plan) if plan else (None, f)
            if not r:
                print(f"    {error}: {why}")
                continue
            t = r["times"]["median_s"]
            rows.append({"name": name, "error": error, "proven": f["proven"], "degree": f["degree"], "pieces": f["pieces"], "library_s": base, "made_s": t, "times": r["times"], "library": own["times"]})
            pieces = f" {f['pieces']} pieces" if f["pieces"] > 1 else ""
            print(f"    {error}: {1e3 * t:.4f} ms, {base / t:.3f} times as fast, degree {f['degree']}{pieces}", flush=True)
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
    folder, out = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    b = Bundle(folder, out, "cpu" if "--cpu" in sys.argv else "cuda")
    bad = bits(b)
    print(f"{time.monotonic() - START:.0f} s")
    times(b)
    print(f"{time.monotonic() - START:.0f} s")
    tunes(b)
    print(f"{time.monotonic() - START:.0f} s; {bad} DIFFERENT")
    sys.exit(bool(bad))


main()
