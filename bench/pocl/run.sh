#!/bin/bash
# Kerf's CPU executor against PoCL on the kernels of this folder, with the same sources, sizes and
# inputs and all cores. Processes of the two alternate; compilation is in neither's times.
# Usage: [KERF=kerf] [ROUNDS=5] [REPEATS=5] [KERNELS="triad ..."] bench/pocl/run.sh [RECORD.json]
# Needs: apt-get install pocl-opencl-icd ocl-icd-opencl-dev gcc python3
set -eu
record=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")"
root=$(realpath ../..)
target=${CARGO_TARGET_DIR:-$root/target}
export KERF=${KERF:-$target/release/kerf} ROUNDS=${ROUNDS:-5} REPEATS=${REPEATS:-5} RECORD=$record
export KERNELS=${KERNELS:-triad black_scholes mri_q nbody stencil matmul reduce}
[ -d "$root/.kerf/cuda" ] && export KERF_CUDA=${KERF_CUDA:-$root/.kerf/cuda}
export WORK=$target/pocl
mkdir -p "$WORK/cache"
export POCL_CACHE_DIR=$WORK/cache POCL_DEVICES=pthread
gcc -O2 -o "$WORK/pocl_bench" pocl_bench.c -lOpenCL -lm
exec python3 - <<'P'
import hashlib, json, math, os, resource, shutil, statistics, subprocess, sys

env = os.environ
kerf, work, kernels = env["KERF"], env["WORK"], env["KERNELS"].split()
rounds, repeats = int(env["ROUNDS"]), int(env["REPEATS"])
# what differing orders of summation, contraction and math libraries may leave between the two
TOLERANCE = {"triad": 1e-15, "black_scholes": 1e-13, "mri_q": 1e-5, "nbody": 1e-5, "stencil": 1e-6,
             "matmul": 1e-13, "reduce": 1e-13}

def call(command):
    """Output, and the most memory any process of it had, in bytes."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:  # so that the children's maximum is of this command alone
        try:
            out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
            with os.fdopen(w, "wb") as f:
                f.write(json.dumps([json.loads(out), peak]).encode())
            os._exit(0)
        except BaseException as e:
            print("run.sh:", e, file=sys.stderr)
            os._exit(1)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        data = f.read()
    os.waitpid(child, 0)
    return json.loads(data) if data else sys.exit("run.sh: no result from " + " ".join(command))

def run_kerf(k, n, *more):
    return call([kerf, "run", k + ".toml", "--format", "json", "--repeats", str(n), "--warmup", "2", *more])

def run_pocl(k, n, *more):
    return call([work + "/pocl_bench", k, "2", str(n), *more])[0]

def first_line(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip().split("\n")[0]

def buffer_bytes(k):
    sizes = {"f32": 4, "f64": 8, "f32x4": 16}
    out, names = 0, {}
    kind = None
    for line in open(k + ".toml"):
        line = line.split("#")[0].strip()
        if "=" in line and not line.startswith("args"):
            key, value = (x.strip() for x in line.split("=", 1))
            if value.isdigit():
                names[key] = int(value)
            if key == "type":
                kind = value.strip('"')
            if key == "len":
                ceil_div = lambda a, b: -(-a // b)
                out += sizes[kind] * eval(value.strip('"'), {"ceil_div": ceil_div}, names)
    return out

results, bad = {}, []
for k in kernels:
    r = results[k] = {"pocl_s": [], "pocl_event_s": [], "kerf_s": [], "kerf_peak_bytes": 0, "buffer_bytes": buffer_bytes(k)}
    saved = os.path.join(work, "saved")
    shutil.rmtree(saved, ignore_errors=True)
    out, _ = run_kerf(k, 1, "--save", saved)
    r["kerf_kernels"] = {x["symbol"]: x["note"] for x in out["kernels"]}
    files = [f"{o['name']}={o['saved'] or os.path.join(saved, o['name'] + '.npy')}" for o in out["outputs"]]
    p = run_pocl(k, 1, *files)
    r["distance"], r["tolerance"] = p["distance"], TOLERANCE[k]
    device = {x: p[x] for x in ("device", "version", "compute_units")}
    if len(p["distance"]) != len(files) or not all(d <= TOLERANCE[k] for d in p["distance"].values()):
        bad.append(k)
    shutil.rmtree(saved, ignore_errors=True)

for i in range(rounds):  # all kernels in each round, so that a busy spell meets every one alike
    for k in kernels:
        r = results[k]
        for side in ("pk", "kp")[i % 2]:
            if side == "p":
                p = run_pocl(k, repeats)
                r["pocl_s"].append(p["samples_s"])
                r["pocl_event_s"].append(p["event_s"])
            else:
                out, peak = run_kerf(k, repeats)
                r["kerf_s"].append(out["times"]["samples_s"])
                r["kerf_peak_bytes"] = max(r["kerf_peak_bytes"], peak)

print(f"{'kernel':14} {'PoCL ms':>9} {'Kerf ms':>9} {'PoCL/Kerf':>10} {'rounds':>13} {'peak MiB':>9} {'buffers + 256':>14}  same result")
for k, r in results.items():
    p, q = (statistics.median(sum(r[s], [])) for s in ("pocl_s", "kerf_s"))
    each = [statistics.median(a) / statistics.median(b) for a, b in zip(r["pocl_s"], r["kerf_s"])]
    r["pocl_median_s"], r["kerf_median_s"], r["ratio"], r["round_ratios"] = p, q, p / q, each
    r["memory_ok"] = r["kerf_peak_bytes"] <= r["buffer_bytes"] + (256 << 20)
    print(f"{k:14} {p*1e3:9.2f} {q*1e3:9.2f} {p/q:10.3f} {min(each):6.2f}..{max(each):<5.2f} {r['kerf_peak_bytes']/2**20:9.0f}"
          f" {r['buffer_bytes']/2**20 + 256:9.0f} {'ok' if r['memory_ok'] else 'OVER':>4}"
          f"  {'no' if k in bad else 'yes'} ({max(r['distance'].values(), default=math.nan):.1e})")
mean = lambda ks: math.exp(sum(math.log(results[k]["ratio"]) for k in ks) / len(ks)) if ks else None
every = mean(list(results))
print(f"geometric mean of PoCL/Kerf, all {len(results)}: {every:.3f}")

if env["RECORD"]:
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    os.makedirs(os.path.dirname(env["RECORD"]) or ".", exist_ok=True)
    json.dump({
        "command": f"ROUNDS={rounds} REPEATS={repeats} KERNELS='{' '.join(kernels)}' bench/pocl/run.sh",
        "date": first_line("date", "-u", "+%Y-%m-%dT%H:%M:%SZ"),
        "cpu": model, "cores": os.cpu_count(), "load": os.getloadavg(), "kernel": first_line("uname", "-r"),
        "kerf": first_line(kerf, "--version"), "kerf_sha256": hashlib.sha256(open(kerf, "rb").read()).hexdigest(),
        "tree_commit": first_line("git", "rev-parse", "HEAD"),  # of this folder; the program may be of another
        "pocl": device, "pocl_package": first_line("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libpocl2"),
        "geometric_mean_all": every, "kernels": results,
    }, open(env["RECORD"], "w"), indent=1)
sys.exit("run.sh: results differ: " + ", ".join(bad) if bad else 0)
P
