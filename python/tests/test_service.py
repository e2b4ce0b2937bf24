"""One process for many jobs: results and failures as of a process for each, and what it survives."""

import concurrent.futures
import contextlib
import os
import re
import signal
import stat
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np

import kerf
from kerf import _evaluation, _folder, _search, _service, kernel_tuner, workload
from kerf._program import call_json
from kerf._service import Service
from kerf.observers import BenchmarkObserver

N = 300
X = np.random.default_rng(5).random(N, dtype=np.float32)
SOURCE = """
__global__ void twice(const float *x, float *y, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (block_size_x == 64 && i == 7) __trap();
  if (i < n) y[i] += 2.0f * x[i];
}
"""
# The output is an input too: each configuration has to find it as it was.
Y = np.ones(N, np.float32)


def tune(blocks=(32, 64, 128, 256), **more):
    """Results without times of this machine, failures, and the environment."""
    source = more.pop("source", SOURCE)
    given = {"answer": [None, 2 * X + Y, None], "run_on": "cpu", "parallel": 1, "quiet": True, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kerf.KerfWarning)
        results, env = kerf.tune_kernel("twice", source, N, [X, Y, np.int32(N)], {"block_size_x": list(blocks)}, **given)
    return [(r["block_size_x"], r["time"]) for r in results], env["failed"]


