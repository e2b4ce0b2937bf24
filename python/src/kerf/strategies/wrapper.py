"""Search algorithms of one's own as strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..searchspace import Searchspace
from ..util import StopCriterionReached
from .common import CostFunc


class OptAlg(ABC):
    """A search algorithm: called with a cost function of configurations and the search space.

    It ends by itself, or when the cost function raises ``StopCriterionReached``; ``func.budget_spent_fraction`` says
    how much is used. ``costfunc_kwargs`` are options of ``CostFunc``.
    """

    def __init__(self) -> None:
        self.costfunc_kwargs: dict[str, Any] = {"scaling": False, "snap": False}

    @abstractmethod
    def __call__(self, func: CostFunc, searchspace: Searchspace) -> Any:
        """Searches."""


class OptAlgWrapper:
    """A search algorithm as a strategy of ``tune_kernel``."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer() if isinstance(optimizer, type) else optimizer

    def tune(self, searchspace: Searchspace, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        """Searches, and gives the results."""
        options = getattr(self.optimizer, "costfunc_kwargs", {"scaling": False, "snap": False})
        func = CostFunc(searchspace, tuning_options, runner, **options)
        try:
            self.optimizer(func, searchspace)
        except StopCriterionReached as e:
            if tuning_options.get("verbose"):
                print(f"the search ended: {e}")
        return func.results
