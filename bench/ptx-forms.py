#!/usr/bin/env python3
"""Which forms of PTX instructions does the driver load? Those that the templates of vosen/ptx_tests can have.

    scripts/driver.sh python3 bench/ptx-forms.py OUT          OUT/forms.tsv: the driver's code and the form

Each form is a kernel of its own, loaded with cuModuleLoadData and not run: 0 is loaded, 801 refused (the message names the
instruction). bench/ptx-tests.py compares values.
"""
import collections
import ctypes
import itertools
import os
import pathlib
import sys

HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n.entry run(.param .u64 o)\n{\n.reg .u64 at;\nld.param.u64 at, [o];\n"
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = ["f16", "f32", "f64"]
ROUNDING = [".rn", ".rz", ".rm", ".rp"]
TO_INTEGER = [".rni", ".rzi", ".rmi", ".rpi"]
FTZ, SAT = ["", ".ftz"], ["", ".sat"]
#: Modules that one process can hold.
BATCH = 400


def form(text, result, *operands, predicate=False):
    return text, result, operands, predicate


def register(kind):
    return {"u8": "u16", "s8": "s16", "f16": "b16"}.get(kind, kind)


def float_forms():
    for rnd, ftz, sat, op in itertools.product(["", *ROUNDING], FTZ, SAT, ["add", "sub", "mul"]):
        yield form(f"{op}{rnd}{ftz}{sat}.f32 d, a, b", "f32", "f32", "f32")
    for rnd, ftz, sat in itertools.product(ROUNDING, FTZ, SAT):
        yield form(f"fma{rnd}{ftz}{sat}.f32 d, a, b, c", "f32", "f32", "f32", "f32")
    unary = ["abs", "neg", *(f"{f}.approx" for f in ("cos", "sin", "lg2", "ex2", "rcp", "rsqrt", "sqrt"))]
    unary += [f"{f}{r}" for f in ("rcp", "sqrt") for r in ROUNDING]
    for op, ftz in itertools.product(unary, FTZ):
        yield form(f"{op}{ftz}.f32 d, a", "f32", "f32")
    yield form("tanh.approx.f32 d, a", "f32", "f32")
    for how, ftz in itertools.product([".approx", ".full", *ROUNDING], FTZ):
        yield form(f"div{how}{ftz}.f32 d, a, b", "f32", "f32", "f32")
    kinds = ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.NaN.xorsign.abs"]
    for op, kind in itertools.product(["min", "max"], kinds):
        yield form(f"{op}{kind}.f32 d, a, b", "f32", "f32", "f32")
    for op, (kind, reg) in itertools.product(
        ["min", "max"], [("f64", "f64"), ("f16", "b16"), ("bf16", "b16"), ("f16x2", "b32"), ("bf16x2", "b32")]
    ):
        yield form(f"{op}.{kind} d, a, b", reg, reg, reg)
    for mode, kind in itertools.product("finite infinite number notanumber normal subnormal".split(), ["f32", "f64"]):
        yield form(f".reg .pred q; testp.{mode}.{kind} q, a; selp.u32 d, 1, 0, q", "u32", kind)


def integer_forms():
    for kind in INTEGERS[2:]:
        wide = kind[0] + str(2 * int(kind[1:]))
        for mode in ["lo", "hi"] + (["wide"] if kind[1:] != "64" else []):
            out = wide if mode == "wide" else kind
            yield form(f"mul.{mode}.{kind} d, a, b", out, kind, kind)
            yield form(f"mad.{mode}.{kind} d, a, b, c", out, kind, kind, out)
        yield form(f"sad.{kind} d, a, b, c", kind, kind, kind, kind)
        for op in ["min", "max", "add", "sub"]:
            yield form(f"{op}.{kind} d, a, b", kind, kind, kind)
    for text in ["add.sat.s32 d, a, b", "sub.sat.s32 d, a, b", "mad.hi.sat.s32 d, a, b, c"]:
        yield form(text, "s32", "s32", "s32", "s32")
    for kind in INTEGERS[4:]:
        yield form(f"bfe.{kind} d, a, b, c", kind, kind, "u32", "u32")
        for op, cc in itertools.product(["add", "sub", "mad.lo", "mad.hi"], ["", ".cc"]):
            carried = op.replace("mad", "madc") if "mad" in op else op + "c"
            more = ", b" if "mad" in op else ""
            text = f"{op}.cc.{kind} a, a, b{more}; {carried}{cc}.{kind} d, a, b{more}"
            yield form(text, kind, kind, kind)
    for kind in ["b32", "b64"]:
        yield form(f"bfi.{kind} d, a, b, c, e", kind, kind, kind, "u32", "u32")
        yield form(f"brev.{kind} d, a", kind, kind)
    for mode, kind in itertools.product(["lo", "hi"], ["s32", "u32"]):
        yield form(f"mul24.{mode}.{kind} d, a, b", kind, kind, kind)
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]:
        yield form(f"prmt.b32{mode} d, a, b, c", "b32", "b32", "b32", "b32")
    for direction, mode in itertools.product("lr", ["clamp", "wrap"]):
        yield form(f"shf.{direction}.{mode}.b32 d, a, b, c", "b32", "b32", "b32", "b32")
    for op, bits in itertools.product(["shl.b", "shr.b", "shr.u", "shr.s"], [16, 32, 64]):
        yield form(f"{op}{bits} d, a, b", f"{op[-1]}{bits}", f"{op[-1]}{bits}", "u32")
    for op, a, b in itertools.product(["dp4a", "dp2a.lo", "dp2a.hi"], ["u32", "s32"], ["u32", "s32"]):
        out = "s32" if "s" in a + b else "u32"
        yield form(f"{op}.{a}.{b} d, a, b, c", out, a, b, out)
    for d, a, sat, mode in itertools.product(["u32", "s32"], ["u32", "s32"], SAT, [".clamp", ".wrap"]):
        yield form(f"vshr.{d}.{a}.u32{sat}{mode} d, a, b", d, a, "u32")
        yield form(f"vshr.{d}.{a}.u32{sat}{mode} d.h0, a, b, c", d, a, "u32", d)
        for second in [".add", ".min", ".max"]:
            yield form(f"vshr.{d}.{a}.u32{sat}{mode}{second} d, a, b, c", d, a, "u32", d)


