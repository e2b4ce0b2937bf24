#!/bin/bash
# usage: go.sh OUT ; DEVICE=list for a dry run
out=$1; here=$(cd "$(dirname "$0")" && pwd); cd "$here"
k=./kerf
mkdir -p "$out/m/fit" "$out/m/blind" "$out/m/keep" /tmp/keep
begin=$(date +%s)
limit=${LIMIT:-520}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader > "$out/m/machine.txt" 2>&1
fit='
mri_q f32 12 voxels=262144
lavamd f32 12 nb=16
nbody f32 12 n=24576 steps=1
backprop f32 12 n_in=32768 n_out=128 epochs=2
global_sum f32 12 n=4000000 blocks=132
stencil f32 12 nx=192 ny=192 nz=128 steps=4
cfd f32 12 nx=64 ny=64 nz=64 iterations=3
black_scholes f32 12 n=8000000
lavamd_f32 f16,bf16 12 nb=20
mri_q_f32 f16,bf16 12 voxels=524288
nbody_f32 f16,bf16 12 n=32768 steps=1
lud f32 12 n=1536
nbody_cl f32 10 n=24576 steps=1
black_scholes_cl f32 10 n=8000000
stencil_cl f32 10 nx=192 ny=192 nz=128 steps=4
black_scholes_f32 f16,bf16 10 n=16000000
'
blind='
matmul f32 10 m=1024 n=1024 k=512
correlation f32 10 n=1024 m=1024
srad f16,bf16 10 rows=1024 columns=1024 steps=4
conv2d f32 10 width=1920 height=1080
coulomb f16,bf16 10 nx=1024 ny=512 atoms=500
jacobi2d f32 10 n=2048 steps=10
gmm_data_term f16,bf16 10 width=1920 height=1080 iterations=4
uncoalesced f32 8 rows=4096 columns=4096
cache_thrash f32 8 channels=65536 samples=512
cutoff_coulomb f16,bf16 8 bins=8 points=8 reach=24
reaction_rates f32 10 n=131072
box_muller f16,bf16 8 streams=131072 each=64
'
one() { # folder name formats plans sizes...
  local to=$1 name=$2 formats=$3 plans=$4; shift 4
  local args=()
  for s in "$@"; do args+=(--size "$s"); done
  for by in variable site; do
    [ $(( $(date +%s) - begin )) -lt "$limit" ] || { echo "no time: $name $by" >> "$out/m/log.txt"; return; }
    local extra=()
    if [ "$to" = fit ] && [ $by = site ] && [ -z "$DRY" ]; then mkdir -p /tmp/keep/$name; extra=(--keep /tmp/keep/$name); fi
    [ -n "$DRY" ] && extra=(--list)
    local t0=$(date +%s.%N)
    timeout 45 $k measure $name.toml --plans $plans --formats $formats --by $by --repeats ${REPEATS:-15} "${args[@]}" "${extra[@]}" >> "$out/m/$to/$name.jsonl" 2>> "$out/m/warnings.txt" || echo "$name $by: exit $?" >> "$out/m/log.txt"
    echo "$name $by $(wc -l < "$out/m/$to/$name.jsonl") plans, $(( $(date +%s) - ${t0%.*} )) s" >> "$out/m/log.txt"
  done
  tar -C "$out" -cf "$out/measured.tar" m 2>/dev/null
}
while read -r l; do [ -n "$l" ] && one fit $l; done <<< "$fit"
echo "fit done $(( $(date +%s) - begin )) s" >> "$out/m/log.txt"
# which opcode each encoding is
if command -v nvdisasm > /dev/null && [ -z "$DRY" ]; then
  for d in /tmp/keep/*; do
    for c in $d/0.cubin $d/1.cubin $d/4.cubin $d/5.cubin; do
      [ -f $c ] && timeout 10 nvdisasm -hex $c 2>/dev/null
    done
  done | awk '/^ *\/\*[0-9a-f]+\*\// { split($0, a, "\\*/"); t=a[2]; sub(/^ +/, "", t); if (t ~ /^@/) sub(/^@!?U?P[0-9T]+ +/, "", t); split(t, w, /[ ;]/); n=split($0, h, "/\\* 0x"); hex=substr(h[n], 1, 16); print substr(hex, 14, 3), w[1] }' | sort | uniq -c | sort -rn > "$out/m/opcodes.txt"
  timeout 10 nvdisasm -hex /tmp/keep/mri_q/0.cubin > "$out/m/mri_q.sass" 2>&1
  timeout 10 nvdisasm -hex /tmp/keep/global_sum/0.cubin > "$out/m/global_sum.sass" 2>&1
fi
mkdir -p "$out/m/keep"; for d in /tmp/keep/*; do [ -d $d ] && mkdir -p $out/m/keep/$(basename $d) && cp $d/0.cubin $d/1.cubin $d/5.cubin $out/m/keep/$(basename $d)/ 2>/dev/null; done
while read -r l; do [ -n "$l" ] && one blind $l; done <<< "$blind"
echo "blind done $(( $(date +%s) - begin )) s" >> "$out/m/log.txt"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >> "$out/m/machine.txt" 2>&1
tar -C "$out" -cf - m | xz -1 -T0 > "$out/measured.tar.xz" && rm -rf "$out/m" "$out/measured.tar"
ls -la "$out"
