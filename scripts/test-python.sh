#!/usr/bin/env bash
# Makes a wheel of python/ and the program that `cargo test` has built, installs it, and runs the Python tests against it.
# `scripts/setup.sh --dev` has put Python with numpy into .kerf/python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TARGET=$(realpath -m "${CARGO_TARGET_DIR:-target}")
PY=$PWD/.kerf/python/bin/python
[[ -x $PY ]] || { echo "error: .kerf/python is missing; run scripts/setup.sh --dev" >&2; exit 2; }

rm -rf "$TARGET/wheels"
mkdir -p "$TARGET/wheels/program"
strip -o "$TARGET/wheels/program/kerf" "$TARGET/debug/kerf"
wheel=$(scripts/wheel.py "$TARGET/wheels/program/kerf" --out "$TARGET/wheels" --fast)
# By its former name the package may still be there.
"$PY" -m pip uninstall --quiet --disable-pip-version-check --yes kerf 2>/dev/null
"$PY" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
rm -rf "$TARGET/wheels/program"

# Compiled kernels stay between runs, as those of the Rust tests do.
export KERF_CACHE=$TARGET/tmp/kerf-python-cache PYTHONDONTWRITEBYTECODE=1
exec "$PY" -W error::ResourceWarning -m unittest discover --start-directory python/tests --top-level-directory python
