#!/usr/bin/env python3
"""One table of the results of bench/speedups.sh: speed-up with its interval, worst error, seconds of the tune; and means.

    bench/speedups.py OUT > table.txt

A workload that nothing within the tolerance makes faster counts as 1 in the means, one that did not end counts in none.
"""
import json
import math
import pathlib
import sys

TOLERANCES = ["1e-3", "1e-6", "1e-9", "1e-12"]


class Cell:
    """The result of one workload at one tolerance."""

    def __init__(self, path):
        r = json.loads(path.read_text())
        v = r["validation"] or {}
        self.tuned = r["verdict"] == "tuned"
        self.f64 = any(g["formats"][:1] == ["f64"] for g in r["groups"])
        self.seconds = r["effort"]["wall_s"]
        self.evaluations = r["effort"]["search"]
        run = (r["speedup"].get("timing") or {}).get("baseline_s")
        self.run = f"{1e3 * run:>7.3f} ms" if run else ""
        self.worst = max(r["error"] or 0.0, v.get("worst") or 0.0)
        self.passed = f"{v.get('passed')}/{(v.get('held_out') or 0) + (v.get('perturbed') or 0)}"
        s = r["speedup"] if self.tuned else (r.get("tie") or {}).get("speedup") or {}
        self.factor = s["value"] if self.tuned else 1.0
        interval = f"{s['value']:.3f} [{s['low']:.3f}, {s['high']:.3f}]" if s.get("low") else None
        self.text = interval if self.tuned else f"tie {interval}" if interval else r["verdict"]


def mean(factors):
    return math.exp(sum(map(math.log, factors)) / len(factors))


def row(name, tolerance, told, rest=""):
    print(f"{name:<20} {tolerance:>6}  {told:<26} {rest}".rstrip())


def main():
    out = pathlib.Path(sys.argv[1])
    names = sorted({p.name.rsplit("-1e-", 1)[0] for p in out.glob("*-1e-*.txt")})
    print(f"{'workload':<20} {'within':>6}  {'speed-up [95 %]':<26} {'worst error':>11} {'inputs':>7} {'runs':>4} {'tuned in':>8} {'a run':>10}")
    factors = {t: [] for t in TOLERANCES}
    seconds = []
    for name in names:
        last = None
        for t in TOLERANCES:
            path = out / f"{name}-{t}" / "result.json"
            if path.exists():
                last = (t, c := Cell(path))
                seconds.append(c.seconds)
                factors[t].append(c)
                rest = f"{c.worst:>11.2e} {c.passed:>7}" if c.tuned else " " * 19
                row(name, t, c.text, f"{rest} {c.evaluations:>4} {c.seconds:>6.1f} s {c.run}")
            elif last and (not last[1].tuned or last[1].worst <= float(t)):
                # What is within a tighter tolerance is within this one.
                factors[t].append(last[1])
                row(name, t, f"as at {last[0]}")
            else:
                last = None
                row(name, t, "not ended")
    for t, cells in factors.items():
        doubles = [c.factor for c in cells if c.f64]
        if cells and doubles:
            print(f"geometric mean at {t}: {mean([c.factor for c in cells]):.3f} of {len(cells)}; f64: {mean(doubles):.3f} of {len(doubles)}")
    if seconds:
        print(f"{len(seconds)} tunes, {sum(seconds) / len(seconds):.1f} s in the mean, {max(seconds):.1f} s at most")


main()
