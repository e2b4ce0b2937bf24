#!/bin/bash
# Measured speed-ups of workloads at their full sizes, at four tolerances of rel_l2, with default options.
#
#   bench/speedups.sh KERF WORKLOADS OUT
#
# WORKLOADS is a bundle (kerf bundle examples/*/*.toml --out DIR) or a folder of folders with workload files. Each file is tuned
# to 1e-3, 1e-6, 1e-9 and 1e-12, one tolerance after the other, several files at a time; they take turns on the GPU.
# OUT/NAME-TOLERANCE has the results, bench/speedups.py makes a table of them. Where nothing within a tolerance is faster, tighter
# ones are not searched, and neither is one that the plan before is within already. Variables: JOBS (files at a time), LIMIT
# (seconds after which no search begins and those that run are stopped), EACH (seconds of one search, at most), TOLERANCES, NAMES
# (some of the files), OPTIONS (of kerf tune).
set -u
kerf=$(realpath "$1"); from=$(realpath "$2"); mkdir -p "$3"; out=$(realpath "$3")
jobs=${JOBS:-4}; began=$(date +%s); limit=$((began + ${LIMIT:-100000}))

# What a result says, and the largest error of its plan on any input.
verdict() { sed -n 's/^ *"verdict": *"\([a-z]*\)".*/\1/p' "$1" 2>/dev/null | head -1; }
worst() {
  python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); v = r.get("validation") or {}
print(max(r.get("error") or 0.0, v.get("worst") or 0.0))' "$1" 2>/dev/null
}

one() {
  w=$1; name=$(basename "$w" .toml); within=
  for t in ${TOLERANCES:-1e-3 1e-6 1e-9 1e-12}; do
    if [ -n "$within" ] && awk "BEGIN { exit !($within <= $t) }"; then
      echo "$name $t: the plan before is within ($within)"; continue
    fi
    dir="$out/$name-$t"; start=$(date +%s); left=$((limit - start))
    [ "$left" -gt 2 ] || { echo "$name $t: no time"; break; }
    [ "$left" -lt "${EACH:-$left}" ] || left=${EACH:-$left}
    timeout "$left" "$kerf" tune "$w" --tolerance "$t" --metric rel_l2 ${OPTIONS:-} --out "$dir" > "$dir.txt" 2> "$dir.err"
    echo "$name $t: $? in $(($(date +%s) - start)) s, $(($(date +%s) - began)) s: $(grep -E 'faster|unchanged|nothing|cannot be met' "$dir.txt" | head -1)"
    case "$(verdict "$dir/result.json")" in unchanged | unmet) break ;; esac
    within=$(worst "$dir/result.json")
  done
}
export -f one verdict worst
export kerf from out began limit
set -f; names=(${NAMES:-"*"}); set +f
files=$(for n in "${names[@]}"; do ls "$from"/$n.toml "$from"/*/$n.toml 2>/dev/null; done)
echo "$files" | xargs -P "$jobs" -d '\n' -I{} bash -c 'one "{}"' | tee -a "$out/log.txt"
