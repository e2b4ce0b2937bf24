#!/usr/bin/env python3
"""Figures and tables of applications tuned at several thresholds, in the manner of figures 3 to 9 and table 1
of Kotipalli et al., AMPT-GA (ICS 2019).

  apps.py collect RUN OUT   RUN has STRATEGY-TOLERANCE/ folders of `kerf tune --app`; writes OUT/evaluations.csv
                            and OUT/results.csv
  apps.py draw OUT          makes OUT/*.svg and OUT/tables.md from these and from again.txt, near.txt, local.json

again.txt has lines `NAME symmetry error A  sum B  relative C kernel loop T ms PASS`, one for each run of a plan
on a quiet device; `double` is the program itself, `float` all that can be in f32. Without it speed-ups and errors
are those that the searches went by, measured or predicted as results.csv says.
"""
import csv, json, os, re, sqlite3, statistics, sys

NAMES = ["ampt-ga", "delta-debug", "naive-ga", "guided"]
COLOURS = {"ampt-ga": "#3b6fb6", "delta-debug": "#d9822b", "naive-ga": "#7a9e4b", "guided": "#a14f8f"}


def collect(run, out):
    rows, results = [], []
    for d in sorted(os.listdir(run)):
        m = re.match(r"(ampt-ga-no-[a-z]+|%s|random\d+|allfloat|local)-?(.*)$" % "|".join(NAMES), d)
        db = os.path.join(run, d, "evaluations.sqlite")
        if not m or not os.path.exists(db):
            continue
        strategy, tolerance = m[1], m[2]
        query = "select error, time_ratio, failure, wall_s from evaluation order by id"
        for i, (error, ratio, failure, wall) in enumerate(sqlite3.connect(db).execute(query)):
            rows.append([strategy, tolerance, i + 1, error, ratio, failure or "", "%.2f" % wall])
        path = os.path.join(run, d, "result.json")
        if os.path.exists(path):
            r = json.load(open(path))
            narrow = sum(f != "f64" for _, f in r["groups"])
            if r.get("local"):
                json.dump(r["local"] | {"whole": {"speedup": r["speedup"], "error": r["error"], "evaluations": r["evaluations"]}},
                          open(os.path.join(out, "local.json"), "w"), indent=1)
            results.append([strategy, tolerance, r["verdict"], r["evaluations"], r["failed"], r["error"],
                            r["speedup"], narrow, len(r["groups"]), r["time_by"]])
    with open(os.path.join(out, "evaluations.csv"), "w") as f:
        w = csv.writer(f)
        w.writerow("strategy tolerance evaluation error time_ratio failure wall_s".split())
        w.writerows(rows)
    with open(os.path.join(out, "results.csv"), "w") as f:
        w = csv.writer(f)
        w.writerow("strategy tolerance verdict evaluations failed error speedup narrow groups time_by".split())
        w.writerows(results)


def number(x):
    return "%.3g" % x if x is not None else "-"


class Svg:
    """Axes over a rectangle, with marks by data coordinates."""

    def __init__(self, title, xlabel, ylabel, xs, ys):
        self.w, self.h, self.l, self.b = 640, 360, 70, 56
        self.x0, self.x1 = xs
        self.y0, self.y1 = ys
        self.t = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
                  'font-size="12"><rect width="100%%" height="100%%" fill="white"/>' % (self.w, self.h)]
        self.text(self.w / 2, 18, title, "middle", 14)
        self.text(self.w / 2, self.h - 8, xlabel, "middle")
        self.t.append('<text transform="translate(16,%d) rotate(-90)" text-anchor="middle">%s</text>' % (self.h / 2, ylabel))
        for i in range(6):
            v = self.y0 + (self.y1 - self.y0) * i / 5
            y = self.y(v)
            self.t.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>' % (self.l, self.w - 20, y, y))
            self.text(self.l - 6, y + 4, number(v), "end")
        self.t.append('<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="black"/>' % (self.l, self.w - 20, self.h - self.b, self.h - self.b))

    def x(self, v):
        return self.l + (v - self.x0) / ((self.x1 - self.x0) or 1) * (self.w - 20 - self.l)

    def y(self, v):
        return self.h - self.b - (v - self.y0) / ((self.y1 - self.y0) or 1) * (self.h - self.b - 34)

    def text(self, x, y, s, anchor="start", size=12):
        self.t.append('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>' % (x, y, anchor, size, s))

    def legend(self, items):
        for i, (name, colour) in enumerate(items):
            x = self.l + 8 + 125 * i
            self.t.append('<rect x="%d" y="24" width="10" height="10" fill="%s"/>' % (x, colour))
            self.text(x + 14, 33, name)

    def save(self, path):
        open(path, "w").write("\n".join(self.t) + "\n</svg>\n")


