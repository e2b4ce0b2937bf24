"""Sources, runs of kernels on numpy arrays, and failures in the words of the command line."""

import os
import tempfile
import unittest

import numpy as np

import kerf

from .common import AXPY, command


class Compiled(unittest.TestCase):
    def test_a_source_shows_its_kernels(self):
        p = kerf.compile(AXPY)
        self.assertEqual([q["name"] for q in p.kernels["axpy"]["params"]], ["a", "x", "y", "n"])
        self.assertIn(".visible .entry", p.ptx())
        fma = [s["id"] for s in p.kernels["axpy"]["sites"] if s["op"] == "fma"]
        self.assertEqual(len(fma), 1)
        narrow = {"version": 1, "kernels": {"axpy": {"sites": {str(fma[0]): "f32"}}}}
        self.assertIn("fma.rn.f32", p.ptx(narrow))
        self.assertNotIn("fma.rn.f32", p.ptx())


class Runs(unittest.TestCase):
    def test_arrays_in_and_out(self):
        x = np.linspace(-1, 1, 1000)
        y = np.ones_like(x)
        before = y.copy()
        w = kerf.Workload(AXPY, "axpy", "ceil_div(n, 128)", 128, [0.5, x, y, "n"], sizes={"n": 1000}, tolerance=1e-12)
        self.assertEqual(w.outputs, ["y"])  # x is a pointer to const
        r = w.run(reference=True)
        np.testing.assert_allclose(r.outputs["y"], 0.5 * x + before, rtol=1e-15)
        np.testing.assert_array_equal(y, before)  # the caller's array is not written to
        self.assertTrue(r.accepted)
        self.assertLess(r.errors["y"][0]["max_rel"], 1e-15)

    def test_shapes_types_and_symbols(self):
        source = """
        __constant__ float gain[4];
        __global__ void k(const float4 *in, float2 *out, unsigned char *mark, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) {
            float4 v = in[i];
            out[i] = make_float2(v.x * gain[0] + v.y, v.z + v.w * gain[3]);
            mark[i] = i;
          }
        }
        """
        rng = np.random.default_rng(3)
        a = rng.random((40, 4), dtype=np.float32)
        gain = np.array([2, 0, 0, 3], np.float32)
        out = kerf.Out((40,), np.complex64)
        mark = kerf.Out(np.zeros((5, 8), np.uint8), name="marks")
        w = kerf.Workload(source, "k", 2, 32, [a, out, mark, np.int32(40)], symbols={"gain": gain})
        r = w.run()
        expected = (a[:, 0] * 2 + a[:, 1]) + 1j * (a[:, 2] + a[:, 3] * 3)
        np.testing.assert_allclose(r.outputs["out"], expected, rtol=1e-6)
        self.assertEqual(r.outputs["out"].dtype, np.complex64)
        np.testing.assert_array_equal(r.outputs["marks"], np.arange(40, dtype=np.uint8).reshape(5, 8))

    def test_launches_share_arrays(self):
        x = np.full(64, 2.0)
        y = np.zeros(64)
        step = kerf.Launch("axpy", 1, 64, [0.5, x, y, 64])
        w = kerf.Workload(AXPY, launches=[step, step, step])
        np.testing.assert_array_equal(w.run().outputs["y"], 3.0)

    def test_macros_are_compiled_for_their_values(self):
        source = "__global__ void mark(double *y, int n) { int i = blockIdx.x * WIDE + threadIdx.x; if (i < n) y[i] = WIDE; }"
        w = kerf.Workload(
            source,
            "mark",
            "ceil_div(n, WIDE)",
            "WIDE",
            [kerf.Out(np.zeros(64)), "n"],
            sizes={"n": 64},
            launch_space={"WIDE": [16, 32]},
            macros=["WIDE"],
            default={"WIDE": 16},
        )
        np.testing.assert_array_equal(w.run().outputs["y"], 16.0)
        other = w.run(plan={"version": 1, "launch": {"WIDE": 32}})
        np.testing.assert_array_equal(other.outputs["y"], 32.0)

    def test_a_workload_file(self):
        w = kerf.Workload(AXPY, "axpy", 1, 64, [2.0, np.ones(64), np.zeros(64), 64])
        with tempfile.TemporaryDirectory() as d:
            path = w.save(d)
            self.assertEqual(sorted(os.listdir(d)), ["kernel.cu", "workload.toml", "x.npy", "y.npy"])
            np.testing.assert_array_equal(kerf.Workload.read(path).run().outputs["y"], 2.0)


class Failures(unittest.TestCase):
    """The same text as the command line, whatever goes wrong."""

    def same(self, act, *words):
        with self.assertRaises(kerf.KerfError) as caught:
            act()
        code, out, err = command("--quiet", *words)  # on a slow machine progress would stand before the message
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(f"error: {caught.exception}\n", err)
        self.assertEqual(caught.exception.code, 2)
        return caught.exception

    def test_sources(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "bad.cu")
            with open(path, "w") as f:
                f.write("__global__ void k(float *x) { x[0] = 1 }\n")
            e = self.same(lambda: kerf.compile(path), "inspect", path)
            self.assertIn("expected ';'", e.message)
            self.assertIsNotNone(e.help)
            gone = os.path.join(d, "gone.cu")
            self.same(lambda: kerf.compile(gone), "inspect", gone)
            good = os.path.join(d, "axpy.cu")
            with open(good, "w") as f:
                f.write(AXPY)
            wrong = lambda: kerf.Workload(good, "axpi", 1, 1, [])
            self.same(wrong, "inspect", good, "--kernel", "axpi")

    def test_runs(self):
        w = kerf.Workload(AXPY, "axpy", 1, 64, [2.0, np.ones(64), np.zeros(32), 64])
        e = self.same(lambda: w.run(memcheck=True), "run", w.path, "--memcheck")
        self.assertIn("out-of-bounds", e.message)
        bad = kerf.Workload(AXPY, "axpy", 0, 64, [2.0, np.ones(64), np.zeros(64), 64])
        self.same(bad.run, "run", bad.path)
        few = kerf.Workload(AXPY, "axpy", 1, 64, [2.0, np.ones(64)])
        self.same(few.run, "run", few.path)

    def test_results_and_files(self):
        with tempfile.TemporaryDirectory() as d:
            self.same(lambda: kerf.load(d), "explain", d)
            gone = os.path.join(d, "gone.toml")
            out = os.path.join(d, "out")
            asked = lambda: kerf.tune(gone, tolerance=1e-6, out=out, progress=False)
            self.same(asked, "tune", gone, "--tolerance", "1e-06", "--out", out)

    def test_options_that_are_not_there(self):
        w = kerf.Workload(AXPY, "axpy", 1, 64, [2.0, np.ones(64), np.zeros(64), 64])
        with self.assertRaisesRegex(kerf.KerfError, "unexpected argument '--speed' found"):
            w.run(speed=3)

    def test_arrays_that_have_no_type(self):
        with self.assertRaisesRegex(kerf.KerfError, "dtype bool has no element type"):
            kerf.Workload(AXPY, "axpy", 1, 1, [1.0, np.zeros(4, bool), np.zeros(4), 4])


if __name__ == "__main__":
    unittest.main()
