"""What a balancer of one's own is made of, where it comes from, and what is checked before the loop calls it.

It is registered by name (`register`), or is a file with the same names in it (`from_file`). A function takes any of its arguments, by name:

    choose_uplink(sw, node, up, width, sched, group, small, port, host, label, flow, now) -> uplink 0..width-1
    next_label(hx, at, host, flow, seq, now) -> label 0..65535
    on_ack(hx, at, host, label, ecn, now)
    on_loss(hx, at, host, label, congested, silent, now)

(`base.py` says what they are). It is plain Python of the kind that numba compiles; `@njit` may stand before it. It can read the state
and write its own registers, `sw.reg[sw.first[node] + i]` or `hx.reg[at + i]`, and draws random numbers from `sw.rng` or `hx.rng`.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ofancore.balancers.base import HostState, SwitchState
from ofancore.errors import ScenarioError
from ofancore.jit import compile_own

FUNCTIONS = {
    "choose_uplink": "sw node up width sched group small port host label flow now".split(),
    "next_label": "hx at host flow seq now".split(),
    "on_ack": "hx at host label ecn now".split(),
    "on_loss": "hx at host label congested silent now".split(),
}
CHOICES = ("choose_uplink", "next_label")  # those that return something
SETTINGS = {"title": "", "registers_per_switch": 0, "registers_per_flow": 0, "par": ()}
MOST_REGISTERS = 1 << 24  # of a switch, or of a flow
FILE_KIND = "own"

# states of the types that every run has
_INTS, _TABLE, _SLOTS, _RANDOM = np.zeros(1, np.int64), np.zeros((1, 2), np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint64)
EXAMPLES = {
    "sw": SwitchState(_SLOTS, _INTS, np.zeros((1, 1), np.int32), _TABLE, _SLOTS, _TABLE, _RANDOM, _INTS, _INTS, _INTS),
    "hx": HostState(_INTS, _INTS, _RANDOM, _INTS, _INTS, _TABLE, _SLOTS),
}

_registered: dict[str, Definition] = {}  # by name, the last one registered
_defined: dict[tuple[str, str], Definition] = {}  # by name or path, and digest: a scenario keeps the functions that it was made with


@dataclass(frozen=True)
class Definition:
    """Functions with what they need. `par` may be a function of the run's Shape, `registers_per_switch` of Shape and tier."""

    name: str
    functions: dict[str, Callable]
    title: str
    registers_per_switch: int | Callable
    registers_per_flow: int
    par: Any
    digest: str
    _addresses: dict = field(default_factory=dict, compare=False, repr=False)

    def address(self, name: str, state: tuple) -> int:
        """Where the compiled function is, for a state of this type; 0: there is none of that name. ScenarioError if it does not compile."""
        if name not in self.functions:
            return 0
        key = (name, *((a.dtype.str, a.ndim, a.flags.c_contiguous, a.flags.writeable) for a in state))
        if key not in self._addresses:
            self._addresses[key] = _compile(f"{name} of {self.name}", name, self.functions[name], state)
        return self._addresses[key]


def _refuse(key: str, value: object, rule: str) -> None:
    raise ScenarioError(key, value, rule)


def _plain(function):
    """The Python function that was compiled, or the function itself."""
    return getattr(function, "py_func", function)


def wanted(key: str, name: str, function) -> list[str]:
    """The arguments that a function takes, by name. ScenarioError if it is none, or takes others."""
    if not isinstance(_plain(function), types.FunctionType):
        _refuse(key, function, "must be a function")
    for parameter in inspect.signature(_plain(function)).parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            _refuse(key, str(parameter), "must be a plain argument, without * or a default")
        if parameter.name not in FUNCTIONS[name]:
            _refuse(key, parameter.name, f"is no argument of it; it may take {', '.join(FUNCTIONS[name])}")
    return list(inspect.signature(_plain(function)).parameters)


def with_all_arguments(name: str, given: list[str]) -> Callable:
    """`make(function)` gives a function of all arguments out of one that takes the given ones."""
    call = f"function({', '.join(given)})"
    last = f"return {call}" if name in CHOICES else f"{call}; return 0"
    scope: dict[str, Any] = {}
    exec(f"def make(function):\n    def {name}({', '.join(FUNCTIONS[name])}):\n        {last}\n    return {name}", scope)
    return scope["make"]


