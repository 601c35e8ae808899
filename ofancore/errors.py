"""How refusal reads: one exception, one line, naming the dotted key, the value and the rule that it breaks."""

from __future__ import annotations

import reprlib

MOST_SHOWN = 120  # characters of a value

_limits = reprlib.Repr()
_limits.maxlevel = 4
_limits.maxlist = _limits.maxtuple = _limits.maxdict = _limits.maxset = 12
_limits.maxstring = _limits.maxlong = _limits.maxother = MOST_SHOWN


def brief(value: object) -> str:
    """`repr` on one line and no longer than it may be, in no more time than that takes: a value may be of any size and depth."""
    try:
        text = _limits.repr(value)
    except ValueError:  # more digits than Python will write
        text = f"a number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


class OfanError(Exception):
    """A request that cannot be honoured; the command line prints it as one line and exits with status 2."""


class ScenarioError(OfanError):
    """A scenario that breaks a rule.

    Attributes: `key` (dotted path into the scenario), `value` (as given) and `rule` (what holds for valid ones).
    """

    def __init__(self, key: str, value: object, rule: str):
        self.key, self.value, self.rule = key, value, rule
        name = key if key.isprintable() and len(key) <= MOST_SHOWN else brief(key)
        super().__init__(f"{name} = {brief(value)}: {rule}")


class EngineError(OfanError):
    """The engine stopped for a reason that is not the scenario's fault (its status code is in the message)."""
