"""Results of a campaign as tables, and the chapter's claims tested on them.   python table.py results.jsonl
Accuracy of all 10,000 test images after the last epoch: mean over seeds with Student's 95 % interval. Claims compare
runs of the same seed (the same start, the same order of images) in pairs."""
import json, lzma, math, sys

T = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]  # by degrees of freedom
NAMES = {"resnet18": "ResNet-18", "efficientnet-b0": "EfficientNet-B0", "mobilenet-v2": "MobileNetV2"}


def opened(path):
    return lzma.open(path, "rt") if path.endswith(".xz") else open(path)


def student(values):
    n, mean = len(values), sum(values) / len(values)
    if n < 2:
        return mean, math.inf
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
    return mean, T[min(n - 1, len(T) - 1)] * spread


runs, failed, begun = {}, {}, {}
for path in sys.argv[1:]:
    for text in opened(path):
        r = json.loads(text)
        if "network" not in r:
            print("failed:", r)
            continue
        words = dict((w.split("=", 1) + [""])[:2] for w in r["words"])
        if int(words.get("images", 50000)) < 10000:
            continue  # for speeds only
        if "from" not in words:
            start = "trained from nothing"
        else:
            start = "fine-tuned"
        setting = ""
        if "tau" in words or "eta" in words:
            setting = f"tau {words.get('tau', 20)}, eta {words.get('eta', 4)}"
        if "fractional" in words:
            setting = "fractional bits"
        bits = 32 if r["method"] == "fp32" else int(r["activation_bits"])
        group = (r["network"], start, r["epochs"], int(words.get("images", 50000)), r["optimizer"])
        key = (group, r["method"], setting, bits)
        if r.get("error") or "correct" not in r:
            failed.setdefault(key, []).append((r["seed"], r.get("error")))
        else:
            runs.setdefault(key, {})[r["seed"]] = 100 * r["correct"] / r["count"]


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


def pair(g, bits, a, b):
    """Mean of a - b over common seeds, half of its interval, and how many; None if there is none."""
    of = lambda m: runs.get((g, m[0], m[1], 32 if m[0] == "fp32" else bits), {})
    x, y = of(a), of(b)
    common = sorted(set(x) & set(y))
    if not common:
        return None
    return (*student([x[s] - y[s] for s in common]), len(common))


def verdict(p):
    if p is None:
        return "not run"
    mean, half, n = p
    if n < 2:
        return f"{mean:+.2f} (one seed): not resolvable"
    word = "holds" if mean - half > 0 else "does not hold" if mean + half < 0 else "not resolvable"
    return f"{mean:+.2f} ± {half:.2f} ({n}): {word}"


SGD = [
    ("Rand better than MAX (tables 2, 5)", ("rand", ""), ("max", "")),
    ("Rand better than the moving average (table 2)", ("rand", ""), ("moving-average", "")),
    ("Rand better than Bernoulli (table 2)", ("rand", ""), ("bernoulli", "")),
    ("Mix better than ScheduleA (table 2)", ("mix", ""), ("schedule-a", "")),
    ("Mix better than ScheduleB (table 2)", ("mix", ""), ("schedule-b", "")),
    ("Mix better than MAX (table 2)", ("mix", ""), ("max", "")),
    ("tau 100, eta 4 better than 200, 2 (table 3)", ("rand+mix", ""), ("rand+mix", "tau 40, eta 2")),
    ("tau 100, eta 4 better than 50, 8 (table 3)", ("rand+mix", ""), ("rand+mix", "tau 10, eta 8")),
    ("fractional bits are no better and no worse (table 4): fractional - whole", ("rand+mix", "fractional bits"), ("rand+mix", "")),
    ("Rand+mix better than MAX (table 5)", ("rand+mix", ""), ("max", "")),
    ("Rand+mix better than Rand (table 5)", ("rand+mix", ""), ("rand", "")),
    ("Rand+mix better than PACT (table 5)", ("rand+mix", ""), ("pact", "")),
    ("Rand+mix better than Quant-Noise (table 5)", ("rand+mix", ""), ("quant-noise", "")),
    ("Rand+mix better than FracBits (table 5)", ("rand+mix", ""), ("fracbits", "")),
    ("Rand+mix better than DQ (table 5)", ("rand+mix", ""), ("dq", "")),
    ("Rand+mix loses nothing against FP32 (table 5)", ("rand+mix", ""), ("fp32", "")),
]
ADAM = [
    ("Rand better than MAX (table 7)", ("rand", ""), ("max", "")),
    ("Rand+mix worse than MAX with ResNets (table 7): MAX - Rand+mix", ("max", ""), ("rand+mix", "")),
    ("Rand+mix loses against FP32 with ResNets (table 7): FP32 - Rand+mix", ("fp32", ""), ("rand+mix", "")),
]
for g in groups:
    net, start, epochs, images, optimizer = g
    claims = SGD if optimizer == "sgd" else ADAM
    if not any(k[0] == g and k[1] == "max" for k in runs):
        continue
    print(f"\n### Claims: {NAMES.get(net, net)}, {start}, {optimizer} (points of accuracy, first minus second)\n")
    print("| claim | 8 bits | 4 bits |\n|---|---|---|")
    for text, a, b in claims:
        cells = [verdict(pair(g, bits, a, b)) for bits in (8, 4)]
        if cells != ["not run", "not run"]:
            print(f"| {text} | {cells[0]} | {cells[1]} |")

# Networks as repetitions: the mean over seeds of each, then Student's interval over networks.
for optimizer, claims in (("sgd", SGD), ("adam", ADAM)):
    tuned = [g for g in groups if g[1] == "fine-tuned" and g[4] == optimizer and any(k[0] == g and k[1] == "rand" for k in runs)]
    if len(tuned) < 2:
        continue
    print(f"\n### Claims over {len(tuned)} networks, fine-tuned, {optimizer}\n")
    print("| claim | 8 bits | 4 bits |\n|---|---|---|")
    for text, a, b in claims:
        cells = []
        for bits in (8, 4):
            each = [p[0] for g in tuned if (p := pair(g, bits, a, b))]
            if not each:
                cells.append("not run")
                continue
            shown = ", ".join(f"{d:+.2f}" for d in each)
            cells.append(f"{verdict((*student(each), len(each)))} [{shown}]")
        print(f"| {text} | {cells[0]} | {cells[1]} |")
