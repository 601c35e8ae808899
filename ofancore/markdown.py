"""Tables in Markdown, and files that hold generated ones between markers."""

from __future__ import annotations


def _cell(value) -> str:
    return str(value).replace("|", "\\|")


def table(head: list[str], rows: list[list]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows])


def filled(text: str, blocks: dict, name: str) -> str:
    """The text of the file `name` with each block (name -> what makes it) made anew, between its markers."""
    for block, make in blocks.items():
        start, end = f"<!-- {block} -->\n", f"<!-- end of {block} -->"
        if (text.count(start), text.count(end)) != (1, 1):
            raise ValueError(f"{name} needs one pair of markers for {block}")
        before, rest = text.split(start)
        text = f"{before}{start}\n{make()}\n\n{end}{rest.split(end)[1]}"
    return text
