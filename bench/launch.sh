#!/bin/sh
# Times every launch shape of the examples on a GPU, whole and in samples, for docs/reference/launch.md.
#   bench/launch.sh --pack KERF OUT       here: bundles the workloads below into the folder OUT
#   bench/launch.sh KERF FOLDER OUT       on the GPU machine: FOLDER is that bundle
#   bench/launch.sh --list                the workloads and sizes
# With LARGE=1 other sizes, whose launches have many waves, in the files' own shapes only: for predictions.
# One line of JSON a timing in OUT/NAME-NUMBER.jsonl (kerf_tune::launch::table::Row).
large() {
  cat <<'END'
jacobi2d n=8192 steps=1
srad rows=8192 columns=8192 steps=1
reaction_rates_f32 n=5242880
image_denoising width=15360 height=4320
naive_scan n=67108864
conv2d width=15360 height=8640
gmm_data_term width=15360 height=4320 iterations=1
bilateral_filter width=15360 height=4320 radius=3 times=1
reaction_rates n=5242880
correlation n=8192 m=8192
gaussian n=8192
black_scholes_cl n=67108864
matmul m=8192 n=8192 k=256
black_scholes n=134217728
black_scholes_f32 n=134217728
coulomb nx=16384 ny=16384 atoms=100
uncoalesced rows=16384 columns=16384
backprop n_in=1048576 n_out=64 epochs=1
mri_q_f32 voxels=67108864 samples=64
correlation_f32 n=16384 m=8192
asian_paths n=50331648 steps=16
nearest_neighbour records=8388608 places=16
gaussian_f32 n=12288
black_scholes n=67108864
reaction_rates n=4194304
reaction_rates_f32 n=8388608
nearest_neighbour records=4194304 places=64
uncoalesced rows=16384 columns=8192
ocean log_n=13 frames=1
gaussian_f32 n=8192
coulomb nx=16384 ny=8192 atoms=100
correlation n=8192 m=4096
correlation_f32 n=8192 m=8192
matmul m=4096 n=8192 k=512
mri_q voxels=33554432 samples=128
END
}
small() {
  cat <<'END'
black_scholes       n=16777216
jacobi2d            n=8192 steps=1
uncoalesced         rows=4096 columns=8192
cache_thrash        channels=262144 samples=64
naive_scan          n=16777216
conv2d              width=7680 height=4320
matmul              m=2048 n=4096 k=512
asian_paths         n=4194304 steps=16
bilateral_filter    width=3840 height=2160 radius=3 times=1
box_muller          streams=524288 each=64
coulomb             nx=4096 ny=2048 atoms=100
correlation         n=2048 m=2048
gmm_data_term       width=3840 height=2160 iterations=1
image_denoising     width=3840 height=2160
mri_q               voxels=2097152 samples=128
monte_carlo         options=16384 paths=4096
nearest_neighbour   records=1048576 places=64
ocean               log_n=12 frames=1
reaction_rates      n=1048576
srad                rows=4096 columns=4096 steps=1
stencil             nx=512 ny=256 nz=128 steps=1
black_scholes_f32   n=33554432
cfd                 nx=96 ny=96 nz=96 iterations=10
gaussian            n=4096
lavamd              nb=24
nbody               n=65536 steps=1
backprop            n_in=262144 n_out=64 epochs=1
cutoff_coulomb      bins=12 points=8 reach=12
reaction_rates_f32  n=2097152
mri_q_f32           voxels=4194304 samples=128
gaussian_f32        n=4096
correlation_f32     n=4096 m=2048
nbody_f32           n=131072 steps=1
jacobi2d            n=4096 steps=1
uncoalesced         rows=8192 columns=2048
cache_thrash        channels=131072 samples=256
conv2d              width=3840 height=2160
black_scholes       n=4194304
stencil_cl          nx=512 ny=256 nz=128 steps=1
black_scholes_cl    n=16777216
contention          n=2097152 stride=1
contention          n=2097152 stride=4
contention          n=2097152 stride=8
contention          n=2097152 stride=16
contention          n=2097152 stride=32
END
}
table() { if [ -n "$LARGE" ]; then large; else small; fi; }
names() { table | awk '{ print $1 }' | sort -u; }
if [ "$1" = --list ]; then table; exit 0; fi
if [ "$1" = --pack ] && [ $# -eq 3 ]; then
  cd "$(dirname "$0")/.." || exit 2
  set -- "$2" "$3" $(names | while read -r n; do ls examples/*/"$n".toml bench/contention/"$n".toml 2>/dev/null; done)
  kerf=$1 out=$2
  shift 2
  "$kerf" bundle "$@" --out "$out" && cp bench/launch.sh "$out/launch.sh"
  exit $?
fi
[ $# -eq 3 ] || { echo "usage: $0 KERF FOLDER OUT" >&2; exit 2; }
kerf=$1 folder=$2 out=$3
mkdir -p "$out"
export kerf folder out LARGE
# Preparing (compiling, inputs) is done several at a time; measuring takes turns by a lock.
table | nl -w1 -s' ' | xargs -P "${PARALLEL:-4}" -I LINE sh -c '
  set -- LINE
  number=$1 name=$2
  shift 2
  sizes= rich=--rich
  [ "$name" = contention ] && rich=
  for s in "$@"; do sizes="$sizes --size $s"; done
  what="$rich --samples 2,3 --more 1,4,6 --fixed 3"
  [ -n "$LARGE" ] && what="--own --samples 2,3 --more 1,4,6,12"
  timeout "${LIMIT:-90}" "$kerf" launch-table "$folder/$name.toml" --device "${DEVICE:-cuda}" $what $sizes \
    > "$out/$name-$number.jsonl" 2> "$out/$name-$number.txt"
  echo "$(date +%T) $name $number: exit $?, $(wc -l < "$out/$name-$number.jsonl") timings"
'
