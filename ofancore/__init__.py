"""ofancore: packet-level simulation of load balancing for AI training fabrics.

>>> from ofancore import Scenario, simulate
>>> simulate(Scenario.from_dict({"balancer": {"kind": "ofan"}})).cct_inflation
"""

import importlib
import sys

# jsonschema, which altair and papermill load, would build a grammar of IRIs on import, three seconds in every process that draws; no
# schema of charts or notebooks has a field of that format.
sys.modules.setdefault("rfc3987_syntax", None)

__version__ = "0.1.0"

# Where each public name is defined; loaded when it is asked for, since who draws a figure needs no simulator.
HOMES = {
    "BALANCERS": "balancers",
    "CONGESTION": "congestion",
    "RECOVERY": "recovery",
    "WORKLOADS": "workloads",
    "EngineError": "errors",
    "OfanError": "errors",
    "Result": "result",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "simulate": "simulation",
}
__all__ = [*HOMES, "own"]


def __getattr__(name: str):
    if name == "own":
        return importlib.import_module("ofancore.own")
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"ofancore.{HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
