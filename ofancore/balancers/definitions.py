"""What a balancer of one's own is made of, where it comes from, and what is checked before the loop calls it.

It is registered by name (`register`), or is a file with the same names in it (`from_file`). A function takes any of its arguments, by name:

    choose_uplink(sw, node, width, sched, group, small, port, host, label, flow, now) -> uplink 0..width-1
    next_label(hx, host, flow, seq, now) -> label 0..65535
    on_ack(hx, host, label, ecn, now)
    on_loss(hx, host, label, congested, silent, now)

`views.py` says what `sw` and `hx` are, `base.py` what the others are. A function is plain Python of the kind that numba compiles; `@njit`
may stand before it. It writes its registers, `sw.reg[i]` or `hx.reg[i]`, and no more; random numbers are `own.random_below(sw, n)`.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import re
import sys
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ofancore.balancers.helpers import place_of, plain, told, with_helpers
from ofancore.balancers.views import VIEWS, WRITABLE
from ofancore.errors import ScenarioError
from ofancore.jit import compile_own, own_function

FUNCTIONS = {
    "choose_uplink": "sw node width sched group small port host label flow now".split(),
    "next_label": "hx host flow seq now".split(),
    "on_ack": "hx host label ecn now".split(),
    "on_loss": "hx host label congested silent now".split(),
}
CHOICES = ("choose_uplink", "next_label")  # those that return something
SETTINGS = {"title": "", "registers_per_switch": 0, "registers_per_flow": 0, "pointers_per_switch": None, "par": ()}
# what short names are taken for; of the long ones above, all that are spelt nearly the same
MEANT = dict.fromkeys(("pars", "param", "params", "parameter", "parameters"), "par") | dict.fromkeys(("titel", "name"), "title")
MOST_REGISTERS = 1 << 24  # of a switch, or of a flow
FILE_KIND = "own"

_registered: dict[str, Definition] = {}  # by name, the last one registered
_defined: dict[tuple[str, str], Definition] = {}  # by name or path, and digest: a scenario keeps the functions that it was made with


@dataclass(frozen=True)
class Definition:
    """Functions with what they need. `par` may be a function of the run's Shape, what is per switch of Shape and tier."""

    name: str
    functions: dict[str, Callable]
    title: str
    registers_per_switch: int | Callable
    registers_per_flow: int
    pointers_per_switch: int | Callable | None  # None: as many as registers
    par: Any
    digest: str
    _addresses: dict = field(default_factory=dict, compare=False, repr=False)

    def address(self, name: str) -> int:
        """Where the compiled function is; 0: there is none of that name. ScenarioError if it does not compile."""
        if name not in self.functions:
            return 0
        if name not in self._addresses:
            self._addresses[name] = _compile(f"{name} of {self.name}", name, self.functions[name])
        return self._addresses[name]


def _refuse(key: str, value: object, rule: str) -> None:
    raise ScenarioError(key, value, rule)


def wanted(key: str, name: str, function) -> list[str]:
    """The arguments that a function takes, by name. ScenarioError if it is none, or takes others."""
    if not isinstance(plain(function), types.FunctionType):
        _refuse(key, function, "must be a function")
    for parameter in inspect.signature(plain(function)).parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            _refuse(key, str(parameter), "must be a plain argument, without * or a default")
        if parameter.name not in FUNCTIONS[name]:
            _refuse(key, parameter.name, f"is no argument of it; it may take {', '.join(FUNCTIONS[name])}")
    return list(inspect.signature(plain(function)).parameters)


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
    function = plain(definition.functions[name])
    return with_all_arguments(name, wanted(name, name, function))(function)


