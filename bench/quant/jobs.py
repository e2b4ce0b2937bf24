"""Lines for the campaign program, most wanted first.

    python jobs.py bench [WORDS]                     two epochs of 7,680 images of each network, for speeds
    python jobs.py fp32 NET=EPOCHS[xSEEDS] ...       training without quantization; the weights are kept
    python jobs.py tables NET=EPOCHS[xSEEDS] ...     fine-tuning from these weights: tables 2 to 5 and 7 of the chapter
    python jobs.py scratch NET=EPOCHS[xSEEDS] ...    the main methods without a start from trained weights

`NET=EPOCHS@N` trains on the first N images only. WORDS go to every line of a network: `mobilenet-v2+planar=1x4`.
"""
import sys

METHODS = ["max", "rand+mix", "rand", "mix", "moving-average", "bernoulli", "quant-noise", "schedule-a", "schedule-b",
           "pact", "fracbits", "dq"]
# The chapter's tau and eta (200 2, 100 4, 50 8) are for some ten thousand steps; ours are a fifth of that and less.
WINDOWS = [(40, 2), (10, 8)]


def line(net, method, bits, epochs, seed, optimizer, *words):
    print(net, method, bits, bits, epochs, seed, optimizer, "f16", *words)


def spec(text):
    name, rest = text.split("=", 1)
    net, *words = name.split("+")
    rest, _, images = rest.partition("@")
    epochs, _, seeds = rest.partition("x")
    if images:
        words.append(f"images={images}")
    return net, int(epochs), int(seeds or 1), words


mode, nets = sys.argv[1], [spec(a) for a in sys.argv[2:] if "=" in a]
if mode == "bench":
    words = sys.argv[2:]
    for net in ["resnet18", "efficientnet-b0", "mobilenet-v2"]:
        for method in ["fp32", "max"]:
            line(net, method, 8, 2, 1, "sgd", "images=7680", *words)
elif mode == "fp32":
    for seed in range(1, 1 + max(n[2] for n in nets)):
        for net, epochs, seeds, words in nets:
            if seed <= seeds:
                line(net, "fp32", 8, epochs, seed, "sgd", "batch=256", "rate=0.2", f"save={net}-{seed}", *words)
elif mode == "tables":
    # starts=2: there are so many trained networks of each kind; seed s starts from number s modulo that.
    starts = dict(a.split(":") for a in sys.argv[2:] if ":" in a and "=" not in a)
    for seed in range(1, 1 + max(n[2] for n in nets)):
        for net, epochs, seeds, words in nets:
            if seed > seeds:
                continue
            start = f"from={net}-{1 + (seed - 1) % int(starts.get(net, 1))}"
            sgd = ["batch=256", "rate=0.04", start, *words]
            adam = ["batch=256", "rate=4e-4", start, *words]
            line(net, "fp32", 8, epochs, seed, "sgd", *sgd)
            line(net, "fp32", 8, epochs, seed, "adam", *adam)
            for bits in [4, 8]:
                for m in METHODS:
                    # Without ReLUs PACT is MAX: the chapter says that it does not apply.
                    if not (m == "pact" and net.startswith("efficientnet")):
                        line(net, m, bits, epochs, seed, "sgd", *sgd)
                for tau, eta in WINDOWS:
                    line(net, "rand+mix", bits, epochs, seed, "sgd", f"tau={tau}", f"eta={eta}", *sgd)
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
