#!/bin/sh
# Runs a program of the CUDA driver API (Numba, Triton) with Kerf's driver in place of NVIDIA's (docs/howto/driver-api.md).
#
#   scripts/driver.sh python script.py           scripts/driver.sh --print-folder
#
# The program finds libcuda.so.1 in a folder of the cache, first in LD_LIBRARY_PATH. KERF_LIBRARIES is the folder with libkerfcuda.so and
# libkerfrt.so: without it, the newer of target/release and target/debug.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
libraries=${KERF_LIBRARIES:-}
if [ -z "$libraries" ]; then
    newest=$(ls -t "$root"/target/release/libkerfrt.so "$root"/target/debug/libkerfrt.so 2>/dev/null | head -n 1)
    [ -n "$newest" ] && libraries=$(dirname "$newest")
fi
if [ ! -e "$libraries/libkerfcuda.so" ] || [ ! -e "$libraries/libkerfrt.so" ]; then
    echo "driver.sh: libkerfcuda.so and libkerfrt.so were not found: cargo build -p kerf-runtime -p kerf-libcuda" >&2
    exit 2
fi
[ $# -gt 0 ] || { echo "driver.sh: expected a program" >&2; exit 2; }
case "${KERF_DEVICE:-cpu}" in
    cuda*) echo "driver.sh: KERF_DEVICE=$KERF_DEVICE: programs of the driver API run on the CPU executor only; unset it" >&2; exit 2 ;;
esac
cache=${KERF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kerf}
folder=$cache/driver-$(printf %s "$libraries" | cksum | cut -d ' ' -f 1)
mkdir -p "$folder"
ln -sfn "$libraries/libkerfcuda.so" "$folder/libcuda.so.1"
ln -sfn "$libraries/libkerfcuda.so" "$folder/libcuda.so"
# Triton assembles PTX before it loads it; Kerf's driver takes the PTX.
cat > "$folder/ptxas.$$" <<'PTXAS'
#!/bin/sh
input= output=
while [ $# -gt 0 ]; do
    case "$1" in
        --version) echo "ptxas: Kerf's stand-in for NVIDIA (R) Ptx optimizing assembler"
                   echo "Cuda compilation tools, release 12.9, V12.9.86"; exit 0 ;;
        -o|--output-file) output=$2; shift ;;
        --output-file=*) output=${1#*=} ;;
        *.ptx) input=$1 ;;
    esac
    shift
done
[ -n "$input" ] && [ -n "$output" ] || { echo "ptxas: expected FILE.ptx -o OUTPUT" >&2; exit 1; }
exec cp "$input" "$output"
PTXAS
chmod 755 "$folder/ptxas.$$"
mv "$folder/ptxas.$$" "$folder/ptxas"
if [ "$1" = --print-folder ]; then
    echo "$folder"
    exit 0
fi
export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export NUMBA_CUDA_DRIVER="$folder/libcuda.so.1"
export TRITON_LIBCUDA_PATH="$folder" TRITON_PTXAS_PATH="$folder/ptxas" TRITON_PTXAS_BLACKWELL_PATH="$folder/ptxas"
exec "$@"
