#!/usr/bin/env python3
"""Joint search of precision (and math variants) and launch against one after the other, at equal budgets, on recorded spaces.

bench/joint.py KERF SPACE.json...

A space is what `kerf tune W.toml --what precision,launch --strategy exhaustive` leaves in space.json. Each
search is `kerf search replay --strategy guided`; the two stages of a sequence have half of the budget each, and
the second one begins with what the first one found.
"""
import json
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


if __name__ == "__main__":
    for p in sys.argv[2:]:
        compare(sys.argv[1], p)
