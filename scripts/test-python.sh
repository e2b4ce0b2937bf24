#!/usr/bin/env bash
# Builds the wheel of python/ in the profile of `cargo test`, so that nothing is compiled again, installs it, and runs
# the Python tests against it. `scripts/setup.sh --dev` has put the tools into .kerf/python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TARGET=$(realpath -m "${CARGO_TARGET_DIR:-target}")
TOOLS=$PWD/.kerf/python
[[ -x $TOOLS/bin/maturin ]] || { echo "error: .kerf/python is missing; run scripts/setup.sh --dev" >&2; exit 2; }

rm -rf "$TARGET/wheels"
(cd python && CARGO_TARGET_DIR=$TARGET "$TOOLS/bin/maturin" build --quiet --profile dev --strip --out "$TARGET/wheels")
"$TOOLS/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$TARGET"/wheels/kerf-*.whl

# Compiled kernels stay between runs, as those of the Rust tests do.
export KERF_CACHE=$TARGET/tmp/kerf-python-cache PYTHONDONTWRITEBYTECODE=1
exec "$TOOLS/bin/python" -W error::ResourceWarning -m unittest discover --start-directory python/tests --top-level-directory python
