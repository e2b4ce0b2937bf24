#!/usr/bin/env bash
# References of all examples as device code and by tables, on the CPU: whether they have the same bits, and what they cost.
# Writes a table to standard output. Usage: bench/reference-routes.sh [KERF]
set -euo pipefail
cd "$(dirname "$0")/.."
kerf=${1:-target/release/kerf}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
printf 'example\tsame bits\tprogram, s\treference as device code, s\treference by tables, s\twhy not device code\n'
for f in examples/*/*.toml; do
  rm -rf "$out/cpu" "$out/tables"
  for route in cpu tables; do
    "$kerf" run "$f" --reference --reference-on $route --save "$out/$route" --format json > "$out/$route.json" 2> "$out/err" ||
      [ $? -eq 1 ] || { cat "$out/err" >&2; exit 1; }
  done
  same=yes
  for g in "$out"/cpu/*.reference_*; do cmp -s "$g" "$out/tables/$(basename "$g")" || same=no; done
  python3 - "$(basename "$f" .toml)" $same "$out" <<'P'
import json, sys
name, same, out = sys.argv[1:]
cpu, tables = (json.load(open(f"{out}/{r}.json")) for r in ("cpu", "tables"))
why = "; ".join(cpu["reference"].get("needs_host", []))
row = [name, same, cpu["times"]["median_s"], cpu["reference"]["time_s"], tables["reference"]["time_s"], why]
print("\t".join(f"{x:.6f}" if isinstance(x, float) else x for x in row))
P
done
