"""A balancer of one's own: functions that a user wrote, in a notebook or a file, called by the compiled loop through their addresses.

Nothing is recompiled but the functions themselves. What they return is looked at here and nowhere else; a function that fails is noted,
the run stops at the end of the window, and `failure` says what happened. `definitions.py` is where they come from.

`own` of a state is int64[1 + n_nodes, 5]. Row 0: addresses of the four functions, and whether one has failed. Row 1 + n, what node n saw
first: the function (counted from 1), what it returned, where what it raised is described (0: nothing), and when. A node is served by
one thread, so the first failure of the lowest node is the same for any number of threads.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers.base import (
    BY_HASH,
    BY_OWN,
    FLOW_LABEL,
    NO_OWN,
    OWN_LABEL,
    Balancer,
    HostState,
    Shape,
    SwitchState,
    flows_per_host,
    per_flow,
)
from ofancore.balancers.definitions import FUNCTIONS, Definition, defined, parameters, registers
from ofancore.bits import LABEL_MASK
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.jit import call_at, exception_at, inner
from ofancore.units import ns

UPLINK, LABEL, ACKED, LOST, FAILED = range(5)  # of row 0
FUNCTION, VALUE, RAISED, AT = range(4)  # of the others
Word = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class Own(Balancer):
    """Functions of one's own: `kind` is the name that they were registered by, or `own`, and `module` the file that holds them."""

    kind: str
    module: str | None = Field(None, description="the file, where kind is own; a relative path starts at the working folder")
    par: list[Word] | None = Field(None, max_length=8, description="in place of the definition's own: up to 8 integers")
    code: str | None = Field(None, description="digest of the functions: filled in; if given, they must be those")

    @model_validator(mode="after")
    def _defined(self) -> Own:
        try:
            self.__dict__["code"] = self.definition.digest
        except ScenarioError as error:
            key = error.key if error.key in ("kind", "module", "code") else "module" if self.module else "kind"
            value = error.value if error.key == key else getattr(self, key)
            rule = error.rule if error.key == key else str(error)
            raise PydanticCustomError("broken", "{rule}", {"key": key, "value": value, "rule": rule}) from None
        return self

    @property
    def definition(self) -> Definition:
        """What was defined, as it was when the scenario was made."""
        return defined(self.kind, self.module, self.code)

    @property
    def switch_code(self) -> int:
        return BY_OWN if "choose_uplink" in self.definition.functions else BY_HASH

    @property
    def host_code(self) -> int:
        return OWN_LABEL if "next_label" in self.definition.functions else FLOW_LABEL

    def switch_registers(self, shape: Shape, tier: int) -> int:
        count = self.definition.registers_per_switch
        return registers(f"registers_per_switch of {self.definition.name}", count(shape, tier)) if callable(count) else count

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return 4 * self.switch_registers(shape, tier)  # as simulated: a user may need fewer bits in hardware

    def host_registers(self, shape: Shape) -> int:
        return self.definition.registers_per_flow * len(shape.flow_src)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if not self.definition.registers_per_flow:
            return super().init_hosts(shape, rng)
        return np.zeros(self.host_registers(shape), np.int64), per_flow(shape, self.definition.registers_per_flow)

    def host_bytes(self, shape: Shape) -> int:
        return 8 * self.definition.registers_per_flow * flows_per_host(shape)

    def constants(self, shape: Shape) -> list[int]:
        given = self.definition.par
        if self.par is not None:
            return self.par
        return parameters(self.definition.name, given(shape)) if callable(given) else given

    def own(self, n_nodes: int) -> np.ndarray:
        return np.zeros((1 + n_nodes, NO_OWN.shape[1]), np.int64)

    def connect(self, sw: SwitchState, hx: HostState) -> None:
        for column, name in enumerate(FUNCTIONS):
            sw.own[0, column] = self.definition.address(name, hx if column else sw)

    def failure(self, own: np.ndarray, fabric: Fabric) -> ScenarioError | None:
        if not own[0, FAILED]:
            return None
        node = int(np.flatnonzero(own[1:, FUNCTION])[0])
        function, value, raised, now = (int(word) for word in own[1 + node, :4])
        name = list(FUNCTIONS)[function - 1]
        tier = int(np.searchsorted(fabric.node_base, node, side="right")) - 1
        number = node - fabric.node_base[tier] if tier else fabric.host_at(node)
        where = f"{('host', 'edge switch', 'aggregation switch')[tier]} {number}, at {ns(now)} ns"
        key = f"{name} of {self.definition.name}"
        if raised:
            return ScenarioError(key, exception_at(raised), f"must not raise ({where})")
        if function - 1 == UPLINK:
            return ScenarioError(key, value, f"must return an uplink from 0 to {(fabric.A, fabric.C)[tier - 1] - 1} ({where})")
        return ScenarioError(key, value, f"must return a label from 0 to {LABEL_MASK} ({where})")


@inner
def note(own, node, function, value, raised, now):
    """Keep a node's first failure."""
    if own[1 + node, FUNCTION] == 0:
        own[1 + node, FUNCTION] = function + 1
        own[1 + node, VALUE] = value
        own[1 + node, RAISED] = raised
        own[1 + node, AT] = now
    own[0, FAILED] = 1


@inner(apart=True)
def choose_own(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """What the user's function chooses, or -1 if that is no uplink."""
    j, raised = call_at(sw.own[0, UPLINK], sw, (node, up, width, sched, group, small, port, host, label, flow, now))
    if raised != 0 or j < 0 or j >= width:
        note(sw.own, node, UPLINK, j, raised, now)
        return np.int64(-1)
    return j


@inner(apart=True)
def label_own(hx, at, host, flow, seq, now):
    """What the user's function chooses, or 0 if that is no label."""
    label, raised = call_at(hx.own[0, LABEL], hx, (at, host, flow, seq, now))
    if raised != 0 or label < 0 or label > LABEL_MASK:
        note(hx.own, host, LABEL, label, raised, now)
        return np.int64(0)
    return label


@inner(apart=True)
def acked_own(hx, at, host, label, ecn, now):
    """Call the user's function, if there is one."""
    if hx.own[0, ACKED] != 0:
        _, raised = call_at(hx.own[0, ACKED], hx, (at, host, label, ecn, now))
        if raised != 0:
            note(hx.own, host, ACKED, 0, raised, now)


@inner(apart=True)
def lost_own(hx, at, host, label, congested, silent, now):
    """Call the user's function, if there is one."""
    if hx.own[0, LOST] != 0:
        _, raised = call_at(hx.own[0, LOST], hx, (at, host, label, congested, silent, now))
        if raised != 0:
            note(hx.own, host, LOST, 0, raised, now)