def comparison_forms():
    ordered = ["eq", "ne", "lt", "le", "gt", "ge"]
    unordered = [c + "u" for c in ordered] + ["num", "nan"]
    for compare, out in itertools.product([*ordered, *unordered], ["u32", "s32", "f32"]):
        for kind in FLOATS:
            yield form(f"set.{compare}.{out}.{kind} d, a, b", out, register(kind), register(kind))
        for join in ["and", "or", "xor"]:
            yield form(f"set.{compare}.{join}.ftz.{out}.f32 d, a, b, p", out, "f32", "f32", predicate=True)
    for compare, kind, out in itertools.product([*ordered, "lo", "ls", "hi", "hs"], INTEGERS[2:], ["u32", "s32", "f32"]):
        if compare in ("lo", "ls", "hi", "hs") and kind[0] == "s":
            continue
        yield form(f"set.{compare}.{out}.{kind} d, a, b", out, kind, kind)
        yield form(f"set.{compare}.and.{out}.{kind} d, a, b, !p", out, kind, kind, predicate=True)


def conversion_forms():
    for kind in ["u2", "s2", "u4", "s4", "u8", "s8"]:
        yield form(f"cvt.pack.sat.{kind}.s32.b32 d, a, b, c", "b32", "s32", "s32", "b32")
    for kind in ["e4m3x2", "e5m2x2"]:
        yield form(f"cvt.rn.f16x2.{kind} d, a", "b32", "b16")
        yield form(f"cvt.rn.satfinite.{kind}.f32 d, a, a", "b16", "f32")
    for out, of, sat in itertools.product(INTEGERS, INTEGERS, SAT):
        yield form(f"cvt{sat}.{out}.{of} d, a", register(out), register(of))
    for whole, real, sat in itertools.product(INTEGERS, FLOATS, SAT):
        for rnd in ROUNDING:
            yield form(f"cvt{rnd}{sat}.{real}.{whole} d, a", register(real), register(whole))
        for rnd, ftz in itertools.product(TO_INTEGER, FTZ if real == "f32" else [""]):
            yield form(f"cvt{rnd}{ftz}{sat}.{whole}.{real} d, a", register(whole), register(real))
    for out, of, ftz, sat in itertools.product(FLOATS, FLOATS, FTZ, SAT):
        if ftz and "f32" not in (out, of):
            continue
        narrower = int(out[1:]) < int(of[1:])
        for rnd in ROUNDING if narrower else ["", *TO_INTEGER] if out == of else [""]:
            yield form(f"cvt{rnd}{ftz}{sat}.{out}.{of} d, a", register(out), register(of))


def kernel(text, result, operands, predicate):
    lines = [f".reg .{result} d;", f"ld.{result} d, [at];"]
    for name, kind in zip("abce", operands):
        lines += [f".reg .{kind} {name};", f"ld.{kind} {name}, [at];"]
    if predicate:
        lines += [".reg .pred p;", "setp.ne.u64 p, at, 0;"]
    return HEAD + "\n".join([*lines, text + ";", f"st.{result} [at], d;", "ret;", "}"])


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    forms = [*float_forms(), *integer_forms(), *comparison_forms(), *conversion_forms()]
    rows = []
    for begin in range(0, len(forms), BATCH):
        read, write = os.pipe()
        if os.fork() == 0:
            cuda = ctypes.CDLL("libcuda.so.1")
            cuda.cuInit(0)
            with os.fdopen(write, "w") as to:
                for f in forms[begin : begin + BATCH]:
                    code = cuda.cuModuleLoadData(ctypes.byref(ctypes.c_uint64()), kernel(*f).encode())
                    to.write(f"{code}\t{f[0]}\n")
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answers:
            rows += answers.read().splitlines()
        os.wait()
    (out / "forms.tsv").write_text("code\tform\n" + "\n".join(rows) + "\n")
    counts = collections.Counter(r.split("\t")[0] for r in rows)
    print(f"{len(rows)} forms of {len(forms)}: {dict(counts)}")


if __name__ == "__main__":
    main()
