"""What scripts of Kernel Tuner use beside ``tune_kernel`` itself: modules, observers, strategies, files."""

import contextlib
import io
import json
import os
import tempfile
import types
import unittest
import unittest.mock
import warnings

import numpy as np

import kerf as kernel_tuner
from kerf import accuracy, file_utils, integration, kernelbuilder, util
from kerf.energy import energy
from kerf.observers import BenchmarkObserver, OutputObserver, ncu, nvml, pmt, tegra
from kerf.searchspace import Searchspace
from kerf.strategies.common import CostFunc, get_options
from kerf.strategies.wrapper import OptAlg, OptAlgWrapper

N = 300
A, B = np.random.default_rng(3).random((2, N), dtype=np.float32)
ARGS = [np.zeros(N, np.float32), A, B, np.int32(N)]
ADD = """
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
TEMPLATE = """
#include <cuda_fp16.h>
using half = __half;
template <typename T, int block> __global__ void add(int n, const T *a, const T *b, T *c) {
  int i = blockIdx.x * block + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""


def quietly(function, *args, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kernel_tuner.KerfWarning)
        return function(*args, **more)


def tune(params, **more):
    """A search on the CPU executor."""
    own = {"quiet": True, "run_on": "cpu", **more}
    source = own.pop("source", ADD)
    return quietly(kernel_tuner.tune_kernel, own.pop("name", "vector_add"), source, N, own.pop("args", ARGS), params, **own)


class CudaArray:
    """An array of another library, as far as copies to and from it go."""

    def __init__(self, array):
        self.host = array.copy()
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (1, False), "version": 3}

    def get(self):
        return self.host.copy()

    def set(self, array):
        self.host[...] = array


class Kernels(unittest.TestCase):
    def test_run_kernel_gives_the_arguments(self):
        got = quietly(kernel_tuner.run_kernel, "vector_add", ADD, (N, 1), ARGS, {"block_size_x": 64}, run_on="cpu")
        np.testing.assert_array_equal(got[0], A + B)
        np.testing.assert_array_equal(got[1], A)
        self.assertEqual(got[3], N)
        self.assertFalse(ARGS[0].any())  # the caller's array is as it was

    def test_arrays_of_other_libraries_are_written_to(self):
        c = CudaArray(ARGS[0])
        kernel = kernelbuilder.PythonKernel("vector_add", ADD, N, [c, A, B, np.int32(N)], {"block_size_x": 32})
        result = kernel(c, A, B, np.int32(N))
        self.assertIs(result[0], c)
        np.testing.assert_array_equal(c.host, A + B)

    def test_a_python_kernel_gives_its_outputs(self):
        add = kernelbuilder.PythonKernel(
            "vector_add", ADD, N, ARGS, {"block_size_x": 128}, inputs=[False, True, True, True], outputs=[True, False, False, False]
        )
        (c,) = add(ARGS[0], A, B, np.int32(N))
        np.testing.assert_array_equal(c, A + B)
        with self.assertRaisesRegex(kernel_tuner.KerfError, "2 arguments were given"):
            add(A, B)

    def test_precision_as_a_parameter_of_a_template(self):
        a, b = A.astype(np.float64), B.astype(np.float64)
        args = [np.int32(N)] + [accuracy.TunablePrecision("real", x) for x in (a, b, np.zeros(N))]
        results, env = tune(
            {"block_size_x": [64], "real": ["double", "float", "half"]},
            name="add<real, block_size_x>", source=TEMPLATE, args=args, answer=[None, None, None, a + b],
            observers=[accuracy.AccuracyObserver("RMSE", "rmse"), lambda: accuracy.AccuracyObserver("max relative error", "worst")],
        )  # fmt: skip
        self.assertEqual(env["failed"], [])
        errors = [r["rmse"] for r in results]
        self.assertEqual(errors[0], 0.0)
        self.assertTrue(0 < errors[1] < 1e-7 < 1e-5 < errors[2] < 1e-3, errors)
        self.assertTrue(1e-4 < results[2]["worst"] < 1e-3, results[2])

    def test_generators_and_auxiliary_files(self):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "size.h"), "w") as f:
                f.write("#define SIZE block_size_x\n")
            text = '#include "size.h"\n' + ADD.replace("* block_size_x", "* SIZE")
            sources = [lambda p: text.replace("SIZE", str(p["block_size_x"])), [text, os.path.join(d, "size.h")]]
            for source in sources[1:]:
                _, env = tune({"block_size_x": [32]}, source=source, answer=[A + B, None, None, None])
                self.assertEqual(env["failed"], [])
        _, env = tune({"block_size_x": [32]}, source=lambda p: ADD.replace("block_size_x", str(p["block_size_x"])), defines={})
        self.assertEqual(env["best"]["block_size_x"], 32)


