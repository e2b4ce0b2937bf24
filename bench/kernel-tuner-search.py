#!/usr/bin/env python3
"""Kernel Tuner and Kerf on one space of one kernel on one GPU: the best configuration of each, and what it took.

    bench/kernel-tuner-search.py search TOOL OUT [--strategy S] [--evaluations N] [--seed K] [--size N] [--tolerance T] [--answer] [--run-on cpu]
    bench/kernel-tuner-search.py compare OUT...

TOOL is kernel_tuner or kerf: the script is the same but for its import. `search` writes OUT as JSON: the best configuration, the
time that the tool measured, seconds from the call to the result. `compare` compiles the best configurations of several such files
by NVRTC (CuPy), runs them in turn, and prints a table with the median of each. With --tolerance Kerf tunes the precision of
its best configuration afterwards, which Kernel Tuner does only in kernels that have their types as parameters. With --answer each
configuration's output is compared with that of the first one, so that outputs are read from the device.

`seconds_per_evaluation` has the whole time over the configurations; `median_ms` what the tool says of a configuration's parts (compile_time,
verification_time, benchmark_time). For Kerf `parts_s` has the median seconds of each job that its process did (inspect, run, predict), and
where those of runs went, as the worker says it (`spent` of `kerf run --format json`; `rest` is what is outside of the worker's own account). The
first configuration, which starts processes and copies inputs, is in `first_s` alone.

The kernel is a convolution with a 9 x 9 filter: blocks, outputs of a thread, and a tile in shared memory or not; 2,180
configurations are allowed. Needs CuPy; PYTHONPATH=python/src and KERF for Kerf.
"""
import argparse
import json
import statistics
import sys
import time

import numpy as np

RADIUS = 4
SOURCE = """
#define RADIUS 4
#define SIDE (2 * RADIUS + 1)
#define WIDE (block_size_x * tile_size_x)
#define HIGH (block_size_y * tile_size_y)

// The input has a border of RADIUS on each side.
extern "C" __global__ void convolve(const float *in, const float *filter, float *out, int n) {
  const int pitch = n + 2 * RADIUS;
  const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * HIGH;
#if use_shared
  __shared__ float tile[HIGH + 2 * RADIUS][WIDE + 2 * RADIUS + use_padding];
  for (int v = threadIdx.y; v < HIGH + 2 * RADIUS; v += block_size_y)
    for (int u = threadIdx.x; u < WIDE + 2 * RADIUS; u += block_size_x)
      if (x0 + u < pitch && y0 + v < pitch) tile[v][u] = in[(y0 + v) * pitch + x0 + u];
  __syncthreads();
#define AT(y, x) tile[y][x]
#else
#define AT(y, x) in[min(y0 + (y), pitch - 1) * pitch + min(x0 + (x), pitch - 1)]
#endif
  float sum[tile_size_y][tile_size_x];
#pragma unroll
  for (int v = 0; v < tile_size_y; v++)
#pragma unroll
    for (int u = 0; u < tile_size_x; u++) sum[v][u] = 0.0f;
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      const float w = filter[i * SIDE + j];
#pragma unroll
      for (int v = 0; v < tile_size_y; v++)
#pragma unroll
        for (int u = 0; u < tile_size_x; u++)
          sum[v][u] += w * AT(threadIdx.y + v * block_size_y + i, threadIdx.x + u * block_size_x + j);
    }
#pragma unroll
  for (int v = 0; v < tile_size_y; v++)
#pragma unroll
    for (int u = 0; u < tile_size_x; u++) {
      const int x = x0 + threadIdx.x + u * block_size_x, y = y0 + threadIdx.y + v * block_size_y;
      if (x < n && y < n) out[y * n + x] = sum[v][u];
    }
}
"""
SPACE = {
    "block_size_x": [16, 32, 48, 64, 96, 128, 256],
    "block_size_y": [1, 2, 4, 8, 16],
    "tile_size_x": [1, 2, 3, 4, 6, 8],
    "tile_size_y": [1, 2, 3, 4, 6, 8],
    "use_shared": [0, 1],
    "use_padding": [0, 1],
}
RESTRICTIONS = [
    "64 <= block_size_x * block_size_y <= 1024",
    "use_padding == 0 or use_shared == 1",
    "tile_size_x * tile_size_y <= 24",
    "use_shared == 0 or (block_size_x * tile_size_x + 9) * (block_size_y * tile_size_y + 8) * 4 <= 48 * 1024",
]


def arguments(n):
    random = np.random.default_rng(1)
    image = random.random((n + 2 * RADIUS, n + 2 * RADIUS), dtype=np.float32)
    weights = random.random((2 * RADIUS + 1, 2 * RADIUS + 1), dtype=np.float32)
    return [image, weights / weights.sum(), np.zeros((n, n), np.float32), np.int32(n)]


def traced(jobs):
    """Has Kerf's process note its jobs: the command, the seconds, and those of the worker."""
    try:
        from kerf._service import _Process
    except ImportError:
        return
    ask = _Process.ask

    def noted(self, words, ahead):
        start = time.monotonic()
        answer = ask(self, words, ahead)
        document = (answer or {}).get("document") or {}
        jobs.append((words[0], time.monotonic() - start, document.get("spent") or {}))
        return answer

    _Process.ask = noted


def parts(jobs):
    """Median seconds of jobs by command, and of what runs spent them on; of each command the first job is left out."""
    found = {}
    for command in dict.fromkeys(c for c, _, _ in jobs):
        mine = [(s, spent) for c, s, spent in jobs if c == command][1:]
        if not mine:
            continue
        found[command] = statistics.median(s for s, _ in mine)
        names = {n for _, spent in mine for n in spent}
        of_worker = {n: statistics.median(spent.get(n, 0.0) for _, spent in mine) for n in sorted(names)}
        found.update({f"{command}.{n}": s for n, s in of_worker.items() if s > 0})
        if of_worker:
            found[f"{command}.rest"] = statistics.median(s - sum(spent.values()) for s, spent in mine)
    return found


