"""Texts and tables in Markdown, and files that hold generated ones between markers."""

from __future__ import annotations

import re

_OPENS = re.compile(r"^(#|>|```|~~~|[-+*](?=\s))")  # a heading, a quotation, code, a list
_PIPE = re.compile(r"(\\*)\|")  # with what would escape its escape


def line(text) -> str:
    """A text (or what `str` makes one) on one line that ends no cell, holds no tags and opens no block; emphasis, code and links stay."""
    text = _OPENS.sub(r"\\\1", " ".join(str(text).split()))
    return _PIPE.sub(r"\1\1\\|", text).replace("<", "&lt;")


def table(head: list[str], rows: list[list]) -> str:
    """Rows of anything that has a `str`; each cell is made a `line`, the head is taken as it is."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(line(value) for value in row) + " |" for row in rows])


def filled(text: str, blocks: dict, name: str) -> str:
    """The text of the file `name` with each block (name -> what makes it) made anew, between its markers."""
    for block, make in blocks.items():
        start, end = f"<!-- {block} -->\n", f"<!-- end of {block} -->"
        if (text.count(start), text.count(end)) != (1, 1):
            raise ValueError(f"{name} needs one pair of markers for {block}")
        before, rest = text.split(start)
        text = f"{before}{start}\n{make()}\n\n{end}{rest.split(end)[1]}"
    return text
