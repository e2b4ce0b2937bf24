#!/bin/sh
# Measures sampled plans of the examples on a GPU, for comparison with predictions (docs/reference/prediction.md).
#   bench/prediction.sh KERF FOLDER OUT       on the GPU machine: FOLDER is a bundle of the workloads below
#   bench/prediction.sh --list                the workloads, sizes, formats and groupings
# One line of JSON a plan in OUT/NAME.jsonl: plan, median seconds and interval, the program's own beside it.
table() {
  cat <<'END'
black_scholes      f32       variable,site  n=2000000
nbody              f32       variable,site  n=24576 steps=1
lavamd             f32       variable,site  nb=16
mri_q              f32       variable,site  voxels=262144
stencil            f32       variable,site  nx=192 ny=192 nz=128 steps=4
cfd                f32       variable,site  nx=64 ny=64 nz=64 iterations=3
lud                f32       variable,site  n=1536
backprop           f32       variable,site  n_in=32768 n_out=128 epochs=2
global_sum         f32       variable,site  n=4000000 blocks=132
gaussian           f32       site           n=1024
black_scholes_cl   f32       variable,site  n=2000000
nbody_cl           f32       variable,site  n=24576 steps=1
stencil_cl         f32       variable,site  nx=192 ny=192 nz=128 steps=4
black_scholes_single f16,bf16 variable,site n=4000000
nbody_single       f16,bf16  variable,site  n=32768 steps=1
lavamd_single      f16,bf16  variable,site  nb=20
mri_q_single       f16,bf16  variable,site  voxels=524288
stencil_single     f16,bf16  variable,site  nx=192 ny=192 nz=128 steps=4
END
}
if [ "$1" = --list ]; then table; exit 0; fi
[ $# -eq 3 ] || { echo "usage: $0 KERF FOLDER OUT" >&2; exit 2; }
kerf=$1 folder=$2 out=$3
mkdir -p "$out"
table | while read -r name formats groupings sizes; do
  set --
  for s in $sizes; do set -- "$@" --size "$s"; done
  for by in $(echo "$groupings" | tr , ' '); do
    "$kerf" measure "$folder/$name.toml" --plans "${PLANS:-14}" --formats "$formats" --by "$by" --repeats "${REPEATS:-9}" "$@" \
      >> "$out/$name.jsonl" 2>> "$out/warnings.txt" || echo "$name $by: exit $?" >> "$out/warnings.txt"
  done
  echo "$(date +%T) $name $(wc -l < "$out/$name.jsonl") plans"
done
