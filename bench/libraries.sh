#!/bin/bash
# Programs that call NVIDIA's libraries, on a GPU machine with a CUDA toolkit or NVIDIA's wheels.
#
#   libraries.sh build DIR [KERF]   anywhere: builds the programs and puts Kerf's runtime beside them
#   libraries.sh run DIR            on the GPU machine: runs them; results in DIR/results
#
# On the GPU: cuBLAS, cuFFT, cuSPARSE and cuSOLVER give right results, cuRAND's numbers are those that the CPU makes, bit for bit, Thrust and CUB run, a trace has
# the calls by name. KERF_CUDA_LIBRARIES names a folder with the libraries, where the dynamic linker does not find them.
# With CUDA 13's headers too: libraries.sh build DIR on that machine, which takes them from /usr/local/cuda.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
usage() { sed -n '2,9p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
dir=$(mkdir -p "$2" && cd "$2" && pwd)

build() {
  local kerf=${1:-$root/target/release/kerf} sources=$root/crates/kerf/tests/apps/libraries runtime
  "$kerf" cc -O2 "$sources/blas.cu" -lcublas -o "$dir/blas" || exit 1
  "$kerf" cc -O2 "$sources/random.cu" -lcurand -o "$dir/random" || exit 1
  "$kerf" cc -O2 "$sources/tuned.cu" -lcublas -o "$dir/tuned" || exit 1
  "$kerf" cc -O2 "$sources/templates.cu" -o "$dir/templates" || exit 1
  "$kerf" cc -O2 "$root/bench/libraries/others.cu" -lcufft -lcusparse -lcusolver -o "$dir/others" || exit 1
  runtime=$(ldd "$dir/blas" | sed -n 's/.*libkerfrt.so => \(.*\) (.*/\1/p')
  cp "$runtime" "$dir/libkerfrt.so"
  cp "$0" "$dir/libraries.sh"
}

run() {
  local status=0 p
  export LD_LIBRARY_PATH=$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  mkdir -p "$dir/results"
  cd "$dir/results" || exit 2
  nvidia-smi --query-gpu=name,driver_version --format=csv > machine.txt 2>&1
  for p in blas others templates; do
    KERF_DEVICE=cuda KERF_TRACE=$dir/results/trace-$p "$dir/$p" > "$p.txt" 2>&1
    if [ "$(tail -n 1 "$p.txt")" = PASS ]; then echo "$p: right"; else echo "$p: WRONG: $(head -n 5 "$p.txt")"; status=1; fi
  done
  for d in cpu cuda; do KERF_DEVICE=$d "$dir/random" > "random.$d.txt" 2> "random.$d.err"; done
  if [ -s random.cuda.txt ] && cmp -s random.cpu.txt random.cuda.txt; then
    echo "random: the CPU's bits"
  else
    echo "random: OTHER BITS: $(diff random.cpu.txt random.cuda.txt | head -n 8; head -n 3 random.cuda.err)"
    status=1
  fi
  for d in cpu cuda; do KERF_DEVICE=$d "$dir/tuned" > "tuned.$d.txt" 2>&1; done
  if cmp -s tuned.cpu.txt tuned.cuda.txt; then echo "tuned: the CPU's digits"; else echo "tuned: $(cat tuned.cpu.txt tuned.cuda.txt)"; status=1; fi
  python3 - <<'P' || status=1
import json
for p in ["blas", "others"]:
    calls = json.load(open(f"trace-{p}/trace.json"))["library_calls"]
    print(f"{p}: {len(calls)} functions in the trace, {sum(c['calls'] for c in calls)} calls of", ", ".join(sorted({c["library"] for c in calls})))
    assert calls
P
  exit $status
}

case $1 in
  build) build "${3:-}" ;;
  run) run 2>&1 | tee "$dir/summary.txt"; exit "${PIPESTATUS[0]}" ;;
  *) usage ;;
esac
