#!/usr/bin/env python3
"""Builds the program with clang inside, for glibc 2.31 and later, and packs it: a wheel and an archive.

    scripts/release.py [--out DIR]      DIR: dist

Needs what scripts/setup.sh installs, libclang-22-dev for clang's static libraries, and the network for Debian 11's glibc, which
is linked against: a program asks for the versions of glibc's functions that it was linked with. libstdc++, zlib and zstd are
linked statically. CARGO names another cargo.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = "x86_64-unknown-linux-gnu"
MULTIARCH = "x86_64-linux-gnu"

MIRROR = "http://deb.debian.org/debian/"
GLIBC = [
    ("pool/main/g/glibc/libc6_2.31-13+deb11u11_amd64.deb", "05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282"),
    ("pool/main/g/glibc/libc6-dev_2.31-13+deb11u11_amd64.deb", "e7f7b45d9c5cfcf37609f0b6efd3c645272c812144703af89dfd32218fcb0fd3"),
]
STATIC = ["stdc++", "zstd", "z"]


def fail(what, remedy):
    sys.exit(f"error: {what}\nhelp: {remedy}")


def run(*words, **options):
    if subprocess.run(words, **options).returncode != 0:
        fail(f"{' '.join(words[:4])} failed", "its own words are above")


def relative_links(root):
    """Links of packages are to places under /, which here is `root`."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                to = os.path.relpath(root + os.readlink(path), folder)
                os.remove(path)
                os.symlink(to, path)


def old_glibc(work):
    """Debian 11's glibc, unpacked below `work`."""
    root = os.path.join(work, "glibc-2.31")
    if os.path.isdir(root):
        return root
    part = root + ".part"
    run("rm", "-rf", part)
    os.makedirs(part)
    for path, digest in GLIBC:
        package = os.path.join(work, os.path.basename(path))
        if not os.path.isfile(package):
            try:
                urllib.request.urlretrieve(MIRROR + path, package)
            except OSError as e:
                fail(f"{MIRROR}{path} cannot be had: {e}", "see that the network reaches Debian's mirrors")
        with open(package, "rb") as f:
            if hashlib.sha256(f.read()).hexdigest() != digest:
                os.remove(package)
                fail(f"{package} is not what was expected", "run this again; nothing of it was kept")
        run("dpkg", "-x", package, part)
    relative_links(part)
    os.rename(part, root)
    return root


def static_libraries(work):
    """A folder with nothing but the static forms of libraries, so that the linker finds no others there."""
    folder = os.path.join(work, "static")
    os.makedirs(folder, exist_ok=True)
    for name in STATIC:
        out = subprocess.run(["g++", f"-print-file-name=lib{name}.a"], capture_output=True, text=True, check=True)
        path = out.stdout.strip()
        if not os.path.isabs(path):
            fail(f"lib{name}.a is missing", "apt-get install g++ libzstd-dev zlib1g-dev")
        link = os.path.join(folder, f"lib{name}.a")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.realpath(path), link)
    return folder


def linker(work, folders):
    """A folder with a `cc` that looks for libraries in `folders` before all others, for a program that is linked with
    newer.o; those that rustc is given come behind the ones that build scripts name, where this machine's glibc is."""
    folder = os.path.join(work, "bin")
    os.makedirs(folder, exist_ok=True)
    cc = os.path.join(folder, "cc")
    first = " ".join(f"'-L{f}'" for f in folders)
    with open(cc, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\ncase " $* " in *" {work}/newer.o "*) exec /usr/bin/cc {first} "$@" ;; esac\nexec /usr/bin/cc "$@"\n')
    os.chmod(cc, 0o755)
    return folder


def build(work):
    """Builds the program and the runtime; gives the folder that they are in."""
    glibc = old_glibc(work)
    newer = os.path.join(work, "newer.o")
    run("gcc", "-O2", "-fPIC", "-c", os.path.join(ROOT, "scripts/glibc/newer.c"), "-o", newer)
    libraries = [static_libraries(work), f"{glibc}/usr/lib/{MULTIARCH}", f"{glibc}/lib/{MULTIARCH}"]
    words = [
        f"--sysroot={glibc}",
        f"-B{glibc}/usr/lib/{MULTIARCH}",
        *(f"-L{folder}" for folder in libraries),
        newer,
        # The libgcc_s of this machine asks for a newer glibc than the one that is linked.
        "-Wl,--allow-shlib-undefined",
    ]
    flags = " ".join(f"-C link-arg={w}" for w in words)
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "--release", "--locked", "--target", TARGET, "-p", "kerf", "-p", "kerf-runtime"]
    env = {**os.environ, f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_RUSTFLAGS": flags}
    env["PATH"] = linker(work, libraries) + os.pathsep + env["PATH"]
    run(*command, "--features", "kerf/clang", cwd=ROOT, env=env)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), TARGET, "release")


def pack(folder, out):
    """One archive of a folder, the same for the same content of the same commit."""
    path = os.path.join(out, os.path.basename(folder) + ".tar.xz")
    time = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True).stdout

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = int(time or 0)
        return entry

    with tarfile.open(path, "w:xz", preset=6) as archive:
        archive.add(folder, os.path.basename(folder), filter=plain)
    print(path)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--out", default=os.path.join(ROOT, "dist"))
    a = a.parse_args()
    work = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release-parts")
    os.makedirs(work, exist_ok=True)
    os.makedirs(a.out, exist_ok=True)
    built = build(work)
    folder = os.path.join(a.out, "kerf-x86_64-linux")
    run(os.path.join(ROOT, "scripts/package.py"), os.path.join(built, "kerf"), "--out", folder)
    run(os.path.join(ROOT, "scripts/wheel.py"), folder, "--out", a.out)
    pack(folder, a.out)


if __name__ == "__main__":
    main()
