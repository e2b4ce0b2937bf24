#!/usr/bin/env python3
"""The folder that a wheel and the archive are made of: the program, the runtime of applications, and headers.

    scripts/package.py KERF [--runtime LIBKERFRT] [--out DIR]       DIR: dist/kerf-x86_64-linux

KERF has to be built with `--features clang`. C and C++ headers for device code and clang's own are copied from Debian's packages,
with the licences that they are under, so that this runs on Debian with g++ and clang-22 (scripts/setup.sh).
"""

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MULTIARCH = "x86_64-linux-gnu"

# clang's headers for machines that no kernel is compiled for.
OTHER_MACHINES = [
    "arm*", "altivec.h", "hexagon*", "hvx_*", "htm*intrin.h", "lasx*", "lsx*", "larch*", "mips*", "msa.h",
    "ppc_wrappers", "riscv*", "sifive*", "andes*", "s390*", "vecintrin.h", "velintrin*", "wasm*", "llvm_libc_wrappers",
    "openmp_wrappers", "hlsl*", "zos_wrappers", "xray", "fuzzer", "orc", "profile", "sanitizer",
]  # fmt: skip

# Debian packages whose static libraries are in the program.
LINKED = ["llvm-22-dev", "libclang-22-dev", "libpolly-22-dev", "libzstd-dev", "zlib1g-dev"]

# The oldest glibc that a release was tried on (bench/install.sh, Debian 11).
OLDEST_TRIED = (2, 31)

README = """Kerf for x86-64 Linux with glibc {glibc} or later.

  bin/kerf doctor      what is here, and what is missing

CUDA's headers, libdevice and ptxas are NVIDIA's. Put them beside this file with

  pip install --target . {requirements}

or set KERF_CUDA to a CUDA 12 toolkit. share/kerf/licenses has the licences of what is in this folder.
"""


def fail(what, remedy):
    sys.exit(f"error: {what}\nhelp: {remedy}")


def packaged_headers(package):
    """Files of a Debian package below /usr/include."""
    listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    if listed.returncode != 0:
        fail(f"the Debian package {package} is not installed", f"apt-get install {package}")
    return [f for f in listed.stdout.split("\n") if f.startswith("/usr/include/") and os.path.isfile(f)]


def copy_sysroot(into, licenses):
    gcc = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip().split(".")[0]
    packages = ["libc6-dev", "linux-libc-dev", f"libstdc++-{gcc}-dev"]
    for package in packages:
        for path in packaged_headers(package):
            if f"{MULTIARCH}/c++/{gcc}/32/" in path or f"{MULTIARCH}/c++/{gcc}/x32/" in path:
                continue
            to = into + path
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(path, to)
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", os.path.join(licenses, package))
    # By this file clang tells that the headers of a GCC are here.
    marker = os.path.join(into, "usr/lib/gcc", MULTIARCH, gcc, "crtbegin.o")
    os.makedirs(os.path.dirname(marker))
    open(marker, "w").close()


def copy_clang_headers(llvm, into, licenses):
    source = os.path.join(llvm, "lib/clang/22/include")
    if not os.path.isfile(os.path.join(source, "stddef.h")):
        fail(f"{source} has no headers of clang", "apt-get install clang-22, or set LLVM_SYS_221_PREFIX")

    def others(_, names):
        return [n for n in names if any(fnmatch.fnmatch(n, p) for p in OTHER_MACHINES)]

    shutil.copytree(source, os.path.join(into, "include"), ignore=others)
    notice = "/usr/share/doc/libclang-common-22-dev/copyright"
    if os.path.isfile(notice):
        shutil.copyfile(notice, os.path.join(licenses, "clang"))


def glibc_of(program):
    """The newest glibc that a file asks for."""
    text = subprocess.run(["objdump", "-T", program], capture_output=True, text=True, check=True).stdout
    words = {w.strip("()") for line in text.split("\n") for w in line.split() if w.strip("()").startswith("GLIBC_2.")}
    versions = [tuple(int(n) for n in w[len("GLIBC_") :].split(".")) for w in words]
    return max(versions, default=(2, 17))


def runtime_beside(program):
    """The runtime of the same build: `cargo build` puts it beside the program, `cargo test` among the libraries."""
    places = [os.path.join(os.path.dirname(program), p) for p in ["libkerfrt.so", "deps/libkerfrt.so"]]
    return next((p for p in places if os.path.isfile(p)), places[0])


def requirements():
    """NVIDIA's wheels that the Python package asks for."""
    import tomllib

    with open(os.path.join(ROOT, "python/pyproject.toml"), "rb") as f:
        return [d for d in tomllib.load(f)["project"]["dependencies"] if d.startswith("nvidia-")]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("kerf")
    a.add_argument("--runtime", help="libkerfrt.so; the one beside KERF by default")
    a.add_argument("--out", default=os.path.join(ROOT, "dist/kerf-x86_64-linux"))
    a = a.parse_args()
    runtime = a.runtime or runtime_beside(a.kerf)
    for path in [a.kerf, runtime]:
        if not os.path.isfile(path):
            fail(f"{path} is not there", "cargo build --release -p kerf -p kerf-runtime --features kerf/clang")
    shutil.rmtree(a.out, ignore_errors=True)
    licenses = os.path.join(a.out, "share/kerf/licenses")
    for folder in ["bin", "lib", "share/kerf/licenses"]:
        os.makedirs(os.path.join(a.out, folder))
    program = os.path.join(a.out, "bin/kerf")
    subprocess.run(["strip", "-o", program, a.kerf], check=True)
    library = os.path.join(a.out, "lib/libkerfrt.so")
    subprocess.run(["strip", "--strip-unneeded", "-o", library, runtime], check=True)
    os.chmod(program, 0o755)
    copy_clang_headers(os.environ.get("LLVM_SYS_221_PREFIX", "/usr/lib/llvm-22"), os.path.join(a.out, "share/kerf/clang"), licenses)
    copy_sysroot(os.path.join(a.out, "share/kerf/sysroot"), licenses)
    for package in LINKED:
        notice = f"/usr/share/doc/{package}/copyright"
        if os.path.isfile(notice):
            shutil.copyfile(notice, os.path.join(licenses, package))
    shutil.copyfile(os.path.join(ROOT, "LICENSE-MIT"), os.path.join(licenses, "kerf"))
    newest = max(OLDEST_TRIED, glibc_of(program), glibc_of(library))
    quoted = " ".join(f"'{r}'" for r in requirements())
    with open(os.path.join(a.out, "README.txt"), "w", encoding="utf-8") as f:
        f.write(README.format(glibc=".".join(map(str, newest)), requirements=quoted))
    print(a.out)


if __name__ == "__main__":
    main()
