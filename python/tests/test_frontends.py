"""Kernels of other front ends. Numba, Triton and CuPy are not installed for tests (bench/python-frontends.py has them)."""

import types
import unittest

import numpy as np

import kerf
from kerf import frontends

from .common import AXPY


class Frontends(unittest.TestCase):
    def test_a_raw_kernel_is_its_source(self):
        kernel = types.SimpleNamespace(code=AXPY, name="axpy", options=("-DX=1", "--use_fast_math"))
        x, y = np.arange(4.0), np.ones(4)
        w = kerf.from_cupy(kernel, 1, 32, [2.0, x, y, np.int32(4)])
        np.testing.assert_array_equal(w.run().outputs["y"], 2 * x + y)
        self.assertEqual(w.flags, ["-DX=1"])
        with self.assertRaisesRegex(kerf.KerfError, "RawKernel"):
            kerf.from_cupy(types.SimpleNamespace(), 1, 1, [])

    def test_arrays_are_passed_as_numba_does(self):
        a = np.zeros((2, 3), np.float32)
        flat = frontends._flattened(a)
        self.assertEqual(flat[:4] + flat[5:], [0, 0, 6, 4, 2, 3, 12, 4])
        self.assertIs(flat[4], a)
        self.assertEqual(frontends._flattened(7), [7])
        with self.assertRaisesRegex(kerf.KerfError, "follow each other"):
            frontends._flattened(a.T)

    def test_types_are_those_of_tritons_launcher(self):
        given = [np.zeros(2, np.float32), kerf.In(np.zeros(2, np.int32)), 1.0, 3, 1 << 40, np.float64(2)]
        want = ["*fp32", "*i32", "fp32", "i32", "i64", "fp64"]
        self.assertEqual([frontends._triton_type(a) for a in given], want)
        with self.assertRaisesRegex(kerf.KerfError, "cannot be an argument"):
            frontends._triton_type("n")

    def test_ptx_has_one_kernel(self):
        self.assertEqual(frontends._entry(".visible .entry _Z1kv(\n)\n{ ret; }"), "_Z1kv")
        with self.assertRaisesRegex(kerf.KerfError, "2 kernels"):
            frontends._entry(".entry a()\n.entry b()")


if __name__ == "__main__":
    unittest.main()
