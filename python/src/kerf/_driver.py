"""CUDA's driver by ctypes: launching PTX on memory that another library of this process has allocated.

CuPy, Numba, PyTorch and JAX share the primary context of a device, and so does this; streams are the driver's. Kerf's
driver for the CPU executor (``scripts/driver.sh``) is called in the same way.
"""

from __future__ import annotations

import ctypes
import re
import struct
from typing import Any, Sequence

import numpy as np

from ._program import KerfError, UnsupportedError

#: Bytes and kind of a parameter: (8, "f").
Parameter = tuple[int, str]


def parameters_of(ptx: str, name: str | None = None) -> tuple[str, list[Parameter]]:
    """The name of a kernel in PTX, and its parameters; without a name, of the only kernel."""
    entries: dict[str, str] = dict(re.findall(r"\.entry\s+([\w$.]+)\s*\(([^)]*)\)", ptx))
    entries.update({n: "" for n in re.findall(r"\.entry\s+([\w$.]+)\s*[{.]", ptx) if n not in entries})
    chosen = [n for n in entries if name is None or n == name] or [n for n in entries if name is not None and name in n]
    if len(chosen) != 1:
        raise KerfError(f"the PTX has {len(chosen)} kernels {'' if name is None else f'called {name} '}and one is expected")
    found: list[Parameter] = []
    for p in filter(None, (p.strip() for p in entries[chosen[0]].split(","))):
        kind = re.search(r"\.(b|u|s|f)(8|16|32|64)\b", p)
        length = re.search(r"\[(\d+)\]\s*$", p)
        if kind is None:
            raise KerfError(f"the parameter {p!r} of {chosen[0]} is not understood")
        size = int(kind[2]) // 8 * (int(length[1]) if length else 1)
        found.append((size, "bytes" if length else kind[1]))
    return chosen[0], found


def packed(value: Any, parameter: Parameter) -> bytes:
    """A number as a parameter's bytes."""
    size, kind = parameter
    if isinstance(value, (np.generic, np.ndarray)):
        data = value.tobytes()
        if len(data) == size:
            return data
        value = value.item()
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, float) or kind == "f":
        form = {2: "<e", 4: "<f", 8: "<d"}.get(size)
        if form is not None:
            return struct.pack(form, float(value))
    if isinstance(value, int) and size <= 8:
        return (value & (2 ** (8 * size) - 1)).to_bytes(size, "little")
    if isinstance(value, complex) and size in (8, 16):
        return struct.pack("<2f" if size == 8 else "<2d", value.real, value.imag)
    raise KerfError(f"{value!r} is no argument of {size} bytes")


class _DLTensor(ctypes.Structure):
    """The first member of DLPack's managed tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


#: DLPack's devices whose memory kernels can use: CUDA, CUDA's pinned and managed memory.
DL_DEVICES = (2, 3, 13)
#: DLPack's codes of types, as numpy's kinds.
DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class DeviceArray:
    """An array in a device's memory, which stays where it is."""

    def __init__(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any], keep: Any, read_only: bool = False) -> None:
        self.pointer, self.shape, self.dtype, self.read_only = pointer, shape, dtype, read_only
        self._keep = keep

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple(self.dtype.itemsize * int(np.prod(self.shape[i + 1 :], dtype=np.int64)) for i in range(len(self.shape)))


