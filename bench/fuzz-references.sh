#!/bin/bash
# References of COUNT random kernels by two routes, compared bit by bit (fuzz-references --help): on DEVICE cuda the GPU's
# with the CPU's, on cpu device code with tables. Of 620 about 500 can be compared. Then one with a bit changed, which has
# to fail.
# Kernels are made as IR, so that a machine needs neither clang nor Rust: `--pack` puts what it needs into FOLDER.
# Usage: fuzz-references.sh --pack TARGET FOLDER       TARGET: the folder with the built `fuzz-references`
#        fuzz-references.sh FOLDER OUTDIR [COUNT] [SEED] [DEVICE]
set -euo pipefail
if [ "$1" = --pack ]; then
  root=$(cd "$(dirname "$0")/.." && pwd); mkdir -p "$3"
  cp "$2/fuzz-references" "$0" "${KERF_LIBDEVICE:-$root/.kerf/cuda/nvvm/libdevice/libdevice.10.bc}" "$3"
  strip "$3/fuzz-references"; exit
fi
folder=$(cd "$1" && pwd); out=$(mkdir -p "$2" && cd "$2" && pwd); count=${3:-620}; seed=${4:-1}; device=${5:-cuda}; status=0
compare() { "$folder/fuzz-references" --libdevice "$folder/libdevice.10.bc" --device "$device" "$@"; }
compare --seed "$seed" --count "$count" --record "$out/kernels.jsonl" 2> "$out/log.txt" | tee "$out/summary.txt" || status=1
one=$(sed -n '/"Compared"/{s/.*"seed":\([0-9]*\).*/\1/p;q}' "$out/kernels.jsonl")
if compare --seed "$one" --count 1 --change-shadow-of "$one" > "$out/changed.txt" 2>&1; then
  echo "a changed shadow of seed $one was not noticed" | tee -a "$out/summary.txt"; status=1
fi
exit $status
