#!/bin/bash
# The identity campaign: inside a bundle on a GPU machine, compares CPU executor and GPU bit by bit on
# every workload of the bundle and on COUNT random kernels, JOBS at a time.
# Usage: identity.sh BUNDLE OUTDIR [COUNT] [JOBS]
set -u
bundle=$(cd "$1" && pwd); out=$(mkdir -p "$2" && cd "$2" && pwd); count=${3:-2000}; jobs=${4:-8}
cd "$bundle" || exit 2
{ ./kerf doctor; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv; } > "$out/machine.txt" 2>&1
each=$((count / jobs)); status=0
for j in $(seq 0 $((jobs - 1))); do
  ./kerf selftest --device cuda --count "$each" --seed $((1 + j * ((each + 3) / 4))) --record "$out/part$j.jsonl" > "$out/part$j.txt" 2> "$out/part$j.err" &
done
wait
cat $(for j in $(seq 0 $((jobs - 1))); do echo "$out/part$j.jsonl"; done) > "$out/selftest.jsonl"
cat "$out"/part*.txt > "$out/selftest.txt"; cat "$out"/part*.err | grep -v modules >> "$out/selftest.txt"
rm -f "$out"/part*
cat "$out/selftest.txt"
: > "$out/examples.txt"
for f in *.toml; do
  for d in cpu cuda; do
    ./kerf run "$f" --device $d --cpu-sizes --reference --format json --repeats 20 > "$out/run.$d" 2> "$out/run.$d.err" || { echo "$f on $d: $(head -3 "$out/run.$d.err")" >> "$out/examples.txt"; status=1; }
  done
  python3 - "$f" "$out/run.cpu" "$out/run.cuda" >> "$out/examples.txt" <<'P' || status=1
import json, sys
f, a, b = sys.argv[1:]
try:
    c, g = json.load(open(a)), json.load(open(b))
except Exception as e:
    print(f, 'no result:', e); sys.exit(1)
bad = [o['name'] for o, p in zip(c['outputs'], g['outputs']) if o['digest'] != p['digest']]
t = g['times']
k = '; '.join(f"{x['symbol']} {x['registers']} regs {x['local_bytes']} B local" for x in g['kernels'])
print(f"{f}: {'identical' if not bad else 'DIFFERENT in ' + ', '.join(bad)}; H200 median {t['median_s']*1e6:.1f} us ({t['low_s']*1e6:.1f}..{t['high_s']*1e6:.1f}, n={len(t['samples_s'])}), {g['launches']} launches; {k}")
sys.exit(1 if bad else 0)
P
done
rm -f "$out"/run.*
cat "$out/examples.txt"
exit $status
