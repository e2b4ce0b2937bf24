#!/bin/sh
# Dumps tiles of tensor cores into a folder: bench/probes/tensor_core.sh OUTDIR. Needs nvcc and a GPU of compute capability 9.0.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
nvcc -arch=sm_90 -O2 -o "$build/tensor_core" "$here/tensor_core.cu"
"$build/tensor_core" "$1"
{ nvcc --version | tail -1; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; } > "$1/machine.txt"
