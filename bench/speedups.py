#!/usr/bin/env python3
"""One table of the results of bench/speedups.sh: speed-up with its interval, worst error, energy over the program's.

    bench/speedups.py OUT > table.txt
"""
import json
import pathlib
import sys

TOLERANCES = ["1e-3", "1e-6", "1e-9", "1e-12"]


def cell(path):
    if not path.exists():
        return None
    r = json.loads(path.read_text())
    if r["verdict"] != "tuned":
        tie = r.get("tie") or {}
        s = tie.get("speedup") or {}
        low, high = s.get("low"), s.get("high")
        told = f"tie {s['value']:.3f} [{low:.3f}, {high:.3f}]" if low else r["verdict"]
        return dict(text=told, verdict=r["verdict"])
    s, v = r["speedup"], r["validation"] or {}
    worst = max(r["error"] or 0.0, v.get("worst") or 0.0)
    e = r.get("energy") or {}
    plan, own = e.get("plan"), e.get("program")
    ratio = plan["per_run_j"] / own["per_run_j"] if plan and own else None
    return dict(
        verdict="tuned",
        text=f"{s['value']:.3f} [{s['low']:.3f}, {s['high']:.3f}]" if s["low"] else f"{s['value']:.3f} {s['kind']}",
        worst=worst,
        passed=f"{v.get('passed')}/{(v.get('held_out') or 0) + (v.get('perturbed') or 0)}",
        energy=ratio,
        watts=(plan or {}).get("mean_w"),
        window=(plan or {}).get("window_s"),
        search=r["effort"]["search"],
    )


def decided(path):
    """Of a search on the CPU: the least error of what is predicted to be faster, where all of it is beyond the tolerance."""
    if not path.exists():
        return None
    r = json.loads(path.read_text())
    if r["verdict"] != "unchanged":
        return None
    least = min((p["error"] for p in r["front"] if p["time"] < 1.0), default=None)
    return "1.00: nothing faster is within" + (f" (least {least:.1e}, on the CPU)" if least else "")


def row(name, tolerance, told, rest=""):
    print(f"{name:<16} {tolerance:>9}  {told:<24} {rest}".rstrip())


def main():
    out = pathlib.Path(sys.argv[1])
    names = sorted({p.parent.name.rsplit("-1e-", 1)[0] for p in out.glob("*-1e-*/result.json")})
    print(f"{'workload':<16} {'tolerance':>9}  {'speed-up [95 %]':<24} {'worst error':>11} {'inputs':>7} {'energy':>7} {'runs':>5}")
    for name in names:
        last = None
        for t in TOLERANCES:
            c = cell(out / f"{name}-{t}" / "result.json")
            told = decided(out / "decided" / f"{name}-{t}" / "result.json")
            if c is None and told:
                last = (t, dict(verdict="unchanged"))
                row(name, t, told)
                continue
            if c is None and last and last[1]["verdict"] != "tuned":
                # What is within a tighter tolerance is within this one.
                row(name, t, f"as at {last[0]}")
                continue
            if c is None and last and last[1]["worst"] <= float(t):
                row(name, t, f"as at {last[0]}: its error is within")
                continue
            if c is None:
                row(name, t, "not ended")
                last = None
                continue
            last = (t, c)
            if c["verdict"] != "tuned":
                row(name, t, c["text"])
                continue
            energy = f"{c['energy']:.2f}" if c["energy"] else "-"
            row(name, t, c["text"], f"{c['worst']:>11.2e} {c['passed']:>7} {energy:>7} {c['search']:>5}")


main()
