#!/usr/bin/env bash
# Tries a wheel or the archive as somebody does who has nothing else: no compiler and no CUDA folder in sight.
#
#   scripts/test-install.sh PACKAGE   dist/kerf_gpu-*.whl, into a fresh environment, or dist/kerf-x86_64-linux.tar.xz;
#                                     NVIDIA's wheels and numpy come from PyPI, or as pip's variables say;
#                                     PYTHON names another Python
#
# Exit status: 0 if a kernel was inspected, run, tuned and reported on, and `kerf cc` said that it needs g++.
set -euo pipefail
package=$(realpath "${1:?usage: scripts/test-install.sh PACKAGE}")
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/kerf-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
# No .kerf folder lies above the program or the working folder there.
cd "$work"

# Shows a command and runs it.
shown() {
  echo "\$ $*"
  "$@"
}
elapsed() { echo "# $1: $((SECONDS - started)) s"; }

started=$SECONDS
quiet=(--quiet --disable-pip-version-check)
case $package in
  *.whl)
    shown "$python" -m venv environment
    shown environment/bin/python -m pip install "${quiet[@]}" "$package"
    programs=$work/environment/bin
    ;;
  *)
    shown "$python" -m tarfile -e "$package" .
    programs=$work/kerf-x86_64-linux/bin
    # What README.txt of the archive says.
    command=$(sed -n 's/^  pip install //p' kerf-x86_64-linux/README.txt)
    cd kerf-x86_64-linux
    echo "\$ pip install $command"
    eval "$(printf '%q ' "$python" -m pip install "${quiet[@]}") $command"
    cd ..
    ;;
esac
elapsed installed

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
# Nothing of the caller's environment, and no folder of programs but the installation's own.
alone() { env -i HOME="$work" PATH="$programs" LANG=C.UTF-8 "$@"; }
kerf() {
  echo "\$ kerf $*"
  alone kerf "$@"
}

kerf doctor
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
kerf init smooth.cu
kerf run smooth.toml --reference
kerf tune smooth.toml --tolerance 1e-6 --budget 12 --device cpu --out result
elapsed "from nothing to the first tuned kernel"
kerf inspect smooth.cu
kerf report result
[[ -s result/report.html ]] || { echo "error: no report" >&2; exit 1; }
if [[ $package == *.whl ]]; then
  shown alone python -c 'import kerf; print("import kerf:", kerf.__name__)'
fi
echo 'int main() {}' >main.cu
status=0
kerf cc main.cu 2>said.txt || status=$?
cat said.txt
[[ $status == 2 ]] && grep -q 'g++' said.txt || { echo "error: kerf cc should ask for g++ (exit status $status)" >&2; exit 1; }