def _compile(key: str, name: str, function) -> int:
    place = place_of(function)
    make = with_all_arguments(name, wanted(key, name, function))
    safe = with_helpers(key, function, own_function)
    state = FUNCTIONS[name][0]
    try:
        address, returned = compile_own(safe, make, state, VIEWS[state], WRITABLE, len(FUNCTIONS[name]) - 1)
    except Exception as error:  # numba raises what it likes
        raise ScenarioError(key, place, f"does not compile: {_essence(str(error), function, state)}") from error
    if returned != "integer" and (returned != "none" or name in CHOICES):
        _refuse(key, place, f"must return {'an integer' if name in CHOICES else 'nothing'}, not {returned}")
    return address


NO_MEMORY = "a scheme's memory are its registers, sw.reg and hx.reg"
CONSTANTS = "what comes from outside must be a number, a string, a tuple of these, a numpy array (all constants) or a function"
# what numba's message says -> what it means here; `{0}` is what the pattern found
MEANINGS = {
    r"NRT required|Only accept returning of array passed": f"it makes an array, a list or an exception with values; {NO_MEMORY}",
    r"setitem\(((?:sw|hx)\.\w+),": f"it writes to {{0}}, which can only be read; {NO_MEMORY}",
    r"Cannot resolve setattr: .*\.(\w+) = ": "it gives {state} a {0}; there are {fields}",
    r"for lowering (?:Switch|Host)View\.\w+\.(\w+) = ": f"it writes to {{state}}.{{0}}, which can only be read; {NO_MEMORY}",
    r"<ufunc .*>>> \w+\(.*((?:sw|hx)\.\w+)[^()]*\)": f"it writes to {{0}}, which can only be read; {NO_MEMORY}",
    r"setitem\(readonly array": f"it writes to an array from outside, which is a constant to it; {NO_MEMORY}",
    r"opcode \((?:STORE|DELETE)_GLOBAL\)": f"it writes to a global; {NO_MEMORY}",
    r"The use of a (reflected list|\w+)\(.*assigned to variable '(\w+)' in globals": f"it uses {{1}}, a list from outside; {NO_MEMORY}",
    r"Unknown attribute '(\w+)' of ((?:sw|hx)\.\w+), which has ([\w, ]+)": "it uses {1}.{0}, and {1} can only be read: it has {2}",
    r"Unknown attribute '(\w+)' of type (?:SwitchView|HostView)": "it uses {state}.{0}, which is not there: there are {fields}",
    r"Untyped (?:global|freevar) name '(\w+)': Cannot determine Numba type of <class '(?:[\w.]*\.)?(\w+)'>": (
        f"it uses {{0}}, a {{1}}; {CONSTANTS}"
    ),
    r"The use of a reflected (set)\(.*assigned to variable '(\w+)' in globals": f"it uses {{1}}, a {{0}}; {CONSTANTS}",
}
LINE = re.compile(r"(?:typing of [a-z_ ]+ at|File) \"?(?!<)[^\"(]*?[/\\]?{file}\"?(?: \(|, line )(\d+)")


