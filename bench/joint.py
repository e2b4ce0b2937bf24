#!/usr/bin/env python3
"""Joint search of precision (and math variants) and launch against one after the other, at equal budgets, on recorded spaces.

bench/joint.py KERF SPACE.json...
bench/joint.py --results FOLDER          what bench/joint.sh measured: real searches, speed-ups measured again at the end
bench/joint.py --searches FOLDER [T]     what its searches found within the tolerance T (1e-6), also of those that were ended

A space is what `kerf tune W.toml --what precision,launch --strategy exhaustive` leaves in space.json. Each
search is `kerf search replay --strategy guided`; the two stages of a sequence have half of the budget each, and
the second one begins with what the first one found.
"""
import glob
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile

SEEDS = (1, 2, 3, 4, 5)
BUDGETS = (6, 8, 12, 16, 24)


def replay(kerf, path, budget, seed):
    command = [kerf, "--format", "json", "search", "replay", path, "--strategy", "guided"]
    command += ["--budget", str(budget), "--repeats", "1", "--seed", str(seed)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(out)["strategies"][0]["repetitions"][0]["time"]


def compare(kerf, path):
    space = json.load(open(path))
    problem = space["problem"]
    variables = problem["variables"]
    every = range(len(variables))
    shapes = [i for i in every if variables[i]["name"].startswith("launch") or variables[i]["name"] == "block size"]
    formats = [i for i in every if i not in shapes]
    outcomes = {tuple(o["assignment"]): o["outcome"] for o in space["outcomes"]}
    ran = {a: o["ran"] for a, o in outcomes.items() if isinstance(o, dict)}
    good = {a: r["time"] for a, r in ran.items() if r["error"] is not None and r["error"] <= problem["tolerance"]}
    best = min(good.values())

    def stage(fixed, keep, budget, seed):
        """Searches the variables `keep`, all others as in `fixed`."""
        part = json.loads(json.dumps(space))
        place = {i: n for n, i in enumerate(keep)}
        part["problem"]["variables"] = [variables[i] for i in keep]
        part["problem"]["baseline"] = outcomes[tuple(fixed)]
        edges = [e for e in problem.get("edges", []) if e["a"] in place and e["b"] in place]
        part["problem"]["edges"] = [dict(a=place[e["a"]], b=place[e["b"]], weight=e["weight"]) for e in edges]
        same = lambda a: all(a[i] == fixed[i] for i in every if i not in keep)
        mine = [(a, o) for a, o in outcomes.items() if same(a)]
        part["outcomes"] = [dict(assignment=[a[i] for i in keep], outcome=o) for a, o in mine]
        part.pop("predicted", None)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(part, f)
            f.flush()
            time = replay(kerf, f.name, budget, seed)
        base = good.get(tuple(fixed), 1.0)
        if time is None or time > base:
            return fixed, base
        return next(list(a) for a, _ in mine if good.get(a) == time), time

    zero = [0] * len(variables)
    print(f"{space['name']}: {len(outcomes)} assignments; best found over optimum, mean of {len(SEEDS)} seeds")
    for budget in BUDGETS:
        sums = [0.0, 0.0, 0.0]
        for seed in SEEDS:
            sums[0] += replay(kerf, path, budget, seed) / best
            for n, (first, second) in enumerate([(formats, shapes), (shapes, formats)], 1):
                now, _ = stage(zero, first, budget // 2, seed)
                sums[n] += stage(now, second, budget - budget // 2, seed)[1] / best
        a, b, c = (s / len(SEEDS) for s in sums)
        print(f"  budget {budget:2}: joint {a:.4f}, precision then launch {b:.4f}, launch then precision {c:.4f}")


def search_best(folder, tolerance):
    """The fastest evaluation within the tolerance that a search made, and how many it made."""
    with sqlite3.connect(f"file:{folder}/evaluations.sqlite?mode=ro", uri=True) as c:
        rows = list(c.execute("select error, failure, time_ratio from evaluation where phase = 'search' order by id"))
    good = [t for e, f, t in rows if f is None and e is not None and e <= tolerance and t is not None]
    return min(good, default=1.0), len(rows)


def results(folder):
    found = {}
    for path in sorted(glob.glob(f"{folder}/*.json")):
        name, strategy, budget, seed = os.path.basename(path)[:-5].rsplit(".", 3)
        try:
            r = json.load(open(path))
        except ValueError:
            continue
        s = r["speedup"]
        best, runs = search_best(path[:-5], r["criteria"]["tolerance"])
        key = (int(budget), name, int(seed))
        found.setdefault(key, {})[strategy] = (s["value"], s["low"], s["high"], 1 / best, runs)
    order = ("guided", "launch-last", "launch-first")
    print("budget,workload,seed," + ",".join(f"{s}_speedup,{s}_low,{s}_high,{s}_in_search,{s}_runs" for s in order) + ",verdict")
    sums, counts = {}, {}
    for (budget, name, seed), all_of in sorted(found.items()):
        if any(s not in all_of for s in order):
            continue
        mine = all_of["guided"]
        verdict = []
        for s in order[1:]:
            theirs = all_of[s]
            apart = mine[1] > theirs[2], mine[2] < theirs[1]
            said = "ahead" if apart[0] else "behind" if apart[1] else "tie"
            verdict.append(f"{said} of {s}" if said != "tie" else f"tie with {s}")
            counts.setdefault((budget, s), {}).setdefault(said, []).append(name)
        for s in order:
            sums.setdefault((budget, s), []).append(math.log(all_of[s][0]))
        cells = ",".join("{:.4f},{:.4f},{:.4f},{:.4f},{}".format(*all_of[s]) for s in order)
        print(f"{budget},{name},{seed},{cells},{'; '.join(verdict)}")
    for (budget, s), logs in sorted(sums.items()):
        print(f"# budget {budget}, {s}: geometric mean {math.exp(sum(logs) / len(logs)):.4f} of {len(logs)}")
    for (budget, s), c in sorted(counts.items()):
        print(f"# budget {budget}, one search against {s}: " + ", ".join(f"{k} {len(v)} ({' '.join(v)})" for k, v in sorted(c.items())))


def searches(folder, tolerance):
    found = {}
    for path in sorted(glob.glob(f"{folder}/*/evaluations.sqlite")):
        name, strategy, budget, seed = os.path.basename(os.path.dirname(path)).rsplit(".", 3)
        if not os.path.exists(os.path.join(os.path.dirname(path), "space.json")):
            continue  # its search did not end
        best, runs = search_best(os.path.dirname(path), tolerance)
        found.setdefault((int(budget), name, int(seed)), {})[strategy] = (1 / best, runs)
    order = ("guided", "launch-last", "launch-first")
    print("budget,workload,seed," + ",".join(f"{s},{s}_runs" for s in order))
    sums = {}
    for (budget, name, seed), all_of in sorted(found.items()):
        cells = ",".join("{:.4f},{}".format(*all_of[s]) if s in all_of else "," for s in order)
        print(f"{budget},{name},{seed},{cells}")
        if all(s in all_of for s in order):
            for s in order:
                sums.setdefault((budget, s), []).append(math.log(all_of[s][0]))
    for (budget, s), logs in sorted(sums.items()):
        print(f"# budget {budget}, {s}: geometric mean {math.exp(sum(logs) / len(logs)):.4f} of {len(logs)}")


if __name__ == "__main__" and sys.argv[1:2] == ["--results"]:
    results(sys.argv[2])
elif __name__ == "__main__" and sys.argv[1:2] == ["--searches"]:
    searches(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 1e-6)
elif __name__ == "__main__":
    for p in sys.argv[2:]:
        compare(sys.argv[1], p)
