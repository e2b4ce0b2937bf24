#!/usr/bin/env python3
"""Strategies side by side as one picture, from the JSON of `kerf search compare`.

    kerf search compare SPACE.json... --format json > compare.json
    bench/figures.py compare.json figures.svg

A row for each space, at its three tolerances: speed-up found, executions (logarithmic), speed-up over executions
(as figures 3 to 5 and 10 to 12 of Kotipalli et al. 2019, AMPT-GA), and speed-up by executions at the middle tolerance
(their figure 6).
"""
import json
import math
import sys
from html import escape

COLOURS = ["#1b6ca8", "#e07b39", "#7a7a7a", "#3d9a50", "#a23b72", "#c9a227"]
WIDTH, HEIGHT, GAP, LEFT, TOP = 250, 120, 46, 150, 60


def text(x, y, s, size=10, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{escape(s)}</text>'


def frame(x, y, low, high, log):
    """The axes of a panel, and the function from value to height."""
    f = (lambda v: math.log10(max(v, 1e-9))) if log else (lambda v: v)
    a, b = f(low), f(high)
    at = lambda v: y + HEIGHT - (f(v) - a) / ((b - a) or 1.0) * HEIGHT
    out = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>']
    ticks = [low, high] if not log else [10.0**k for k in range(math.ceil(a), math.floor(b) + 1)]
    for t in ticks:
        out.append(f'<line x1="{x - 3}" x2="{x}" y1="{at(t):.1f}" y2="{at(t):.1f}" stroke="#999"/>')
        out.append(text(x - 5, at(t) + 3, f"{t:g}" if log else f"{t:.3g}", 8, "end"))
    return out, at


def bars(x, y, cases, names, value, low, high, log=False, mark=None):
    out, at = frame(x, y, low, high, log)
    slot = WIDTH / len(cases)
    bar = 0.85 * slot / len(names)
    for i, c in enumerate(cases):
        for k, s in enumerate(c["scores"]):
            v = value(c, s)
            left = x + i * slot + 0.07 * slot + k * bar
            up = min(at(v), y + HEIGHT - 0.5)
            out.append(
                f'<rect x="{left:.1f}" y="{up:.1f}" width="{0.9 * bar:.1f}" height="{y + HEIGHT - up:.1f}" fill="{COLOURS[k % 6]}"><title>'
                + escape(f"{s['strategy']}: {v:.4g}")
                + "</title></rect>"
            )
        if mark:
            h = at(mark(c))
            out.append(f'<line x1="{x + i * slot + 3:.1f}" x2="{x + (i + 1) * slot - 3:.1f}" y1="{h:.1f}" y2="{h:.1f}" stroke="#000" stroke-dasharray="3 2"/>')
        out.append(text(x + (i + 0.5) * slot, y + HEIGHT + 11, f"{c['tolerance']:.1e}", 8, "middle"))
    return out


def lines(x, y, case, high):
    out, at = frame(x, y, 1.0, high, False)
    most = max([e for s in case["scores"] for e, _ in s["progress"]] + [10])
    along = lambda e: x + math.log(max(e, 1)) / math.log(most) * WIDTH
    for k, s in enumerate(case["scores"]):
        points = [(1, 1.0)] + [(e, v) for e, v in s["progress"] if e < s["most"]]
        points += [(max(s["most"], 1), s["speedup"]), (most, s["speedup"])]
        path = " ".join(f"{along(e):.1f},{at(max(v, 1.0)):.1f}" for e, v in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[k % 6]}" stroke-width="1.5"/>')
    for e in (1, 10, 100, 1000):
        if e <= most:
            out.append(text(along(e), y + HEIGHT + 11, str(e), 8, "middle"))
    return out


def main():
    data = json.load(open(sys.argv[1]))
    spaces = {}
    for c in data["cases"]:
        spaces.setdefault(c["space"], []).append(c)
    names = [s["strategy"] for s in data["cases"][0]["scores"]]
    columns = ["speed-up found (dashed: optimum)", "executions", "speed-up over executions", "speed-up by executions"]
    width = LEFT + len(columns) * (WIDTH + GAP)
    height = TOP + len(spaces) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for k, n in enumerate(names):
        out.append(f'<rect x="{LEFT + 110 * k}" y="8" width="10" height="10" fill="{COLOURS[k % 6]}"/>')
        out.append(text(LEFT + 110 * k + 14, 17, n, 11))
    for k, c in enumerate(columns):
        out.append(text(LEFT + k * (WIDTH + GAP), TOP - 10, c, 11, weight="bold"))
    for row, (space, cases) in enumerate(spaces.items()):
        y = TOP + row * (HEIGHT + GAP)
        label = space.split(",")[0]
        out.append(text(6, y + 14, label, 11, weight="bold"))
        out.append(text(6, y + 28, f"{cases[0]['variables']} groups", 9))
        out.append(text(6, y + 40, f"{cases[0]['outcomes']} plans", 9))
        out.append(text(6, y + HEIGHT + 11, "tolerance", 8))
        best = max(c["optimum"] for c in cases) * 1.02
        runs = max(s["executions"] for c in cases for s in c["scores"]) * 1.3
        x = lambda k: LEFT + k * (WIDTH + GAP)
        out += bars(x(0), y, cases, names, lambda c, s: s["speedup"], 1.0 - 0.02 * (best - 1.0), best, mark=lambda c: c["optimum"])
        out += bars(x(1), y, cases, names, lambda c, s: max(s["executions"], 1.0), 0.8, max(runs, 11.0), log=True)
        top = max(s["speedup"] / max(s["executions"], 1.0) for c in cases for s in c["scores"])
        out += bars(x(2), y, cases, names, lambda c, s: s["speedup"] / max(s["executions"], 1.0), 0.005, max(top, 1.1), log=True)
        out += lines(x(3), y, cases[len(cases) // 2], best)
    out.append("</svg>")
    with open(sys.argv[2], "w") as f:
        f.write("\n".join(out) + "\n")


main()
