#!/usr/bin/env python3
"""A wheel of the Python package from a program that is built already.

    scripts/wheel.py [KERF] [--out DIR]     KERF: target/release/kerf by default; DIR: dist

`pip install ./python` lets maturin build the program and the wheel. This puts the same files together without building
anything, which the tests need: they have a program, and maturin would compile it a second time with other features.
"""

import argparse
import base64
import hashlib
import os
import re
import sys
import tomllib
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def metadata(project, version):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {d}" for d in project["dependencies"]),
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
    a = a.parse_args()
    if not os.path.isfile(a.kerf):
        sys.exit(f"error: {a.kerf} is not there\nhelp: cargo build --release, or name the program")
    with open(os.path.join(ROOT, "python/pyproject.toml"), "rb") as f:
        project = tomllib.load(f)["project"]
    with open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8") as f:
        version = re.search(r'^version = "(.*)"$', f.read(), re.M).group(1)
    stem = f"{project['name']}-{version}"
    info = f"{stem}.dist-info"
    package = os.path.join(ROOT, "python/src/kerf")
    files = [(f"kerf/{n}", os.path.join(package, n), 0o644) for n in sorted(os.listdir(package)) if n.endswith(".py")]
    files.append((f"{stem}.data/scripts/kerf", a.kerf, 0o755))
    texts = {
        f"{info}/METADATA": metadata(project, version),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: kerf\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
    }
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, f"{stem}-py3-none-linux_x86_64.whl")
    record = []
    # Little compression: the program is large, and the wheel goes nowhere far.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:

        def put(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for name, source, mode in files:
            with open(source, "rb") as f:
                put(name, f.read(), mode)
        for name, text in texts.items():
            put(name, text.encode())
        record.append(f"{info}/RECORD,,")
        z.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")
    print(path)


if __name__ == "__main__":
    main()
