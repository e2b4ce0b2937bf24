"""Writing TOML: values on one line, as workload files have them."""

from __future__ import annotations

import json
import math
import numbers
from typing import Any, Mapping


def key(name: str) -> str:
    """A key, quoted where it has to be."""
    plain = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if plain else json.dumps(name, ensure_ascii=False)


def value(v: Any) -> str:
    """A value as TOML."""
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(v, numbers.Integral):
        v = int(v)
        # Beyond 64 signed bits a workload has an expression.
        return str(v) if -(2**63) <= v < 2**63 else json.dumps(str(v))
    if isinstance(v, numbers.Real):
        v = float(v)
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
        return repr(v)
    if isinstance(v, dict):
        return "{ " + ", ".join(f"{key(k)} = {value(x)}" for k, x in v.items()) + " }"
    return "[" + ", ".join(value(x) for x in v) + "]"


def table(head: str | None, entries: Mapping[str, Any]) -> list[str]:
    """A table: its head and one line for each entry that is not None."""
    lines = [head] if head else []
    return lines + [f"{key(k)} = {value(v)}" for k, v in entries.items() if v is not None]
