"""Results and metadata as files: the T4 format of the FAIR autotuning schemas, which Kernel Tuner writes."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from typing import Any, Iterable, Mapping, Sequence

from ._objective import is_number
from ._program import call_json
from .util import ErrorConfig, NpEncoder

#: Version of the schema.
VERSION = "1.0.0"
#: Values of a result that are no measurements: they stand elsewhere in the file.
TIMES = {
    "compile_time": "compilation",
    "benchmark_time": "benchmark",
    "framework_time": "framework",
    "strategy_time": "search_algorithm",
    "verification_time": "validation",
}


def filename_ensure_json_extension(filename: str | os.PathLike[str]) -> str:
    """The name with ``.json`` at its end."""
    name = os.fspath(filename)
    return name if name.endswith(".json") else name + ".json"


def _t4(result: Mapping[str, Any], names: Iterable[str], objectives: Sequence[str]) -> dict[str, Any]:
    """A result as an entry of a T4 file."""
    own = list(names)
    values = [result.get(o) for o in objectives]
    failed = next((v for v in values if isinstance(v, ErrorConfig) or not is_number(v)), None)
    rest = [k for k in result if k not in own and k not in TIMES and k not in ("times", "timestamp", "kind", "optimal")]
    measured = [*dict.fromkeys(["time", *objectives, *rest])]
    return {
        "timestamp": result.get("timestamp", ""),
        "configuration": {k: result[k] for k in own if k in result},
        "times": {
            **{to: result.get(k, 0) for k, to in TIMES.items()},
            "runtimes": list(result.get("times") or []),
        },
        "invalidity": "correct" if failed is None else "runtime",
        "correctness": 1 if failed is None else 0,
        "measurements": [
            {"name": k, "value": result[k] if is_number(result[k]) else "", "unit": "ms" if k == "time" else ""}
            for k in measured
            if k in result
        ],
        "objectives": list(objectives),
    }


def get_t4_results(
    results: Sequence[Mapping[str, Any]], tune_params: Mapping[str, Any], objective: str | Sequence[str] = "time"
) -> dict[str, Any]:
    """Results as a T4 document. Times are measured, or predicted where ``metadata`` says so."""
    objectives = [objective] if isinstance(objective, str) else list(objective)
    kinds = sorted({str(r["kind"]) for r in results if "kind" in r})
    return {
        "results": [_t4(r, tune_params, objectives) for r in results],
        "schema_version": VERSION,
        "metadata": {"timeunit": "milliseconds", **({"times": " and ".join(kinds)} if kinds else {})},
    }


def _write(path: str, document: Any) -> None:
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f, cls=NpEncoder, indent=1)


def store_output_file(
    output_filename: str | os.PathLike[str],
    results: Sequence[Mapping[str, Any]],
    tune_params: Mapping[str, Any],
    objective: str | Sequence[str] = "time",
) -> None:
    """Writes results as a T4 file."""
    _write(filename_ensure_json_extension(output_filename), get_t4_results(results, tune_params, objective))


def get_dependencies(package: str = "kerf-gpu") -> list[str]:
    """What a package needs, with the versions that are installed."""
    try:
        needed = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        needed = ["numpy"]
    found = []
    for line in needed:
        name = line.split(";")[0].split("[")[0]
        for mark in "<>=!~ ":
            name = name.split(mark)[0]
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def get_t4_metadata() -> dict[str, Any]:
    """The machine, its programs, and what this package needs, as a T4 document."""
    _, doctor = call_json(["doctor"], accept=(0, 1, 2))
    parts = {p["name"]: p.get("detail") or p.get("version") or "" for p in doctor["parts"] if p.get("found")}
    return {
        "metadata": {
            "operating_system": platform.platform(),
            "hardware": {"hardware_description": [platform.processor() or platform.machine()]},
            "environment": {"device_query": parts, "requirements": get_dependencies()},
        },
        "schema_version": VERSION,
    }


def store_metadata_file(metadata_filename: str | os.PathLike[str]) -> None:
    """Writes the machine and its programs as a T4 file."""
    _write(filename_ensure_json_extension(metadata_filename), get_t4_metadata())
