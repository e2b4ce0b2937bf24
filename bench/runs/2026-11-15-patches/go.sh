# Five patches: compiled by nvcc, and run beside the original. Results in $1; $2 is the device.
out=$1; dev=${2:-cuda}; mkdir -p $out/r
export PATH=$PATH:/usr/local/cuda/bin
cd $(dirname $0)
nv() { (cd src/$1 && timeout 80 nvcc -O2 -arch=sm_90 $2.cu -o app > nvcc.log 2>&1; echo "$1 nvcc rc $?" >> ../../nvcc.txt) & }
if command -v nvcc > /dev/null; then
  nvcc --version | tail -2 > $out/r/nvcc-version.txt
  for p in "orig_black_scholes black_scholes" "orig_nbody nbody" "orig_bilateral_filter bilateral_filter" "mixed black_scholes" "storage black_scholes" "approx bilateral_filter" "launch black_scholes" "pure nbody"; do nv $p; done
fi
held_storage="--held spot=f32 --held strike=f32 --held years=f32"
held_pure="--held bodies=f32 --held velocities=f32 --held accelerations=f32"
e() { n=$1; shift; timeout 60 ./kerf run "$@" --reference --device $dev --format json > $out/r/$n-error.json 2> $out/r/$n-error.err; echo "$n error rc $?" >> $out/r/log.txt; }
t() { n=$1; shift; timeout 60 ./kerf run "$@" --device $dev --repeats 15 --warmup 3 --format json > $out/r/$n-time.json 2> $out/r/$n-time.err; echo "$n time rc $?" >> $out/r/log.txt; }
e mixed black_scholes.toml --source p_mixed.bc --size n=2048 &
e storage black_scholes.toml --source p_storage.bc $held_storage --size n=2048 &
e approx bilateral_filter.toml --source p_approx.bc &
e launch black_scholes.toml --source p_launch.bc --size n=2048 --size bx=32 &
e pure nbody.toml --source p_pure.bc $held_pure --size n=128 &
wait
big=${3:-4194304}; bodies=${4:-16384}; w=${5:-1920}
t mixed black_scholes.toml --source p_mixed.bc --size n=$big
t storage black_scholes.toml --source p_storage.bc $held_storage --size n=$big
t approx bilateral_filter.toml --source p_approx.bc --size width=$w --size height=$((w*9/16)) --size radius=5 --size times=4
t pure nbody.toml --source p_pure.bc $held_pure --size n=$bodies --size steps=1
t launch-before black_scholes.toml --size n=$big
t launch-after p_launch.toml --size n=$big
a() { n=$1; shift; (cd src/$n && [ -x app ] && timeout 30 ./app "$@" > ../../$n-app.txt 2>&1; echo "$n app rc $?" >> ../../apps.txt); }
if command -v nvcc > /dev/null; then
  for n in orig_black_scholes mixed storage launch; do a $n -n $big -r 50; done
  for n in orig_nbody pure; do a $n -n $bodies -steps 5; done
  for n in orig_bilateral_filter approx; do a $n -width 1920 -height 1080 -times 4; done
fi
for f in *-app.txt apps.txt nvcc.txt; do [ -f $f ] && cp $f $out/r/; done
for d in src/*/nvcc.log; do cat $d; done > $out/r/nvcc.log 2>&1
nvidia-smi > $out/r/smi.txt 2>&1
(cd $out && tar -cf - r | gzip > results.tar.gz && rm -rf r)
