#!/usr/bin/env python3
"""What ptxas makes of approximate functions of constants: constants.py PTXAS NVDISASM. Needs mpmath, no GPU.

Each function is assembled for 150 constants; what the kernel would store is read off its machine code and compared with
the correctly rounded value. Constants that are left to the unit are counted beside them.
"""
import random
import re
import struct
import subprocess
import sys
import tempfile

import mpmath as mp

mp.mp.prec = 200
ptxas, nvdisasm = sys.argv[1:3]


def f32(b):
    return struct.unpack("<f", struct.pack("<I", b))[0]


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def half(text):
    return struct.unpack("<H", struct.pack("<e", float(text.replace("INF", "inf"))))[0]


def rounded(x):
    """Bits of the f32 nearest to a number that is not zero."""
    sign, a = (0x80000000 if x < 0 else 0), abs(x)
    e = max(int(mp.floor(mp.log(a, 2))), -126)
    n = int(mp.nint(a / mp.mpf(2) ** (e - 23)))
    return sign | min(((e + 126) << 23) + n, 0x7F800000)


def stored(op, constants):
    """Bits by constant, where they are known from the machine code."""
    body = "".join(
        f"mov.b32 %r1,0f{b:08X}; {op}.f32 %r2,%r1; st.global.b32 [%d1+{4 * i}],%r2;\n" for i, b in enumerate(constants))
    head = (".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 q) {\n"
            ".reg .b32 %r<3>; .reg .b64 %d<4>;\nld.param.u64 %d1,[q];\n")
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/k.ptx", "w") as f:
            f.write(head + body + "ret; }\n")
        subprocess.check_call([ptxas, "-arch=sm_90", d + "/k.ptx", "-o", d + "/k.cubin"])
        text = subprocess.run([nvdisasm, "-c", d + "/k.cubin"], capture_output=True, text=True).stdout
    registers, out = {"RZ": 0}, {}
    for line in re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?) ;", text):
        if m := re.match(r"(?:IMAD\.MOV\.U32 (R\d+), RZ, RZ, |MOV (R\d+), )(0x[0-9a-f]+|RZ)$", line):
            registers[m[1] or m[2]] = 0 if m[3] == "RZ" else int(m[3], 16)
        elif m := re.match(r"HFMA2\.MMA (R\d+), -RZ, RZ, (\S+), (\S+)$", line):
            registers[m[1]] = half(m[2]) << 16 | half(m[3])
        elif m := re.match(r"STG\.E desc\[UR\d+\]\[R\d+\.64(?:\+(0x[0-9a-f]+))?\], (R\d+|RZ)$", line):
            out[constants[int(m[1] or "0", 16) // 4]] = registers.get(m[2])
        elif m := re.match(r"\S+ (R\d+)\b", line):
            registers[m[1]] = None
    return {b: v for b, v in out.items() if v is not None}


random.seed(3)
anywhere = [bits(random.uniform(1, 2) * 2.0 ** random.randint(-30, 30)) for _ in range(60)]
near = [bits(random.uniform(-20, 20)) for _ in range(60)] + [bits(random.uniform(0.01, 4)) for _ in range(30)]
functions = {
    "sin": mp.sin, "cos": mp.cos, "ex2": lambda x: mp.mpf(2) ** x, "lg2": lambda x: mp.log(x, 2),
    "sqrt": mp.sqrt, "rsqrt": lambda x: 1 / mp.sqrt(x), "rcp": lambda x: 1 / x,
}
for name, function in functions.items():
    positive = name in ("lg2", "sqrt", "rsqrt")
    all_of = sorted({b for b in near + ([] if name == "ex2" else anywhere) if not (positive and b >> 31)})
    for op in (f"{name}.approx.ftz", f"{name}.approx"):
        got = stored(op, all_of)
        other = [hex(b) for b, v in got.items() if v != rounded(function(mp.mpf(f32(b))))]
        print(f"{op:18} {len(got)} of {len(all_of)} read, {len(other)} not correctly rounded {other[:4]}")