def in_python(definition: Definition, name: str) -> Callable | None:
    """A function of a definition, taking all arguments, as the interpreter runs it; None if there is none of that name."""
    if name not in definition.functions:
        return None
    function = _plain(definition.functions[name])
    return with_all_arguments(name, wanted(name, name, function))(function)


def _compile(key: str, name: str, function, state: tuple) -> int:
    from numba.core.errors import NumbaError

    code = _plain(function).__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    make = with_all_arguments(name, wanted(key, name, function))
    try:
        address, returned = compile_own(_plain(function), make, state, len(FUNCTIONS[name]) - 1)
    except (NumbaError, NotImplementedError, RuntimeError) as error:
        raise ScenarioError(key, place, f"does not compile: {_essence(str(error))}") from error
    if returned != "integer" and (returned != "none" or name in CHOICES):
        _refuse(key, place, f"must return {'an integer' if name in CHOICES else 'nothing'}, not {returned}")
    return address


def _essence(text: str) -> str:
    """The lines of numba's message that say what is wrong and where."""
    if "NRT required" in text or "Only accept returning of array passed" in text:
        return "it makes an array, a list or an exception with values; compiled schemes have no memory but their registers"
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines()]
    skipped = ("Failed in nopython", "During:", "This is not usually", "To see", "https:", "<source", 'File "<string>"')
    said = [line for line in lines if line and not line.startswith(skipped) and not set(line) <= set("^-~ ")]
    return " ".join(said[:6]) or "no reason is given"


# --- where definitions come from


def register(
    name: str,
    *,
    choose_uplink: Callable | None = None,
    next_label: Callable | None = None,
    on_ack: Callable | None = None,
    on_loss: Callable | None = None,
    title: str = "",
    registers_per_switch: int | Callable = 0,
    registers_per_flow: int = 0,
    par: Any = (),
) -> None:
    """Make a balancer known as `balancer.kind: name` in this process; one of that name is replaced.

    Switches that have no `choose_uplink` hash labels, hosts that have no `next_label` give a flow one label. `registers_per_switch` (int32,
    a number or a function of Shape and tier) and `registers_per_flow` (int64) start as zeros. `par`: up to 8 integers (or a function of
    Shape that lists them), which the functions find in `sw.par` and `hx.par`; times are in ticks (`ofancore.units`). The functions are
    compiled at once; ScenarioError says what is wrong with them.
    """
    from ofancore.balancers import BALANCERS

    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > 100:
        _refuse("name", name, "must be of a to z, 0 to 9 and _, starting with a letter")
    if name in BALANCERS or name == FILE_KIND:
        _refuse("name", name, "is the name of a built-in scheme")
    given = {"choose_uplink": choose_uplink, "next_label": next_label, "on_ack": on_ack, "on_loss": on_loss}
    functions = {key: function for key, function in given.items() if function is not None}
    settings = {"title": title, "registers_per_switch": registers_per_switch, "registers_per_flow": registers_per_flow, "par": par}
    digest = hashlib.sha256(_told({**functions, **settings}, set()).encode()).hexdigest()[:16]
    definition = _checked(name, functions, settings, digest)
    compile_all(definition)
    _registered[name] = _defined[name, digest] = definition


def names() -> list[str]:
    """What was registered in this process."""
    return list(_registered)


def forget(name: str) -> None:
    """Take back `register`. Scenarios that were made with it stay as they are."""
    _registered.pop(name, None)


