"""What the tests share: kernels, and the command line to compare with."""

import os
import subprocess

import kerf

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

AXPY = """\
__global__ void axpy(double a, const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

# The sum of squares needs few digits, the small difference needs all of them.
MIXED = """\
__global__ void mixed(const double *x, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double norm = 0.0;
  for (int k = 0; k < 8; k++) norm += x[i] * x[i] + k;
  double small = (x[i] + 1.0) - x[i];
  out[i] = sqrt(norm) + 1e-3 * small;
}
"""


def command(*words):
    """The program as a user calls it: code, standard output, standard error."""
    o = subprocess.run([kerf.program(), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return o.returncode, o.stdout, o.stderr
