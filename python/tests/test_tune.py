"""Tuning from arrays, what it gives, and calls of Kernel Tuner's."""

import csv
import io
import itertools
import json
import os
import tempfile
import unittest
import warnings

import numpy as np

import kerf
from kerf._strategy import STRATEGIES
from kerf._expressions import allowed as _allowed

from .common import MIXED, command


class Tuned(unittest.TestCase):
    """One search, looked at from all sides."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.x = np.random.default_rng(7).uniform(1, 2, 512)
        out = kerf.Out(np.zeros(512))
        w = kerf.Workload(MIXED, "mixed", 4, 128, [cls.x, out, np.int32(512)], tolerance=1e-5)
        cls.workload = w
        cls.out = os.path.join(cls.folder.name, "result")
        cls.result = kerf.tune(w, out=cls.out, budget=6, validate=2, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_verdict(self):
        r = self.result
        self.assertEqual(r.verdict, "tuned")
        self.assertGreater(r.speedup, 1.0)
        self.assertLessEqual(r.error, 1e-5)
        self.assertEqual(r.best["kind"], "predicted")
        self.assertIn("f32", r.best["formats"].values())

    def test_evaluations_are_rows(self):
        rows = self.result.evaluations
        self.assertEqual({r["phase"] for r in rows} & {"baseline", "search"}, {"baseline", "search"})
        self.assertTrue(all(set(r) == set(rows[0]) for r in rows))
        groups = [g["name"] for g in self.result.data["groups"]]
        self.assertTrue(set(groups) <= set(rows[0]))
        self.assertEqual(rows[0][groups[0]], "f64")
        code, text, _ = command("report", self.out, "--evaluations")
        lines = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual((code, len(lines)), (0, len(rows)))
        self.assertEqual([l["phase"] for l in lines], [r["phase"] for r in rows])

    def test_the_plan_does_what_was_promised(self):
        run = self.workload.run(reference=True, plan=self.result.plan)
        self.assertTrue(run.accepted)
        self.assertAlmostEqual(run.errors["out"][0]["max_rel"], self.result.error, delta=1e-3 * self.result.error)

    def test_pages_and_texts(self):
        r = self.result
        self.assertEqual(r.explain(), command("explain", self.out)[1])
        with open(r.report(os.path.join(self.folder.name, "page.html"))) as f:
            self.assertIn("<!doctype html>", f.read().lower())
        html = r._repr_html_()
        self.assertIn("<iframe sandbox=", html)
        self.assertNotIn("<script", html)  # the page is quoted inside the frame
        self.assertIn("tuned", repr(r))
        self.assertTrue(kerf.load(self.out).data["verdict"], "tuned")

    def test_it_can_be_checked_later(self):
        with open(os.path.join(self.out, "result.json")) as f:
            self.assertTrue(os.path.exists(json.load(f)["workload"]))

    def test_a_folder_that_is_taken(self):
        with self.assertRaises(kerf.KerfError) as e:
            kerf.tune(self.workload, out=self.out, budget=6, progress=False)
        self.assertIn("holds", str(e.exception))
        self.assertIn("--resume", str(e.exception))


VECTOR_ADD = """
#ifndef kernel_tuner
#define block_size_x 128
#endif
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
  __shared__ float part[block_size_x];   // a constant, as Kernel Tuner has it
  int i = (blockIdx.x * block_size_x + threadIdx.x) * per_thread;
  part[threadIdx.x] = WRONG;
  for (int k = 0; k < per_thread; k++)
    if (i + k < n) c[i + k] = a[i + k] + b[i + k] + part[threadIdx.x];
}
"""


class KernelTuner(unittest.TestCase):
    def setUp(self):
        self.n = 1000
        rng = np.random.default_rng(1)
        self.a, self.b = rng.random((2, self.n), dtype=np.float32)
        self.args = [np.zeros(self.n, np.float32), self.a, self.b, np.int32(self.n)]

    def tune(self, params, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kerf.KerfWarning)
            return kerf.tune_kernel(
                "vector_add", VECTOR_ADD, self.n, self.args, params,
                grid_div_x=["block_size_x", "per_thread"], quiet=True, run_on="cpu", **more,
            )  # fmt: skip

    def test_a_call_of_kernel_tuners(self):
        params = {"block_size_x": [32, 64, 2048], "per_thread": [1, 2], "WRONG": [0]}
        results, env = self.tune(
            params,
            answer=[self.a + self.b, None, None, None],
            restrictions=["block_size_x * per_thread <= 64 or block_size_x > 1024"],
            metrics={"GB/s": lambda p: 12e-6 * self.n / p["time"]},
        )
        self.assertEqual([(r["block_size_x"], r["per_thread"]) for r in results], [(32, 1), (32, 2), (64, 1)])
        self.assertTrue(all(r["time"] > 0 and r["GB/s"] > 0 and r["kind"] == "predicted" for r in results))
        self.assertEqual(env["best"], min(results, key=lambda r: r["time"]))
        self.assertEqual({f["block_size_x"] for f in env["failed"]}, {2048})
        self.assertIn("2048 x 1 x 1 threads; a block has 1 to 1024", env["failed"][0]["reason"])

    def test_what_is_not_the_answer_fails(self):
        _, env = self.tune(
            {"block_size_x": [64], "per_thread": [1], "WRONG": [0, 1]}, answer=[self.a + self.b, None, None, None]
        )
        self.assertEqual([f["WRONG"] for f in env["failed"]], [1])
        self.assertIn("is not the answer", env["failed"][0]["reason"])

    def test_verify_sees_all_arguments(self):
        seen = []

        def verify(answer, result, atol):
            seen.append([type(x) for x in result])
            return np.allclose(answer[0], result[0], atol=atol)

        params = {"block_size_x": [64], "per_thread": [1], "WRONG": [0]}
        results, _ = self.tune(params, answer=[self.a + self.b, None, None, None], verify=verify)
        self.assertEqual(len(results), 1)
        self.assertEqual(seen, [[np.ndarray] + [type(None)] * 3])

    def test_strategies_by_kernel_tuners_names(self):
        params = {"block_size_x": [32, 64, 128], "per_thread": [1, 2], "WRONG": [0]}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cache = os.path.join(folder.name, "c.json")
        all_of_them, env = self.tune(params, cache=cache)
        self.assertEqual((len(all_of_them), env["strategy"], env["ended"]), (6, "brute_force", "exhausted"))
        # From here on times are those of the file.
        for name in [*STRATEGIES, "guided"]:
            results, env = self.tune(
                params, cache=cache, simulation_mode=True, strategy=name, strategy_options={"max_fevals": 4}
            )
            self.assertTrue(1 <= len(results) <= 4, name)
            self.assertTrue(all(r in all_of_them for r in results), name)
            self.assertEqual(env["configurations"], 6)
        results, env = self.tune(
            params, cache=cache, simulation_mode=True, strategy="random_sample", strategy_options={"fraction": 0.5},
            restrictions=lambda p: p["per_thread"] == 1, objective="time",
        )  # fmt: skip
        self.assertEqual(len(results), 2)
        self.assertEqual({r["per_thread"] for r in results}, {1})
        with self.assertRaises(kerf.KerfError) as e:
            self.tune({**params, "WRONG": [0], "more": [1]}, cache=cache, simulation_mode=True)
        self.assertIn("cache of another search", str(e.exception))

    def test_restrictions_of_every_form(self):
        params = {"block_size_x": [32, 64, 128], "per_thread": [1, 2]}
        configs = [dict(zip(params, v)) for v in itertools.product(*params.values())]
        for r, count in [
            ("block_size_x * per_thread <= 64", 3),
            (["block_size_x > 32", lambda p: p["per_thread"] == 1], 2),
            (lambda block_size_x, per_thread: block_size_x == per_thread * 32, 2),
            (lambda p: p["block_size_x"] == 128, 2),
            (None, 6),
        ]:
            self.assertEqual(sum(_allowed(r, c) for c in configs), count)

    def test_what_does_not_map_is_refused_by_name(self):
        params = {"block_size_x": [64], "per_thread": [1], "WRONG": [0]}
        for more, word in [
            ({"strategy": "tabu"}, "no strategy 'tabu'"),
            ({"strategy": "pso", "strategy_options": {"wings": 2}}, "['wings']"),
            ({"strategy_options": {"fraction": 0.5}}, "brute_force takes"),
            ({"observers": [object()]}, "observers"),
            ({"texmem_args": {"t": self.a}}, "texmem_args"),
            ({"lang": "HIP"}, "lang 'HIP'"),
            ({"simulation_mode": True}, "takes its times from a cache"),
            ({"objective": "joy"}, "set objective_higher_is_better"),
            ({"restrictions": ["block_size_x > 64"]}, "no configuration satisfies"),
        ]:
            with self.assertRaises(kerf.KerfError) as e:
                self.tune(params, **more)
            self.assertIn(word, str(e.exception))


if __name__ == "__main__":
    unittest.main()
