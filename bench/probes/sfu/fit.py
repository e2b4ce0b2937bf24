"""Fits the special-function unit's tables to dumps, and checks them: fit.py DIR > sfu.txt

DIR holds rcp.sfu, rsqrt.sfu, sqrt.sfu, ex2.sfu, lg2.sfu, sin.sfu, cos.sfu, tanh.sfu (`kerf device sfu --dump DIR` writes
rcp.ftz.sfu and so on; dump.cu the short names). Needs numpy and scipy.

The hypothesis: result = floor(c0 + c1 x + c2 s), x the lower bits of the argument, s its square without the
multiplier's lowest columns, coefficients on a grid. A linear program finds real coefficients, which are then
rounded to the grid; the exact interval of c0 that fits every argument of the segment must not be empty, and
one fraction of c0 must fit all segments. Nothing is printed unless all of that holds.
"""
import struct
import sys
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

FINE = 20  # interval ends are integers in units of 2^-(26 + FINE)
TURN = np.float64(np.float32(0.15915493667125701904))


def load(folder, op):
    for name in (f"{folder}/{op}.sfu", f"{folder}/{op}.ftz.sfu"):
        try:
            data = open(name, "rb").read()
            break
        except FileNotFoundError:
            continue
    at, out = 0, {}
    while at < len(data):
        start, step, count = struct.unpack_from("<III", data, at)
        at += 12
        p = np.frombuffer(data, np.uint8, 4 * count, at).reshape(4, count).astype(np.uint32)
        at += 4 * count
        z = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24
        d = (z >> 1) ^ (-(z & 1).astype(np.int64)).astype(np.uint32)
        if step == 1:
            out[start] = np.cumsum(d.astype(np.uint64)).astype(np.uint32)
    return out


def square(bits):
    """x squared without columns below 17 (16 bits) or 19 (17 bits)."""
    low = {16: 17, 17: 19}[bits]
    x = np.arange(1 << bits, dtype=np.int64)
    s = np.zeros_like(x)
    for a in range(bits):
        digit = (x >> a) & 1
        if 2 * a >= low:
            s += digit << (2 * a)
        for b in range(a + 1, bits):
            if a + b + 1 >= low:
                s += (digit & (x >> b)) << (a + b + 1)
    return x, s


def program(lo, hi, basis):
    """Coefficients whose values are as far inside the intervals as can be, by cutting planes."""
    base, k, width = lo[0], basis.shape[1], hi - lo
    chosen = set(np.linspace(0, len(lo) - 1, 300).astype(int).tolist())
    for _ in range(60):
        i = np.array(sorted(chosen))
        w = width[i][:, None]
        a = np.concatenate([np.hstack([-basis[i] / w, -np.ones((len(i), 1))]),
                            np.hstack([basis[i] / w, -np.ones((len(i), 1))])])
        b = np.concatenate([-(lo - base)[i] / w[:, 0], (hi - base)[i] / w[:, 0]])
        c = linprog([0] * k + [1], A_ub=a, b_ub=b, bounds=[(None, None)] * (k + 1), method="highs").x
        p = basis @ c[:k]
        below, above = (lo - base - p) / width, (p - hi + base) / width
        if np.maximum(below, above).max() <= c[-1] + 1e-7:
            break
        for v in (below, above):
            chosen.update(np.argsort(v)[-40:].tolist())
    return c[:k]


