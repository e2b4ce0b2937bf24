#!/bin/bash
# measure.sh OUT (KERF_PTX_LOAD: a build that hands PTX to cuModuleLoadData): counters of some kernels, code linked against code loaded whole, plans of every line of new.txt; on a machine with a GPU
out=$1; here=$(cd "$(dirname "$0")" && pwd); cd "$here"; mkdir -p $out/m/new $out/m/view $out/c/ncu
begin=$(date +%s); limit=${LIMIT:-330}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader > $out/c/machine.txt 2>&1
stalls=$(for s in barrier branch_resolve dispatch_stall imc_miss lg_throttle long_scoreboard math_pipe_throttle membar mio_throttle no_instruction not_selected short_scoreboard sleeping tex_throttle wait; do echo -n ,smsp__average_warps_issue_stalled_${s}_per_issue_active.ratio; done)
counters=gpu__time_duration.sum,sm__cycles_elapsed.max,smsp__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active,sm__inst_executed_pipe_xu.sum,sm__inst_executed_pipe_fp64.sum,sm__inst_executed_pipe_alu.sum,sm__inst_executed_pipe_fma.sum,l1tex__data_pipe_lsu_wavefronts.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,dram__bytes_read.sum,dram__bytes_write.sum,l1tex__t_sector_hit_rate.pct$stalls
for name in batched_lu advection naive_scan nbody cfd ewald energy tile3d lavamd ocean; do
  args=(); for s in $(grep "^$name " list.txt | cut -d' ' -f4-); do args+=(--size $s); done
  t0=$(date +%s)
  timeout 15 ncu --clock-control none --csv --launch-count 4 --metrics $counters ./kerf run $name.toml --device cuda --repeats 1 "${args[@]}" > $out/c/ncu/$name.csv 2>&1 || echo "ncu $name: exit $?" >> $out/c/log.txt
  echo "ncu $name $(( $(date +%s) - t0 )) s" >> $out/c/log.txt
done
echo "ncu $(( $(date +%s) - begin )) s" >> $out/c/log.txt
{ nvcc -arch=sm_90 mix.cu -o mix || /usr/local/cuda/bin/nvcc -arch=sm_90 mix.cu -o mix; timeout 10 ./mix; } > $out/c/mix.txt 2>&1
for name in black_scholes mri_q barrier_option trinomial lavamd nbody batched_lu ewald fft tile3d; do
  args=(); for s in $(grep "^$name " list.txt | cut -d' ' -f4-); do args+=(--size $s); done
  for turn in 1 2; do
    echo "== $name linked" >> $out/c/link.txt; timeout 8 ./kerf run $name.toml --device cuda --repeats 41 "${args[@]}" >> $out/c/link.txt 2>&1
    echo "== $name whole" >> $out/c/link.txt; KERF_PTX_LOAD=1 timeout 8 ./kerf run $name.toml --device cuda --repeats 41 "${args[@]}" >> $out/c/link.txt 2>&1
  done
done
echo "link $(( $(date +%s) - begin )) s" >> $out/c/log.txt
tar -C $out -cf - c | xz -1 -T0 > $out/c.tar.xz
while read -r name formats plans sizes; do
  args=(); for s in $sizes; do args+=(--size $s); done
  for by in variable site; do
    [ $(( $(date +%s) - begin )) -lt $limit ] || { echo "no time: $name $by" >> $out/m/log.txt; continue; }
    t0=$(date +%s)
    timeout 30 ./kerf measure $name.toml --plans $plans --formats $formats --by $by --repeats 9 "${args[@]}" >> $out/m/new/$name.jsonl 2>> $out/m/warnings.txt || echo "$name $by: exit $?" >> $out/m/log.txt
    echo "$name $by $(wc -l < $out/m/new/$name.jsonl) plans, $(( $(date +%s) - t0 )) s" >> $out/m/log.txt
  done
done < new.txt
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >> $out/m/machine.txt 2>&1
tar -C $out -cf - m | xz -1 -T0 > $out/m.tar.xz; cp $out/m/log.txt $out/; rm -rf $out/m $out/c; ls -la $out
