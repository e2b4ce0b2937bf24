#!/bin/bash
# Measured speed-ups at four tolerances, in a bundle (kerf bundle examples/*/*.toml --out DIR) or in the repository.
#
#   bench/speedups.sh KERF WORKLOADS OUT [prepare|decide]
#
# Each workload below is tuned to 1e-3, 1e-6, 1e-9 and 1e-12 of rel_l2, one tolerance after the other, and several
# workloads at a time; they take turns on the GPU. OUT/NAME-TOLERANCE has the results, bench/speedups.py makes a
# table of them. Where nothing within a tolerance is faster, tighter ones are not searched, and neither is one that the
# plan before is within already. With `prepare`, only what needs no GPU is made: references and counts, into
# OUT/prepared. With `decide`, tolerances below the rounding of the lower format (1e-9 and 1e-12; for f16 also 1e-6) are searched on
# the CPU at the file's own sizes, into OUT/decided: where no plan is within, no GPU is needed to know that nothing is
# faster. Variables: DEVICE=cpu|cuda, JOBS (workloads at
# a time), BUDGET (executions of a search), WINDOW (seconds of energy), LIMIT (seconds after which no search begins and those
# that run are stopped), TOLERANCES, LIST (other lines of NAME, sizes, and options of kerf tune as single words).
set -u
kerf=$(realpath "$1"); from=$(realpath "$2"); mkdir -p "$3"; out=$(realpath "$3"); only=${4:-}
device=${DEVICE:-cuda}; jobs=${JOBS:-14}; began=$(date +%s); limit=$((began + ${LIMIT:-100000}))
list=${LIST:-"mri_q voxels=16384
nbody n=2048 steps=1
black_scholes n=65536
matmul m=512 n=512 k=512
cache_thrash channels=8192 samples=128
conv2d width=384 height=256
lavamd nb=3
lud n=384
correlation n=256 m=128
cfd nx=24 ny=24 nz=24 iterations=2
uncoalesced rows=1024 columns=1024
jacobi2d n=512 steps=10
stencil nx=64 ny=64 nz=64 steps=10
naive_scan n=262144
gaussian n=256
global_sum n=1048576 blocks=132
backprop n_in=4096 n_out=64 epochs=2
reaction_rates n=8192
coulomb nx=256 ny=192 --formats=f16
monte_carlo options=64 paths=4096 --formats=f16
bilateral_filter width=192 height=128 --formats=f16
cutoff_coulomb bins=5 --formats=f16
nearest_neighbour records=65536 --formats=f16
gmm_data_term width=256 height=192 --formats=f16
asian_paths n=16384 --formats=f16
image_denoising width=192 height=128 --formats=f16
ocean log_n=7 --formats=f16
srad rows=192 columns=192 steps=4 --formats=f16
box_muller streams=8192 --formats=f16"}

# What a result says, and the largest error of its plan on any input.
verdict() { sed -n 's/^ *"verdict": *"\([a-z]*\)".*/\1/p' "$1" 2>/dev/null | head -1; }
worst() {
  python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); v = r.get("validation") or {}
print(max(r.get("error") or 0.0, v.get("worst") or 0.0))' "$1" 2>/dev/null
}

one() {
  set -- $1; name=$1; shift
  w=$(ls "$from/$name.toml" "$from"/*/"$name.toml" 2>/dev/null | head -1)
  sizes=$(for s in "$@"; do case $s in --*) ;; *) echo "--size $s" ;; esac; done)
  options=$(for s in "$@"; do case $s in --*) echo "$s" ;; esac; done)
  ready="$out/prepared/$name"; mkdir -p "$ready/references"
  if [ "$only" = prepare ]; then
    nice -n 19 timeout "$((limit - $(date +%s)))" "$kerf" tune "$w" $sizes $options --device cpu --tolerance 1e-3 --metric rel_l2 --budget 1 --validate 2 \
      --workers 1 --resume --out "$ready" > "$ready.txt" 2>&1
    echo "$name ready: $? after $(($(date +%s) - began)) s"
    return
  fi
  if [ "$only" = decide ]; then
    case $options in *f16*) tight="1e-6 1e-9" ;; *) tight="1e-9 1e-12" ;; esac
    for t in $tight; do
      dir="$out/decided/$name-$t"; mkdir -p "$dir"; left=$((limit - $(date +%s)))
      [ "$left" -gt 5 ] || { echo "$name $t: not decided, no time"; break; }
      nice -n 19 timeout "$left" "$kerf" tune "$w" $options --device cpu --tolerance "$t" --metric rel_l2 --budget 25 --validate 0 \
        --workers 1 --resume --out "$dir" > "$dir.txt" 2>&1
      echo "$name $t: decided: $? after $(($(date +%s) - began)) s: $(verdict "$dir/result.json")"
      rm -rf "$dir/references"
      [ "$(verdict "$dir/result.json")" = tuned ] || break
    done
    return
  fi
  within=
  for t in ${TOLERANCES:-1e-3 1e-6 1e-9 1e-12}; do
    if [ -n "$within" ] && awk "BEGIN { exit !($within <= $t) }"; then
      echo "$name $t: the plan before is within ($within)"; continue
    fi
    d="$out/decided/$name-$t/result.json"
    case "$(verdict "$d")" in unchanged | unmet) echo "$name $t: no plan is within, on the CPU"; break ;; esac
    dir="$out/$name-$t"; left=$((limit - $(date +%s)))
    [ "$left" -gt 5 ] || { echo "$name $t: no time"; break; }
    mkdir -p "$dir"; ln -sfn "$ready/references" "$dir/references"
    [ ! -s "$ready/counts.json" ] || cp "$ready/counts.json" "$dir/"
    timeout "$left" "$kerf" tune "$w" $sizes $options --cpu-sizes --device "$device" --tolerance "$t" --metric rel_l2 --budget "${BUDGET:-16}" \
      --validate 2 --workers 2 --energy "${WINDOW:-1}" --resume --out "$dir" > "$dir.txt" 2> "$dir.err"
    echo "$name $t: $? after $(($(date +%s) - began)) s: $(grep -E 'faster|unchanged|nothing|cannot be met' "$dir.txt" | head -1)"
    cp "$dir/counts.json" "$ready/" 2>/dev/null
    rm -f "$dir/references"
    case "$(verdict "$dir/result.json")" in unchanged | unmet) break ;; esac
    within=$(worst "$dir/result.json")
  done
}
export -f one verdict worst
export kerf from out device began limit only
echo "$list" | xargs -P "$jobs" -d '\n' -I{} bash -c 'one "{}"' | tee -a "$out/log.txt"
