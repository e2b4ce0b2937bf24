#!/usr/bin/env python3
"""Figures and tables of results in the documents, made from the raw data of the records.

    scripts/figures.py            writes docs/figures/*.svg, and the blocks and numbers below in the documents
    scripts/figures.py --check    fails where one of them is not what the records say

A block stands between `<!-- figures: NAME -->` and `<!-- end -->`, a number in a sentence between `<!--= NAME -->` and
`<!-- -->`. NEWEST says which record each claim is taken from: a later one is a change of one line here.
"""
import itertools
import math
import pathlib
import re
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "bench" / "runs"
NEWEST = {
    "fullsize": "2026-11-20-fullsize-table",
    "tight": "2026-11-19-fullsize-tight",
    "small": "2026-11-16-h200-tuning-6",
    "prediction": "2026-11-16-h200-prediction-10",
    "identity": "2026-11-17-h200-identity-3",
}
BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.S)
NUMBER = re.compile(r"(<!--= (\S+) -->)[^<]*(<!-- -->)")


def record(kind, file):
    return (RUNS / NEWEST[kind] / file).read_text()


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def is_f64(workload):
    """Whether the first format that a workload names is f64."""
    folder = ROOT / "examples" / re.sub(r"_(f32|cl)$", "", workload)
    named = re.search(r"\bf(32|64)", re.sub(r"#.*", "", (folder / f"{workload}.toml").read_text()))
    return named is not None and named.group(1) == "64"


