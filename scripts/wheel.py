#!/usr/bin/env python3
"""A wheel of the Python package from a program that is built already.

    scripts/wheel.py [KERF] [--out DIR]     KERF: target/release/kerf by default; DIR: dist

KERF is a program, or the folder that scripts/package.py makes: with it the wheel needs no compiler on the machine. The wheel's
platform is what its files ask for: manylinux of the newest glibc function, or this machine alone where they are linked
with libraries that no other machine has to have. `pip install ./python` lets maturin build a program without clang.
"""

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# The oldest glibc that a release was tried on (bench/install.sh, Debian 11); functions of 2.30 are the newest that it asks for.
OLDEST_TRIED = (2, 31)

# Libraries that every machine of a manylinux tag has.
EVERYWHERE = {
    "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libutil.so.1",
}  # fmt: skip

# Put into the environment's folder of programs; pip writes the interpreter into its first line. The package is not imported,
# which would take longer than most commands.
SCRIPT = """#!python
import importlib.util
import os
import sys

package = os.path.dirname(importlib.util.find_spec("kerf").origin)
program = os.path.join(package, "_install", "bin", "kerf")
try:
    os.execv(program, [sys.argv[0], *sys.argv[1:]])
except OSError as e:
    sys.exit(f"error: could not run {program}: {e.strerror}\\nhelp: install kerf-gpu again")
"""


def platform(paths):
    """The platform tag of files: the libraries that they need, and the newest version of a function of glibc's."""
    newest = OLDEST_TRIED
    for path in paths:
        text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        if set(re.findall(r"NEEDED\s+(\S+)", text)) - EVERYWHERE:
            return "linux_x86_64"
        found = re.findall(r"GLIBC_(\d+)\.(\d+)", text)
        newest = max([newest, *((int(a), int(b)) for a, b in found)])
    return f"manylinux_{newest[0]}_{newest[1]}_x86_64"


def installed_files(kerf):
    """Files below kerf/_install in the wheel: name, source, mode."""
    if os.path.isfile(kerf):
        return [("bin/kerf", kerf, 0o755)]
    found = []
    for folder, _, names in os.walk(kerf):
        for name in names:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, kerf)
            found.append((inside, path, 0o755 if inside.startswith("bin/") else 0o644))
    return sorted(found)


def extras(project):
    for extra, needed in project.get("optional-dependencies", {}).items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {d} ; extra == "{extra}"' for d in needed)


def metadata(project, version):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {d}" for d in project["dependencies"]),
        *extras(project),
        *(f"Classifier: {c}" for c in project["classifiers"]),
        "Description-Content-Type: text/markdown",
        "",
    ]
    with open(os.path.join(ROOT, "python", project["readme"]), encoding="utf-8") as f:
        return "\n".join(lines) + "\n" + f.read()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("kerf", nargs="?", default=os.path.join(ROOT, "target/release/kerf"))
    a.add_argument("--out", default="dist")
    a.add_argument("--fast", action="store_true", help="do not compress")
    a = a.parse_args()
    if not os.path.exists(a.kerf):
        sys.exit(f"error: {a.kerf} is not there\nhelp: cargo build --release, or name the program")
    with open(os.path.join(ROOT, "python/pyproject.toml"), "rb") as f:
        project = tomllib.load(f)["project"]
    with open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8") as f:
        version = re.search(r'^version = "(.*)"$', f.read(), re.M).group(1)
    stem = f"{project['name'].replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    package = os.path.join(ROOT, "python/src/kerf")
    found = [os.path.join(above, n) for above, _, names in os.walk(package) for n in names if n.endswith(".py") or n == "py.typed"]
    files = [("kerf/" + os.path.relpath(path, package), path, 0o644) for path in sorted(found)]
    installed = installed_files(a.kerf)
    files += [(f"kerf/_install/{name}", source, mode) for name, source, mode in installed]
    programs = [source for name, source, _ in installed if name.startswith(("bin/", "lib/"))]
    tag = f"py3-none-{platform(programs)}"
    texts = {
        f"{stem}.data/scripts/kerf": SCRIPT,
        f"{info}/METADATA": metadata(project, version),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: kerf\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, f"{stem}-{tag}.whl")
    record = []
    # The program is large, and a wheel of the tests goes nowhere far.
    method, level = (zipfile.ZIP_STORED, None) if a.fast else (zipfile.ZIP_DEFLATED, 9)
    with zipfile.ZipFile(path, "w") as z:

        def put(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = method
            z.writestr(entry, data, compresslevel=level)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for name, source, mode in files:
            with open(source, "rb") as f:
                put(name, f.read(), mode)
        for name, text in texts.items():
            put(name, text.encode(), 0o755 if name.endswith("/scripts/kerf") else 0o644)
        record.append(f"{info}/RECORD,,")
        z.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")
    print(path)


if __name__ == "__main__":
    main()
