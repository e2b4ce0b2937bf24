#!/bin/bash
# measure.sh OUT: probes, then plans of every line of list.txt; on a machine with a GPU
out=$1; here=$(cd "$(dirname "$0")" && pwd); cd "$here"; mkdir -p $out/m
begin=$(date +%s); limit=${LIMIT:-300}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader > $out/m/machine.txt 2>&1
timeout 60 nvcc -arch=sm_90 -O3 -o micro micro.cu > $out/m/nvcc.txt 2>&1; timeout 20 ./micro > $out/m/micro.txt 2>&1
echo "micro $(( $(date +%s) - begin )) s" >> $out/m/log.txt
while read -r name formats plans sizes; do
  args=(); for s in $sizes; do args+=(--size $s); done
  for by in variable site; do
    [ $(( $(date +%s) - begin )) -lt $limit ] || { echo "no time: $name $by" >> $out/m/log.txt; continue; }
    t0=$(date +%s)
    timeout 40 ./kerf measure $name.toml --plans $plans --formats $formats --by $by --repeats 11 "${args[@]}" >> $out/m/$name.jsonl 2>> $out/m/warnings.txt || echo "$name $by: exit $?" >> $out/m/log.txt
    echo "$name $by $(wc -l < $out/m/$name.jsonl) plans, $(( $(date +%s) - t0 )) s" >> $out/m/log.txt
  done
done < list.txt
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >> $out/m/machine.txt 2>&1
tar -C $out -cf - m | xz -1 -T0 > $out/m.tar.xz; cp $out/m/micro.txt $out/m/log.txt $out/; rm -rf $out/m; ls -la $out
