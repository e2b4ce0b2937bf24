"""Arrays of other libraries (CuPy, PyTorch, Numba, JAX) as numpy arrays, and results written back into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._program import KerfError


def is_array(value: object) -> bool:
    """Whether a value is an array of any library; numpy's scalars are none."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if isinstance(value, np.generic):
        return False
    return any(hasattr(value, n) for n in ("__cuda_array_interface__", "__array_interface__", "__dlpack__"))


def to_host(value: Any) -> np.ndarray:
    """The array as numpy has it: itself where it is numpy's, else a copy on the host."""
    if isinstance(value, np.ndarray):
        return value
    for how in ("get", "copy_to_host"):  # CuPy, Numba
        if hasattr(value, how) and hasattr(value, "__cuda_array_interface__"):
            return np.asarray(getattr(value, how)())
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # PyTorch
        return np.asarray(value.detach().cpu().numpy())
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):  # JAX and others
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise KerfError(f"an array of {type(value).__module__} cannot be copied to the host", "pass a numpy array")


def write_back(value: Any, result: np.ndarray) -> None:
    """Writes a result into the array that a kernel was given."""
    if isinstance(value, np.ndarray):
        value[...] = result
    elif hasattr(value, "set"):  # CuPy
        value.set(np.ascontiguousarray(result))
    elif hasattr(value, "copy_to_device"):  # Numba
        value.copy_to_device(np.ascontiguousarray(result))
    elif hasattr(value, "detach"):  # PyTorch
        import torch

        value.copy_(torch.from_numpy(np.ascontiguousarray(result)))
    else:
        raise KerfError(f"an array of {type(value).__module__} cannot be written to")
