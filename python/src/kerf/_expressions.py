"""Expressions and functions over tunable parameters, as Kernel Tuner's interface has them."""

from __future__ import annotations

import functools
import inspect
import math
from types import CodeType
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ._program import KerfError, UnsupportedError

#: What an expression may use besides the names of parameters.
NAMES: dict[str, Any] = {
    "__builtins__": {},
    "math": math,
    "np": np,
    "numpy": np,
    **{f.__name__: f for f in (abs, all, any, bool, divmod, float, int, len, max, min, pow, range, round, sorted, str, sum)},
}

#: A test of a configuration, and the parameters that it needs; None where that is not known.
Check = tuple["frozenset[str] | None", Callable[[Mapping[str, Any]], bool]]


@functools.lru_cache(maxsize=4096)
def _compiled(expression: str) -> CodeType:
    return compile(expression.strip(), "<expression>", "eval")


def _metric_source(expression: str, params: Mapping[str, Any]) -> str:
    """The expression with names that are not Python's (GFLOP/s) replaced by ones that are."""
    odd = [n for n in params if isinstance(n, str) and not n.isidentifier() and n in expression]
    for name in sorted(odd, key=len, reverse=True):
        expression = expression.replace(name, f"({params[name]!r})")
    return expression


def evaluate(expression: Any, params: Mapping[str, Any]) -> Any:
    """The value of an expression: Python over the names of parameters, a function of them, or a value itself."""
    if callable(expression):
        return expression(params)
    if not isinstance(expression, str):
        return expression
    return _value(_metric_source(expression, params), params)


def _value(expression: str, params: Mapping[str, Any]) -> Any:
    try:
        return eval(_compiled(expression), NAMES, dict(params))
    except Exception as e:
        raise KerfError(f"tune_kernel: {expression!r} of {dict(params)}: {type(e).__name__}: {e}") from None


def call_with(function: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    """Calls a function of a dictionary, or one whose arguments are names of parameters."""
    try:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        names = []
    if names and (len(names) > 1 or names[0] in params) and all(n in params for n in names):
        return function(**{n: params[n] for n in names})
    return function(dict(params))


def checks(restrictions: Any, names: Sequence[str]) -> list[Check]:
    """Restrictions as tests: expressions, functions, pairs of a function and its parameters, or lists of these."""
    if restrictions is None:
        return []
    if isinstance(restrictions, str):
        text = restrictions
        try:
            used = frozenset(_compiled(text).co_names)
        except SyntaxError as e:
            raise KerfError(f"tune_kernel: the restriction {text!r} is no expression of Python: {e.msg}") from None
        return [(used & frozenset(names), lambda p: bool(_value(text, p)))]
    if callable(restrictions):
        # Constraints of the package python-constraint are called with values; others with parameters.
        own = restrictions
        if "constraint" in type(own).__module__ and hasattr(own, "preProcess"):
            raise UnsupportedError(
                f"tune_kernel: the restriction {type(own).__name__} of python-constraint has no counterpart in Kerf",
                "write it as an expression or a function",
            )
        return [(None, lambda p: bool(call_with(own, p)))]
    if isinstance(restrictions, tuple) and len(restrictions) == 2 and callable(restrictions[0]):
        function, needed = restrictions
        wanted = list(needed)
        return [(frozenset(wanted), lambda p: bool(function(*[p[n] for n in wanted])))]
    if isinstance(restrictions, (list, tuple)):
        return [c for r in restrictions for c in checks(r, names)]
    raise UnsupportedError(
        f"tune_kernel: restrictions of type {type(restrictions).__name__} have no counterpart in Kerf",
        "use expressions, functions, or a list of them",
    )


def allowed(restrictions: Any, params: Mapping[str, Any]) -> bool:
    """Whether a configuration satisfies restrictions of every form."""
    return all(test(params) for _, test in checks(restrictions, list(params)))