def speedups(text, at="1e-3"):
    """Rows of a table of bench/speedups.py at a tolerance: (workload, speed-up, low, high), or None for what did not end or gained
    nothing. Where a plan of a larger tolerance is within this one, its row stands for it."""
    rows, before = {}, {}
    for line in text.splitlines():
        m = re.match(r"(\w+) +(1e-\d+) +(.*)", line)
        if not m:
            continue
        name, tolerance, told = m.groups()
        if m := re.match(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", told):
            row = tuple(map(float, m.groups()))
        elif m := re.match(r"([\d.]+) measured", told):  # too few samples for an interval
            row = (float(m.group(1)),) * 3
        elif told.startswith("as at"):
            row = before.get(name)
        elif re.match(r"unchanged|unmet|tie", told):
            row = None
        else:
            continue
        before[name] = row
        if tolerance == at:
            rows[name] = row
    return rows


def predictions():
    """Programs that the model had never seen: (name, plans, absolute error in percent, bias in percent)."""
    rows = []
    for line in record("prediction", "unseen-code.txt").splitlines()[1:]:
        cells = line.split()
        percents = [c for c in cells if c.endswith("%")]
        if len(percents) >= 2:
            rows.append((cells[0], int(cells[1]), float(percents[0][:-1]), float(percents[1][:-1])))
    return rows


def facts():
    """Numbers that sentences may name."""
    full = {k: v for k, v in speedups(record("fullsize", "table.txt")).items() if v}
    # Programs in f32 cannot meet these tolerances.
    tight = {
        t: {**speedups(record("tight", "table.txt"), t), **speedups(record("fullsize", "tight.txt"), t)}
        for t in ["1e-9", "1e-12"]
    }
    tight = {t: [v[0] if v else 1.0 for k, v in rows.items() if is_f64(k)] for t, rows in tight.items()}
    small = speedups(record("small", "speedups.txt"))
    # One that gained nothing counts as 1.
    gains = {k: v[0] if v else 1.0 for k, v in small.items()}
    predicted = predictions()
    plans = sum(p for _, p, _, _ in predicted)
    same = sum(int(n) for n in re.findall(r"(\d+) equal, 0 different", record("identity", "selftest.txt")))
    return {
        "fullsize-count": str(len(full)),
        "fullsize-mean": f"{geometric_mean([v[0] for v in full.values()]):.2f}",
        "fullsize-f64-count": str(sum(map(is_f64, full))),
        "fullsize-f64-mean": f"{geometric_mean([v[0] for k, v in full.items() if is_f64(k)]):.2f}",
        "fullsize-f32-mean": f"{geometric_mean([v[0] for k, v in full.items() if not is_f64(k)]):.2f}",
        "tight-9-count": str(len(tight["1e-9"])),
        "tight-9-mean": f"{geometric_mean(tight['1e-9']):.2f}",
        "tight-12-mean": f"{geometric_mean(tight['1e-12']):.2f}",
        "small-count": str(len(small)),
        "small-mean": f"{geometric_mean(list(gains.values())):.2f}",
        "small-f64-mean": f"{geometric_mean([v for k, v in gains.items() if is_f64(k)]):.2f}",
        "prediction-plans": str(plans),
        "prediction-programs": str(len(predicted)),
        "prediction-error": f"{sum(p * e for _, p, e, _ in predicted) / plans:.0f} %",
        "prediction-worst": f"{max(e for _, _, e, _ in predicted):.0f} %",
        "identity-count": f"{same:,}",
    }


def bars(title, rows, unit, start, note):
    """Horizontal bars: (label, value, low, high, colour, text)."""
    left, width, row = 150, 480, 20
    height = 60 + row * len(rows) + 24
    high = max(r[3] for r in rows) * 1.05
    at = lambda v: left + (v - start) / (high - start) * width
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 190} {height}" width="{left + width + 190}" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    step = 0.5 if high - start < 4 else 5
    for i in range(int((high - start) / step) + 1):
        x = at(start + i * step)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="32" y2="{height - 36}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle" font-size="10">{start + i * step:g}{unit}</text>')
    for i, (label, value, low, up, colour, text) in enumerate(rows):
        y = 36 + i * row
        out.append(f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        out.append(f'<rect x="{at(start):.1f}" y="{y + 3}" width="{max(at(value) - at(start), 1):.1f}" height="13" fill="{colour}"/>')
        if up > low:
            out.append(f'<line x1="{at(low):.1f}" x2="{at(up):.1f}" y1="{y + 9.5}" y2="{y + 9.5}" stroke="#000" stroke-width="2"/>')
        out.append(f'<text x="{at(up) + 5:.1f}" y="{y + 13}">{escape(text)}</text>')
    out.append(f'<text x="4" y="{height - 6}" font-size="10" fill="#444">{escape(note)}</text>')
    return "\n".join(out) + "\n</svg>\n"


BLUE, ORANGE, GREY = "#1b6ca8", "#e07b39", "#9a9a9a"


def speedup_figure(kind, file, title):
    found = speedups(record(kind, file))
    rows = []
    for name, v in sorted(found.items(), key=lambda i: -(i[1][0] if i[1] else 0)):
        colour = BLUE if is_f64(name) else ORANGE
        rows.append((name, *v, colour, f"{v[0]:.2f}x") if v else (name, 1.0, 1.0, 1.0, GREY, "nothing gained"))
    note = f"blue: f64, orange: f32; black: 95 % interval; bench/runs/{NEWEST[kind]}/{file}"
    return bars(title, rows, "x", 1.0, note)


def figures():
    predicted = sorted(predictions(), key=lambda r: r[2])
    return {
        "speedups-fullsize": speedup_figure("fullsize", "table.txt", "Speed-up within a relative l2 error of 1e-3, full size, H200"),
        "speedups-small": speedup_figure("small", "speedups.txt", "The same at sizes that do not fill the GPU (10 to 50 us a run)"),
        "prediction-error": bars(
            "Mean absolute error of predicted times, programs never seen, H200",
            [(n, e, e, e, ORANGE if e > 15 else BLUE, f"{e:.1f} % (bias {b:+.1f} %), {p} plans") for n, p, e, b in predicted],
            " %",
            0,
            f"bench/runs/{NEWEST['prediction']}/unseen-code.txt",
        ),
    }


def blocks():
    full = speedups(record("fullsize", "table.txt"))
    # Formats side by side, so that the table is half as long.
    columns = []
    for f64 in [True, False]:
        rows = sorted((i for i in full.items() if is_f64(i[0]) == f64), key=lambda i: -(i[1][0] if i[1] else 0))
        columns.append([f"{name} | " + (f"{v[0]:.3f} [{v[1]:.3f}, {v[2]:.3f}]" if v else "nothing") for name, v in rows])
    table = "| in f64 | speed-up [95 %] | in f32 | speed-up [95 %] |\n|---|---|---|---|\n"
    for left, right in itertools.zip_longest(*columns, fillvalue=" | "):
        table += f"| {left} | {right} |\n"
    predicted = "| program never seen | plans | mean absolute error | bias |\n|---|---|---|---|\n"
    predicted += "".join(f"| {n} | {p} | {e:.1f} % | {b:+.1f} % |\n" for n, p, e, b in predictions())
    return {"speedups-fullsize": table, "predictions": predicted}


def documents():
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").glob("**/*.md"))


def rewritten(text, made, numbers, faults, name):
    def one(m, known):
        if m.group(2) not in known:
            faults.append(f"{name}: no record gives {m.group(2)}")
            return m.group(0)
        return m.group(1) + known[m.group(2)] + m.group(3)

    text = BLOCK.sub(lambda m: one(m, made), text)
    return NUMBER.sub(lambda m: one(m, numbers), text)


def main():
    check = sys.argv[1:] == ["--check"]
    faults, wanted = [], {}
    made, numbers = blocks(), facts()
    for file in documents():
        old = file.read_text()
        new = rewritten(old, made, numbers, faults, file.relative_to(ROOT))
        wanted[file] = new
    for name, svg in figures().items():
        wanted[ROOT / "docs" / "figures" / f"{name}.svg"] = svg
    for file, text in wanted.items():
        if not file.exists() or file.read_text() != text:
            if check:
                faults.append(f"{file.relative_to(ROOT)} is not what the records say; scripts/figures.py writes it")
            else:
                file.write_text(text)
    for f in faults:
        print(f"error: {f}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
