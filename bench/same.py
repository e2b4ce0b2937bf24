#!/usr/bin/env python3
"""Rank correlations of predictions where plans with the same machine code are one.

    prediction FOLDER CUDA -j > P; bench/same.py P

Plans whose predictions are equal to the last digit have the same code; what they differ by in measurement is noise. They are
taken as one, with the mean of their times. Columns: plans, rank correlation, kinds of code, rank correlation of these, how far
times of the same code are apart.
"""
import json
import sys

from ceiling import spearman

by = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    by.setdefault(row["name"], []).append((row["prediction"]["seconds"], row["measured"]))
print(f"{'workload':20} plans   rank  codes   rank  apart")
for name, rows in sorted(by.items()):
    codes = {}
    for predicted, measured in rows:
        codes.setdefault(predicted, []).append(measured)
    means = [sum(m) / len(m) for m in codes.values()]
    apart = max(max(m) / min(m) - 1 for m in codes.values())
    one = spearman([r[0] for r in rows], [r[1] for r in rows])
    print(f"{name:20} {len(rows):5} {one:6.3f} {len(codes):6} {spearman(list(codes), means):6.3f} {100 * apart:5.1f}%")
