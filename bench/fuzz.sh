#!/bin/bash
# The campaign of damaged files: COUNT of them, an eighth of each kind, to the readers of Kerf.
# Usage: fuzz.sh BIN OUTDIR [COUNT] [SEED] [JOBS]     BIN: the folder with `kerf` and `fuzz-files`
#        fuzz.sh --seeds BIN FOLDER                   only the files that are damaged; the campaign takes them from
#                                                     $FUZZ_SEEDS, on a machine without clang
# JOBS processes share the files of a kind; which files there are does not depend on JOBS.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

make_seeds() { # KERF FOLDER
  kerf=$1 seeds=$2; export KERF_CACHE=$seeds/cache
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
  rm -rf "$seeds/cache"
}

if [ "$1" = --seeds ]; then mkdir -p "$3"; make_seeds "$(cd "$2" && pwd)/kerf" "$(cd "$3" && pwd)"; exit; fi

bin=$(cd "$1" && pwd); out=$(mkdir -p "$2" && cd "$2" && pwd); count=${3:-1000000}; seed=${4:-1}; jobs=${5:-1}
if [ -n "${FUZZ_SEEDS:-}" ]; then seeds=$FUZZ_SEEDS; else seeds=$(mktemp -d); trap 'rm -rf "$seeds"' EXIT; make_seeds "$bin/kerf" "$seeds"; fi
each=$((count / 8)); part=$(((each + jobs - 1) / jobs)); : > "$out/fuzz.txt"; status=0
fuzz() { # KIND SEEDS...
  kind=$1; shift; waited=()
  for ((from = 0; from < each; from += part)); do
    n=$((each - from < part ? each - from : part))
    "$bin/fuzz-files" "$kind" "$@" --count "$n" --from "$from" --seed "$seed" --keep "$out/kept" > "$out/$kind.$from.txt" 2> "$out/$kind.$from.log" &
    waited+=($!)
  done
  for p in "${waited[@]}"; do wait "$p" || status=1; done
  cat "$out/$kind".*.txt | tee -a "$out/fuzz.txt"
}
fuzz workload "$root"/examples/*/*.toml
fuzz profile "$root"/crates/kerf-device/profiles/{h200,fermi,sm_86}.json
fuzz plan "$seeds/nbody.json" --program "$seeds/nbody.bc"
fuzz result $(find "$seeds/result" -maxdepth 1 -name '*.json' | sort)
fuzz npy "$seeds"/arrays/*.npy
fuzz certificate "$seeds/hard.cert"
fuzz ll "$seeds"/{black_scholes,nbody,stencil}.ll --kerf "$bin/kerf"
fuzz bc "$seeds"/{black_scholes,nbody,stencil}.bc --kerf "$bin/kerf"
awk '{ gsub(":", "", $1); files[$1] += $2; for (i = 3; i <= NF; i++) { if ($i ~ /^accepted/) a[$1] += $(i-1); if ($i ~ /^crashes/) c[$1] += $(i-1);
  if ($i ~ /^without/) h[$1] += $(i-1); if ($i ~ /^that$/ && $(i+1) == "end") w[$1] += $(i-1); if ($i ~ /^that$/ && $(i+1) == "ended") r[$1] += $(i-1) } }
  END { for (k in files) printf "%s: %d files, %d accepted, %d crashes, %d without an end, %d that end a worker and are named, %d that ended a worker once and were read\n", k, files[k], a[k], c[k], h[k], w[k], r[k] }' \
  "$out/fuzz.txt" | sort > "$out/summary.txt"
cat "$out/summary.txt"
exit $status