def fit(name, lo, hi, bits, grid1, grid2, skip=0):
    """Segments as (interval of c0, c1, c2). The first `skip` arguments are exceptions."""
    x, s = square(bits)
    n = 1 << bits
    basis = np.stack([np.ones(n), x / n, s / float(n * n)], 1)
    out = []
    for h in range(len(lo) // n):
        part = slice(h * n, (h + 1) * n)
        l, g = lo[part], hi[part]
        use = np.ones(n, bool)
        use[:skip if h == 0 else 0] = False
        rough = use.copy()
        if skip and h == 0:
            rough[:2048] = False  # intervals too narrow for the program's arithmetic
        a = l / 2.0**FINE
        w = np.maximum((g - l) / 2.0**FINE, 2.0**-9)
        c = program(a[rough], (a + w)[rough], basis[rough])
        c1 = round(float(c[1]) / grid1) * grid1
        c2 = round(float(c[2]) / grid2) * grid2
        rest = (c1 * x << bits) + c2 * s
        shift = 2 * bits - FINE
        first = Fraction(int(((l << shift) - rest)[use].max()), n * n)
        last = Fraction(int(((g << shift) - rest)[use].min()), n * n)
        if first >= last:
            sys.exit(f"{name}: segment {h} has no exact coefficients")
        out.append((first, last, c1, c2))
    return out


def digits(bits, unit):
    """Results in one binade as intervals."""
    y = bits * unit
    return y << FINE, (y + unit) << FINE


def floats(bits):
    v = bits.astype(np.uint32).view(np.float32)
    lo = np.ldexp(v.astype(np.float64), 26 + FINE)
    hi = lo + np.ldexp(np.spacing(v).astype(np.float64), 26 + FINE)
    lo, hi = np.floor(lo).astype(np.int64), np.ceil(hi).astype(np.int64)
    return lo, np.maximum(hi, lo + 1024)  # the unit keeps no more than 2^-36


def quarter(folder):
    """The sine of the first quarter, from all quarters of sine and cosine."""
    n = 1 << 23
    out = np.full(n, -1, dtype=np.int64)
    for op, turn in (("sin", 0), ("cos", 1)):
        for start, y in load(folder, op).items():
            x = (np.arange(len(y), dtype=np.uint64) + start).astype(np.uint32).view(np.float32)
            r = (x.astype(np.float64) * TURN).view(np.uint64) & ~np.uint64((1 << 29) - 1)
            f = np.floor(np.ldexp(r.view(np.float64), 25)).astype(np.int64)
            q, t = (f >> 23) + turn, f & (n - 1)
            t = np.where(q & 1, t ^ (n - 1), t)
            value = y.astype(np.int64) & 0x7FFFFFFF
            seen = out[t] >= 0
            if (out[t][seen] != value[seen]).any():
                sys.exit(f"{op}: quarters disagree")
            out[t] = value
    if (out < 0).any():
        sys.exit("sin: not all arguments of a quarter were dumped")
    return out


def hyperbolic(folder):
    """tanh from 2^-8 to 8: by exponent, digits of the mantissa that say the segment."""
    dumped = load(folder, "tanh")
    out = []
    for e, m in zip(range(-8, 3), (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)):
        bits = dumped[(127 + e) << 23].reshape(-1, 1 << (6 - m))
        if (bits != bits[:, :1]).any():
            sys.exit(f"tanh: exponent {e} looks at more digits")
        v = bits[:, 0].view(np.float32)
        scale = 26 + FINE - (min(e, -1) + 1)
        lo = np.ldexp(v.astype(np.float64), scale).astype(np.int64)
        hi = lo + np.ldexp(np.spacing(v).astype(np.float64), scale).astype(np.int64)
        out += fit("tanh", lo, hi, 17, 8, 8)
    return out


def main(folder):
    one = 0x3F800000
    of = lambda op, start: load(folder, op)[start].astype(np.int64)
    functions = [("rcp", (16188, 16), fit("rcp", *digits(of("rcp", one) - one + (1 << 24), 4), 16, 8, 4))]
    for op, unit, grid, top in (("rsqrt", 4, 4, 1 << 24), ("sqrt", 8, 8, 1 << 23)):
        both = []
        for start, skip in ((one, int(op == "rsqrt")), (0x40000000, 0)):
            both += fit(op, *digits(of(op, start) - one + top, unit), 17, grid, 4, skip)
        functions.append((op, (-4, 17), both))
    functions.append(("ex2", (64592, 17), fit("ex2", *digits(of("ex2", one) - 0x40000000 + (1 << 23), 8), 17, 8, 8)))
    functions.append(("lg2", (26800, 17), fit("lg2", *floats(of("lg2", one)), 17, 32, 16, 1)))
    functions.append(("sin", (0, 17), fit("sin", *floats(quarter(folder)), 17, 64, 16, 1)))
    functions.append(("tanh", (0, 17), hyperbolic(folder)))
    print("# Coefficients of the special-function unit of an NVIDIA H200 (sm_90), one segment a line: c0 c1 c2, in units of")
    print("# 2^-26. The unit computes (c0 2^n + c1 x + c2 s + b) / 2^n, with x the n lower bits of the argument and s its")
    print("# truncated square; see sfu.rs. Fitted to exhaustive dumps, which they reproduce without exception.")
    for name, (bias, bits), segments in functions:
        print(name)
        for first, last, c1, c2 in segments:
            b = Fraction(bias, 1 << bits)
            c0 = -((b - first).__floor__())
            if not first <= c0 + b < last:
                sys.exit(f"{name}: the constant does not fit")
            print(c0, c1, c2)


main(sys.argv[1])
