"""The P4 sources: where they lie, their sizes for a radix, and a digest over what a compiler reads.

The digest is taken over a program with its own includes put in place, comments and blank lines left out and white space evened, together
with the build parameters; so it changes when a token does, and not when a comment does.
"""

from __future__ import annotations

import ast
import hashlib
import operator
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ofancore.errors import ScenarioError

P4 = Path(__file__).resolve().parents[2] / "p4"
PROGRAMS = ("ofan", "pofan", "ecmp")
TARGETS = {"v1model": 0, "tofino": 1, "tofino2": 2}  # target -> __TARGET_TOFINO__ (0: not defined)
RADICES = range(8, 65, 2)
PIPES_MAX = 4  # pipe_t has 2 bits

_INCLUDE = re.compile(r'#include\s+"([^"]+)"')
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv, ast.LShift: operator.lshift
}  # fmt: skip


def check_radix(radix: int) -> int:
    """The radix, if the programs can be built for it; ScenarioError otherwise."""
    if radix not in RADICES:
        raise ScenarioError("radix", radix, f"must be even, from {RADICES[0]} to {RADICES[-1]}")
    return radix


def program_file(program: str) -> Path:
    """The top file of a program; ScenarioError for an unknown one."""
    if program not in PROGRAMS:
        raise ScenarioError("program", program, f"must be one of: {', '.join(PROGRAMS)}")
    return P4 / program / f"{program}.p4"


def without_comments(text: str) -> str:
    """P4 text without `//` and `/* */` comments. The programs hold no string with either in it."""
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def source_text(path: Path, tofino: int | None = None, _seen: tuple[Path, ...] = ()) -> str:
    """What a compiler reads of a file: its own includes in place, no comments, no blank lines, single spaces.

    `tofino` (`__TARGET_TOFINO__`, 0: not defined) leaves out what the other targets read; None keeps all. Conditions on other names are
    kept as they are: a change in one of their branches changes the digest, whether it is read or not.
    """
    path = path.resolve()
    if path in _seen:
        raise ValueError(f"{path} includes itself")
    lines, open_ifs = [], []  # of each open #if: [are its lines read?, has one of its branches been?], None for a condition that is kept
    for line in without_comments(path.read_text()).splitlines():
        line = " ".join(line.split())
        word = line.partition(" ")[0]
        if word in ("#if", "#ifdef", "#ifndef"):
            true = None if tofino is None else _target_condition(line, tofino)
            open_ifs.append(None if true is None else [true, true])
            if true is not None:
                continue
        elif word in ("#elif", "#else") and open_ifs[-1]:
            true = not open_ifs[-1][1] and (word == "#else" or bool(_target_condition(line, tofino)))
            open_ifs[-1] = [true, true or open_ifs[-1][1]]
            continue
        elif word == "#endif" and open_ifs.pop():
            continue
        if any(flags and not flags[0] for flags in open_ifs):
            continue
        include = _INCLUDE.fullmatch(line)
        if include:
            lines.append(source_text(path.parent / include[1], tofino, (*_seen, path)))
        elif line:
            lines.append(line)
    return "\n".join(line for line in lines if line)


def _target_condition(line: str, tofino: int) -> bool | None:
    """Whether a condition on the target holds; None for one on anything else."""
    match line.split():
        case ["#ifdef", "__TARGET_TOFINO__"]:
            return tofino > 0
        case ["#if" | "#elif", "__TARGET_TOFINO__", "==", number]:
            return tofino == int(number)
    return None


def digest(program: str, target: str, radix: int) -> str:
    """16 hex characters that name the source of one build."""
    if target not in TARGETS:
        raise ScenarioError("target", target, f"must be one of: {', '.join(TARGETS)}")
    text = f"{target} RADIX={check_radix(radix)}\n{source_text(program_file(program), TARGETS[target])}\n"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def defines(target: str, radix: int) -> list[str]:
    """The compiler's -D options of a build."""
    tofino = TARGETS[target]
    return [f"-DRADIX={check_radix(radix)}", *([f"-D__TARGET_TOFINO__={tofino}"] if tofino else [])]


@dataclass(frozen=True)
class Sizes:
    """Sizes of a build, from `p4/include/sizes.p4`: numbers of entries and registers, and widths in bits."""

    radix: int
    edges: int
    pointers: int
    routes: int
    ports: int
    small_bytes: int
    slots: int
    hash_bits: int
    pipes: int


@cache
def sizes(radix: int) -> Sizes:
    """The sizes that `-DRADIX=radix` gives."""
    values = {"RADIX": check_radix(radix)}
    active = [True]  # one flag an open #if: are its lines read?
    done = [True]  # ... and has one of its branches been?
    for line in without_comments((P4 / "include" / "sizes.p4").read_text()).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word in ("#ifndef", "#if"):
            name, _, bound = rest.partition(" <= ")
            true = name.strip() not in values if word == "#ifndef" else values[name] <= int(bound)
            done.append(true)
            active.append(active[-1] and true)
        elif word in ("#elif", "#else"):
            name, _, bound = rest.partition(" <= ")
            true = not done[-1] and (word == "#else" or values[name] <= int(bound))
            done[-1] = done[-1] or true
            active[-1] = active[-2] and true
        elif word == "#endif":
            active.pop()
            done.pop()
        elif word == "#define" and active[-1]:
            name, _, expression = rest.partition(" ")
            if expression.strip():
                values[name] = _value(ast.parse(expression.strip(), mode="eval").body, values)
    return Sizes(
        radix=radix,
        edges=values["EDGES"],
        pointers=values["POINTERS"],
        routes=values["ROUTES"],
        ports=values["PORTS"],
        small_bytes=values["SMALL_BYTES"],
        slots=values["SLOTS"],
        hash_bits=values["HASH_BITS"],
        pipes=values["PIPES"],
    )


def _value(node: ast.expr, names: dict[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
    raise ValueError(f"sizes.p4: cannot evaluate {ast.dump(node)}")