class Counted:
    """The program, with a list of the words that it was started with."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.list = os.path.join(self._folder.name, "list")
        self.path = os.path.join(self._folder.name, "kerf")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\necho "$*" >> {self.list}\nexec {kerf.program()} "$@"\n')
        os.chmod(self.path, os.stat(self.path).st_mode | stat.S_IXUSR)
        self._named = unittest.mock.patch.dict(os.environ, {"KERF": self.path})

    def __enter__(self):
        self._named.start()
        return self

    def __exit__(self, *_):
        self._named.stop()
        self._folder.cleanup()

    @property
    def started(self):
        """The first words of each start."""
        with open(self.list, encoding="utf-8") as f:
            return [line.split()[0] for line in f]


class EndsTheProcess(BenchmarkObserver):
    """Kills the process once, while a configuration runs."""

    def __init__(self, evaluator_of):
        self._evaluator_of, self.killed = evaluator_of, False

    def before_start(self):
        if not self.killed:
            self.killed = True
            self._evaluator_of().service._process.child.send_signal(signal.SIGKILL)

    def get_results(self):
        return {}


class Tuning(unittest.TestCase):
    def test_one_process_does_all_configurations(self):
        with Counted() as program:
            results, failed = tune()
            self.assertEqual(program.started, ["serve"])
        self.assertEqual([b for b, _ in results], [32, 128, 256])
        # The configuration that trapped is told as such, and ended nothing.
        self.assertEqual([f["block_size_x"] for f in failed], [64])
        self.assertIn("trap", failed[0]["reason"])

    def test_results_are_those_of_a_process_for_each(self):
        by_one = tune()
        with unittest.mock.patch.object(Service, "call_json", lambda self, *a, ahead=(), **k: call_json(*a, **k)):
            with Counted() as program:
                by_many = tune()
                self.assertNotIn("serve", program.started)
        self.assertEqual(by_one[0], by_many[0])
        # Each has its files in a folder of its own.
        reasons = [[(f["block_size_x"], re.sub(r"\S*/", "", f["reason"])) for f in failed] for _, failed in (by_one, by_many)]
        self.assertEqual(*reasons)

    def test_several_at_once_share_it(self):
        with Counted() as program:
            results, failed = tune(parallel=3)
            self.assertEqual(program.started, ["serve"])
        self.assertEqual(([b for b, _ in results], len(failed)), ([32, 128, 256], 1))

    def test_a_process_that_is_killed_costs_nothing_but_time(self):
        evaluators = []
        made = kerf._evaluation.Evaluator.__init__

        def noted(self, *args, **more):
            evaluators.append(self)
            made(self, *args, **more)

        with unittest.mock.patch.object(kerf._evaluation.Evaluator, "__init__", noted):
            with Counted() as program:
                ends = EndsTheProcess(lambda: evaluators[0])
                results, failed = tune(observers=[ends])
                started = program.started
        self.assertTrue(ends.killed)
        self.assertEqual(([b for b, _ in results], len(failed)), ([32, 128, 256], 1))
        self.assertEqual(started.count("serve"), 2)

    def test_nothing_is_left_running(self):
        processes = []
        made = _service._Process.__init__

        def noted(self, *args):
            made(self, *args)
            processes.append(self.child)

        with unittest.mock.patch.object(_service._Process, "__init__", noted):
            tune(blocks=[32])
        self.assertEqual([p.poll() is None for p in processes], [False])


class AsOnAGpu(unittest.TestCase):
    """What is done on a GPU, with runs of the CPU executor in the place of its own."""

    def tune(self, **more):
        jobs = []
        ask = _service._Process.ask

        def noted(process, words, ahead):
            jobs.append((words, ahead))
            return ask(process, words, ahead)

        run = _evaluation.Evaluator._run

        def patient(evaluator, *args):
            """Begins to measure when what comes next is compiled."""
            concurrent.futures.wait(list(evaluator._expected.values()))
            return run(evaluator, *args)

        on_cpu = property(lambda self: {"device": "cpu"})
        with contextlib.ExitStack() as patched:
            for where, name, value in [
                (_evaluation.Device, "options", on_cpu),
                (_evaluation.Evaluator, "_run", patient),
                (_service._Process, "ask", noted),
                (_evaluation, "AHEAD", 2),
                (_search, "AHEAD", 2),
            ]:
                patched.enter_context(unittest.mock.patch.object(where, name, value))
            results, failed = tune(run_on="cuda", iterations=2, **more)
        return [b for b, _ in results], [f["block_size_x"] for f in failed], jobs

    def test_configurations_that_come_next_are_compiled_meanwhile(self):
        results, failed, jobs = self.tune()
        self.assertEqual((results, failed), ([32, 128, 256], [64]))
        runs = [(words, ahead) for words, ahead in jobs if words[0] == "run"]
        self.assertEqual(len(runs), 4)
        self.assertEqual(len([words for words, _ in jobs if words[0] == "inspect"]), 4)
        # Each is announced as it is run.
        done = [words for words, _ in runs]
        self.assertEqual([list(ahead) for _, ahead in runs], [done[1:3], done[2:4], done[3:4], []])

    def test_of_what_functions_make_nothing_is_made_before_its_turn(self):
        asked = []

        def source(params):
            asked.append(params["block_size_x"])
            return SOURCE

        results, _, jobs = self.tune(source=source, strategy_options={"max_fevals": 2})
        self.assertEqual((results, asked), ([32], [32, 64]))
        self.assertFalse(any(ahead for _, ahead in jobs))


class Jobs(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.close)

    def failure(self, call, words):
        with self.assertRaises(kerf.KerfError) as caught:
            call(words)
        e = caught.exception
        return e.message, e.help, e.code

    def test_failures_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "k.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write("__global__ void k(float *p) { undefined(); }\n")
            for words in (["run", "none.toml"], ["run"], ["inspect", source], ["inspect", source, "--kernel", "other"]):
                self.assertEqual(self.failure(self.service.call_json, words), self.failure(call_json, words), words)

    def test_an_other_environment_is_an_other_process(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "k.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write("__global__ void k(float *p) { *p = 1; }\n")
            self.service.call_json(["inspect", source])
            first = self.service._process.child
            self.service.call_json(["inspect", source])
            self.assertIs(self.service._process.child, first)
            with unittest.mock.patch.dict(os.environ, {"KERF_NO_CACHE": "1"}):
                self.service.call_json(["inspect", source])
            self.assertIsNot(self.service._process.child, first)
            self.assertIsNotNone(first.poll())

    def test_a_program_that_cannot_serve_is_called_for_each_job(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kerf")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\n[ "$1" = serve ] && exit 2\nexec {kerf.program()} "$@"\n')
            os.chmod(path, 0o755)
            with unittest.mock.patch.dict(os.environ, {"KERF": path}):
                for _ in range(_service.TRIES + 2):
                    message, _, _ = self.failure(self.service.call_json, ["run", "none.toml"])
                    self.assertIn("none.toml", message)

    def test_nothing_is_done_after_the_end(self):
        self.service.close()
        self.assertEqual(self.failure(self.service.call_json, ["run", "none.toml"])[0], _service.CLOSED)


class Outputs(unittest.TestCase):
    def test_large_ones_come_through_memory(self):
        n = _folder.LEAST_BYTES // 4
        x = np.arange(n, dtype=np.float32)
        w = kerf.Workload(SOURCE, "twice", -(-n // 256), 256, [x, kerf.InOut(np.ones_like(x)), np.int32(n)], flags=["-Dblock_size_x=256"])
        loaded = []
        load = workload._loaded

        def noted(path, in_memory):
            loaded.append((os.path.dirname(os.path.dirname(path)), in_memory))
            return load(path, in_memory)

        with unittest.mock.patch.object(workload, "_loaded", noted):
            with unittest.mock.patch.dict(os.environ):
                for name in ("TMPDIR", "TEMP", "TMP"):
                    os.environ.pop(name, None)
                memory = _folder.in_memory(x.nbytes)
                given = w.run(device="cpu").outputs["y"]
            with unittest.mock.patch.dict(os.environ, {"TMPDIR": tempfile.gettempdir()}):
                again = w.run(device="cpu").outputs["y"]
        if memory is not None:
            self.assertEqual(loaded[0], (memory, True))
        self.assertFalse(loaded[1][1])
        np.testing.assert_array_equal(given, 2 * x + 1)
        np.testing.assert_array_equal(given, again)
        self.assertIs(type(given), np.ndarray)
        given[0] = 5  # the caller's own
        self.assertEqual(given[0], 5)


class Comparison(unittest.TestCase):
    def test_pieces_are_compared_as_the_whole(self):
        n = 2 * _evaluation.PIECE + 5
        a = np.random.default_rng(1).random(n)
        for at, value in ((0, 2.0), (n - 1, np.nan), (_evaluation.PIECE, np.inf)):
            b = a.copy()
            self.assertTrue(_evaluation.all_close(a, b, 1e-8))
            b[at] = value
            self.assertFalse(_evaluation.all_close(a, b, 1e-8))
        self.assertTrue(_evaluation.all_close(a, np.full(1, 0.5), 1.0))


class Batches(unittest.TestCase):
    def test_configurations_of_random_sample_do_not_depend_on_how_many_are_asked_for_at_once(self):
        from kerf._strategy import drive

        def order(at_once):
            asked = []

            def measure(wanted, likely):
                asked.extend(w["a"] for w in wanted)
                return [1.0 + w["a"] for w in wanted]

            drive("random", {"a": list(range(50))}, [[i] for i in range(50)], 20, 3, at_once, measure)
            return asked

        self.assertEqual(order(1), order(16))

    def likely_that_came(self, strategy, lag):
        """How many configurations came that were likely when the last one was asked for, and how many came."""
        from kerf._strategy import drive

        said, came = [], []

        def measure(wanted, likely):
            came.append(bool(said) and all(w in said[-1] for w in wanted))
            said.append(list(likely))
            self.assertFalse([w for w in wanted if w in likely])
            return [1.0 + abs(w["a"] - 11) + abs(w["b"] - 5) for w in wanted]

        values = {"a": list(range(20)), "b": list(range(10))}
        drive(strategy, values, [[i, k] for i in range(20) for k in range(10)], 25, 3, 1, measure, lag)
        return sum(came), len(came)

    def test_strategies_say_what_is_likely_to_come_next(self):
        for strategy, lag in (("random", 1), ("guided", kernel_tuner.LAG), ("naive-ga", 1)):
            came, all_of_them = self.likely_that_came(strategy, lag)
            self.assertEqual(all_of_them, 25, strategy)
            # All but the first are known of random_sample.
            self.assertGreater(came, {"random": 23, "guided": 20, "naive-ga": 10}[strategy], strategy)


if __name__ == "__main__":
    unittest.main()
