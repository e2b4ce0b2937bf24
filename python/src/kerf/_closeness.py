"""When ``kerf run --answer`` says of an output what ``numpy.allclose`` would say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: The relative tolerance of ``numpy.allclose``.
RTOL = 1e-5


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fiu" and dtype.itemsize <= 8 and dtype.isnative


def is_numpys(expected: Any, have: np.ndarray, atol: Any) -> bool:
    """Whether both compare an expected array with an output in the same way, number by number.

    Kerf has the types that numpy 2 computes in; this numpy is asked for its own.
    """
    if not isinstance(expected, np.ndarray) or not _is_number(expected.dtype) or not _is_number(have.dtype):
        return False
    # Other sizes are broadcast, or refused, by numpy itself.
    if expected.size != have.size or expected.size == 0 or not isinstance(atol, (int, float)):
        return False
    y = np.empty(0, have.dtype if have.dtype.kind == "f" else np.float64)
    if np.result_type(np.empty(0, have.dtype), 1.0) != y.dtype:
        return False
    size = RTOL * np.abs(y)
    if size.dtype != y.dtype or (atol + size).dtype != y.dtype:
        return False
    return bool(atol >= 0 and math.isfinite(atol) and float(atol) <= np.finfo(y.dtype).max)
