"""Results of a campaign as tables.   python table.py results.jsonl
Accuracy of all 10,000 test images after the last epoch; with two seeds or more their mean and the seeds themselves."""
import json, sys, math

T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571}  # Student, 95 %
rows = [json.loads(l) for l in open(sys.argv[1])]
cells = {}
for r in rows:
    key = (r.get("network"), r.get("epochs"), r.get("optimizer"), int(r.get("activation_bits", 0)), r.get("method"))
    if r.get("error") or "correct" not in r:
        cells.setdefault(key, []).append((r.get("seed"), None))
    else:
        cells.setdefault(key, []).append((r["seed"], 100 * r["correct"] / r["count"]))
for (net, epochs, optimizer) in sorted({k[:3] for k in cells}, key=str):
    print(f"\n{net}, {epochs} epochs, {optimizer}\n\n| method | 8 bits | 4 bits |\n|---|---|---|")
    methods = [k[4] for k in cells if k[:3] == (net, epochs, optimizer)]
    for m in dict.fromkeys(methods):
        out = []
        for bits in (8, 4):
            v = sorted(cells.get((net, epochs, optimizer, bits, m), []))
            good = [a for _, a in v if a is not None]
            if not v:
                out.append("")
            elif len(good) < len(v):
                out.append("loss not a number")
            elif len(good) == 1:
                half = 1.96 * math.sqrt(good[0] * (100 - good[0]) / 10000)
                out.append(f"{good[0]:.2f} (one seed; test set alone +-{half:.2f})")
            else:
                n, mean = len(good), sum(good) / len(good)
                half = T[n] * math.sqrt(sum((g - mean) ** 2 for g in good) / (n - 1) / n)
                out.append(f"{mean:.2f} +-{half:.1f} ({', '.join(f'{g:.2f}' for g in good)})")
        print(f"| {m} | {out[0]} | {out[1]} |")
