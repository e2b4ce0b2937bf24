"""Strategies of ``tune_kernel`` as modules: ``strategy=strategies.minimize`` is ``strategy="minimize"``.

A strategy of one's own is an object with ``tune(searchspace, runner, tuning_options)``, which gives the results; or a
function of a cost function and the search space, derived from ``wrapper.OptAlg``:

    class Halves(OptAlg):
        def __call__(self, func, searchspace):
            while func.budget_spent_fraction < 1:
                func(searchspace.get_random_sample(1)[0])

    kerf.tune_kernel(..., strategy=OptAlgWrapper(Halves()), strategy_options={"max_fevals": 50})
"""

from __future__ import annotations

import sys
import types
from typing import Any

from .._strategy import STRATEGIES
from . import common, wrapper


def _module(name: str) -> types.ModuleType:
    """The module of a strategy that Kerf carries out."""
    module = types.ModuleType(f"{__name__}.{name}", f"The strategy {name}, carried out by Kerf.")

    def tune(searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        """Searches, and gives the results."""
        return list(runner.search_by_name(name, tuning_options.get("strategy_options")))

    vars(module).update(tune=tune, strategy_name=name)
    sys.modules[module.__name__] = module
    return module


for _name in ("brute_force", *STRATEGIES):
    globals()[_name] = _module(_name)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"there is no strategy {name!r}; there are {', '.join(['brute_force', *STRATEGIES])}")


__all__ = ["common", "wrapper", "brute_force", *STRATEGIES]  # noqa: PLE0604, PLE0605
