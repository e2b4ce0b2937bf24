"""Outputs that are compared with an answer where they are: verdicts are those of ``numpy.allclose``."""

import os
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np

import kerf
from kerf import _evaluation
from kerf._closeness import RTOL, is_numpys
from kerf._service import Service
from kerf.accuracy import AccuracyObserver

TYPES = {
    "f2": "_Float16", "f4": "float", "f8": "double",
    "i1": "signed char", "u1": "unsigned char", "i2": "short", "u2": "unsigned short",
    "i4": "int", "u4": "unsigned", "i8": "long long", "u8": "unsigned long long",
}  # fmt: skip
N = 400
#: A kernel that leaves an output of each type as it is.
NOTHING = "__global__ void nothing(" + ", ".join(f"{c} *{t}" for t, c in TYPES.items()) + ") {}\n"


def numbers(dtype, seed):
    """Numbers around each other's tolerances, special ones and any."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        x = random.integers(0, 3, N).astype(dtype)
        x[::7] = np.iinfo(dtype).max
        x[3::7] = np.iinfo(dtype).min
        return x
    x = (1 + random.integers(-8, 8, N) * np.finfo(dtype).eps).astype(dtype)
    x[1::5] = 1 + 1e-5 * random.random(len(x[1::5]))
    x[2::5] = 1e-6 * random.integers(0, 3, len(x[2::5]))
    x[3::25] = random.choice(np.array([np.inf, -np.inf, np.nan, 0, -0.0, np.finfo(dtype).max]), len(x[3::25]))
    return x


class Rule(unittest.TestCase):
    def test_every_pair_of_types_is_compared_as_numpy_does(self):
        outputs = {t: numbers(t, k) for k, t in enumerate(TYPES)}
        buffers = {t: kerf.InOut(x, name=f"of_{t}") for t, x in outputs.items()}
        service = Service()
        self.addCleanup(service.close)
        w = kerf.Workload(NOTHING, "nothing", 1, 1, list(buffers.values()), call=service.call_json)
        decided = set()
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            for k, expected_type in enumerate(TYPES):
                expected = numbers(expected_type, 50 + k)
                path = os.path.join(folder, f"{expected_type}.npy")
                np.save(path, expected)
                for atol in (0.0, 1e-8, 1e-6, 0.7):
                    answers = {f"of_{t}": path for t in TYPES}
                    run = w.run(device="cpu", outputs=False, no_digests=True, repeats=1, warmup=0, answer=answers, rtol=RTOL, atol=atol)
                    for o in run.data["outputs"]:
                        have = outputs[o["name"][3:]]
                        case = f"{expected_type} expected, {o['element']}, atol {atol}"
                        self.assertTrue(is_numpys(expected, have, atol), case)
                        close = np.isclose(expected, have, atol=atol)
                        found = o["answer"]
                        decided |= {(expected_type, have.dtype.str[1:], bool(c)) for c in close}
                        beyond = np.flatnonzero(~close)
                        self.assertEqual((found["values"], found["beyond"]), (N, len(beyond)), case)
                        self.assertEqual(found["first_beyond"], int(beyond[0]) if len(beyond) else None, case)
                        self.assertEqual(found["accepted"], np.allclose(expected, have, atol=atol), case)
        # Each pair has had numbers that are close and numbers that are not.
        self.assertEqual(len(decided), 2 * len(TYPES) ** 2)

    def test_what_numpy_does_otherwise_is_left_to_it(self):
        x = np.ones(4, np.float32)
        self.assertTrue(is_numpys(x, x, 1e-6))
        for expected, have, atol in [
            (x, np.ones(1, np.float32), 1e-6),
            (x.astype(complex), x.astype(complex), 1e-6),
            (x.astype(bool), x, 1e-6),
            (x.astype(">f4"), x, 1e-6),
            ([1.0] * 4, x, 1e-6),
            (x, x, np.float64(1e-6)),
            (x, x, -1.0),
            (x, x, float("nan")),
        ]:
            # numpy before 2 takes a scalar of f64 for any float.
            if isinstance(atol, np.float64) and (atol + x).dtype == x.dtype:
                continue
            self.assertFalse(is_numpys(expected, have, atol), (expected, atol))


X = np.random.default_rng(5).random(300, dtype=np.float32)
SOURCE = """
__global__ void twice(const float *x, float *y, int *counts, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i >= n) return;
  y[i] = 2.0f * x[i];
#if WRONG == 1
  if (i == 7 || i == 20) y[i] += 0.5f;
#elif WRONG == 2
  if (i == 9) y[i] = __int_as_float(0x7fffffff);
#elif WRONG == 3
  if (i == 9) y[i] *= 1.000001f;
#elif WRONG == 4
  if (i == 299) counts[i] = 5;
#endif
}
"""
COUNTS = np.arange(300, dtype=np.int32)


class Tuning(unittest.TestCase):
    def tune(self, **more):
        given = {"answer": [None, 2 * X, COUNTS, None], "run_on": "cpu", "parallel": 1, "quiet": True, **more}
        source = given.pop("source", SOURCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kerf.KerfWarning)
            results, env = kerf.tune_kernel(
                "twice", source, 300, [X, np.zeros_like(X), COUNTS, np.int32(300)], {"block_size_x": [64], "WRONG": [0, 1, 2, 3, 4]}, **given
            )
        return [r["WRONG"] for r in results], {f["WRONG"]: f["reason"] for f in env["failed"]}

    def test_verdicts_are_those_of_this_process(self):
        read = []
        outputs_of = _evaluation.outputs_of

        def noted(*args):
            read.append(outputs_of(*args))
            return read[-1]

        with unittest.mock.patch.object(_evaluation, "outputs_of", noted):
            good, failed = self.tune()
            self.assertEqual(read, [])
            with unittest.mock.patch.object(_evaluation, "is_numpys", lambda *_: False):
                good_here, failed_here = self.tune()
            self.assertEqual(len(read), 5)
        self.assertEqual((good, sorted(failed)), ([0, 3], [1, 2, 4]))
        self.assertEqual((good_here, sorted(failed_here)), (good, sorted(failed)))
        self.assertEqual(
            failed[1], "argument 1 is not the answer: 2 of 300 values are beyond the tolerance, the first at 7; the largest difference is 0.5"
        )
        self.assertEqual(
            failed[2], "argument 1 is not the answer: 1 of 300 values are beyond the tolerance, the first at 9; 1 of them NaN or infinite on a side"
        )
        self.assertTrue(failed[4].startswith("argument 2 is not the answer: 1 of 300"), failed[4])
        for wrong, why in failed_here.items():
            self.assertTrue(failed[wrong].startswith(why), (failed[wrong], why))

    def test_a_function_and_observers_get_arrays(self):
        seen = []

        def verify(answer, result, atol):
            seen.append(result[1].copy())
            return True

        good, _ = self.tune(verify=verify)
        self.assertEqual((good, len(seen)), ([0, 1, 2, 3, 4], 5))
        np.testing.assert_array_equal(seen[0], 2 * X)
        good, _ = self.tune(observers=[AccuracyObserver("max")])
        self.assertEqual(good, [0, 1, 2, 3, 4])

    def test_the_tolerance_counts(self):
        self.assertEqual(self.tune(atol=0.6)[0], [0, 1, 3])
        # None is numpy's own.
        self.assertEqual(self.tune(atol=None)[0], [0, 3])

    def test_an_answer_of_another_size_is_numpys_failure(self):
        with self.assertRaises(ValueError):
            self.tune(answer=[None, X[:10], None, None])


if __name__ == "__main__":
    unittest.main()
