"""A balancer of one's own: functions that a user wrote, in a notebook or a file, called by the compiled loop through their addresses.

Nothing is recompiled but the functions themselves. What they return is looked at here and nowhere else; a function that fails is noted,
the run stops at the end of the window, and `failure` says what happened. `definitions.py` is where they come from.

`own` of a state is int64[1 + n_nodes, 6]. Row 0: addresses of the four functions, whether one has failed, how many parameters there are.
Row 1 + n: what node n saw first, that is the function (counted from 1), what it returned, where what it raised is described (0: nothing),
and when; then how many registers the switch has, or each flow of the host. A node is served by one thread, so the first failure of the
lowest node is the same for any number of threads.
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
    MOST_REGISTERS,
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
from ofancore.balancers.views import STATES, view_host, view_switch
from ofancore.bits import LABEL_MASK
from ofancore.errors import ScenarioError
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.jit import call_at, exception_at, in_memory, inner
from ofancore.units import ns

UPLINK, LABEL, ACKED, LOST, FAILED, N_PAR = range(6)  # of row 0
FUNCTION, VALUE, RAISED, AT, N_REG = range(5)  # of the others
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
        key = f"registers_per_switch of {self.definition.name}"
        count = registers(key, self.definition.registers_per_switch, shape, tier)
        switches = shape.fabric.n_edges + shape.fabric.n_aggs
        if count * switches > MOST_REGISTERS:
            raise ScenarioError(key, count, f"needs {count * switches / 2**28:.1f} GiB for {switches:,} switches; at most 1 GiB is given")
        return count

    def pointers(self, shape: Shape, tier: int) -> int:
        """What the author says, or as many as there are registers: each of them may be one."""
        count = self.definition.pointers_per_switch
        if count is None:
            return self.switch_registers(shape, tier)
        return registers(f"pointers_per_switch of {self.definition.name}", count, shape, tier)

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return 4 * self.switch_registers(shape, tier)  # as simulated: a user may need fewer bits in hardware

    def host_registers(self, shape: Shape) -> int:
        words, flows = self.definition.registers_per_flow, len(shape.flow_src)
        if words * flows > MOST_REGISTERS:
            key = f"registers_per_flow of {self.definition.name}"
            raise ScenarioError(key, words, f"needs {words * flows / 2**27:.1f} GiB for {flows:,} flows; at most 2 GiB are given")
        return words * flows

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if not self.definition.registers_per_flow:
            return super().init_hosts(shape, rng)
        return np.zeros(self.host_registers(shape), np.int64), per_flow(shape, self.definition.registers_per_flow)

    def host_bytes(self, shape: Shape) -> int:
        return 8 * self.definition.registers_per_flow * flows_per_host(shape)

    def constants(self, shape: Shape) -> list[int]:
        return self.par if self.par is not None else parameters(self.definition.name, self.definition.par, shape)

    def own(self, shape: Shape) -> np.ndarray:
        base = shape.fabric.node_base
        own = np.zeros((1 + shape.fabric.n_nodes, NO_OWN.shape[1]), np.int64)
        own[0, N_PAR] = len(self.constants(shape))
        own[1 : 1 + base[1], N_REG] = self.definition.registers_per_flow
        for tier in (EDGE, AGG) if shape.fabric.C else (EDGE,):
            own[1 + base[tier] : 1 + base[tier + 1], N_REG] = self.switch_registers(shape, tier)
        return own

    def connect(self, sw: SwitchState, hx: HostState) -> None:
        for state, example in zip((sw, hx), STATES.values(), strict=True):
            for array, like in zip(state, example, strict=True):  # what was compiled takes no others
                if (array.dtype, array.ndim, array.flags.c_contiguous) != (like.dtype, like.ndim, True):
                    raise TypeError(
                        f"functions of a user's own are not compiled for {array.dtype}[{array.ndim}d] in {type(state).__name__}"
                    )
        for column, name in enumerate(FUNCTIONS):
            sw.own[0, column] = self.definition.address(name)

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
            what = exception_at(raised)
            sizes = f"; {self._sizes(own, node, tier, fabric)}" if what.startswith("IndexError") else ""
            return ScenarioError(key, what, f"must not raise ({where}){sizes}")
        if function - 1 == UPLINK:
            return ScenarioError(key, value, f"must return an uplink from 0 to {(fabric.A, fabric.C)[tier - 1] - 1} ({where})")
        return ScenarioError(key, value, f"must return a label from 0 to {LABEL_MASK} ({where})")

    def _sizes(self, own: np.ndarray, node: int, tier: int, fabric: Fabric) -> str:
        """The arrays that a function indexes, with their lengths."""
        state, width = ("hx", "") if tier == 0 else ("sw", f", sw.free[{(fabric.A, fabric.C)[tier - 1]}]")
        return f"there are {state}.reg[{own[1 + node, N_REG]}], {state}.par[{own[0, N_PAR]}]{width}"


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
    view = in_memory(view_switch(sw, node, up, width, sw.own[1 + node, N_REG], sw.own[0, N_PAR]))
    j, raised = call_at(sw.own[0, UPLINK], view, (node, width, sched, group, small, port, host, label, flow, now))
    if raised != 0 or j < 0 or j >= width:
        note(sw.own, node, UPLINK, j, raised, now)
        return np.int64(-1)
    return j


@inner(apart=True)
def label_own(hx, at, host, flow, seq, now):
    """What the user's function chooses, or 0 if that is no label."""
    view = in_memory(view_host(hx, at, host, hx.own[1 + host, N_REG], hx.own[0, N_PAR]))
    label, raised = call_at(hx.own[0, LABEL], view, (host, flow, seq, now))
    if raised != 0 or label < 0 or label > LABEL_MASK:
        note(hx.own, host, LABEL, label, raised, now)
        return np.int64(0)
    return label


@inner(apart=True)
def acked_own(hx, at, host, label, ecn, now):
    """Call the user's function, if there is one."""
    if hx.own[0, ACKED] != 0:
        view = in_memory(view_host(hx, at, host, hx.own[1 + host, N_REG], hx.own[0, N_PAR]))
        _, raised = call_at(hx.own[0, ACKED], view, (host, label, ecn, now))
        if raised != 0:
            note(hx.own, host, ACKED, 0, raised, now)


@inner(apart=True)
def lost_own(hx, at, host, label, congested, silent, now):
    """Call the user's function, if there is one."""
    if hx.own[0, LOST] != 0:
        view = in_memory(view_host(hx, at, host, hx.own[1 + host, N_REG], hx.own[0, N_PAR]))
        _, raised = call_at(hx.own[0, LOST], view, (host, label, congested, silent, now))
        if raised != 0:
            note(hx.own, host, LOST, 0, raised, now)