def first_output(tool, n, grid, where):
    """What the kernel computes in one configuration."""
    smallest = {k: values[0] for k, values in SPACE.items()} | {"block_size_y": 4}
    lang = {"lang": "CUDA"} if tool.__name__ == "kerf" else {"lang": "CuPy"}
    return tool.run_kernel("convolve", SOURCE, (n, n), arguments(n), smallest, **lang, **grid, **where)[2]


def of_first(good, part):
    """A part of the first configuration's time."""
    return good[0].get(part) or 0.0


def search(a):
    import importlib

    tool = importlib.import_module(a.tool)
    jobs = []
    if a.tool == "kerf":
        traced(jobs)
    options = {"max_fevals": a.evaluations}
    more = {"seed": a.seed} if a.seed is not None else {}
    if a.tool == "kerf" and a.tolerance:
        more |= {"tolerance": a.tolerance, "tune_options": {"metric": "rel_l2", "budget": 30, "validate": 4}}
    if a.tool == "kerf" and a.run_on:
        more |= {"run_on": a.run_on, "parallel": 1}
    grid = {"grid_div_x": ["block_size_x", "tile_size_x"], "grid_div_y": ["block_size_y", "tile_size_y"]}
    if a.answer:
        more |= {"answer": [None, None, first_output(tool, a.size, grid, {"run_on": a.run_on} if a.run_on else {}), None], "atol": 1e-4}
    jobs.clear()
    start = time.monotonic()
    results, env = tool.tune_kernel(
        "convolve", SOURCE, (a.size, a.size), arguments(a.size), SPACE, restrictions=RESTRICTIONS, lang="CUDA" if a.tool == "kerf" else "CuPy",
        strategy=a.strategy, strategy_options=options, iterations=7, **grid, **more)
    seconds = time.monotonic() - start
    good = [r for r in results if isinstance(r.get("time"), (int, float))]
    best = min(good, key=lambda r: r["time"])
    # What a search of half as long had found.
    half = min(good[: max(1, len(good) // 2)], key=lambda r: r["time"])
    found = {
        "tool": a.tool, "strategy": a.strategy, "seed": a.seed, "size": a.size, "seconds": seconds, "evaluations": len(results), "failed": len(results) - len(good),
        "seconds_per_evaluation": seconds / max(1, len(results)),
        "median_ms": {k: statistics.median(r[k] for r in good) for k in ("compile_time", "verification_time", "benchmark_time") if k in best},
        "first_s": sum(of_first(good, k) for k in ("compile_time", "verification_time", "benchmark_time")) / 1e3,
        "parts_s": parts(jobs),
        "best": {k: int(best[k]) for k in SPACE}, "time_ms": float(best["time"]), "half_ms": float(half["time"]),
    }
    tuned = env.get("tuned") if isinstance(env, dict) else None
    if tuned is not None:
        found["tuned"] = {"verdict": tuned.verdict, "speedup": getattr(tuned.speedup, "value", tuned.speedup), "error": tuned.error}
    with open(a.out, "w", encoding="utf-8") as f:
        json.dump(found, f, indent=1, default=str)
    print(json.dumps(found, default=str))


def compare(files):
    import cupy

    all_found = [json.load(open(f, encoding="utf-8")) for f in files]
    n = all_found[0]["size"]
    image, weights, out, size = arguments(n)
    on_device = [cupy.asarray(image), cupy.asarray(weights), cupy.asarray(out), size]
    kernels = []
    for f in all_found:
        c = f["best"]
        kernel = cupy.RawKernel("".join(f"#define {k} {v}\n" for k, v in c.items()) + SOURCE, "convolve")
        across, down = c["block_size_x"] * c["tile_size_x"], c["block_size_y"] * c["tile_size_y"]
        kernels.append((kernel, (-(-n // across), -(-n // down)), (c["block_size_x"], c["block_size_y"])))
    times = [[] for _ in kernels]
    for lap in range(12):
        for (kernel, grid, block), mine in zip(kernels, times):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(5):
                kernel(grid, block, tuple(on_device))
            end.record()
            end.synchronize()
            if lap >= 2:
                mine.append(cupy.cuda.get_elapsed_time(begin, end) / 5)
    best = min(statistics.median(t) for t in times)
    print("| tool | strategy | seed | evaluations | seconds | time that it measured (ms) | time by NVRTC, in turn (ms) | over the best |")
    print("|---|---|---|---|---|---|---|---|")
    for f, t in zip(all_found, times):
        m = statistics.median(t)
        print(f"| {f['tool']} | {f['strategy']} | {f['seed']} | {f['evaluations']} | {f['seconds']:.1f} | {f['time_ms']:.4f} | {m:.4f} | {m / best:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    s = commands.add_parser("search")
    s.add_argument("tool", choices=["kernel_tuner", "kerf"])
    s.add_argument("out")
    s.add_argument("--strategy", default="random_sample")
    s.add_argument("--evaluations", type=int, default=60)
    s.add_argument("--seed", type=int)
    s.add_argument("--size", type=int, default=8192)
    s.add_argument("--tolerance", type=float)
    s.add_argument("--answer", action="store_true")
    s.add_argument("--run-on", choices=["cpu", "cuda"], help="where Kerf runs; by default on the GPU")
    c = commands.add_parser("compare")
    c.add_argument("files", nargs="+")
    a = parser.parse_args()
    sys.exit(search(a) if a.command == "search" else compare(a.files))


if __name__ == "__main__":
    main()
