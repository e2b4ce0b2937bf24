#!/usr/bin/env python3
"""Compiles the CUDA examples to PTX with NVRTC, NVIDIA's own compiler (pip install nvidia-cuda-nvrtc-cu12; no GPU is needed).

    bench/nvrtc.py OUT [--arch compute_80] [EXAMPLE ...]     then bench/ptx-roundtrip.py KERF --ptx OUT

OUT/NAME.ptx for each workload examples/*/NAME.toml whose source is CUDA. Templates are instantiated as
the workload launches them.
"""
import argparse
import ctypes
import glob
import pathlib
import re
import site
import sys
import tomllib

# NVRTC has no C++ library; what device code uses of it is built in, under other names.
MATH = "sqrt exp log pow sin cos fabs fmax fmin floor ceil hypot erfc".split()
HEAD = "namespace std { %s }\n" % " ".join(f"using ::{f};" for f in MATH)

ROOT = pathlib.Path(__file__).resolve().parent.parent


def library():
    for folder in site.getsitepackages():
        for path in glob.glob(f"{folder}/nvidia/cuda_nvrtc/lib/libnvrtc.so.*"):
            return ctypes.CDLL(path)
    sys.exit("NVRTC is not installed; pip install nvidia-cuda-nvrtc-cu12")


def instances(workload):
    """Templates that a workload launches: `sum_tree<256>`."""
    return sorted(set(re.findall(r"'kernel': '([^']*<[^']*>)'", repr(workload["launch"]))))


def device_code(text):
    """The parts of a source that are for the device: what a host function is made of is left out."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    text = re.sub(r"(?m)^\s*#\s*include.*$", "", text).replace("\\\n", " ")
    kept, part, depth = [], [], 0
    for line in text.splitlines():
        if depth == 0 and not "".join(part).strip() and line.lstrip().startswith("#"):
            kept.append(line)
            continue
        part.append(line)
        depth += line.count("{") - line.count("}")
        ends = line.rstrip().endswith((";", "}"))
        if depth == 0 and ends:
            whole = "\n".join(part)
            part = []
            head = whole.split("{")[0]
            device = re.search(r"__global__|__device__|__constant__", head)
            plain = re.match(r"\s*(template\s*<[^>]*>\s*)?(struct|typedef|using|enum|constexpr|const|static const)", head)
            if device or (plain and "std::vector" not in whole and not re.search(r"\)\s*$", head.strip())):
                kept.append(whole)
    return "\n".join(kept)


def compiled(lib, text, name, kernels, options):
    program = ctypes.c_void_p()
    made = lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    if made:
        return None, f"nvrtcCreateProgram gave {made}"
    for k in kernels:
        lib.nvrtcAddNameExpression(program, k.encode())
    flags = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    bad = lib.nvrtcCompileProgram(program, len(options), flags)
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    if bad:
        return None, log.value.decode()
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, ptx)
    return ptx.value.decode(), log.value.decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--arch", default="compute_80")
    parser.add_argument("--lineinfo", action="store_true")
    parser.add_argument("examples", nargs="*")
    a = parser.parse_intermixed_args()
    a.out.mkdir(parents=True, exist_ok=True)
    lib = library()
    failed = 0
    for toml in sorted((ROOT / "examples").glob("*/*.toml")):
        workload = tomllib.loads(toml.read_text())
        source = toml.parent / workload["source"]
        if source.suffix != ".cu" or (a.examples and toml.stem not in a.examples):
            continue
        text = source.read_text()
        for name in re.findall(r'#include\s*"([^"]+)"', text):
            text = (source.parent / name).read_text() + text
        text = HEAD + device_code(text)
        options = [f"--gpu-architecture={a.arch}", "--std=c++17", *workload.get("flags", [])]
        if a.lineinfo:
            options.append("-lineinfo")
        ptx, log = compiled(lib, text, str(source), instances(workload), options)
        if ptx is None:
            failed += 1
            print(f"{toml.stem}: {log.strip()}")
        else:
            (a.out / f"{toml.stem}.ptx").write_text(ptx)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
