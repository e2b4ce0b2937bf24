"""Registers of a thread, as the assembler gives them."""

from __future__ import annotations

from typing import Any

from .observer import BenchmarkObserver


class RegisterObserver(BenchmarkObserver):
    """Adds ``num_regs``: registers of a thread, of the program as ``kerf`` reports them for the configuration."""

    num_regs: int | None = None

    def process_prediction(self, prediction: dict[str, Any]) -> None:
        """Takes the document of ``kerf predict`` for the configuration."""
        self.num_regs = max((launch["registers"] for launch in prediction["launches"]), default=None)

    def get_results(self) -> dict[str, Any]:
        return {"num_regs": self.num_regs}
