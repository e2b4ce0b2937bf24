"""Results of a campaign as tables, and the chapter's claims tested on them.   python table.py results.jsonl [earlier=OLDER.jsonl] [pictures=FOLDER]
Accuracy of all 10,000 test images after the last epoch: mean over seeds with Student's 95 % interval. Claims compare
runs of the same seed (the same start, the same order of images) in pairs. Pairs of earlier results (fine-tuning of two epochs,
whatever the batch) count as further seeds in claims, not in tables."""
import json, lzma, math, sys

T = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]  # by degrees of freedom
# Two values can be close by luck: their deviation is taken as no less than this, which pairs of ResNet-18 have at 8 bits.
LEAST = 0.18
NAMES = {"resnet18": "ResNet-18", "efficientnet-b0": "EfficientNet-B0", "mobilenet-v2": "MobileNetV2"}


def opened(path):
    return lzma.open(path, "rt") if path.endswith(".xz") else open(path)


def student(values):
    n, mean = len(values), sum(values) / len(values)
    if n < 2:
        return mean, math.inf
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    if n == 2:
        spread = max(spread, LEAST)
    return mean, T[min(n - 1, len(T) - 1)] * spread / math.sqrt(n)


folder = next((a[9:] for a in sys.argv[1:] if a.startswith("pictures=")), None)


def read(path, keep):
    """Accuracy by group, method, setting and bits, then by seed; and what failed."""
    runs, failed = {}, {}
    for text in opened(path):
        r = json.loads(text)
        if "network" not in r:
            print("failed:", r)
            continue
        words = dict((w.split("=", 1) + [""])[:2] for w in r["words"])
        images = int(words.get("images", 50000))
        if images < 10000:
            continue  # for speeds only
        start = "fine-tuned" if "from" in words else "trained from nothing"
        setting = ""
        if "tau" in words or "eta" in words:
            setting = f"tau {words.get('tau', 20)}, eta {words.get('eta', 4)}"
        if "fractional" in words:
            setting = "fractional bits"
        bits = 32 if r["method"] == "fp32" else int(r["activation_bits"])
        key = (keep((r["network"], start, r["epochs"], images, r["optimizer"])), r["method"], setting, bits)
        if r.get("error") or "correct" not in r:
            failed.setdefault(key, []).append((r["seed"], r.get("error")))
        else:
            runs.setdefault(key, {})[r["seed"]] = 100 * r["correct"] / r["count"]
    return runs, failed


runs, failed, earlier = {}, {}, []
for argument in sys.argv[1:]:
    if argument.startswith("pictures="):
        continue
    if argument.startswith("earlier="):
        earlier.append(read(argument[8:], lambda g: (g[0], g[1], g[2], g[4]))[0])
        continue
    for into, more in zip((runs, failed), read(argument, lambda g: g)):
        for k, v in more.items():
            if isinstance(v, dict):
                into.setdefault(k, {}).update(v)
            else:
                into.setdefault(k, []).extend(v)


def cell(key):
    v = runs.get(key)
    text = ""
    if v:
        values = [v[s] for s in sorted(v)]
        mean, half = student(values)
        text = f"{mean:.2f} ± {half:.2f} ({len(values)})" if len(values) > 1 else f"{mean:.2f} (one seed)"
    if key in failed:
        text += f" {len(failed[key])} not a number"
    return text.strip()


groups = sorted({k[0] for k in [*runs, *failed]}, key=str)
for g in groups:
    net, start, epochs, images, optimizer = g
    print(f"\n### {NAMES.get(net, net)}, {start}, {epochs} epoch(s) of {images:,} images, {optimizer}\n")
    fp32 = cell((g, "fp32", "", 32))
    if fp32:
        print(f"FP32: {fp32}\n")
    rows = list(dict.fromkeys(k[1:3] for k in [*runs, *failed] if k[0] == g and k[1] != "fp32"))
    if rows:
        print("| method | 8 bits | 4 bits |\n|---|---|---|")
    for method, setting in rows:
        label = method + (f" ({setting})" if setting else "")
        print(f"| {label} | {cell((g, method, setting, 8))} | {cell((g, method, setting, 4))} |")


