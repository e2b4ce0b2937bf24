"""Kernels of somebody else, judged."""

import os
import unittest

import kerf

from .common import ROOT

KERNELS = os.path.join(ROOT, "crates", "kerf", "tests", "judge", "axpy")


class Judgements(unittest.TestCase):
    def judge(self, name, **options):
        workload = os.path.join(KERNELS, "w.toml")
        return kerf.judge(os.path.join(KERNELS, name), workload, seeds=0, no_time=True, **options)

    def test_a_wrong_kernel_is_refused(self):
        j = self.judge("wrong_writes_outside.cu")
        self.assertFalse(j)
        self.assertEqual((j.decision, j.correct, j.speedup), ("refused", False, None))
        self.assertEqual(j.defects[0]["defect"], "write_outside")
        self.assertIn("writes outside", repr(j))

    def test_a_right_kernel_is_accepted(self):
        names = {"axpy": "scaled_sum", "x": "scaled", "y": "addend", "a": "factor", "out": "result", "n": "count"}
        j = self.judge("right_order.cu", map=names)
        self.assertTrue(j)
        self.assertEqual(j.defects, [])

    def test_what_cannot_be_judged_is_told_apart(self):
        with self.assertRaisesRegex(kerf.KerfError, "there is no file"):
            self.judge("none.cu")
        j = self.judge("right_vector.cu", tolerance=1e-15)
        self.assertIsNone(j.accepted)
        self.assertFalse(j)


if __name__ == "__main__":
    unittest.main()