def device_array(value: Any) -> DeviceArray | None:
    """An array in a device's memory as such, by ``__cuda_array_interface__`` or DLPack; None for what is none."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        dtype, shape = np.dtype(interface["typestr"]), tuple(int(s) for s in interface["shape"])
        pointer, read_only = interface["data"]
        array = DeviceArray(int(pointer or 0), shape, dtype, value, bool(read_only))
        _contiguous(interface.get("strides"), array)
        return array
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(value, "__dlpack__"):
        return None
    return _of_dlpack(value)


def _of_dlpack(value: Any) -> DeviceArray | None:
    if int(value.__dlpack_device__()[0]) not in DL_DEVICES:
        return None
    capsule = value.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = _DLTensor.from_address(get(capsule, b"dltensor") or 0)
    if t.code not in DL_KINDS or t.lanes != 1:
        raise KerfError(f"an array of DLPack's type {t.code} with {t.bits} bits is not understood")
    dtype = np.dtype(f"{DL_KINDS[t.code]}{t.bits // 8}")
    shape = tuple(t.shape[i] for i in range(t.ndim))
    # The capsule keeps the memory: it is kept with the array.
    array = DeviceArray(int(t.data or 0) + int(t.byte_offset), shape, dtype, (value, capsule))
    if t.strides:
        _contiguous([t.strides[i] * dtype.itemsize for i in range(t.ndim)], array)
    return array


def _contiguous(strides: Sequence[int] | None, array: DeviceArray) -> None:
    given = zip(strides, array.strides, array.shape) if strides is not None else ()
    if any(a != b for a, b, extent in given if extent > 1):
        raise KerfError("an array whose elements do not follow each other", "make it contiguous first")


class Driver:
    """The driver of this process, and the current context."""

    def __init__(self) -> None:
        try:
            self._lib = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise UnsupportedError(
                f"there is no CUDA driver (libcuda.so.1) to launch kernels with: {e}",
                "without a GPU, kerf.tune(kerf.from_cupy(...)) or kerf.from_numba(...) tunes with predicted times, and "
                "scripts/driver.sh runs programs of the driver API on the CPU executor",
            ) from None
        code = self._lib.cuInit(0)
        if code != 0:
            raise UnsupportedError(f"CUDA's driver finds no GPU here: {self._text(code)}")
        self._context()

    def _text(self, code: int) -> str:
        text = ctypes.c_char_p()
        if self._lib.cuGetErrorName(code, ctypes.byref(text)) == 0 and text.value:
            return text.value.decode()
        return f"error {code}"

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self._lib, name)(*args)
        if code != 0:
            raise KerfError(f"{name}: {self._text(code)}")

    def _context(self) -> None:
        """Makes the primary context of device 0 current where no context is."""
        current = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(current))
        if not current.value:
            device = ctypes.c_int()
            self._call("cuDeviceGet", ctypes.byref(device), 0)
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(current), device)
            self._call("cuCtxSetCurrent", current)

    def device(self) -> tuple[int, str]:
        """Number and name of the current device."""
        self._context()
        number, name = ctypes.c_int(), ctypes.create_string_buffer(256)
        self._call("cuCtxGetDevice", ctypes.byref(number))
        self._call("cuDeviceGetName", name, 256, number)
        return number.value, name.value.decode()

    def synchronize(self) -> None:
        """Waits for all work of the context."""
        self._call("cuCtxSynchronize")

    def to_host(self, array: DeviceArray) -> np.ndarray:
        """A copy of an array on the host, after all work that is under way."""
        self.synchronize()
        out = np.empty(array.shape, array.dtype)
        if out.nbytes:
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(array.pointer), ctypes.c_size_t(out.nbytes))
        return out

    def allocate(self, array: np.ndarray) -> DeviceArray:
        """A copy of an array of the host in the device's memory; ``free`` gives it back."""
        pointer = ctypes.c_uint64()
        data = np.ascontiguousarray(array)
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(1, data.nbytes)))
        copy = DeviceArray(pointer.value, data.shape, data.dtype, None)
        self._call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes))
        return copy

    def free(self, array: DeviceArray) -> None:
        """Gives memory of ``allocate`` back."""
        self._call("cuMemFree_v2", ctypes.c_uint64(array.pointer))

    def load(self, ptx: str, name: str) -> Any:
        """The function of a kernel in PTX."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx.encode() + b"\0"))
        self._call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name.encode()))
        return function

    def launch(
        self, function: Any, grid: Sequence[int], block: Sequence[int], shared: int, stream: int, values: Sequence[bytes]
    ) -> None:
        """Launches a kernel with the bytes of its arguments."""
        buffers = [ctypes.create_string_buffer(v, len(v)) for v in values]
        pointers = (ctypes.c_void_p * max(1, len(buffers)))(*[ctypes.addressof(b) for b in buffers])
        extents = [ctypes.c_uint(int(e)) for e in (*grid, *block)]
        self._call("cuLaunchKernel", function, *extents, ctypes.c_uint(shared), ctypes.c_void_p(stream or None), pointers, None)
