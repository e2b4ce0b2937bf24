#!/bin/bash
# Layouts of records on a GPU: each workload of bench/layouts as it is, as planes and padded: bits of both executors at the
# CPU's sizes, times at full size, and a search that chooses.
# Usage: layouts.sh KERF OUTDIR (from the repository's root)
set -u
kerf=$(realpath "$1"); out=$(mkdir -p "$2" && cd "$2" && pwd); status=0
cd "$(dirname "$0")/layouts" || exit 2
{ "$kerf" doctor; nvidia-smi --query-gpu=name,driver_version --format=csv; } > "$out/machine.txt" 2>&1
: > "$out/layouts.txt"
for f in bodies points complex one_of_eight; do
  for layout in own planes padded; do
    plan="$out/$f.$layout.plan.json"
    case $layout in
      own) echo '{"version": 1}' > "$plan" ;;
      *) "$kerf" inspect $f.cu --records-as $layout > "$plan" || status=1 ;;
    esac
    # A loop over the parts hides the records of `power` from an inspection of that kernel alone.
    [ $f.$layout != complex.own ] && [ $f = complex ] && sed -i 's/"kernels":{/"kernels":{"power":{"records":{"c":{"fields":["f32","f32"],"layout":"'$layout'"}}},/' "$plan"
    for d in cpu cuda; do
      "$kerf" run $f.toml --device $d --cpu-sizes --plan "$plan" --format json > "$out/$f.$layout.$d.json" || status=1
    done
    "$kerf" run $f.toml --device cuda --plan "$plan" --format json > "$out/$f.$layout.full.json" || status=1
    "$kerf" predict $f.toml --plan "$plan" --format json > "$out/$f.$layout.predicted.json" || status=1
    python3 - "$out" $f $layout >> "$out/layouts.txt" <<'P' || status=1
import json, sys
out, f, layout = sys.argv[1:]
read = lambda l, d: json.load(open(f"{out}/{f}.{l}.{d}.json"))
digests = lambda r: [o["digest"] for o in r["outputs"]]
same = digests(read(layout, "cpu")) == digests(read(layout, "cuda")) == digests(read("own", "cpu"))
full = read(layout, "full")
same = same and digests(full) == digests(read("own", "full"))
print(f"{f} {layout}: {'identical' if same else 'DIFFERENT'}; times {json.dumps(full.get('times'))}")
sys.exit(0 if same else 1)
P
  done
  "$kerf" tune $f.toml --device cuda --tolerance 0 --what layout --out "$out/$f.tuned" > "$out/$f.tune.txt" 2>&1 || status=1
done
cat "$out/layouts.txt"
exit $status
