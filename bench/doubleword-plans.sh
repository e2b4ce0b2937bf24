#!/bin/bash
# Do plans with double words have the same bits on the CPU executor and on a GPU? For every result folder of kerf tune below FOLDER.
# Usage: doubleword-plans.sh KERF FOLDER OUT [WORKLOADS]
#   FOLDER/NAME/plan.json is run on WORKLOADS/NAME.toml (default: FOLDER/NAME.toml) at the CPU's sizes on both devices.
# OUT/NAME.cpu.json and OUT/NAME.cuda.json are what kerf run says; OUT/identity.txt has a line a plan. Exit 1 if bits differ or a run fails.
set -u
kerf=$(realpath "$1"); folder=$(cd "$2" && pwd); out=$(mkdir -p "$3" && cd "$3" && pwd); workloads=$(cd "${4:-$2}" && pwd)
: > "$out/identity.txt"; status=0
for plan in "$folder"/*/plan.json; do
  name=$(basename "$(dirname "$plan")")
  for device in cpu cuda; do
    "$kerf" run "$workloads/$name.toml" --plan "$plan" --device $device --cpu-sizes --repeats 20 --format json \
      > "$out/$name.$device.json" 2> "$out/$name.$device.err" || { echo "$name on $device: $(head -3 "$out/$name.$device.err")" >> "$out/identity.txt"; status=1; }
  done
  python3 - "$name" "$plan" "$out" >> "$out/identity.txt" <<'P' || status=1
import json, sys
name, plan, out = sys.argv[1:]
try:
    c, g = (json.load(open(f"{out}/{name}.{d}.json")) for d in ("cpu", "cuda"))
except ValueError as e:
    print(f"{name}: no result: {e}")
    sys.exit(1)
bad = [o["name"] for o, p in zip(c["outputs"], g["outputs"]) if o["digest"] != p["digest"]]
formats = [f for k in json.load(open(plan))["kernels"].values() for f in k.get("sites", {}).values()]
count = ", ".join(f"{formats.count(f)} {f}" for f in sorted(set(formats)))
says = "DIFFERENT in " + ", ".join(bad) if bad else "identical"
print(f"{name}: {says}; {len(c['outputs'])} outputs; operations: {count or 'none changed'}; median {g['times']['median_s'] * 1e6:.1f} us on the GPU")
sys.exit(1 if bad else 0)
P
done
rm -f "$out"/*.err
cat "$out/identity.txt"
exit $status