def _essence(text: str, function, state: str) -> str:
    """What numba's message means, with the line; or those of its lines that say what is wrong and where."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    fields = ", ".join(f"{state}.{field}" for field in VIEWS[state]._fields)
    for pattern, meaning in MEANINGS.items():
        if found := re.search(pattern, text, re.DOTALL):
            line = re.search(LINE.pattern.replace("{file}", re.escape(Path(plain(function).__code__.co_filename).name)), text)
            return meaning.format(*found.groups(), state=state, fields=fields) + (f" (line {line[1]})" if line else "")
    lines = [line.strip() for line in text.splitlines()]
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
    pointers_per_switch: int | Callable | None = None,
    par: Any = (),
) -> None:
    """Make a balancer known as `balancer.kind: name` in this process; one of that name is replaced.

    Switches that have no `choose_uplink` hash labels, hosts that have no `next_label` give a flow one label. `registers_per_switch` (int32,
    a number or a function of Shape and tier: 1 an edge, 2 an aggregation switch) and `registers_per_flow` (int64) start as zeros, `sw.reg`
    and `hx.reg`. `pointers_per_switch`, given in the same way, is what results report; without it each register counts. `par`: up
    to 8 integers (or a function of Shape that lists them), which the functions find in `sw.par` and `hx.par`; times are in ticks
    (`own.ticks`). The functions are compiled at once; ScenarioError says what is wrong with them.
    """
    from ofancore.balancers import BALANCERS

    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > 100:
        _refuse("name", name, "must be of a to z, 0 to 9 and _, starting with a letter")
    if name in BALANCERS or name == FILE_KIND:
        _refuse("name", name, "is the name of a built-in scheme")
    given = {"choose_uplink": choose_uplink, "next_label": next_label, "on_ack": on_ack, "on_loss": on_loss}
    functions = {key: function for key, function in given.items() if function is not None}
    settings = {
        "title": title,
        "registers_per_switch": registers_per_switch,
        "registers_per_flow": registers_per_flow,
        "pointers_per_switch": pointers_per_switch,
        "par": par,
    }
    digest = hashlib.sha256(told({**functions, **settings}).encode()).hexdigest()[:16]
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
        module = _run(path, text, digest)
        _look_for_misspelt(path, module)
        functions = {name: getattr(module, name) for name in FUNCTIONS if hasattr(module, name)}
        settings = {name: getattr(module, name, default) for name, default in SETTINGS.items()}
        _defined[path, digest] = _checked(Path(path).stem, functions, settings, digest)
    return _defined[path, digest]


def _run(path: str, text: bytes, digest: str) -> types.ModuleType:
    """The module that a file makes."""
    module = types.ModuleType(f"ofancore_own_{digest}")
    module.__file__ = str(Path(path).absolute())
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, module.__file__, "exec", dont_inherit=True), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a file that ends the process is not sound
        del sys.modules[module.__name__]
        steps = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == module.__file__]
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == module.__file__ else steps[-1] if steps else None
        where = f" in line {line}" if line else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ScenarioError("module", path, f"does not run{where}: {type(error).__name__}{what and ': '}{what}") from error
    return module


def _look_for_misspelt(path: str, module: types.ModuleType) -> None:
    """A file may define what it likes besides, but not what looks like one of the names that count. ScenarioError if it does."""
    known = [*FUNCTIONS, *SETTINGS]
    for name, value in vars(module).items():
        elsewhere = isinstance(value, types.ModuleType) or getattr(value, "__module__", module.__name__) != module.__name__
        if name.startswith("_") or name in known or elsewhere:
            continue
        like = name.lower()
        close = [MEANT[like]] if like in MEANT else difflib.get_close_matches(like, set(known) - set(MEANT.values()), 1, 0.8)
        if close and close[0] not in vars(module):
            _refuse("module", path, f"defines {name}, which says nothing here; is {close[0]} meant? (else begin its name with _)")


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
    for key in ("registers_per_switch", "registers_per_flow", "pointers_per_switch"):
        stated = settings[key] is not None or key != "pointers_per_switch"
        if stated and (key == "registers_per_flow" or not callable(settings[key])):
            registers(f"{key} of {name}", settings[key])
    if not callable(settings["par"]):
        settings["par"] = parameters(name, settings["par"])
    return Definition(name, functions, digest=digest, **settings)


def registers(key: str, value: Any, *known) -> int:
    """A number of registers or pointers, or what a function of what is known says that it is."""
    value = _worked_out(key, value, *known)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value <= MOST_REGISTERS:
        _refuse(key, value, f"must be an integer from 0 to {MOST_REGISTERS}")
    return int(value)


def _worked_out(key: str, value: Any, *known) -> Any:
    """A setting, or what it says of a run if it is a function."""
    if not known or not callable(value):
        return value
    try:
        return value(*known)
    except Exception as error:
        raise ScenarioError(key, place_of(value), f"must not raise ({type(error).__name__}: {error})") from error


def parameters(name: str, values: Any, *known) -> list[int]:
    """`par` as plain integers."""
    values = _worked_out(f"par of {name}", values, *known)
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
        definition.address(name)
