"""Where a scheme is described: the file of its balancer, that file's docstring, and links to it from wherever results lie.

Paths are relative to the checkout. A file is read, not imported: a scheme of a user's own does not run because a page shows it.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

from ofancore.balancers import BALANCERS

ROOT = Path(__file__).resolve().parent.parent


def described_in(kind: str, module: str | None = None) -> str:
    """The file that describes a balancer; of one's own its `module`. Empty if there is none: functions that were only registered."""
    if kind == "own":
        return module or ""
    return f"{BALANCERS[kind].__module__.replace('.', '/')}.py" if kind in BALANCERS else ""


def docstring(path: str, root: Path = ROOT) -> str:
    """The docstring of a file; empty if it has none or cannot be read."""
    try:
        return ast.get_docstring(ast.parse((root / path).read_text())) or ""
    except (OSError, ValueError, SyntaxError):
        return ""


def in_a_line(kind: str, described: str) -> str:
    """What a balancer does, in a line: the first one of its class, or of the docstring of a file of one's own."""
    text = BALANCERS[kind].__doc__ or "" if kind in BALANCERS else described
    return text.split("\n")[0].replace("`", "")


def first_sentence(text: str) -> str:
    """Of a docstring, which for a balancer names rule and paper; what follows an abbreviation begins with no capital letter."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.match(r".*?(?:\.(?= [A-Z])|$)", paragraph)[0]


def link(path: str, folder: str | Path, root: Path = ROOT) -> str:
    """The link to a file of the checkout from a page in `folder`: relative, so that a checkout can be moved with its results."""
    return Path(os.path.relpath(root / path, os.path.abspath(folder))).as_posix()


def anchor(path: str) -> str:
    """The id by which a page that holds the docstring names it."""
    return "doc-" + "".join(c if c.isalnum() else "-" for c in path.removesuffix(".py"))