class Seen(BenchmarkObserver):
    """Notes its calls."""

    def __init__(self):
        self.calls = []

    def register_device(self, dev):
        super().register_device(dev)
        self.calls.append("device")

    def register_configuration(self, params):
        self.calls.append(params["block_size_x"])

    def before_start(self):
        self.calls.append("before")

    def during(self):
        if self.calls[-1] != "during":
            self.calls.append("during")

    def after_start(self):
        self.calls.append("after_start")

    def after_finish(self):
        self.calls.append("finish")

    def get_results(self):
        return {"seen": len(self.calls)}


class Observers(unittest.TestCase):
    def test_calls_come_in_order_and_results_are_metrics(self):
        seen = Seen()
        results, _ = tune(
            {"block_size_x": [64]}, observers=[seen], metrics={"GB/s": "12 / (time / 1000) / 1e9", "twice": "2 * GB/s + seen"}
        )
        self.assertEqual(seen.calls, ["device", 64, "before", "after_start", "during", "finish"])
        self.assertEqual(results[0]["seen"], 6)
        self.assertAlmostEqual(results[0]["twice"], 2 * results[0]["GB/s"] + 6)
        self.assertEqual((seen.dev.gpu, seen.dev.name), (None, "h200"))

    def test_output_observers_judge(self):
        class Sum(OutputObserver):
            def process_output(self, answer, output):
                self.sums = float(np.sum(answer[0])), float(np.sum(output[0]))

            def get_results(self):
                return {"sums": self.sums}

        wrong = A + B + 1
        results, env = tune({"block_size_x": [64]}, observers=[Sum()], answer=[wrong, None, None, None])
        self.assertEqual(env["failed"], [])
        self.assertAlmostEqual(results[0]["sums"][0] - results[0]["sums"][1], N, delta=0.01)

    def test_hardware_that_is_not_here_is_named(self):
        for make, word in [
            (lambda: ncu.NCUObserver(metrics=["dram__bytes.sum"]), "NCUObserver"),
            (lambda: pmt.PMTObserver([("nvidia", 0)]), "PMTObserver"),
            (lambda: tegra.TegraObserver(["core_freq"]), "TegraObserver"),
            (lambda: nvml.NVMLObserver(["joy"]), "NVMLObserver"),
            (energy.create_power_frequency_model, "sets no clocks"),
        ]:
            with self.assertRaisesRegex(kernel_tuner.UnsupportedError, word):
                make()

    def test_nvml_by_a_library_that_is_not_nvidias(self):
        class Lib(types.SimpleNamespace):
            NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 0, 2, 0
            nvmlDeviceGetHandleByIndex = staticmethod(lambda i: i)
            nvmlDeviceGetTemperature = staticmethod(lambda d, k: 40)
            nvmlDeviceGetClockInfo = staticmethod(lambda d, k: 1980 if k == 0 else 3201)

        with unittest.mock.patch.object(nvml, "_nvml", Lib):
            o = nvml.NVMLObserver(["temperature", "core_freq", "nvml_energy", "nvml_power"])
            self.assertTrue(o.wants_energy)
            o.before_start()
            o.during()
            o.after_finish()
            o.process_energy(0.5, 300.0)
            want = {"temperature": 40.0, "core_freq": 1980.0, "nvml_energy": 0.5, "nvml_power": 300.0}
            self.assertEqual(o.get_results(), want)
            with self.assertRaisesRegex(kernel_tuner.UnsupportedError, "CPU executor"):
                o.register_device(types.SimpleNamespace(gpu=None))


