"""Cache files of Kernel Tuner: what was evaluated is not evaluated again."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Mapping, Sequence

import numpy as np

from ._program import KerfError


def _plain(v: Any) -> Any:
    """Numbers of numpy as numbers of Python."""
    return v.item() if isinstance(v, np.generic) else v


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a cache file, also in one that Kernel Tuner left open when it was stopped."""
    with open(path, encoding="utf-8") as f:
        text = f.read().strip()
    for end in ("", "}\n}", "\n}"):
        try:
            return dict(json.loads(text.rstrip(",") + end if end else text))
        except ValueError:
            continue
    raise KerfError(f"tune_kernel: {os.fspath(path)} is no cache of Kernel Tuner's")


class Cache:
    """A file with the results of configurations; without a path, nothing."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        kernel_name: str,
        problem_size: Any,
        tune_params: Mapping[str, Sequence[Any]],
        objective: Any,
        device: str,
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        if self.path is not None and not self.path.endswith(".json"):
            self.path += ".json"
        self.keys = list(tune_params)
        self.data: dict[str, Any] = {
            "device_name": device,
            "kernel_name": kernel_name,
            "problem_size": str(problem_size) if callable(problem_size) else problem_size,
            "tune_params_keys": self.keys,
            "tune_params": {k: [_plain(v) for v in values] for k, values in tune_params.items()},
            "objective": objective,
            "cache": {},
        }
        if self.path is not None and os.path.exists(self.path):
            self._read(self.path)

    def _read(self, path: str) -> None:
        old = read(path)
        for name in ("kernel_name", "tune_params_keys"):
            if old.get(name) != self.data[name]:
                raise KerfError(
                    f"tune_kernel: {path} is the cache of another search: its {name} is {old.get(name)!r}",
                    "name another file as cache",
                )
        self.data["cache"] = old.get("cache", {})

    def _key(self, params: Mapping[str, Any]) -> str:
        return ",".join(str(params[k]) for k in self.keys)

    def get(self, params: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None] | None:
        """Result of a configuration and why it has none; None if it was not evaluated."""
        entry = self.data["cache"].get(self._key(params))
        if entry is None:
            return None
        time = entry.get("time")
        if not isinstance(time, (int, float)) or time >= 1e20:
            return None, str(entry.get("reason", time))
        return {**entry, **params}, None

    def put(self, params: Mapping[str, Any], result: Mapping[str, Any] | None, why: str | None) -> None:
        """Writes the file with one more configuration, all or nothing."""
        if self.path is None:
            return
        entry = {k: _plain(v) for k, v in (result or {**params, "time": "RuntimeFailedConfig", "reason": why}).items()}
        self.data["cache"][self._key(params)] = entry
        folder = os.path.dirname(os.path.abspath(self.path))
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as f:
            json.dump(self.data, f, indent=1, default=_as_json)
        os.replace(f.name, self.path)


def _as_json(v: Any) -> Any:
    """Values of numpy as JSON has them, others as text."""
    if isinstance(v, np.generic):
        return v.item()
    return v.tolist() if isinstance(v, np.ndarray) else str(v)
