#!/usr/bin/env bash
# Tries the wheel and the archive of `make release` on Debian 11, 12 and 13, each made from nothing.
#
#   bench/install.sh [ROOTS]     as root, with debootstrap and a network; ROOTS: a folder for the three systems (1 GB)
#
# Writes bench/runs/<date>-install/debian-<name>.txt: what was run and what it printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
roots=$(realpath -m "${1:-target/install-roots}")
wheel=$(ls dist/kerf_gpu-*.whl)
archive=dist/kerf-x86_64-linux.tar.xz
out=bench/runs/$(date +%F)-install
mkdir -p "$roots" "$out"

for suite in bullseye bookworm trixie; do
  root=$roots/$suite
  if [[ ! -f $root/made ]]; then
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,python3-pip "$suite" "$root" \
      http://deb.debian.org/debian >"$root.log"
    touch "$root/made"
  fi
  # Certificates of this machine: it may be behind a proxy of its own.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  rm -rf "$root/try"
  mkdir "$root/try"
  cp "$wheel" "$archive" scripts/test-install.sh "$root/try"
  cat >"$root/try/try.sh" <<'TRY'
set -euo pipefail
cd /try
echo "\$ cat /etc/os-release; ldd --version; python3 --version; pip --version"
grep PRETTY_NAME /etc/os-release
ldd --version | sed -n 1p
python3 --version
pip --version
for tool in clang clang-22 gcc g++ ld nvcc ptxas; do
  ! command -v "$tool" || { echo "error: $tool is here" >&2; exit 1; }
done
[[ ! -e /usr/include/math.h ]] || { echo "error: C headers are here" >&2; exit 1; }
echo "no compiler, linker, C headers or CUDA on this system"
echo
for package in kerf_gpu-*.whl kerf-x86_64-linux.tar.xz; do
  echo "\$ scripts/test-install.sh $package"
  time bash test-install.sh "$package"
  echo
done
TRY
  echo "== $suite"
  mount -t proc proc "$root/proc"
  status=0
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DEFAULT_TIMEOUT=180 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
    bash /try/try.sh >"$out/debian-$suite.txt" 2>&1 </dev/null || status=$?
  umount "$root/proc"
  rm -rf "$root/try"
  grep '^# ' "$out/debian-$suite.txt" || tail -n 5 "$out/debian-$suite.txt"
  echo "exit status $status"
done