# Published at 8 bits (Dao, "Performance Modeling, Performance Tuning and Quantization for GPU Programs", 2021, tables 2 to 5
# and 7): by table, network, method. Best of four seeds there.
PUBLISHED = {
    2: {"resnet18": {"fp32": 94.53, "max": 94.1, "moving-average": 94.46, "bernoulli": 93.83, "rand": 94.5, "schedule-a": 94.48,
                     "schedule-b": 94.54, "mix": 94.67},
        "efficientnet-b0": {"fp32": 85.75, "max": 83.52, "moving-average": 84.01, "bernoulli": 84.03, "rand": 86.6,
                            "schedule-a": 86.51, "schedule-b": 86.2, "mix": 86.85}},
    3: {"resnet18": {"rand+mix": 94.8, "rand+mix tau 40, eta 2": 94.8, "rand+mix tau 10, eta 8": 94.83},
        "efficientnet-b0": {"rand+mix": 86.85, "rand+mix tau 40, eta 2": 86.02, "rand+mix tau 10, eta 8": 85.13},
        "mobilenet-v2": {"rand+mix": 91.02, "rand+mix tau 40, eta 2": 90.39, "rand+mix tau 10, eta 8": 90.52}},
    4: {"resnet18": {"rand+mix fractional bits": 94.8, "rand+mix": 94.77},
        "efficientnet-b0": {"rand+mix fractional bits": 86.85, "rand+mix": 86.79}},
    5: {"resnet18": {"fp32": 94.53, "max": 94.1, "pact": 94.2, "quant-noise": 94.41, "fracbits": 94.44, "dq": 94.04, "rand": 94.23,
                     "rand+mix": 94.72},
        "efficientnet-b0": {"fp32": 85.75, "max": 83.52, "quant-noise": 83.83, "fracbits": 84.26, "dq": 82.55, "rand": 83.68,
                            "rand+mix": 86.85},
        "mobilenet-v2": {"fp32": 90.77, "max": 89.1, "pact": 87.81, "quant-noise": 89.46, "fracbits": 89.66, "dq": 90.51, "rand": 89.0,
                         "rand+mix": 91.02}},
    7: {"resnet18": {"fp32": 89.6, "max": 89.24, "rand": 89.57, "rand+mix": 89.44},
        "efficientnet-b0": {"fp32": 86.31, "max": 86.07, "rand": 86.2, "rand+mix": 86.4},
        "mobilenet-v2": {"fp32": 89.1, "max": 88.22, "rand": 87.86, "rand+mix": 88.44}},
}
# "No difference" and "no loss" mean: by no more than this, in points.
MARGIN = 0.3


def published(table, net, a, b):
    """The published difference; None where the table has none."""
    t = PUBLISHED[table].get(net, {})
    x, y = (t.get(" ".join(m).strip()) for m in (a, b))
    return None if x is None or y is None else x - y


def differences(g, bits, a, b):
    """a - b by seed, over seeds that both have."""
    short = (g[0], g[1], g[2], g[4])
    found = {}
    for n, (where, group) in enumerate([(runs, g), *((e, short) for e in earlier)]):
        x, y = (where.get((group, m[0], m[1], 32 if m[0] == "fp32" else bits), {}) for m in (a, b))
        found.update({(n, s): x[s] - y[s] for s in sorted(set(x) & set(y))})
    return found


def pair(g, bits, a, b):
    """Mean of a - b over common seeds, half of its interval, and how many; None if there is none."""
    d = differences(g, bits, a, b)
    return (*student(list(d.values())), len(d)) if d else None


def verdict(p, kind="more", size=None):
    """What an interval says of a claim: "more" (the first is better; published by `size` points), "same", "no less"."""
    if p is None:
        return "not run"
    mean, half, n = p
    if n < 2:
        return f"{mean:+.2f} (one seed): not resolvable"
    low, high = mean - half, mean + half
    if kind == "same":
        word = "holds" if -MARGIN < low and high < MARGIN else "does not hold" if low > 0 or high < 0 else "not resolvable"
    elif kind == "no less":
        word = "holds" if low > -MARGIN else "does not hold" if high < 0 else "not resolvable"
    elif low > 0:
        word = "holds"
    elif high < 0:
        word = "does not hold (the other way round)"
    elif size is not None and size > 0 and high < size:
        word = f"does not hold as published ({size:+.2f})"
    else:
        word = "not resolvable"
    return f"{mean:+.2f} ± {half:.2f} ({n}): {word}"


