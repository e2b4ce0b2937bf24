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
# KERF is the program, WORKLOADS the folder of the workloads. Variables: DEVICE=cpu|cuda, JOBS (tables or tunes at a
# time), WORKERS (evaluations at a time in each), BUDGET (executions of a tune), TABLES and TUNES (other lines
# of NAME[:LABEL], sizes, and options of kerf tune as single words), STRATEGY and PLANS of the tables (random and 300: not
# every plan, but a sample), REPEATS (pairs of samples of a plan), PREPARED (folder with NAME/references and
# NAME/counts.json, as `kerf tune --budget 1` leaves it), LIMIT (seconds after which tables are stopped).
set -u
stage=$1; kerf=$(realpath "$2"); from=$(realpath "$3"); mkdir -p "$4"; out=$(realpath "$4")
device=${DEVICE:-cuda}; jobs=${JOBS:-4}; workers=${WORKERS:-4}; prepared=$(realpath "${PREPARED:-/nowhere}" 2>/dev/null)
limit=$(($(date +%s) + ${LIMIT:-100000})); strategy=${STRATEGY:-exhaustive}; plans=${PLANS:-5000}; repeats=${REPEATS:-3}

# Name, then sizes: enough work for a GPU to be timed by, little enough for a reference within seconds. With
# `ops`, formats of operations only: with buffers and arrays there would be up to 2^15 plans.
tables=${TABLES:-"matmul m=512 n=512 k=512
coulomb nx=256 ny=192 --formats=f16
black_scholes n=65536
conv2d width=384 height=256
cache_thrash channels=8192 samples=128
uncoalesced rows=1024 columns=1024
gaussian n=256
jacobi2d n=512 steps=10
stencil nx=64 ny=64 nz=64 steps=10
box_muller streams=8192 --formats=f16
lud n=384
bilateral_filter width=192 height=128 --formats=f16
naive_scan n=262144
mri_q:mri_q-ops voxels=16384 --storage=off
backprop:backprop-ops n_in=4096 n_out=64 epochs=2 --storage=off
nbody:nbody-ops n=2048 steps=1 --storage=off
monte_carlo:monte_carlo-ops options=64 paths=4096 --storage=off --formats=f16
nearest_neighbour:nearest_neighbour-ops records=65536 --storage=off --formats=f16
cutoff_coulomb:cutoff_coulomb-ops bins=5 --storage=off --formats=f16
lavamd:lavamd-ops nb=3 --storage=off
correlation:correlation-ops n=256 m=128 --storage=off"}
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
  began=$(date +%s); dir="$out/tables/$label"; [ "$((limit - began))" -gt 5 ] || return
  mkdir -p "$dir"
  if [ -d "$prepared/$name/references" ]; then
    ln -sfn "$prepared/$name/references" "$dir/references"; cp "$prepared/$name/counts.json" "$dir/"
  fi
  timeout "$((limit - began))" "$kerf" tune "$(workload "$name")" $(sizes "$@") --cpu-sizes --device "$device" --tolerance 1e-3 --metric rel_l2 \
    --strategy "$strategy" --budget "$plans" --validate 0 --repeats "$repeats" --workers "$workers" --seed 1 --resume --out "$dir" \
    > "$dir.txt" 2> "$dir.err"
  echo "$label: $? after $(($(date +%s) - began)) s: $(grep -E 'evaluations to search|evaluations:' "$dir.txt" | tr '\n' ' ')"
  rm -rf "$dir/references"
}
one_tune() {
  set -- $1; name=$1; shift
  mkdir -p "$out/references/$name"
  for t in $tolerances; do
    dir="$out/tunes/$name-$t"
    mkdir -p "$dir"; ln -sfn "$out/references/$name" "$dir/references"
    "$kerf" tune "$(workload "$name")" $(sizes "$@") --cpu-sizes --device "$device" --tolerance "$t" --metric rel_l2 \
      --budget "${BUDGET:-25}" --validate 2 --workers 1 --resume --out "$dir" > "$dir.txt" 2> "$dir.err"
    echo "$name $t: $? after $SECONDS s: $(grep -E 'faster|unchanged|cannot be met' "$dir.txt" | head -1)"
    rm -f "$dir/references"
  done
}
export -f one_table one_tune workload sizes
export kerf from out device workers tolerances prepared limit strategy plans repeats

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
      line=$("$kerf" run "$w" $(sizes $sizes_of) --cpu-sizes --device "$device" $plan --energy "${WINDOW:-0.6}" 2>&1 < /dev/null | grep -iE 'energy' | head -1)
      echo "$name ${dir##*/}: $line" | tee -a "$out/energy.txt"
    done
  done ;;
*) sed -n '2,18p' "$0"; exit 2 ;;
esac
