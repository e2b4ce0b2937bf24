#!/bin/bash
# The tuning benchmarks, in a bundle (kerf bundle examples/*/*.toml --out DIR) or in the repository.
#
#   bench/tuning.sh STAGE KERF WORKLOADS OUT
#
# STAGE is one of
#   tables   every plan of the examples below: OUT/tables/LABEL/space.json
#   compare  the strategies side by side on those tables: OUT/compare.txt and .json
#   tunes    each example tuned to 1e-3, 1e-6, 1e-9 and 1e-12: OUT/tunes/NAME-TOLERANCE, OUT/tunes.txt
#   energy   joules of a run, of each plan that was found and of the program as it is: OUT/energy.txt
# KERF is the program, WORKLOADS the folder of the workloads. Variables: DEVICE=cpu|cuda, JOBS (tunes at a
# time), WORKERS (evaluations at a time in each), BUDGET (executions of a tune), TABLES and TUNES (other lines
# of NAME[:LABEL], sizes, and options of kerf tune as single words).
set -u
stage=$1; kerf=$(realpath "$2"); from=$(realpath "$3"); mkdir -p "$4"; out=$(realpath "$4")
device=${DEVICE:-cuda}; jobs=${JOBS:-3}; workers=${WORKERS:-5}

# Name, then sizes: enough work for a GPU to be timed by, little enough for a reference within seconds. With
# `ops`, formats of operations only: with buffers and arrays there would be up to 2^14 plans.
tables=${TABLES:-"gaussian n=512
jacobi2d n=1024 steps=10
stencil nx=128 ny=128 nz=64 steps=10
cache_thrash channels=16384 samples=128
uncoalesced rows=2048 columns=2048
matmul m=512 n=512 k=512
conv2d width=1280 height=720
black_scholes n=262144
mri_q:mri_q-ops voxels=32768 --storage=off
backprop:backprop-ops n_in=16384 n_out=64 epochs=2 --storage=off
nbody:nbody-ops n=4096 steps=1 --storage=off
lud:lud-ops n=512 --storage=off
naive_scan:naive_scan-ops n=1048576 --storage=off
box_muller:box_muller-f16 streams=32768 --storage=off --formats=f16
coulomb:coulomb-f16 nx=384 ny=256 --storage=off --formats=f16
monte_carlo:monte_carlo-f16 options=64 paths=8192 --storage=off --formats=f16 --metric=rel_l2
nearest_neighbour:nearest_neighbour-f16 records=262144 --storage=off --formats=f16
lavamd:lavamd-ops nb=8 --storage=off
correlation:correlation-ops n=512 m=256 --storage=off
naive_scan n=1048576
lud n=512"}
tunes=${TUNES:-"backprop n_in=16384 n_out=64 epochs=2
black_scholes n=262144
cache_thrash channels=16384 samples=128
cfd nx=32 ny=32 nz=32 iterations=2
conv2d width=1280 height=720
correlation n=512 m=256
gaussian n=512
global_sum n=1048576 blocks=132
jacobi2d n=1024 steps=10
lavamd nb=8
lud n=512
matmul m=512 n=512 k=512
mri_q voxels=32768
naive_scan n=1048576
nbody n=4096 steps=1
reaction_rates n=16384
stencil nx=128 ny=128 nz=64 steps=10
uncoalesced rows=2048 columns=2048"}
tolerances="1e-3 1e-6 1e-9 1e-12"

workload() { ls "$from/$1.toml" "$from"/*/"$1.toml" 2>/dev/null | head -1; }
sizes() { for s in "$@"; do case $s in --*) echo "$s" ;; *) echo "--size $s" ;; esac; done; }

one_table() {
  set -- $1; name=${1%%:*} label=${1#*:}; shift
  began=$(date +%s)
  "$kerf" tune "$(workload "$name")" $(sizes "$@") --device "$device" --tolerance 1e-3 --strategy exhaustive \
    --budget 5000 --validate 0 --repeats 3 --workers "$workers" --seed 1 --resume --out "$out/tables/$label" \
    > "$out/tables/$label.txt" 2> "$out/tables/$label.err"
  echo "$label: $? after $(($(date +%s) - began)) s: $(grep 'evaluations to search' "$out/tables/$label.txt")"
  rm -rf "$out/tables/$label/references"
}
one_tune() {
  set -- $1; name=$1; shift
  mkdir -p "$out/references/$name"
  for t in $tolerances; do
    dir="$out/tunes/$name-$t"
    mkdir -p "$dir"; ln -sfn "$out/references/$name" "$dir/references"
    "$kerf" tune "$(workload "$name")" $(sizes "$@") --device "$device" --tolerance "$t" --metric rel_l2 \
      --budget "${BUDGET:-25}" --validate 2 --workers 1 --resume --out "$dir" > "$dir.txt" 2> "$dir.err"
    echo "$name $t: $? after $SECONDS s: $(grep -E 'faster|unchanged|cannot be met' "$dir.txt" | head -1)"
    rm -f "$dir/references"
  done
}
export -f one_table one_tune workload sizes
export kerf from out device workers tolerances

case $stage in
tables)
  mkdir -p "$out/tables"
  echo "$tables" | xargs -P "$jobs" -d '\n' -I{} bash -c 'one_table "{}"' ;;
compare)
  files=$(ls "$out"/tables/*/space.json)
  "$kerf" search compare $files > "$out/compare.txt"
  "$kerf" search compare $files --format json > "$out/compare.json"
  cat "$out/compare.txt" ;;
tunes)
  mkdir -p "$out/tunes"
  echo "$tunes" | xargs -P "$jobs" -d '\n' -I{} bash -c 'one_tune "{}"' | tee "$out/tunes.log"
  rm -rf "$out/references"
  sort "$out/tunes.log" | sed 's/: 0 after [0-9]* s//' > "$out/tunes.txt" ;;
energy)
  : > "$out/energy.txt"
  echo "$tunes" | while read -r name sizes_of; do
    w=$(workload "$name"); seen=
    for dir in none $(for t in $tolerances; do echo "$out/tunes/$name-$t"; done); do
      plan=; [ "$dir" = none ] || { [ -s "$dir/plan.json" ] || continue; plan="--plan $dir/plan.json"
        sum=$(sha256sum < "$dir/plan.json"); case $seen in *"$sum"*) continue ;; esac; seen="$seen $sum"
        grep -q '"kernels"' "$dir/plan.json" || continue; }
      line=$("$kerf" run "$w" $(sizes $sizes_of) --device "$device" $plan --energy "${WINDOW:-0.6}" 2>&1 < /dev/null | grep -iE 'energy' | head -1)
      echo "$name ${dir##*/}: $line" | tee -a "$out/energy.txt"
    done
  done ;;
*) sed -n '2,14p' "$0"; exit 2 ;;
esac
