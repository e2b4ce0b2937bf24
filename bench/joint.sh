#!/bin/sh
# One search over precision, approximation and launch against two in a row, at equal budgets, on a GPU.
#   bench/joint.sh --pack KERF OUT        here: bundles the workloads below into the folder OUT
#   bench/joint.sh KERF FOLDER OUT        on the GPU machine: FOLDER is that bundle
#   bench/joint.py --results OUT          the table
#   bench/joint.sh --prepare KERF FOLDER  here: references and counts of the workloads, by the CPU, into FOLDER/prepared
#   bench/joint.py --searches OUT         the table of what the searches found, also of those that were ended
# With SEARCH_ONLY=1 each is ended when its search is over: what follows (groups lowered one by one, last measurements) is not compared.
# BUDGETS (16), SEEDS (1) and WORKLOADS (all) are lists; PARALLEL searches (24) take turns on the GPU. Results are written as
# they come; searches take what is in FOLDER/prepared.
table() {
  cat <<'END' | while read -r name rest; do case " ${WORKLOADS:-$name} " in *" $name "*) echo "$name $rest" ;; esac; done
black_scholes 1e-6 n=524288
mri_q         1e-6 voxels=16384 samples=128
nbody         1e-6 n=2048 steps=1
lavamd        1e-6 nb=5
jacobi2d      1e-6 n=768 steps=2
correlation   1e-6 n=512 m=256
cfd           1e-6 nx=32 ny=32 nz=32
conv2d        1e-6 width=960 height=540
END
}
if [ "$1" = --list ]; then table; exit 0; fi
if [ "$1" = --pack ] && [ $# -eq 3 ]; then
  cd "$(dirname "$0")/.." || exit 2
  kerf=$2 out=$3
  "$kerf" bundle $(table | while read -r n _; do ls examples/*/"$n".toml; done) --out "$out"
  exit $?
fi
if [ "$1" = --prepare ] && [ $# -eq 3 ]; then
  kerf=$2 folder=$3
  table | while read -r name tolerance rest; do
    sizes=
    for s in $rest; do sizes="$sizes --size $s"; done
    to=$folder/prepared/$name
    mkdir -p "$to"
    "$kerf" -q tune "$folder/$name.toml" --what precision,approx,launch --budget 1 --tolerance "$tolerance" --validate 0 \
      $sizes --out "$to" > /dev/null </dev/null &
    pid=$!
    until [ -f "$to/space.json" ] || ! kill -0 $pid 2> /dev/null; do sleep 0.2; done
    kill $pid 2> /dev/null
    wait $pid 2> /dev/null
    for f in "$to"/*; do case $f in */counts*.json | */references) ;; *) rm -rf "$f" ;; esac; done
  done
  exit
fi
[ $# -eq 3 ] || { echo "usage: $0 KERF FOLDER OUT" >&2; exit 2; }
kerf=$1 folder=$2 out=$3
mkdir -p "$out"
export kerf folder out
for budget in ${BUDGETS:-16}; do
  for seed in ${SEEDS:-1}; do
    table | while read -r line; do
      for s in guided launch-last launch-first; do echo "$s $budget $seed $line"; done
    done
  done
done | xargs -P "${PARALLEL:-24}" -I LINE sh -c '
  set -- LINE
  strategy=$1 budget=$2 seed=$3 name=$4 tolerance=$5
  shift 5
  sizes=
  for s in "$@"; do sizes="$sizes --size $s"; done
  to=$out/$name.$strategy.$budget.$seed
  mkdir -p "$to"
  for f in "$folder/prepared/$name"/counts*.json "$folder/prepared/$name"/references; do if [ -e "$f" ]; then cp -r "$f" "$to"; fi; done
  "$kerf" --format json tune "$folder/$name.toml" --what precision,approx,launch --strategy "$strategy" --budget "$budget" \
    --seed "$seed" --tolerance "$tolerance" --validate 0 --device "${DEVICE:-cuda}" --cpu-sizes --workers 1 --repeats 9 $sizes \
    --out "$to" > "$to.json" 2> "$to.txt" &
  pid=$!
  while [ -n "$SEARCH_ONLY" ] && kill -0 $pid 2> /dev/null; do
    if [ -f "$to/space.json" ]; then kill $pid; break; fi
    sleep 0.2
  done
  wait $pid
  echo "$(date +%T) $name $strategy $budget $seed: exit $?"
  rm -rf "$to/references"
'
