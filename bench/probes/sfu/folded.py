#!/usr/bin/env python3
"""What ptxas makes of approximate reciprocals: folded.py PTXAS NVDISASM. Needs no GPU.

Prints the arithmetic of small kernels after assembling, and checks that quotients by 300 constants are
products with correctly rounded reciprocals.
"""
import random
import re
import struct
import subprocess
import sys
import tempfile

ptxas, nvdisasm = sys.argv[1:3]
HEAD = (".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p){ .reg .f32 %f<9>; "
        ".reg .b64 %rd<3>; ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; "
        "ld.global.f32 %f0,[%rd2]; ld.global.f32 %f1,[%rd2+4]; ")


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def assembled(body):
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/k.ptx", "w") as f:
            f.write(HEAD + body + " st.global.f32 [%rd2+8],%f2; ret; }")
        subprocess.check_call([ptxas, "-arch=sm_90", d + "/k.ptx", "-o", d + "/k.cubin"])
        text = subprocess.run([nvdisasm, "-c", d + "/k.cubin"], capture_output=True, text=True).stdout
    lines = (re.sub(r"/\*.*?\*/", "", line).strip() for line in text.splitlines())
    return [line for line in lines if re.search(r"MUFU|FMUL|FADD|FFMA|FSEL|FSETP", line)]


C = "mov.b32 %f3,0f437F0000; "
for name, body in {
    "x / c, approx.ftz": C + "div.approx.ftz.f32 %f2,%f1,%f3;",
    "x / c, approx": C + "div.approx.f32 %f2,%f1,%f3;",
    "x / c, full.ftz": C + "div.full.ftz.f32 %f2,%f1,%f3;",
    "x / c, full": C + "div.full.f32 %f2,%f1,%f3;",
    "x * rcp(c)": C + "rcp.approx.ftz.f32 %f4,%f3; mul.rn.f32 %f2,%f4,%f1;",
    "x / rcp(y), approx.ftz": "rcp.approx.ftz.f32 %f3,%f0; div.approx.ftz.f32 %f2,%f1,%f3;",
    "x / rcp(y), approx": "rcp.approx.ftz.f32 %f3,%f0; div.approx.f32 %f2,%f1,%f3;",
    "x / rcp(y), full.ftz": "rcp.approx.ftz.f32 %f3,%f0; div.full.ftz.f32 %f2,%f1,%f3;",
    "rcp(rcp(x))": "rcp.approx.ftz.f32 %f3,%f1; rcp.approx.ftz.f32 %f2,%f3;",
    "rcp(ex2(x))": "ex2.approx.ftz.f32 %f3,%f1; rcp.approx.ftz.f32 %f2,%f3;",
    "x / ex2(y), approx.ftz": "ex2.approx.ftz.f32 %f3,%f0; div.approx.ftz.f32 %f2,%f1,%f3;",
    "x / ex2(y), and ex2(y)": "ex2.approx.ftz.f32 %f3,%f0; div.approx.ftz.f32 %f2,%f1,%f3; add.rn.f32 %f2,%f2,%f3;",
    "rcp(sqrt(x))": "sqrt.approx.ftz.f32 %f3,%f1; rcp.approx.ftz.f32 %f2,%f3;",
    "rcp(rsqrt(x))": "rsqrt.approx.ftz.f32 %f3,%f1; rcp.approx.ftz.f32 %f2,%f3;",
    "x / y + z": "div.approx.ftz.f32 %f3,%f1,%f0; add.rn.f32 %f2,%f3,%f1;",
}.items():
    print(f"{name:24} {' | '.join(assembled(body))}")

random.seed(5)
constants = [f32(random.uniform(1, 2) * 2.0 ** random.randint(-20, 20)) for _ in range(300)]
wrong = 0
for c in constants:
    code = " ".join(assembled(f"mov.b32 %f3,0f{bits(c):08X}; div.approx.ftz.f32 %f2,%f1,%f3;"))
    found = re.search(r"FMUL\.FTZ R\d+, R\d+, ([-0-9.e+]+) ", code)
    wrong += not found or bits(float(found[1])) != bits(1.0 / c)
print(f"x / c for {len(constants)} constants: {wrong} not by the correctly rounded reciprocal")
