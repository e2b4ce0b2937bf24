"""Lines for the campaign program, most wanted first.  python jobs.py {bench,long,short} [f32|f16]"""
import sys

mode = sys.argv[1]
arithmetic = sys.argv[2] if len(sys.argv) > 2 else "f16"
others = sys.argv[-1] if sys.argv[-1] in ("f16", "f32") else arithmetic
nets = ["resnet18", "mobilenet-v2", "efficientnet-b0"]


def line(net, method, bits, epochs, seed, optimizer="sgd", arith=None, *words):
    arith = arith or (arithmetic if net == "resnet18" else others)
    print(net, method, bits, bits, epochs, seed, optimizer, arith, *words)


if mode == "bench":
    for arith in ["f16", "f32"]:
        for method in ["fp32", "max"]:
            line("resnet18", method, 8, 2, 1, "sgd", arith)
    for net in nets[1:]:
        line(net, "max", 8, 2, 1, "sgd", "f16")
elif mode == "long":
    line("resnet18", "fp32", 8, int(sys.argv[3]), 1, "sgd", "f32")
    line("efficientnet-b0", "fp32", 8, int(sys.argv[4]), 1, "sgd", "f32")
    line("resnet18", "max", 8, int(sys.argv[3]), 1, "sgd", "f16", "export")
elif mode == "short":
    epochs = {n: int(e) for n, e in zip(nets, sys.argv[3:6])}
    methods = ["max", "rand+mix", "moving-average", "rand", "mix"]
    more = ["schedule-b", "quant-noise", "bernoulli", "schedule-a", "pact"]
    for seed in [1, 2, 3, 4, 5, 6]:
        for net in nets:
            # The slower networks have fewer seeds.
            if seed > (6 if net == "resnet18" else 3):
                continue
            line(net, "fp32", 8, epochs[net], seed)
            for bits in [4, 8]:
                for m in methods:
                    line(net, m, bits, epochs[net], seed)
        if seed == 2:
            for m in more:
                for s in [1, 2]:
                    line("resnet18", m, 4, epochs["resnet18"], s)
            for m in ["fp32", "max", "rand", "rand+mix"]:
                line("resnet18", m, 8, epochs["resnet18"], 1, "adam")