def bars(path, title, ylabel, tolerances, value, marks=None):
    top = max([value(s, t) or 0 for s in NAMES for t in tolerances] + [marks(t) or 0 for t in tolerances] if marks
              else [value(s, t) or 0 for s in NAMES for t in tolerances]) * 1.15 or 1
    p = Svg(title, "threshold", ylabel, (0, len(tolerances)), (0, top))
    p.legend([(s, COLOURS[s]) for s in NAMES] + ([("threshold", "black")] if marks else []))
    for i, t in enumerate(tolerances):
        for j, s in enumerate(NAMES):
            v = value(s, t)
            x, w = p.x(i + 0.12 + 0.19 * j), p.x(0.17) - p.x(0)
            if v is None:
                p.text(x + w / 2, p.y(0) - 4, "none", "middle", 10)
                continue
            p.t.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (x, p.y(v), w, p.y(0) - p.y(v), COLOURS[s]))
            p.text(x + w / 2, p.y(v) - 3, number(v), "middle", 9)
        if marks:
            p.t.append('<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="black" stroke-dasharray="4"/>' % (p.x(i + 0.1), p.x(i + 0.9), p.y(marks(t)), p.y(marks(t))))
        p.text(p.x(i + 0.5), p.y(0) + 16, t, "middle")
    p.save(path)


def parts(path, tolerance, results, loop, single, double, fast, floats):
    """AMPT-GA at one threshold, whole and without one of its parts."""
    rows = []
    for name in ["ampt-ga"] + ["ampt-ga-no-" + x for x in ["score", "groups", "filter", "first"]]:
        if (name, tolerance) in results:
            key = "%s-%s" % (name, tolerance)
            fom = single / loop.get(key, double) if single and double else fast((name, tolerance)) / floats
            rows.append((name.replace("ampt-ga-", ""), fom, results[name, tolerance]["evaluations"]))
    if len(rows) < 2:
        return
    p = Svg("AMPT-GA without its parts, threshold %s" % tolerance, "part left out, and executions", "FOM / FOM of floats",
            (0, len(rows)), (0, 1.15 * max(r[1] for r in rows)))
    for i, (name, fom, runs) in enumerate(rows):
        x, w = p.x(i + 0.2), p.x(0.6) - p.x(0)
        p.t.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (x, p.y(fom), w, p.y(0) - p.y(fom), COLOURS["ampt-ga"]))
        p.text(x + w / 2, p.y(fom) - 3, number(fom), "middle", 10)
        p.text(x + w / 2, p.y(0) + 16, "%s (%s)" % (name, runs), "middle", 11)
    p.save(path)


def steps(p, points, colour):
    d = ""
    for i, (x, y) in enumerate(points):
        d += ("M%.1f %.1f" % (p.x(x), p.y(y))) if i == 0 else "H%.1fV%.1f" % (p.x(x), p.y(y))
    p.t.append('<path d="%s" fill="none" stroke="%s" stroke-width="2"/>' % (d, colour))


