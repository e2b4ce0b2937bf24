"""``tuned``: a kernel that tunes itself, with a driver that notes launches in place of a GPU's."""

import ctypes
import os
import tempfile
import types
import unittest
import unittest.mock

import numpy as np

import kerf
from kerf import _driver, selftuning

from .common import AXPY, MIXED

N = 512


class OnDevice:
    """An array with ``__cuda_array_interface__``, whose memory is the host's."""

    def __init__(self, array, **more):
        self.host = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False), "version": 3, **more,
        }  # fmt: skip


class Tensor:
    """An array that has DLPack alone, of a device."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)


class Noting:
    """A driver that notes what is loaded and launched."""

    def __init__(self):
        self.loaded, self.launched = [], []

    def device(self):
        return 0, "a device"

    def to_host(self, array):
        out = np.empty(array.shape, array.dtype)
        ctypes.memmove(out.ctypes.data, array.pointer, out.nbytes)
        return out

    def load(self, ptx, name):
        self.loaded.append((ptx, name))
        return f"function {len(self.loaded)}"

    def launch(self, *launch):
        self.launched.append(launch)


class Tuned(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.x, cls.out = np.random.default_rng(7).uniform(1, 2, N), np.zeros(N)
        cls.args = [OnDevice(cls.x), OnDevice(cls.out), np.int32(N)]
        cls.raw = types.SimpleNamespace(code=MIXED, name="mixed", options=())

    def kernel(self, **more):
        options = {"cache": self.folder, "budget": 6, "validate": 2, "progress": False, "device": "cpu", **more}
        kernel = kerf.tuned(tolerance=1e-5, **options)(self.raw)
        kernel._driver = Noting()
        return kernel

    def test_the_first_call_tunes_and_all_launch_what_was_found(self):
        kernel = self.kernel()
        with unittest.mock.patch.object(selftuning, "tune", wraps=selftuning.tune) as search:
            kernel((4,), (128,), self.args)
            kernel((4,), (128,), self.args, stream=7)
            self.assertEqual(search.call_count, 1)
            # Another process takes what was kept.
            again = self.kernel()
            again((4,), (128,), self.args)
            self.assertEqual(search.call_count, 1)
        (ptx, name), launches = kernel._driver.loaded[0], kernel._driver.launched
        self.assertIn(name, ptx)
        self.assertTrue(".f32" in ptx or ".approx" in ptx, ptx)  # something was changed
        self.assertEqual(kernel.results[0].verdict, "tuned")
        self.assertEqual(again.results[0].folder, kernel.results[0].folder)
        for launch, stream in zip(launches, (0, 7)):
            self.assertEqual(launch[:5], ("function 1", (4, 1, 1), (128, 1, 1), 0, stream))
            pointers = [int.from_bytes(v, "little") for v in launch[5]]
            self.assertEqual(pointers, [self.x.ctypes.data, self.out.ctypes.data, N])
        self.assertFalse(self.out.any())  # tuning worked on copies

    def test_the_original_runs_where_nothing_faster_was_found(self):
        called = []
        raw = lambda grid, block, args, shared_mem: called.append((grid, block, args, shared_mem))
        raw.code, raw.name, raw.options = AXPY, "axpy", ()
        kernel = kerf.tuned(tolerance=1e-300, cache=False, budget=2, validate=2, progress=False, device="cpu")(raw)
        kernel._driver = Noting()
        y = OnDevice(np.ones(N))
        args = [2.0, OnDevice(self.x), y, np.int32(N)]
        kernel(4, 128, args)
        self.assertNotEqual(kernel.results[0].verdict, "tuned")
        self.assertEqual(called, [((4, 1, 1), (128, 1, 1), tuple(args), 0)])
        self.assertEqual(kernel._driver.launched, [])

    def test_keys_tell_calls_apart(self):
        def key(kernel, args, grid=4):
            w = kernel._workload(kernel._driver, (grid, 1, 1), (128, 1, 1), args, 0)
            return kernel._key(kernel._driver, w, (grid, 1, 1), (128, 1, 1), args, 0)

        k = self.kernel()
        shorter = [OnDevice(self.x[:256]), OnDevice(self.out[:256]), np.int32(256)]
        keys = [key(k, self.args), key(k, shorter), key(k, self.args, 2), key(self.kernel(budget=7), self.args)]
        self.assertEqual(len(set(keys)), 4)
        self.assertEqual(keys[0], key(self.kernel(), [OnDevice(self.x.copy()), *self.args[1:]]))

    def test_what_would_change_launches_or_arrays_is_refused(self):
        for more, word in [({"what": "launch"}, "how the kernel is launched"), ({"storage": "on"}, "what the arrays hold")]:
            with self.assertRaisesRegex(kerf.KerfError, word):
                self.kernel(**more)
        with self.assertRaisesRegex(kerf.KerfError, "is no kernel of CuPy's"):
            kerf.tuned(tolerance=1e-3)(print)
        with self.assertRaisesRegex(kerf.KerfError, "a grid and a block"):
            self.kernel()[4]

    def test_without_a_driver_it_says_so(self):
        with unittest.mock.patch.object(ctypes, "CDLL", side_effect=OSError("libcuda.so.1: not found")):
            with self.assertRaisesRegex(kerf.UnsupportedError, "there is no CUDA driver"):
                kerf.tuned(tolerance=1e-5)(self.raw)(4, 128, self.args)


class Arguments(unittest.TestCase):
    def test_arrays_by_interface_and_by_dlpack(self):
        a = np.arange(12.0).reshape(3, 4)
        for array in (OnDevice(a), Tensor(a), OnDevice(a, strides=(32, 8))):
            d = _driver.device_array(array)
            self.assertEqual((d.pointer, d.shape, d.dtype, d.strides, d.nbytes), (a.ctypes.data, (3, 4), a.dtype, (32, 8), 96))
        for array in (OnDevice(a, strides=(8, 24)), Tensor(a.T)):
            with self.assertRaisesRegex(kerf.KerfError, "follow each other"):
                _driver.device_array(array)
        for host in (a, np.float32(1), 3, "x"):
            self.assertIsNone(_driver.device_array(host))

    def test_parameters_of_ptx(self):
        ptx = """.visible .entry k(
            .param .u64 .ptr .global .align 8 k_param_0, .param .f64 k_param_1,
            .param .b32 k_param_2, .param .align 8 .b8 k_param_3[16]
        )\n{ ret; }\n.visible .entry other()\n{ ret; }"""
        want = [(8, "u"), (8, "f"), (4, "b"), (16, "bytes")]
        self.assertEqual(_driver.parameters_of(ptx, "k"), ("k", want))
        self.assertEqual(_driver.parameters_of(ptx, "other"), ("other", []))
        with self.assertRaisesRegex(kerf.KerfError, "2 kernels"):
            _driver.parameters_of(ptx)

    def test_numbers_as_bytes(self):
        for value, parameter, want in [
            (3, (4, "u"), b"\3\0\0\0"), (-1, (8, "u"), b"\xff" * 8), (1.0, (4, "f"), b"\0\0\x80\x3f"), (1, (4, "f"), b"\0\0\x80\x3f"),
            (1.0, (8, "b"), b"\0\0\0\0\0\0\xf0\x3f"), (np.float32(1), (4, "b"), b"\0\0\x80\x3f"), (np.int64(3), (4, "b"), b"\3\0\0\0"),
            (True, (1, "u"), b"\1"), (np.float16(1), (2, "b"), b"\0\x3c"),
        ]:  # fmt: skip
            self.assertEqual(_driver.packed(value, parameter), want, (value, parameter))
        with self.assertRaisesRegex(kerf.KerfError, "no argument of 16 bytes"):
            _driver.packed("text", (16, "bytes"))

    def test_numba_passes_an_array_as_several(self):
        kernel = kerf.tuned(tolerance=1e-3)(types.SimpleNamespace(py_func=lambda x: x))
        a = np.zeros((2, 3), np.float32)
        values = kernel._values([_driver.device_array(OnDevice(a)), 7], [(8, "u")] * 10)
        self.assertEqual([int.from_bytes(v, "little") for v in values], [0, 0, 6, 4, a.ctypes.data, 2, 3, 12, 4, 7])
        with self.assertRaisesRegex(kerf.KerfError, "takes 2 parameters"):
            kernel._values([7], [(8, "u")] * 2)


if __name__ == "__main__":
    unittest.main()