# Claim, first and second method, table, kind.
SGD = [
    ("Rand better than MAX (table 2)", ("rand", ""), ("max", ""), 2, "more"),
    ("Rand better than the moving average (table 2)", ("rand", ""), ("moving-average", ""), 2, "more"),
    ("Rand better than Bernoulli (table 2)", ("rand", ""), ("bernoulli", ""), 2, "more"),
    ("Mix better than ScheduleA (table 2)", ("mix", ""), ("schedule-a", ""), 2, "more"),
    ("Mix better than ScheduleB (table 2)", ("mix", ""), ("schedule-b", ""), 2, "more"),
    ("Mix better than MAX (table 2)", ("mix", ""), ("max", ""), 2, "more"),
    ("tau 100, eta 4 better than 200, 2 (table 3)", ("rand+mix", ""), ("rand+mix", "tau 40, eta 2"), 3, "more"),
    ("tau 100, eta 4 better than 50, 8 (table 3)", ("rand+mix", ""), ("rand+mix", "tau 10, eta 8"), 3, "more"),
    ("fractional and whole bits alike (table 4)", ("rand+mix", "fractional bits"), ("rand+mix", ""), 4, "same"),
    ("Rand+mix better than MAX (table 5)", ("rand+mix", ""), ("max", ""), 5, "more"),
    ("Rand+mix better than Rand (table 5)", ("rand+mix", ""), ("rand", ""), 5, "more"),
    ("Rand+mix better than PACT (table 5)", ("rand+mix", ""), ("pact", ""), 5, "more"),
    ("Rand+mix better than Quant-Noise (table 5)", ("rand+mix", ""), ("quant-noise", ""), 5, "more"),
    ("Rand+mix better than FracBits (table 5)", ("rand+mix", ""), ("fracbits", ""), 5, "more"),
    ("Rand+mix better than DQ (table 5)", ("rand+mix", ""), ("dq", ""), 5, "more"),
    ("Rand+mix loses nothing against FP32 (table 5)", ("rand+mix", ""), ("fp32", ""), 5, "no less"),
    ("MAX loses against FP32 (table 5)", ("fp32", ""), ("max", ""), 5, "more"),
]
ADAM = [
    ("Rand better than MAX (table 7)", ("rand", ""), ("max", ""), 7, "more"),
    ("Rand+mix worse than MAX with ResNets (table 7): MAX - Rand+mix", ("max", ""), ("rand+mix", ""), 7, "more"),
    ("Rand+mix loses against FP32 with ResNets (table 7): FP32 - Rand+mix", ("fp32", ""), ("rand+mix", ""), 7, "more"),
]
tested = []  # network, optimizer, claim, bits, mean, half, seeds, published
for g in groups:
    net, start, epochs, images, optimizer = g
    claims = SGD if optimizer == "sgd" else ADAM
    if not any(k[0] == g and k[1] == "max" for k in runs):
        continue
    print(f"\n### Claims: {NAMES.get(net, net)}, {start}, {optimizer} (points of accuracy, first minus second)\n")
    print("| claim | published, 8 bits | 8 bits | 4 bits |\n|---|---|---|---|")
    for text, a, b, table, kind in claims:
        size = published(table, net, a, b)
        cells = []
        for bits in (8, 4):
            p = pair(g, bits, a, b)
            # Only 8 bits were published; at 4 the sign is all that can be claimed.
            cells.append(verdict(p, kind, size if bits == 8 else None))
            if p and p[2] > 1 and start == "fine-tuned":
                tested.append((net, optimizer, text, bits, *p, size))
        if cells != ["not run", "not run"]:
            told = "" if size is None else f"{size:+.2f}"
            print(f"| {text} | {told} | {cells[0]} | {cells[1]} |")

def picture(path, bits):
    """Intervals of all claims, a panel for each network."""
    nets = [n for n in ("resnet18", "efficientnet-b0", "mobilenet-v2") if any(t[0] == n and t[3] == bits for t in tested)]
    claims = list(dict.fromkeys((t[1], t[2]) for t in tested if t[3] == bits))
    if not nets:
        return
    row, left, wide, gap, top = 17, 450, 190, 34, 34
    first, last, step = {8: (-1.8, 3.6, 0.9), 4: (-6.0, 12.0, 3.0)}[bits]
    w, h = left + len(nets) * (wide + gap), top + row * len(claims) + 44
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="sans-serif" font-size="11">',
           f'<rect width="{w}" height="{h}" fill="white"/>']
    text = lambda x, y, s, more="": out.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{s.replace("&", "&amp;").replace("<", "&lt;")}</text>')
    for k, net in enumerate(nets):
        x0 = left + k * (wide + gap)
        at = lambda v: x0 + wide * (max(first, min(last, v)) - first) / (last - first)
        text(x0 + wide / 2, 18, NAMES.get(net, net), 'text-anchor="middle" font-weight="bold"')
        bottom = top + row * len(claims)
        for v in (first + step * n for n in range(7)):
            v = round(v, 6)
            out.append(f'<line x1="{at(v):.1f}" x2="{at(v):.1f}" y1="{top - 6}" y2="{bottom}" stroke="{"#555" if v == 0 else "#ddd"}"/>')
            text(at(v), bottom + 14, f"{v:+g}" if v else "0", 'text-anchor="middle" fill="#555"')
        for i, c in enumerate(claims):
            y = top + row * i + row / 2
            for t in tested:
                if (t[0], t[1], t[2], t[3]) != (net, *c, bits):
                    continue
                mean, half, size = t[4], t[5], t[7]
                colour = "#1a7f37" if mean - half > 0 else "#cf222e" if mean + half < 0 else "#57606a"
                out.append(f'<line x1="{at(mean - half):.1f}" x2="{at(mean + half):.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
                out.append(f'<circle cx="{at(mean):.1f}" cy="{y}" r="3" fill="{colour}"/>')
                if size is not None and bits == 8:
                    out.append(f'<path d="M{at(size):.1f} {y - 5} l4 5 l-4 5 l-4 -5 z" fill="none" stroke="#0969da"/>')
    for i, (optimizer, claim) in enumerate(claims):
        text(8, top + row * i + row / 2 + 4, claim + (", Adam" if optimizer == "adam" else ""))
    text(8, h - 8, f"points of accuracy at {bits} bits, 95 % intervals over seeds; cut off at {first:g} and {last:g}"
         + ("; diamonds: published" if bits == 8 else ""), 'fill="#555"')
    open(path, "w").write("\n".join([*out, "</svg>"]) + "\n")


if folder:
    for bits in (8, 4):
        picture(f"{folder}/claims-{bits}.svg", bits)