def draw(out):
    at = lambda n: os.path.join(out, n)
    results = {(r["strategy"], r["tolerance"]): r for r in csv.DictReader(open(at("results.csv")))}
    evaluations = list(csv.DictReader(open(at("evaluations.csv"))))
    tolerances = sorted({t for s, t in results if s in NAMES}, key=float)
    again = {}
    for line in open(at("again.txt")) if os.path.exists(at("again.txt")) else []:
        m = re.match(r"(\S+) .*?sum (\S+).*?kernel loop (\S+) ms", line)
        if m:
            again.setdefault(m[1], []).append((float(m[3]), float(m[2])))
    loop = {k: statistics.median(t for t, _ in v) for k, v in again.items()}
    error = {k: v[0][1] for k, v in again.items()}
    double, single = loop.get("double"), loop.get("float")
    # A search that found nothing leaves the program as it is.
    fast = lambda k: float(results[k]["speedup"]) if k in results and results[k]["verdict"] == "tuned" else 1.0
    floats = fast(("allfloat", ""))
    how = "measured" if single and double else results[min(results)]["time_by"].split(":")[0]

    def fom(s, t):
        if (s, t) not in results:
            return None
        return single / loop.get("%s-%s" % (s, t), double) if single and double else fast((s, t)) / floats

    for k, r in results.items():
        error.setdefault("%s-%s" % k, float(r["error"]))
    runs = lambda s, t: float(results[s, t]["evaluations"]) if (s, t) in results else None
    found = lambda s, t: (s, t) in results and results[s, t]["verdict"] == "tuned"
    bars(at("figure3.svg"), "Figure of merit over that of all floats (%s)" % how, "FOM / FOM of floats", tolerances, fom)
    bars(at("figure4.svg"), "Program executions", "executions", tolerances, runs)
    bars(at("figure5.svg"), "Efficiency: figure of merit by executions", "FOM / FOM of floats / executions", tolerances,
         lambda s, t: fom(s, t) / runs(s, t) if fom(s, t) and runs(s, t) else None)
    bars(at("figure7.svg"), "Symmetry error of the plans, and the thresholds", "sum of differences", tolerances,
         lambda s, t: error.get("%s-%s" % (s, t)) if found(s, t) else None, marks=float)
    for n, t in enumerate(tolerances):
        mine = [e for e in evaluations if e["tolerance"] == t and e["strategy"] in NAMES]
        lines, top, most = {}, 1.0, 1
        for s in NAMES:
            best, points = 1.0, [(0, 1.0)]
            for e in (e for e in mine if e["strategy"] == s):
                ok = e["error"] and float(e["error"]) <= float(t) and e["time_ratio"]
                best = max(best, 1 / float(e["time_ratio"])) if ok and float(e["time_ratio"]) > 0 else best
                points.append((int(e["evaluation"]), best))
            lines[s], top, most = points, max(top, best), max(most, points[-1][0])
        p = Svg("Best plan so far, threshold %s" % t, "program executions", "speed-up within the search", (0, most), (0.9, top * 1.08))
        p.legend([(s, COLOURS[s]) for s in NAMES])
        for k in range(0, most + 1, max(1, most // 8)):
            p.text(p.x(k), p.y(0.9) + 16, str(k), "middle")
        for s in NAMES:
            steps(p, lines[s] + [(most, lines[s][-1][1])], COLOURS[s])
        p.save(at("figure6-%d.svg" % (n + 1)))
    near = {}
    for line in open(at("near.txt")) if os.path.exists(at("near.txt")) else []:
        m = re.match(r"(\S+) (\d+) sum (\S+) sum (\S+)", line)
        if m:
            near.setdefault(m[1], []).append(abs(float(m[4]) - float(m[3])))
    text = []
    if len(tolerances) > 1:
        parts(at("figure9.svg"), next((t for n, t in results if n.startswith("ampt-ga-no-")), tolerances[1]), results, loop, single, double, fast, floats)
    if near and len(tolerances) > 1:
        limit = float(tolerances[1])
        p = Svg("Error under neighbouring inputs, threshold %s" % tolerances[1], "sum of differences", "part of the inputs",
                (0, max(max(v) for v in near.values()) * 1.1), (0, 1))
        p.legend([(s, COLOURS[s]) for s in near])
        for s, v in near.items():
            v.sort()
            steps(p, [(0, 0)] + [(x, (i + 1) / len(v)) for i, x in enumerate(v)], COLOURS[s])
            inside = sum(x <= limit for x in v)
            text.append("Neighbouring inputs, %s: %d of %d are within %s." % (s, inside, len(v), tolerances[1]))
        p.t.append('<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="black" stroke-dasharray="4"/>' % (p.x(limit), p.x(limit), p.y(0), p.y(1)))
        for k in range(5):
            v = p.x1 * k / 4
            p.text(p.x(v), p.y(0) + 16, number(v), "middle")
        p.save(at("figure8.svg"))
    with open(at("tables.md"), "w") as f:
        f.write("| threshold | strategy | executions | failed | groups not in f64 | error | kernel loop, ms | against double | FOM over that of floats |\n|---|---|---|---|---|---|---|---|---|\n")
        for t in tolerances:
            for s in NAMES:
                r = results.get((s, t))
                if not r:
                    f.write("| %s | %s | did not end | | | | | | |\n" % (t, s))
                    continue
                k = "%s-%s" % (s, t)
                f.write("| %s | %s | %s | %s | %s of %s | %s | %s | %s | %s |\n" % (
                    t, s, r["evaluations"], r["failed"], r["narrow"], r["groups"], number(error.get(k)) if found(s, t) else "nothing found",
                    number(loop.get(k)), number(double / loop[k] if double and k in loop else fast((s, t))), number(fom(s, t))))
        if single and double:
            f.write("\nAll in double: %s ms; all that can be in float: %s ms, error %s. Medians.\n" % (number(double), number(single), number(error.get("float"))))
        else:
            f.write("\nAll that can be in float: %s times as fast (%s), error %s.\n" % (number(floats), how, number(error.get("allfloat-"))))
        f.write("".join("\n%s\n" % x for x in text))
        if os.path.exists(at("local.json")):
            local = json.load(open(at("local.json")))
            f.write("\nKernels tuned alone (table 1):\n\n| tuned | executions | speed-up | error |\n|---|---|---|---|\n")
            for k in local["kernels"]:
                f.write("| %s | %d | %.3f | %s |\n" % (k["name"].split("(")[0], k["evaluations"], k["speedup"], number(k["error"])))
            gain = sum(k["speedup"] - 1 for k in local["kernels"])
            f.write("| gains of the kernels added up | | %.3f | %s |\n" % (1 + gain, number(sum(k["error"] for k in local["kernels"]))))
            f.write("| their plans together | | %s | %s |\n" % (number(local["speedup"]), number(local["error"])))
            w = local["whole"]
            f.write("| the application as a whole | %d | %.3f | %s |\n" % (w["evaluations"], w["speedup"], number(w["error"])))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "collect":
        collect(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 3 and sys.argv[1] == "draw":
        draw(sys.argv[2])
    else:
        sys.exit(__doc__)
