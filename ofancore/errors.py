"""How refusal reads: one exception, one line, naming the dotted key, the value and the rule that it breaks."""

from __future__ import annotations


class OfanError(Exception):
    """A request that cannot be honoured; the command line prints it as one line and exits with status 2."""


class ScenarioError(OfanError):
    """A scenario that breaks a rule.

    Attributes: `key` (dotted path into the scenario), `value` (as given) and `rule` (what holds for valid ones).
    """

    def __init__(self, key: str, value: object, rule: str):
        self.key, self.value, self.rule = key, value, rule
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        name = key if key.isprintable() else repr(key)
        super().__init__(f"{name} = {shown}: {rule}")


class EngineError(OfanError):
    """The engine stopped for a reason that is not the scenario's fault (its status code is in the message)."""
