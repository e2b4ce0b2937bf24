#!/bin/bash
# Strategies side by side on kernels whose plans are too many for a table: errors executed on the CPU at the files'
# own sizes, times predicted, no GPU; with DEVICE=cuda both measured there.
#
#   bench/strategies.sh KERF WORKLOADS OUT
#
# WORKLOADS is a bundle or the folder of examples. Of each workload of LIST (lines of NAME and options of kerf tune),
# RANDOM plans at random give the tolerances: the quartiles of their errors, as Kotipalli et al. (2019) choose
# them. Then each of STRATEGIES runs at each tolerance, guided with 25 executions at most, the others with BUDGET, JOBS
# workloads at a time (plans at random that are there already in OUT/NAME-random are taken), until LIMIT seconds have passed. OUT/table.txt has one line for each,
# and one for the plans at random. PREPARED is a folder with NAME/references and NAME/counts.json (as `kerf tune --budget 1` leaves them),
# REPEATS the pairs of samples of a plan; with KEEP the plans at random stay.
set -u
kerf=$(realpath "$1"); from=$(realpath "$2"); mkdir -p "$3"; out=$(realpath "$3")
limit=$(($(date +%s) + ${LIMIT:-100000})); prepared=$(realpath "${PREPARED:-/nowhere}" 2>/dev/null)
list=${LIST:-"lavamd
backprop
cfd --by site
nbody --by site
stencil --by site
black_scholes --by site
conv2d --by site
correlation --by site"}

tolerances() {
  python3 - "$1" <<'P'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select * from evaluation where phase = 'search'")
names = [d[0] for d in rows.description]
errors = sorted(r[names.index('error')] for r in rows if r[names.index('error')])
n = len(errors)
print(*sorted({float(f'{errors[int(q * (n - 1))]:.3g}') for q in (0.25, 0.5, 0.75)}) if n else '')
P
}

# What a search ran, in a line: DIR NAME STRATEGY TOLERANCE.
said() {
  python3 - "$@" <<'P' | tee -a "$out/table.txt"
import json, sqlite3, sys
d, name, s, t = sys.argv[1:]
try:
    r = json.load(open(d + '/result.json'))
    # What the strategy itself ran: kerf tune tries more around the plan that it then chooses.
    rows = sqlite3.connect(d + '/evaluations.sqlite').execute(
        "select error, time_ratio from evaluation where phase = 'search' and failure is null")
    times = [x for e, x in rows if e is not None and x and e <= float(t)]
    print(f"{name:16} {t:>10} {s:13} groups {len(r['groups']):3} speed-up {1 / min(times + [1.0]):.4f} executions {r['effort']['search']}")
except Exception as e:
    print(f"{name:16} {t:>10} {s:13} no result: {e!r}")
P
}

one() {
  set -- $1; name=$1; shift
  w=$(ls "$from/$name.toml" "$from"/*/"$name.toml" 2>/dev/null | head -1)
  run() { timeout $((limit - $(date +%s))) nice -n 19 "$kerf" tune "$w" --cpu-sizes --metric rel_l2 --workers 1 --validate 0 --repeats "${REPEATS:-15}" "$@"; }
  d="$out/$name-random"; refs="$d/references"; mkdir -p "$d"
  if [ -d "$prepared/$name/references" ]; then refs="$prepared/$name/references"; fi
  cp "$prepared/$name/counts.json" "$d/" 2>/dev/null
  [ "$refs" = "$d/references" ] || ln -sfn "$refs" "$d/references"
  [ -f "$d/result.json" ] || run "$@" --device "${DEVICE:-cpu}" --strategy random --budget "${RANDOM_PLANS:-40}" --tolerance 1e6 --resume --out "$d" > "$d.txt" 2>&1 || { echo "$name: no plans at random" ; return; }
  for t in $(tolerances "$d/evaluations.sqlite"); do
    said "$d" "$name" random "$t"
    for s in ${STRATEGIES:-guided ampt-ga ampt-ga-model delta-debug dataflow}; do
      [ $((limit - $(date +%s))) -gt 5 ] || return
      budget=${BUDGET:-400}; [ "$s" != guided ] || budget=25
      o="$out/$name-$s-$t"; mkdir -p "$o"; cp "$d/counts.json" "$o/" 2>/dev/null; ln -sfn "$refs" "$o/references"
      run "$@" --device "${DEVICE:-cpu}" --strategy "$s" --budget "$budget" --tolerance "$t" --resume --out "$o" > "$o.txt" 2>&1
      said "$o" "$name" "$s" "$t"
      rm -rf "$o" "$o.txt"
    done
  done
  [ -n "${KEEP:-}" ] || rm -rf "$d" "$d.txt"
}
export -f one tolerances said
export kerf from out limit prepared
echo "$list" | xargs -P "${JOBS:-8}" -d '\n' -I{} bash -c 'one "{}"'
