"""Kernels of Numba, Triton and CuPy as workloads: compiled to PTX by their own compilers, or taken as CUDA source.

No GPU and no driver is needed for it.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

import numpy as np

from . import _arrays
from ._program import KerfError
from .workload import Extents, In, Workload, _Buffer

#: What PTX is made for where nothing else is said: what Kerf reads best.
CAPABILITY = (8, 0)


def _missing(package: str, error: Exception) -> KerfError:
    return KerfError(f"{package} is needed: {error}", f"pip install {package}")


def _array(argument: Any) -> np.ndarray | None:
    """The array of an argument on the host, or none."""
    if isinstance(argument, _Buffer):
        return argument.array
    return _arrays.to_host(argument) if _arrays.is_array(argument) else None


def _on_host(args: Sequence[Any]) -> list[Any]:
    """Arguments with arrays of other libraries copied to the host; one array stays one."""
    copies: dict[int, np.ndarray] = {}
    out = []
    for a in args:
        if not isinstance(a, (_Buffer, np.ndarray)) and _arrays.is_array(a):
            a = copies.setdefault(id(a), _arrays.to_host(a))
        out.append(a)
    return out


def _entry(ptx: str) -> str:
    """The name of the one kernel in PTX."""
    names = re.findall(r"\.entry\s+([^\s(]+)", ptx)
    if len(names) != 1:
        raise KerfError(f"the PTX has {len(names)} kernels, and one is expected")
    return str(names[0])


def _flattened(argument: Any) -> list[Any]:
    """An array as Numba passes it: two pointers that kernels do not use, elements, bytes of one, data, shape, strides."""
    array = _array(argument)
    if array is None:
        return [argument]
    if not array.flags.c_contiguous:
        raise KerfError("an array whose elements do not follow each other", "pass numpy.ascontiguousarray(a)")
    return [0, 0, array.size, array.itemsize, argument, *array.shape, *array.strides]


def from_numba(
    kernel: Any,
    grid: Extents,
    block: Extents,
    args: Sequence[Any],
    *,
    capability: tuple[int, int] = CAPABILITY,
    **more: Any,
) -> Workload:
    """A workload of one launch of a ``numba.cuda.jit`` kernel; ``more`` are the options of ``Workload``."""
    try:
        from numba import cuda, typeof
    except ImportError as e:
        raise _missing("numba-cuda", e) from e
    function = getattr(kernel, "py_func", kernel)
    args = _on_host(args)
    types = []
    for a in args:
        array = _array(a)
        if isinstance(a, str):
            raise KerfError(f"{a!r} is an expression, whose type Numba cannot know", "pass a number")
        types.append(typeof(a if array is None else array))
    ptx, _ = cuda.compile_ptx(function, tuple(types), cc=tuple(capability))
    flat = [x for a in args for x in _flattened(a)]
    return Workload(ptx, _entry(ptx), grid, block, flat, language="ptx", **more)


#: Triton's names of types, by numpy's.
_TRITON = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "bool": "i1"}


def _triton_type(argument: Any) -> str:
    array = _array(argument)
    if array is not None:
        name = str(array.dtype)
        return "*" + _TRITON.get(name, name.replace("uint", "u").replace("int", "i"))
    if isinstance(argument, np.generic):
        name = str(argument.dtype)
        return _TRITON.get(name, name.replace("uint", "u").replace("int", "i"))
    if isinstance(argument, float):
        return "fp32"
    if isinstance(argument, int):
        return "i32" if -(2**31) <= argument < 2**31 else "i64"
    raise KerfError(f"{argument!r} cannot be an argument of a Triton kernel", "pass numpy arrays and numbers")


def from_triton(
    kernel: Any,
    grid: Extents,
    args: Sequence[Any],
    *,
    constants: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    num_stages: int = 3,
    capability: tuple[int, int] = CAPABILITY,
    **more: Any,
) -> Workload:
    """A workload of one launch of a ``triton.jit`` kernel. ``constants`` are its ``tl.constexpr`` parameters by name.

    Numbers have the types that Triton's launcher gives them: int is i32 (i64 where it is large), float is fp32.
    """
    try:
        import triton
        from triton.compiler import ASTSource
    except ImportError as e:
        raise _missing("triton", e) from e
    constants = dict(constants or {})
    args = _on_host(args)
    names = [n for n in kernel.arg_names if n not in constants]
    if len(names) != len(args):
        raise KerfError(f"{kernel.__name__} takes {', '.join(names)}, and {len(args)} arguments were given")
    signature = {n: _triton_type(a) for n, a in zip(names, args)}
    signature.update({n: "constexpr" for n in constants})
    signature = {n: signature[n] for n in kernel.arg_names}
    target = triton.backends.compiler.GPUTarget("cuda", 10 * capability[0] + capability[1], 32)
    options = {"num_warps": num_warps, "num_stages": num_stages}
    made = triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=constants), target=target, options=options)
    ptx = made.asm["ptx"]
    # Triton adds pointers to scratch memory, which kernels without profiling and descriptors do not use.
    entry = re.search(r"\.entry[^(]*\((.*?)\)", ptx, re.S)
    if entry is None:
        raise KerfError("Triton's PTX has no kernel")
    parameters = entry.group(1).count(".param")
    scratch = [In(np.zeros(16, np.uint8), name=f"scratch{i}") for i in range(parameters - len(args))]
    block = 32 * made.metadata.num_warps
    shared = made.metadata.shared or None
    return Workload(ptx, _entry(ptx), grid, block, [*args, *scratch], shared=shared, language="ptx", **more)


def from_cupy(kernel: Any, grid: Extents, block: Extents, args: Sequence[Any], **more: Any) -> Workload:
    """A workload of one launch of a ``cupy.RawKernel``, by its CUDA source; arrays may be numpy's or CuPy's."""
    code, name = getattr(kernel, "code", None), getattr(kernel, "name", None)
    if not isinstance(code, str) or not isinstance(name, str):
        raise KerfError(
            "only a cupy.RawKernel made from source has its CUDA source",
            "for RawModule pass the source and the kernel's name to kerf.Workload",
        )
    flags = [o for o in getattr(kernel, "options", ()) if re.match(r"-(D|I|U|-std)|--?std=", o)]
    return Workload(code, name, grid, block, _on_host(args), language="cuda", flags=[*flags, *more.pop("flags", ())], **more)


__all__ = ["from_cupy", "from_numba", "from_triton"]