class Gpu(unittest.TestCase):
    """What is asked of the program on a GPU, with a program that only notes it."""

    def test_times_are_measured_and_energy_is_an_observation(self):
        asked = []

        class Noting(types.SimpleNamespace):
            def run(self, **options):
                asked.append(options)
                data = {"times": {"median_s": 2e-3, "samples_s": [1e-3, 2e-3, 3e-3]}, "energy": {"per_run_j": 0.25, "mean_w": 125.0}}
                return kernel_tuner.Run(data, {}, 0)

        class Power(Seen):
            wants_energy, continuous_duration = True, 3

            def process_energy(self, joules, watts):
                self.energy = {"J": joules, "W": watts}

            def get_results(self):
                return self.energy

        with unittest.mock.patch("kerf._configuration.KernelCall.workload", lambda *_, **__: Noting()):
            results, env = tune({"block_size_x": [64]}, run_on="cuda", device=1, iterations=3, observers=[Power()], metrics={"W*ms": "W * time"})
        (only,) = results
        want = {"time": 2.0, "times": [1.0, 2.0, 3.0], "kind": "measured", "J": 0.25, "W": 125.0, "W*ms": 250.0}
        self.assertEqual({k: only[k] for k in want}, want)
        self.assertEqual(asked, [{"device": "cuda", "gpu": 1, "outputs": False, "no_digests": True, "repeats": 3, "warmup": 1, "energy": 3.0}])
        self.assertEqual((env["device"], env["device_name"], env["profile"]), ("cuda", "cuda 1", None))


