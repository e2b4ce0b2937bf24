#!/bin/bash
# Matrix products of tensor cores, CPU executor against GPU, bit by bit: runs every workload of a folder (a bundle, or
# bench/tensor-core where a compiler is) on both and compares the digests of all outputs.
# Usage: tensor-core.sh KERF BUNDLE_OR_FOLDER OUTDIR. For a bundle: kerf bundle bench/tensor-core/*.toml
set -u
[ $# -eq 3 ] || { echo "usage: $0 KERF BUNDLE_OR_FOLDER OUTDIR" >&2; exit 2; }
kerf=$(realpath "$1"); folder=$(cd "$2" && pwd) || exit 2; out=$(mkdir -p "$3" && cd "$3" && pwd)
cd "$folder" || exit 2
{ "$kerf" doctor; nvidia-smi --query-gpu=name,driver_version --format=csv; } > "$out/machine.txt" 2>&1
: > "$out/tensor-core.txt"; status=0
for f in *.toml; do
  for d in cpu cuda; do
    "$kerf" run "$f" --device $d --repeats 1 --format json > "$out/run.$d" 2> "$out/run.$d.err" || { echo "$f on $d: $(head -3 "$out/run.$d.err")" >> "$out/tensor-core.txt"; status=1; }
  done
  python3 - "$f" "$out/run.cpu" "$out/run.cuda" >> "$out/tensor-core.txt" <<'P' || status=1
import json, sys
f, a, b = sys.argv[1:]
try:
    c, g = json.load(open(a)), json.load(open(b))
except Exception as e:
    print(f, 'no result:', e); sys.exit(1)
gpu = {o['name']: o['digest'] for o in g['outputs']}
bad = [o['name'] for o in c['outputs'] if gpu.get(o['name']) != o['digest']]
print(f"{f}: {len(c['outputs'])} outputs, {'identical' if not bad else 'DIFFERENT in ' + ', '.join(bad)}")
sys.exit(1 if bad or not c['outputs'] else 0)
P
done
rm -f "$out"/run.*
cat "$out/tensor-core.txt"
exit $status
