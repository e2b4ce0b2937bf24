#!/usr/bin/env bash
# Tries a wheel as somebody does who has nothing else: a fresh environment, no compiler and no CUDA folder in sight.
#
#   scripts/test-install.sh WHEEL     e.g. dist/kerf_gpu-*.whl; NVIDIA's wheels and numpy come from PyPI
#
# Exit status: 0 if a kernel was inspected, run, tuned and reported on.
set -euo pipefail
wheel=$(realpath "${1:?usage: scripts/test-install.sh WHEEL}")
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/kerf-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
# No .kerf folder lies above the program or the working folder there.
cd "$work"

started=$SECONDS
"$python" -m venv environment
environment/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
echo "installed: $((SECONDS - started)) s"

cat >smooth.cu <<'CU'
#include <cmath>
#include <cstdlib>
__global__ void smooth(const double *x, const double *y, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double weights = 0.0, sum = 0.0;
  for (int k = max(0, i - 4); k < min(n, i + 5); k++) {
    double d = x[k] - x[i];
    double w = std::exp(-d * d);
    weights += w;
    sum += w * y[k];
  }
  out[i] = sum / weights;
}
CU
# Nothing of the caller's environment, and no folder of programs but the environment's own.
alone() { env -i HOME="$work" PATH="$work/environment/bin" LANG=C.UTF-8 "$@"; }

alone kerf doctor
alone kerf --format json doctor >doctor.json
"$python" - doctor.json "$work" <<'PY'
import json, sys
parts = {p["name"]: p for p in json.load(open(sys.argv[1]))["parts"]}
clang = parts["clang"]["detail"]
assert f"(in {sys.argv[2]}" in clang, f"clang is not the one in the program: {clang}"
for name in ["CUDA headers", "libdevice", "ptxas"]:
    assert sys.argv[2] in parts[name]["detail"], f"{name} is not the environment's: {parts[name]['detail']}"
assert "not that of" not in parts["libdevice"]["detail"], parts["libdevice"]["detail"]
PY
alone kerf inspect smooth.cu >/dev/null
alone kerf init smooth.cu
alone kerf run smooth.toml --reference
alone kerf tune smooth.toml --tolerance 1e-6 --budget 12 --device cpu --out result
alone kerf report result
[[ -s result/report.html ]] || { echo "error: no report" >&2; exit 1; }
alone python -c 'import kerf; print("import kerf:", kerf.__name__)'
echo "from nothing to the tuned kernel: $((SECONDS - started)) s"