class Strategies(unittest.TestCase):
    """Searches over times of a cache."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cache = os.path.join(cls.folder.name, "times.json")
        cls.params = {"block_size_x": [32, 64, 128, 256], "k": [1, 2, 3]}
        entries = {}
        for x in cls.params["block_size_x"]:
            for k in cls.params["k"]:
                time = abs(x - 128) / 32 + abs(k - 2) + 1.0
                entries[f"{x},{k}"] = {"block_size_x": x, "k": k, "time": time, "energy": 10 - time}
        document = {
            "kernel_name": "vector_add", "problem_size": N, "tune_params_keys": ["block_size_x", "k"],
            "tune_params": cls.params, "cache": entries,
        }  # fmt: skip
        with open(cls.cache, "w") as f:
            json.dump(document, f)

    def search(self, **more):
        return tune(self.params, cache=self.cache, simulation_mode=True, **more)

    def test_modules_are_strategies(self):
        for module in (kernel_tuner.strategies.minimize, kernel_tuner.strategies.random_sample):
            results, env = self.search(strategy=module, strategy_options={"max_fevals": 5})
            self.assertEqual(env["strategy"], {"minimize": "local", "random_sample": "random"}[module.strategy_name])
            self.assertTrue(1 <= len(results) <= 5)
        import kerf.strategies.genetic_algorithm as ga

        self.assertTrue(callable(ga.tune))
        with self.assertRaisesRegex(AttributeError, "no strategy 'tabu'"):
            kernel_tuner.strategies.tabu

    def test_an_algorithm_of_ones_own(self):
        class Downhill(OptAlg):
            """The best neighbour until there is no better one."""

            def __call__(self, func, searchspace):
                at = searchspace.get_random_sample(1)[0]
                cost = func(at)
                while func.budget_spent_fraction < 1:
                    costs = {n: func(n) for n in searchspace.get_neighbors(at, "adjacent")}
                    best = min(costs, key=costs.get)
                    if costs[best] >= cost:
                        return
                    at, cost = best, costs[best]

        results, env = self.search(strategy=OptAlgWrapper(Downhill()), seed=5)
        self.assertEqual((env["best"]["block_size_x"], env["best"]["k"], env["strategy"]), (128, 2, "OptAlgWrapper"))
        results, env = self.search(strategy=OptAlgWrapper(Downhill()), strategy_options={"max_fevals": 3}, seed=5)
        self.assertEqual(len(results), 3)

    def test_a_strategy_by_its_function(self):
        class Corners:
            def tune(self, searchspace, runner, tuning_options):
                (count,) = get_options(tuning_options.strategy_options, {"count": ("how many", 2)})
                cost = CostFunc(searchspace, tuning_options, runner, scaling=True)
                self.costs = [cost([0.0, 0.0]), cost([1.0, 1.0])]
                self.outside = CostFunc(searchspace, tuning_options, runner, snap=False)([7, 7])
                return runner.run(searchspace.sorted_list()[:count], tuning_options)

        corners = Corners()
        _, env = self.search(strategy=corners, strategy_options={"count": 4})
        self.assertEqual(corners.costs, [5.0, 6.0])
        self.assertEqual(corners.outside, np.finfo(float).max)
        with self.assertRaisesRegex(kernel_tuner.KerfError, "no function tune"):
            self.search(strategy=object())

    def test_several_objectives_have_several_best(self):
        results, env = self.search(objective=["time", "energy"], objective_higher_is_better=[False, False])
        self.assertEqual(len(env["best"]), len(results))  # what takes less time takes more energy
        self.assertEqual(util.get_pareto_results(results, ["time"], [False]), [env["best"][i] for i in (7,)])
        self.assertEqual(util.get_best_config(results, "energy", True)["time"], 1.0)

    def test_a_cache_is_a_space(self):
        results, env = kernel_tuner.tune_cache(self.cache, restrictions="k < 3")
        self.assertEqual((len(results), env["best"]["time"]), (8, 1.0))

    def test_the_space(self):
        space = Searchspace({"a": [1, 2, 4], "b": [1, 2], "c": ["x", "y"]}, ["a * b <= 4", lambda p: p["c"] == "x" or p["b"] == 1], seed=1)
        self.assertEqual(space.size, 8)
        self.assertTrue(space.is_param_config_valid((4, 1, "y")))
        self.assertFalse(space.is_param_config_valid((2, 2, "y")))
        self.assertEqual(set(space.get_neighbors((4, 1, "x"), "Hamming")), {(1, 1, "x"), (2, 1, "x"), (4, 1, "y")})
        self.assertEqual(set(space.get_neighbors((4, 1, "x"), "adjacent")), {(2, 1, "x"), (2, 1, "y"), (4, 1, "y"), (2, 2, "x")})
        self.assertEqual(len(set(space.get_random_sample(8))), 8)
        self.assertEqual(len(set(space.get_LHS_sample(4))), 4)
        self.assertEqual(space.get_param_config_from_param_indices(space.get_param_indices((4, 2, "x"))), (4, 2, "x"))
        with self.assertRaisesRegex(kernel_tuner.KerfError, "there are Hamming"):
            space.get_neighbors((1, 1, "x"), "far")


class Failures(unittest.TestCase):
    def test_what_fails_alike_everywhere_is_said_once(self):
        said = io.StringIO()
        wrong = ADD.replace("a[i]", "nothing")
        with unittest.mock.patch("kerf._search.SAME_FAILURES", 3), contextlib.redirect_stderr(said):
            with self.assertRaisesRegex(kernel_tuner.KerfError, "3 configurations all failed, and alike") as e:
                tune({"block_size_x": list(range(32, 1025))}, source=wrong, quiet=False, verbose=True)
            self.assertEqual(str(e.exception).count("identifier 'nothing'"), 1)
            self.assertNotIn("nothing", said.getvalue())
            some = "#if block_size_x > 64\n#error too large\n#endif\n" + ADD
            _, env = tune({"block_size_x": [32, 96, 128]}, source=some, quiet=False)
        self.assertEqual(len(env["failed"]), 2)
        self.assertEqual(said.getvalue().count("too large"), 1, said.getvalue())
        self.assertIn("2 of 3 configurations failed", said.getvalue())

    def test_what_is_not_there_of_the_machine_ends_the_search(self):
        with unittest.mock.patch.dict(os.environ, {"KERF": "/nowhere/kerf"}):
            with self.assertRaisesRegex(kernel_tuner.KerfError, "could not run /nowhere/kerf"):
                tune({"block_size_x": [32, 64]})

    def test_refusals_have_one_type(self):
        for more, word in [
            ({"texmem_args": {"t": A}}, "texmem_args"),
            ({"lang": "C"}, "host code"),
            ({"parallel_runner": 4}, "parallel_runner"),
            ({"source": "kernel.F90"}, "kernel.F90"),
            ({"source": '#include <omp.h>\nextern "C" float vector_add(float *c) { return 0; }'}, "host code is not tuned"),
        ]:
            with self.assertRaisesRegex(kernel_tuner.UnsupportedError, word):
                tune({"block_size_x": [32]}, **more)
        with self.assertRaisesRegex(kernel_tuner.UnsupportedError, "sets no clocks"):
            tune({"block_size_x": [32], "nvml_gr_clock": [1000]})
        with self.assertRaisesRegex(kernel_tuner.KerfError, "is no BenchmarkObserver"):
            tune({"block_size_x": [32]}, observers=[3])

    def test_modules_that_are_not_here_say_why(self):
        with self.assertRaisesRegex(kernel_tuner.UnsupportedError, "utils has no counterpart in Kerf: directives"):
            from kerf.utils.directives import Code  # noqa: F401
        with self.assertRaisesRegex(kernel_tuner.UnsupportedError, "hyper has no counterpart"):
            import kerf.hyper  # noqa: F401
        with self.assertRaisesRegex(kernel_tuner.UnsupportedError, "tune_kernel_T1"):
            kernel_tuner.tune_kernel_T1("input.json")
        with self.assertRaises(ModuleNotFoundError):
            import kerf.nothing  # noqa: F401
        self.assertFalse(hasattr(kernel_tuner, "nothing"))

    def test_a_limit_for_scripts_that_set_none(self):
        with unittest.mock.patch.dict(os.environ, {"KERF_TUNE_KERNEL_SECONDS": "1e-9"}):
            with self.assertRaisesRegex(kernel_tuner.KerfError, "the time limit was over"):
                tune({"block_size_x": [32, 64]})
        with unittest.mock.patch.dict(os.environ, {"KERF_TUNE_KERNEL_SECONDS": "soon"}):
            with self.assertRaisesRegex(kernel_tuner.KerfError, "seconds are expected"):
                tune({"block_size_x": [32]})


RESULTS = [
    {"block_size_x": 64, "time": 2.0, "times": [2.0, 2.0], "compile_time": 7.0, "kind": "measured", "GB/s": np.float64(3)},
    {"block_size_x": 128, "time": 1.0, "kind": "measured"},
    {"block_size_x": 256, "time": util.RuntimeFailedConfig("too large")},
]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_results_in_t4(self):
        path = os.path.join(self.folder, "deep", "out")
        file_utils.store_output_file(path, RESULTS, {"block_size_x": [64, 128, 256]})
        with open(path + ".json") as f:
            t4 = json.load(f)
        first, _, failed = t4["results"]
        self.assertEqual(first["configuration"], {"block_size_x": 64})
        self.assertEqual(first["times"]["runtimes"], [2.0, 2.0])
        self.assertEqual(first["times"]["compilation"], 7.0)
        want = [{"name": "time", "value": 2.0, "unit": "ms"}, {"name": "GB/s", "value": 3.0, "unit": ""}]
        self.assertEqual(first["measurements"], want)
        self.assertEqual((first["invalidity"], failed["invalidity"], failed["correctness"]), ("correct", "runtime", 0))

    def test_metadata_names_the_machine(self):
        path = os.path.join(self.folder, "meta.json")
        file_utils.store_metadata_file(path)
        with open(path) as f:
            meta = json.load(f)["metadata"]
        self.assertTrue(meta["operating_system"])
        self.assertTrue(any(r.startswith("numpy==") for r in meta["environment"]["requirements"]))

    def test_results_by_gpu(self):
        path = os.path.join(self.folder, "kept.json")
        params = {"block_size_x": [64, 128, 256]}
        for name, size in (("A 100", 10), ("A 100", (10, 20)), ("H200", 10)):
            integration.store_results(path, "k", "source", params, size, RESULTS, {"device_name": name}, top=1)
        kept = integration.TuneResults(path)
        self.assertEqual(kept.get_best_config("A 100", (10, 20)), {"block_size_x": 128})
        self.assertEqual(kept.get_best_config("other"), {"block_size_x": 128})
        header = os.path.join(self.folder, "best.h")
        integration.create_device_targets(header, path)
        with open(header) as f:
            text = f.read()
        self.assertIn("#if defined(TARGET_A_100)\n#define block_size_x 128\n#elif defined(TARGET_H200)", text)

    def test_functions_of_util(self):
        self.assertEqual(util.get_config_string({"x": 3, "time": 0.5}, units={"time": "ms"}), "x=3, time=0.500ms")
        self.assertEqual(util.get_instance_string({"x": 3, "y": "a"}), "3_a")
        self.assertEqual(util.get_best_config(RESULTS, "time")["block_size_x"], 128)
        self.assertEqual(util.get_problem_size(("n * 2", 5), {"n": 3}), (6, 5, 1))
        self.assertEqual(util.get_grid_dimensions((100, 10), {"bx": 32}, (["bx", 2], None, []), ["bx"]), (2, 10, 1))
        self.assertEqual(util.replace_param_occurrences("a*b+ab", {"a": 2, "b": 3}), "2*3+ab")
        self.assertEqual(util.detect_language("__kernel void k() {}"), "OpenCL")
        self.assertTrue(util.check_restrictions(["x > 2", "x % 2"], {"x": 3}))
        self.assertEqual(json.loads(json.dumps({"x": np.float32(0.5), "y": np.arange(2)}, cls=util.NpEncoder)), {"x": 0.5, "y": [0, 1]})


class Numbers(unittest.TestCase):
    def test_error_metrics(self):
        x, y = np.array([1.0, 2, 3]), np.array([1.1, 2, 2.5])
        # As Kernel Tuner 1.5 computes them.
        for name, want in [
            ("RMSE", 0.2943920288775949), ("mse", 0.08666666666666667), ("absolute error", 0.2), ("mre", 0.0888888888888889),
            ("NRMSE", 0.13627702877384937), ("rmsre", 0.11221672153736644), ("max", 0.5), ("MALE", 0.04019131017383571),
            ("rmsle", 0.05158495915066414), ("max_rel", 1 / 6),
        ]:  # fmt: skip
            self.assertAlmostEqual(accuracy.error_metric_from_name(name)(x, y), want, places=12, msg=name)
        with self.assertRaisesRegex(kernel_tuner.KerfError, "no error metric 'joy'"):
            accuracy.error_metric_from_name("joy")

    def test_arguments_by_parameter(self):
        t = accuracy.Tunable("layout", {"c": A, "f": B})
        self.assertIs(t.select_for_configuration({"layout": "f"}), B)
        with self.assertRaisesRegex(kernel_tuner.KerfError, "no array for layout = 'x'"):
            t.select_for_configuration({"layout": "x"})
        p = accuracy.TunablePrecision("t", A)
        self.assertIs(p["float"], A)
        self.assertEqual((p["half"].dtype, p.select_for_configuration({"t": "double"}).dtype), (np.float16, np.float64))

    def test_power_by_clock(self):
        clocks = np.linspace(500, 1900, 15)
        power = 60 * energy.estimated_power(clocks - 500, 700, 2.0, 1.5, 50)
        ridge, fitted, scale = energy.fit_power_frequency_model(clocks, power)
        again = scale[1] * energy.estimated_power(clocks - scale[0], *fitted)
        self.assertLess(np.max(np.abs(again - power) / power), 0.02)
        self.assertLess(abs(ridge - 1200), 60)
        near = energy.get_frequency_range_around_ridge(1000, np.arange(500, 1600, 50), 10, 5)
        self.assertEqual([int(f) for f in near], [900, 950, 1000, 1050, 1100])


if __name__ == "__main__":
    unittest.main()
