"""What the functions of a scheme of one's own refer to: it is made safe, some of it is refused, and all of it is told apart.

A function brings others with it: helpers of the user's, compiled or not, and those of `ofancore.own`. All are compiled anew with the checks
that the function itself has, since a helper without them could write to any address.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from ofancore.errors import ScenarioError

UNSEEDED = ("random", "numpy.random", "secrets")  # modules whose numbers no seed of a scenario reaches
GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
PAST_CHECKS = (np.nditer, numba.carray, numba.farray)  # what comes of them is writable, or at any address
DRAW = "has no seed here; draw with own.random_below, own.random_bits or own.random_label, from sw or hx"


def plain(function):
    """The Python function that was compiled, or the function itself."""
    return getattr(function, "py_func", function)


def place_of(function) -> str:
    """File and line."""
    code = plain(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _outside(function) -> dict[str, Any]:
    """What a function finds outside of itself by name: what is global to it, and variables around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}  # not those that are still empty
    steps = [step for code in _codes(function.__code__) for step in dis.get_instructions(code)]
    names = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return {name: function.__globals__[name] for name in names if name in function.__globals__} | around


def _named(function) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(name and attributes, value) of what a function names: globals, variables around it, attributes of modules, imports."""
    outside = _outside(function)
    for code in _codes(function.__code__):
        path, value = (), None
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") and step.argval in outside:
                path, value = (step.argval,), outside[step.argval]
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
                path, value = (*path, step.argval), getattr(value, step.argval, None)
            elif step.opname == "IMPORT_NAME" and step.argval in UNSEEDED:
                path, value = (step.argval,), importlib.import_module(step.argval)
            else:
                value = None
                continue
            yield path, value


def _is_unseeded(value) -> bool:
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return module in UNSEEDED or isinstance(value, GENERATORS) or isinstance(getattr(value, "__self__", None), GENERATORS)


def _is_helper(value) -> bool:
    """A Python function, or a compiled one, but for those that numba has versions of its own of."""
    written = isinstance(plain(value), types.FunctionType) and (plain(value) is value or hasattr(value, "overloads"))
    return written and (plain(value).__module__ or "").partition(".")[0] not in ("numpy", "numba")


def with_helpers(key: str, function, make: Callable, callers: tuple = ()) -> Callable:
    """`make(function)`, where all functions that it calls, and those that they call, were made by `make` first.

    ScenarioError, which blames `key`, if one draws random numbers that have no seed, or calls itself: that could end the process.
    """
    function = plain(function)
    if function in callers:
        raise ScenarioError(key, place_of(function), f"{function.__name__} must not call itself, also not through others: use a loop")
    outside, made = _outside(function), {}
    for path, value in dict(_named(function)).items():
        name = ".".join(path)
        if any(value is other for other in PAST_CHECKS):
            raise ScenarioError(key, place_of(function), f"must not use {name}, which goes past the checks of what is read and written")
        if _is_unseeded(value):
            raise ScenarioError(key, place_of(function), f"{name} {DRAW}")
        if _is_helper(value):
            first, *rest = path
            helper = with_helpers(key, value, make, (*callers, function))
            made[first] = _with(made.get(first, outside[first]), rest, helper) if rest else helper
    around = [
        types.CellType(made[name]) if name in made else cell
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    ]
    scope = {**function.__globals__, **made}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, tuple(around))
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
    return make(copy)


def _with(module: types.ModuleType, path: list[str], helper: Callable) -> types.ModuleType:
    """A copy of a module, in which a helper stands in for the attribute (of an attribute, ...) of that name."""
    copy = types.ModuleType(module.__name__)
    vars(copy).update(vars(module))
    name, *rest = path
    vars(copy)[name] = _with(vars(module)[name], rest, helper) if rest else helper
    return copy


def told(value: Any, seen: set | None = None) -> str:
    """What a value is, down to the functions, and the constants and functions that these refer to: for a digest."""
    seen = set() if seen is None else seen
    function = plain(value)
    if isinstance(value, dict):
        return repr({key: told(item, seen) for key, item in value.items()})
    if isinstance(function, types.FunctionType):
        if function in seen or (function.__module__ or "").partition(".")[0] in ("ofancore", "numba", "numpy"):
            return f"{function.__module__}.{function.__qualname__}"
        seen.add(function)
        used = inspect.getclosurevars(function)
        return repr((told(function.__code__, seen), function.__defaults__, told({**used.globals, **used.nonlocals}, seen)))
    if isinstance(value, types.CodeType):
        return repr((value.co_code, value.co_names, value.co_varnames, [told(item, seen) for item in value.co_consts]))
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape, value.tobytes()))
    return repr(value)
