"""Lines for the campaign program, most wanted first.

    python jobs.py bench [WORDS]                     two epochs of 7,680 images of each network, for speeds
    python jobs.py fp32 NET=EPOCHS[xSEEDS] ...       training without quantization; the weights are kept
    python jobs.py tables NET=EPOCHS[xSEEDS] ...     fine-tuning from these weights: tables 2 to 5 and 7 of the chapter
    python jobs.py scratch NET=EPOCHS[xSEEDS] ...    the main methods without a start from trained weights
    python jobs.py warm NET[xTIMES] ...              a few steps, so that a process has loaded and tried its kernels

`NET=EPOCHS@N` trains on the first N images only. WORDS go to every line of a network: `mobilenet-v2+planar=1x4`; the words
f32 and f16 choose the arithmetic (else ResNets in f16, the others in f32 with `tuned`), and `batch=N`, `rate=X` replace what
is usual here. `NET:N`: there are N trained networks of this kind; seed s starts from number s modulo N.
"""
import sys

METHODS = ["max", "rand+mix", "rand", "mix", "moving-average", "bernoulli", "quant-noise", "schedule-a", "schedule-b"]
# They need gradients of their ranges and take three times as long: after all seeds of the others.
SLOW = ["pact", "fracbits", "dq"]
# What the chapter's tables have of MobileNetV2: 3, 5 and 7, not the ablations of table 2, nor table 4.
OF_MOBILENET = ["max", "rand+mix", "rand", "quant-noise"]
# The chapter's tau and eta (200 2, 100 4, 50 8) are for some ten thousand steps; ours are a fifth of that and less.
WINDOWS = [(40, 2), (10, 8)]


def line(net, method, bits, epochs, seed, optimizer, *words):
    resnet = net.startswith("resnet")
    arithmetic = next((w for w in words if w in ("f16", "f32")), "f16" if resnet else "f32")
    last = {}
    for w in [*words, *([] if resnet or arithmetic == "f16" else ["tuned"])]:
        if w not in ("f16", "f32"):
            last[w.split("=")[0]] = w  # the last of a kind counts
    print(net, method, bits, bits, epochs, seed, optimizer, arithmetic, *last.values())


def spec(text):
    name, rest = text.rsplit("=", 1)  # words may have one too
    net, *words = name.split("+")
    rest, _, images = rest.partition("@")
    epochs, _, seeds = rest.partition("x")
    if images:
        words.append(f"images={images}")
    return net, int(epochs), int(seeds or 1), words


mode = sys.argv[1]
nets = [spec(a) for a in sys.argv[2:] if "=" in a] if mode not in ("bench", "warm") else []
if mode == "bench":
    words = sys.argv[2:]
    for net in ["resnet18", "efficientnet-b0", "mobilenet-v2"]:
        for method in ["fp32", "max"]:
            line(net, method, 8, 2, 1, "sgd", "images=7680", *words)
elif mode == "warm":
    for a in sys.argv[2:]:
        name, _, times = a.partition("x")
        net, *words = name.split("+")
        for k in range(int(times or 1)):
            line(net, "max", 8, 1, 100 + k, "sgd", "images=512", *words)
elif mode == "fp32":
    for seed in range(1, 1 + max(n[2] for n in nets)):
        for net, epochs, seeds, words in nets:
            if seed <= seeds:
                line(net, "fp32", 8, epochs, seed, "sgd", "batch=256", "rate=0.2", f"save={net}-{seed}", *words)
elif mode == "tables":
    starts = dict(a.split(":") for a in sys.argv[2:] if ":" in a and "=" not in a)
    for methods in (METHODS, SLOW):
        for seed in range(1, 1 + max(n[2] for n in nets)):
            for net, epochs, seeds, words in nets:
                if seed > seeds:
                    continue
                start = f"from={net}-{1 + (seed - 1) % int(starts.get(net, 1))}"
                sgd = ["batch=256", "rate=0.04", start, *words]
                adam = ["batch=256", "rate=4e-4", start, *[w for w in words if not w.startswith("rate=")]]
                mobile = net.startswith("mobilenet")
                some = [m for m in methods if m in OF_MOBILENET or m in SLOW] if mobile else methods
                # Without ReLUs PACT is MAX: the chapter says that it does not apply.
                some = [m for m in some if not (m == "pact" and net.startswith("efficientnet"))]
                if methods is METHODS:
                    line(net, "fp32", 8, epochs, seed, "sgd", *sgd)
                    line(net, "fp32", 8, epochs, seed, "adam", *adam)
                for bits in [8, 4]:
                    for m in some:
                        line(net, m, bits, epochs, seed, "sgd", *sgd)
                    if methods is SLOW:
                        continue
                    for tau, eta in WINDOWS:
                        line(net, "rand+mix", bits, epochs, seed, "sgd", f"tau={tau}", f"eta={eta}", *sgd)
                    if not mobile:
                        line(net, "rand+mix", bits, epochs, seed, "sgd", "fractional", *sgd)
                    for m in ["max", "rand", "rand+mix"]:
                        line(net, m, bits, epochs, seed, "adam", *adam)
elif mode == "scratch":
    for seed in range(1, 1 + max(n[2] for n in nets)):
        for net, epochs, seeds, words in nets:
            if seed <= seeds:
                for bits in [4, 8]:
                    for m in ["max", "rand+mix", "mix", "schedule-b"]:
                        line(net, m, bits, epochs, seed, "sgd", "batch=256", "rate=0.2", *words)
