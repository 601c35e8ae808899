"""ofancore: packet-level simulation of load balancing for AI training fabrics.

>>> from ofancore import Scenario, simulate
>>> simulate(Scenario.from_dict({"balancer": {"kind": "ofan"}})).cct_inflation
"""

import sys

from ofancore import own
from ofancore.balancers import BALANCERS
from ofancore.congestion import CONGESTION
from ofancore.console import tell_of_compiling
from ofancore.errors import EngineError, OfanError, ScenarioError
from ofancore.recovery import RECOVERY
from ofancore.result import Result
from ofancore.scenario import Scenario
from ofancore.simulate import simulate
from ofancore.workloads import WORKLOADS

# jsonschema, which altair and papermill load, would build a grammar of IRIs on import, three seconds in every process that draws; no
# schema of charts or notebooks has a field of that format.
sys.modules.setdefault("rfc3987_syntax", None)

# A minute in which nothing else is to be seen: in a notebook or on a terminal a line says so. Commands say it wherever they run.
tell_of_compiling()

__version__ = "0.1.0"
__all__ = [
    "BALANCERS",
    "CONGESTION",
    "RECOVERY",
    "WORKLOADS",
    "EngineError",
    "OfanError",
    "Result",
    "Scenario",
    "ScenarioError",
    "own",
    "simulate",
]