def from_file(path: str) -> Definition:
    """The definition in a Python file, which is run once for each content that it has. ScenarioError if it is not there or not sound."""
    try:
        text = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ScenarioError("module", path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    digest = hashlib.sha256(text).hexdigest()[:16]
    if (path, digest) not in _defined:
        module = types.ModuleType(f"ofancore_own_{digest}")
        module.__file__ = str(Path(path).absolute())
        sys.modules[module.__name__] = module
        try:
            exec(compile(text, module.__file__, "exec", dont_inherit=True), module.__dict__)
        except Exception as error:
            raise ScenarioError("module", path, f"does not run: {type(error).__name__}: {error}") from error
        functions = {name: getattr(module, name) for name in FUNCTIONS if hasattr(module, name)}
        settings = {name: getattr(module, name, default) for name, default in SETTINGS.items()}
        _defined[path, digest] = _checked(Path(path).stem, functions, settings, digest)
    return _defined[path, digest]


def defined(kind: str, module: str | None, digest: str | None) -> Definition:
    """The definition that a scenario names; with a digest, the one that has it. ScenarioError if it is not there (any more)."""
    if (module or kind, digest) in _defined:
        return _defined[module or kind, digest]
    if (kind == FILE_KIND) != (module is not None):
        _refuse("module", module, "belongs to kind = own, which needs it: the file with the functions")
    if module is None and kind not in _registered:
        _refuse("kind", kind, "is not registered in this process (ofancore.own.register; or put it into a file, kind: own)")
    found = _registered[kind] if module is None else from_file(module)
    if digest is not None and found.digest != digest:
        _refuse("code", digest, f"the functions have changed since; now they are {found.digest}")
    return found


def with_code(keys: dict) -> dict:
    """Balancer keys that name a file, with the digest of its content: what depends on the keys then depends on the file."""
    if keys.get("kind") != FILE_KIND or not isinstance(keys.get("module"), str):
        return keys
    return {**keys, "code": from_file(keys["module"]).digest}


def _checked(name: str, functions: dict, settings: dict, digest: str) -> Definition:
    """ScenarioError if something is not as it must be, but for what only compilation finds."""
    if not any(name in functions for name in CHOICES):
        _refuse("balancer", name, "must have choose_uplink or next_label")
    for function in functions:
        if function.startswith("on_") and "next_label" not in functions:
            _refuse(f"{function} of {name}", functions[function], "belongs to a next_label, which is not there")
        wanted(f"{function} of {name}", function, functions[function])
    if not isinstance(settings["title"], str):
        _refuse(f"title of {name}", settings["title"], "must be text")
    for key in ("registers_per_switch", "registers_per_flow"):
        if key == "registers_per_flow" or not callable(settings[key]):
            registers(f"{key} of {name}", settings[key])
    if not callable(settings["par"]):
        settings["par"] = parameters(name, settings["par"])
    return Definition(name, functions, digest=digest, **settings)


def registers(key: str, value: Any) -> int:
    """A number of registers."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value <= MOST_REGISTERS:
        _refuse(key, value, f"must be an integer from 0 to {MOST_REGISTERS}")
    return int(value)


def parameters(name: str, values: Any) -> list[int]:
    """`par` as plain integers."""
    try:
        values = [int(value) if isinstance(value, (int, np.integer)) else value for value in values]
    except TypeError:
        _refuse(f"par of {name}", values, "must be a list of integers")
    if len(values) > 8:
        _refuse(f"par of {name}", values, "must be at most 8 integers")
    for value in values:
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            _refuse(f"par of {name}", value, "must be an integer of 64 bits (a time in ticks: ofancore.units.ticks)")
    return values


def compile_all(definition: Definition) -> None:
    """Compile the functions for the states that every run has."""
    for name in definition.functions:
        definition.address(name, EXAMPLES[FUNCTIONS[name][0]])


# --- what functions are, for their digest


def _told(value: Any, seen: set) -> str:
    """What a value is, down to the functions, and the constants and functions that these refer to."""
    function = _plain(value)
    if isinstance(value, dict):
        return repr({key: _told(item, seen) for key, item in value.items()})
    if isinstance(function, types.FunctionType):
        if function in seen or function.__module__.partition(".")[0] in ("ofancore", "numba", "numpy"):
            return f"{function.__module__}.{function.__qualname__}"
        seen.add(function)
        used = inspect.getclosurevars(function)
        return repr((_told(function.__code__, seen), _told({**used.globals, **used.nonlocals}, seen)))
    if isinstance(value, types.CodeType):
        return repr((value.co_code, value.co_names, value.co_varnames, [_told(item, seen) for item in value.co_consts]))
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape, value.tobytes()))
    return repr(value)
