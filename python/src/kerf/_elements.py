"""Element types of numpy arrays as workload files name them, and arrays as files hold them."""

from __future__ import annotations

from typing import Any, List, Mapping, Union

import numpy as np

from ._program import KerfError

SCALARS = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "complex64": "f32x2",
    "complex128": "f64x2",
}
#: The type of an element: a name, or the types of a structure's fields.
Element = Union[str, List[Any]]
WIDTHS = (2, 3, 4, 8, 16)


def type_of(dtype: np.dtype[Any]) -> Element:
    """The element type for a dtype; structured ones give a list."""
    if dtype.fields and dtype.names:
        return [type_of(dtype.fields[n][0]) for n in dtype.names]
    if dtype.subdtype:
        base, shape = dtype.subdtype
        inner = type_of(base)
        if not isinstance(inner, str) or "x" in inner or len(shape) != 1 or shape[0] not in WIDTHS:
            raise KerfError(f"dtype {dtype} has no element type", "use fields of scalars or of 2, 3, 4, 8 or 16 of them")
        return f"{inner}x{shape[0]}"
    if dtype.name not in SCALARS:
        raise KerfError(f"dtype {dtype.name} has no element type", "use " + ", ".join(SCALARS))
    return SCALARS[dtype.name]


def vector(element: Element, param: Mapping[str, Any] | None) -> Element:
    """A scalar type as the vector that a parameter points to, where it does."""
    fields = (param or {}).get("element") or []
    kinds = [f["kind"] for f in fields]
    if not isinstance(element, str) or "x" in element or len(kinds) not in WIDTHS or kinds.count(kinds[0]) != len(kinds):
        return element
    kind = kinds[0]
    if "float" in kind:
        name = kind["float"]
    else:
        name = ("i" if kind["int"]["signed"] else "u") + str(kind["int"]["bits"])
    return f"{element}x{len(kinds)}" if name == element else element


def scalars_of(element: Element) -> int:
    """Scalars that an element has, each of an array's own."""
    return int(element.split("x")[1]) if isinstance(element, str) and "x" in element else 1


def plain(array: np.ndarray) -> np.ndarray:
    """The array as a file holds it: in C order, numbers of a type that files have."""
    a = np.ascontiguousarray(array)
    if a.dtype.name == "bfloat16":
        return a.view("V2")
    if a.dtype.kind == "c":
        return a.view(a.real.dtype)
    return a


def back(loaded: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A file's contents with the shape and type of the array that they belong to."""
    if like.dtype.name == "bfloat16" or like.dtype.kind == "c" or like.dtype.fields:
        loaded = np.ascontiguousarray(loaded).view(like.dtype)
    return loaded.reshape(like.shape)
