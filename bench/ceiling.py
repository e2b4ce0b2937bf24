#!/usr/bin/env python3
"""The rank correlation that measuring again would have with a measurement: no prediction can be expected to do better.

    bench/ceiling.py FOLDER [AGAIN]

FOLDER has NAME.jsonl of `kerf measure`. With AGAIN, a folder of the same plans measured once more, the two are compared.
Without, each plan is drawn anew around its median with the deviation that its 95 % interval stands for, 200 times; the mean
is given.
"""
import json
import pathlib
import random
import sys


def ranks(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    out = [0.0] * len(x)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and x[order[j + 1]] == x[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = (i + j) / 2
        i = j + 1
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    m = (len(a) - 1) / 2
    dot = lambda x, y: sum((p - m) * (q - m) for p, q in zip(x, y))
    norm = (dot(a, a) * dot(b, b)) ** 0.5
    return dot(a, b) / norm if norm else 0.0


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    folder = pathlib.Path(sys.argv[1])
    again = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    rng = random.Random(1)
    print(f"{'workload':22} plans  spread  ceiling")
    for path in sorted(folder.glob("*.jsonl")):
        plans = read(path)
        times = [p["seconds"] / p["baseline"] for p in plans]
        spread = max(times) / min(times) - 1
        if again:
            second = {json.dumps(p["plan"], sort_keys=True): p["seconds"] / p["baseline"] for p in read(again / path.name)}
            both = [(t, second[k]) for t, p in zip(times, plans) if (k := json.dumps(p["plan"], sort_keys=True)) in second]
            ceiling = spearman([b[0] for b in both], [b[1] for b in both])
        else:
            sd = [(p["high"] - p["low"]) / p["seconds"] / 3.92 for p in plans]
            draw = lambda: [t * (1 + rng.gauss(0, s)) for t, s in zip(times, sd)]
            ceiling = sum(spearman(times, draw()) for _ in range(200)) / 200
        print(f"{path.stem:22} {len(plans):5} {100 * spread:6.0f}% {ceiling:8.3f}")


if __name__ == "__main__":
    main()
