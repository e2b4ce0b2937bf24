#!/bin/bash
# measure.sh OUT: plans of every line of new.txt and list.txt, counters of some kernels between; on a machine with a GPU
out=$1; here=$(cd "$(dirname "$0")" && pwd); cd "$here"; mkdir -p $out/m/new $out/m/view $out/m/ncu
begin=$(date +%s); limit=${LIMIT:-440}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader > $out/m/machine.txt 2>&1
plans() { # folder
  while read -r name formats plans sizes; do
    args=(); for s in $sizes; do args+=(--size $s); done
    for by in variable site; do
      [ $(( $(date +%s) - begin )) -lt $limit ] || { echo "no time: $name $by" >> $out/m/log.txt; continue; }
      t0=$(date +%s)
      timeout 30 ./kerf measure $name.toml --plans $plans --formats $formats --by $by --repeats 9 "${args[@]}" >> $out/m/$1/$name.jsonl 2>> $out/m/warnings.txt || echo "$name $by: exit $?" >> $out/m/log.txt
      echo "$name $by $(wc -l < $out/m/$1/$name.jsonl) plans, $(( $(date +%s) - t0 )) s" >> $out/m/log.txt
    done
  done
}
plans new < new.txt
echo "new $(( $(date +%s) - begin )) s" >> $out/m/log.txt
counters=gpu__time_duration.sum,sm__cycles_elapsed.max,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,l1tex__data_pipe_lsu_wavefronts.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,lts__t_sectors.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,dram__bytes_read.sum,dram__bytes_write.sum,smsp__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed,lts__t_sectors.avg.pct_of_peak_sustained_elapsed,sm__warps_active.avg.pct_of_peak_sustained_active
for name in ocean spmv tetrahedra fft neighbours hex_element image_denoising uncoalesced; do
  args=(); for s in $(grep "^$name " list.txt | cut -d' ' -f4-); do args+=(--size $s); done
  timeout 20 ncu --clock-control none --csv --launch-count 6 --metrics $counters ./kerf run $name.toml --device cuda --repeats 1 "${args[@]}" > $out/m/ncu/$name.csv 2>&1 || echo "ncu $name: exit $?" >> $out/m/log.txt
done
echo "ncu $(( $(date +%s) - begin )) s" >> $out/m/log.txt
plans view < list.txt
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >> $out/m/machine.txt 2>&1
tar -C $out -cf - m | xz -1 -T0 > $out/m.tar.xz; cp $out/m/log.txt $out/; rm -rf $out/m; ls -la $out
