"""Compares CPU and GPU outputs of approx.toml: python3 compare.py CPU_DIR GPU_DIR.

The CPU's models are the exact value rounded once, so |cpu - gpu| must stay within the bound that the PTX manual
documents plus half an ulp for that rounding. Prints one line an operation; exit 1 if one is outside."""
import sys
import numpy as np

cpu, gpu = sys.argv[1:]
# name: (kind, bound): ulps of the result, relative error, absolute error, or the mixed rule of lg2
BOUNDS = {
    "rcp": ("ulp", 1.0), "div": ("ulp", 2.0), "sqrt": ("rel", 2.0**-23), "rsqrt": ("rel", 2.0**-22.9),
    "ex2": ("ulp", 2.0), "ex2_n": ("ulp", 2.0), "lg2": ("lg2", 2.0**-22), "lg2_n": ("lg2", 2.0**-22),
    "lg2_one": ("abs", 2.0**-22), "sin": ("abs", 2.0**-20.5), "cos": ("abs", 2.0**-20.5),
}
bad = False
for name, (kind, bound) in BOUNDS.items():
    a = np.load(f"{cpu}/{name}.npy").astype(np.float64)
    b = np.load(f"{gpu}/{name}.npy").astype(np.float64)
    ulp = np.spacing(np.abs(a).astype(np.float32)).astype(np.float64)
    d = np.abs(a - b)
    # lg2: relative, but absolute for arguments in (0.5, 2), which is where the result is below 1.
    scale = {"ulp": ulp, "rel": np.abs(a), "abs": 1.0, "lg2": np.maximum(np.abs(a), 1.0)}[kind]
    worst = np.max(np.where(a == b, 0, (d - 0.5 * ulp) / np.where(scale == 0, 1, scale)))
    ok = worst <= bound and not np.isnan(worst)
    bad |= not ok
    print(f"{name:8} {100 * np.mean(a == b):6.2f} % equal bits, worst {np.max(d / ulp):7.1f} ulp, "
          f"{kind} {worst:.3e} of {bound:.3e} documented: {'within' if ok else 'OUTSIDE'}")
sys.exit(bad)
