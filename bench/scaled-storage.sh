#!/bin/bash
# Memory in scaled formats on both executors: inside a bundle on a GPU machine, compares the bits of outputs, and what is
# lost, on every workload of the bundle with all of its memory in each format that can have it, and on COUNT random kernels
# under random plans, of which half hold arrays so.
# Usage: scaled-storage.sh BUNDLE OUTDIR [COUNT]
set -u
bundle=$(cd "$1" && pwd); out=$(mkdir -p "$2" && cd "$2" && pwd); count=${3:-500}; status=0
cd "$bundle" || exit 2
{ ./kerf doctor; nvidia-smi --query-gpu=name,driver_version --format=csv; } > "$out/machine.txt" 2>&1
./kerf selftest --device cuda --plans --count "$count" --record "$out/selftest.jsonl" > "$out/selftest.txt" 2>&1 || status=1
cat "$out/selftest.txt"
: > "$out/examples.txt"
for f in *.toml; do
  source=$(sed -n 's/^source *= *"\(.*\)"/\1/p' "$f" | head -1)
  for format in 'i16*2^-10' 'i8*2^-4' e4m3 e5m2; do
    ./kerf inspect "$source" --emit plan --store-as "$format" > "$out/plan.json" 2> "$out/run.err" || { echo "$f: no plan: $(head -1 "$out/run.err")" >> "$out/examples.txt"; status=1; continue; }
    for d in cpu cuda; do
      ./kerf run "$f" --device $d --cpu-sizes --plan "$out/plan.json" --format json > "$out/run.$d" 2> "$out/run.$d.err" || echo "{\"refused\": true}" > "$out/run.$d"
    done
    python3 - "$f" "$format" "$out/run.cpu" "$out/run.cuda" "$out/run.cpu.err" >> "$out/examples.txt" <<'P' || status=1
import json, sys
f, form, a, b, err = sys.argv[1:]
c, g = json.load(open(a)), json.load(open(b))
if 'refused' in c or 'refused' in g:
    both = 'refused' in c and 'refused' in g
    print(f"{f} {form}: {'refused' if both else 'REFUSED BY ONE'}: {open(err).readline().strip()}"); sys.exit(0 if both else 1)
bad = [o['name'] for o, p in zip(c['outputs'], g['outputs']) if o['digest'] != p['digest']]
lost = c.get('losses', []) != g.get('losses', [])
held = len({l['name'] for l in c.get('losses', [])})
print(f"{f} {form}: {'identical' if not bad else 'DIFFERENT in ' + ', '.join(bad)}; {held} arrays held, losses {'DIFFER' if lost else 'equal'}")
sys.exit(1 if bad or lost else 0)
P
  done
done
rm -f "$out"/run.* "$out/plan.json"
cat "$out/examples.txt"
exit $status
