#!/usr/bin/env bash
# Makes a wheel of python/ and the program that the tests were built with (`--features kerf/clang`), tries it in a fresh
# environment without a compiler or a CUDA folder in sight, and runs the Python tests against it.
# `scripts/setup.sh --dev` has put Python with numpy into .kerf/python, and the wheels that Kerf's asks for into .kerf/wheels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TARGET=$(realpath -m "${CARGO_TARGET_DIR:-target}")
PY=$PWD/.kerf/python/bin/python
[[ -x $PY ]] || { echo "error: .kerf/python is missing; run scripts/setup.sh --dev" >&2; exit 2; }

rm -rf "$TARGET/wheels"
folder=$(scripts/package.py "$TARGET/debug/kerf" --out "$TARGET/wheels/kerf-x86_64-linux")
wheel=$(scripts/wheel.py "$folder" --out "$TARGET/wheels" --fast)
rm -rf "$folder"
PYTHON=$PY PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/.kerf/wheels scripts/test-install.sh "$wheel"
# By its former name the package may still be there.
"$PY" -m pip uninstall --quiet --disable-pip-version-check --yes kerf 2>/dev/null
"$PY" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"

# Compiled kernels stay between runs, as those of the Rust tests do.
export KERF_CACHE=$TARGET/tmp/kerf-python-cache PYTHONDONTWRITEBYTECODE=1
exec "$PY" -W error::ResourceWarning -m unittest discover --start-directory python/tests --top-level-directory python
