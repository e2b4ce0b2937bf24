#!/bin/bash
# The campaign of damaged files: COUNT of them, an eighth of each kind, to the readers of Kerf.
# Usage: fuzz.sh BIN OUTDIR [COUNT] [SEED]     BIN: the folder with `kerf` and `fuzz-files`
set -eu
bin=$(cd "$1" && pwd); out=$(mkdir -p "$2" && cd "$2" && pwd); count=${3:-1000000}; seed=${4:-1}
root=$(cd "$(dirname "$0")/.." && pwd); seeds=$(mktemp -d); trap 'rm -rf "$seeds"' EXIT
kerf=$bin/kerf; export KERF_CACHE=$seeds/cache
for e in black_scholes nbody stencil; do
  source=$(ls "$root/examples/$e/"*.cu | head -1)
  "$kerf" inspect "$source" --emit ir > "$seeds/$e.ll" 2> /dev/null
  "$kerf" inspect "$source" --all-as f32 > "$seeds/$e.json"
  llvm-as-22 "$seeds/$e.ll" -o "$seeds/$e.bc"
done
cat > "$seeds/smooth.cu" <<'C'
__global__ void smooth(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = exp(-x[i]) / (1.0 + x[i] * x[i]);
}
C
(cd "$seeds" && "$kerf" --quiet init smooth.cu > /dev/null && "$kerf" --quiet tune smooth.toml --tolerance 1e-5 --out result > /dev/null \
  && "$kerf" --quiet run smooth.toml --size n=500 --repeats 1 --save arrays > /dev/null)
"$kerf" --quiet hardround exp --from 1 --to 1.0001 --bits 36 --out "$seeds/hard.txt" --certificate "$seeds/hard.cert" > /dev/null
each=$((count / 8)); status=0
fuzz() { # KIND SEEDS...
  kind=$1; shift
  "$bin/fuzz-files" "$kind" "$@" --count "$each" --seed "$seed" --keep "$out/kept" | tee -a "$out/fuzz.txt" || status=1
}
: > "$out/fuzz.txt"
fuzz workload "$root"/examples/*/*.toml
fuzz profile "$root"/crates/kerf-device/profiles/{h200,fermi,sm_86}.json
fuzz plan "$seeds/nbody.json" --program "$seeds/nbody.bc"
fuzz result $(find "$seeds/result" -maxdepth 1 -name '*.json')
fuzz npy "$seeds"/arrays/*.npy
fuzz certificate "$seeds/hard.cert"
fuzz ll "$seeds"/*.ll --kerf "$kerf"
fuzz bc "$seeds"/*.bc --kerf "$kerf"
exit $status
