"""Cache files of Kernel Tuner: what was evaluated is not evaluated again."""

import json
import os
import tempfile

import numpy as np

from ._program import KerfError


def _plain(v):
    """Numbers of numpy as numbers of Python."""
    return v.item() if isinstance(v, np.generic) else v


class Cache:
    """A file with the results of configurations; without a path, nothing."""

    def __init__(self, path, kernel_name, problem_size, tune_params, objective, device):
        self.path = None if path is None else os.fspath(path)
        if self.path is not None and not self.path.endswith(".json"):
            self.path += ".json"
        self.keys = list(tune_params)
        self.data = {
            "device_name": device,
            "kernel_name": kernel_name,
            "problem_size": str(problem_size) if callable(problem_size) else problem_size,
            "tune_params_keys": self.keys,
            "tune_params": {k: [_plain(v) for v in values] for k, values in tune_params.items()},
            "objective": objective,
            "cache": {},
        }
        if self.path is not None and os.path.exists(self.path):
            self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as f:
            text = f.read().strip()
        # Kernel Tuner leaves a file open that it was stopped in.
        for end in ("", "}\n}", "\n}"):
            try:
                old = json.loads(text.rstrip(",") + end if end else text)
                break
            except ValueError:
                continue
        else:
            raise KerfError(f"tune_kernel: {self.path} is no cache of Kernel Tuner's")
        for name in ("kernel_name", "tune_params_keys"):
            if old.get(name) != self.data[name]:
                raise KerfError(
                    f"tune_kernel: {self.path} is the cache of another search: its {name} is {old.get(name)!r}",
                    "name another file as cache",
                )
        self.data["cache"] = old.get("cache", {})

    def _key(self, params):
        return ",".join(str(params[k]) for k in self.keys)

    def get(self, params):
        """Result of a configuration and why it has none; None if it was not evaluated."""
        entry = self.data["cache"].get(self._key(params))
        if entry is None:
            return None
        time = entry.get("time")
        if not isinstance(time, (int, float)) or time >= 1e20:
            return None, str(entry.get("reason", time))
        return {**entry, **params}, None

    def put(self, params, result, why):
        """Writes the file with one more configuration, all or nothing."""
        if self.path is None:
            return
        entry = {k: _plain(v) for k, v in (result or {**params, "time": "RuntimeFailedConfig", "reason": why}).items()}
        self.data["cache"][self._key(params)] = entry
        folder = os.path.dirname(os.path.abspath(self.path))
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as f:
            json.dump(self.data, f, indent=1, default=str)
        os.replace(f.name, self.path)
