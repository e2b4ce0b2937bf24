#!/bin/bash
# measure.sh OUT: linked against whole-program code of some kernels, then plans of every line of list.txt, three workloads at a time; on a machine with a GPU
out=$1; here=$(cd "$(dirname "$0")" && pwd); cd "$here"; mkdir -p $out/m/plans
export KERF_LIBDEVICE=$PWD/libdevice.10.bc KERF_CACHE=/tmp/kc PATH=$PATH:/usr/local/cuda/bin
begin=$(date +%s); limit=${LIMIT:-330}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader > $out/m/machine.txt 2>&1
echo "link $(( $(date +%s) - begin )) s" >> $out/m/log.txt
one() {
  set -- $1; name=$1; formats=$2; plans=$3; shift 3
  args=(); for s in "$@"; do args+=(--size $s); done
  for by in variable site; do
    [ $(( $(date +%s) - begin )) -lt $limit ] || { echo "no time: $name $by" >> $out/m/log.txt; continue; }
    t0=$(date +%s)
    timeout 45 ./kerf measure $name.toml --plans $plans --formats $formats --by $by --repeats 9 "${args[@]}" >> $out/m/plans/$name.jsonl 2>> $out/m/warnings.txt || echo "$name $by: exit $?" >> $out/m/log.txt
    echo "$name $by $(wc -l < $out/m/plans/$name.jsonl) plans, $(( $(date +%s) - t0 )) s" >> $out/m/log.txt
  done
}
export -f one; export begin limit out
xargs -a list.txt -d '\n' -P ${JOBS:-3} -I{} bash -c 'one "{}"'
echo "all $(( $(date +%s) - begin )) s" >> $out/m/log.txt
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >> $out/m/machine.txt 2>&1
cp $out/m/log.txt $out/m/link.txt $out/m/warnings.txt $out/; tar -C $out -cf - m | xz -1 -T0 > $out/m.tar.xz; rm -rf $out/m; ls -la $out
