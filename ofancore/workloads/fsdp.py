"""Training with fully sharded data parallelism (PyTorch's FSDP2, `fully_shard`) of Llama 3: its collectives, and the computing between.

Every GPU holds one shard of every layer. A layer is gathered from all ranks before its forward and again before its backward pass, and
its gradients are reduced and scattered after it. The paper's setup is 1024 GPUs as 128 servers of 8: a host of the fabric is a server's
NIC of one of 8 rails (our reading), each rail gathers the 128 shards of its own GPUs, and servers share them out within. Hence a layer
is cut into 1024 shards and a collective among 128 hosts has 127 steps.

Streams, as in FSDP2: all-gathers follow one another, so do reduce-scatters, so do computations; the three overlap.
- The all-gather of the layer `prefetch` ahead is issued when a layer starts to compute; with 0, the next one when it has computed. The
  first all-gather of the backward pass waits for the whole forward pass.
- A layer computes once it is gathered and the one before has computed. Its gradients go out when its backward pass is done and the
  reduce-scatter before has ended at this rank; the next layer but one waits for that reduce-scatter (one in flight).
- A rank takes part in a collective from the moment it issues it. The collective has ended at a rank when all that it receives has arrived.

Computing takes 2 operations a parameter and token forward and 4 backward (nothing is computed twice: Llama 3 trained without activation
checkpointing) at the stated rate. Attention scores, embeddings, loss and optimizer are left out.

Reference: "The Llama 3 Herd of Models", arXiv 2407.21783.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, MessagePackets, Placement, Workload, placed, ring, rotated, same
from ofancore.workloads.models import Model, load_model

MOST_PACKETS = 1_000_000  # of a message
COLLECTIVES = {"all_gather": 1, "reduce_scatter": 1, "backward": 2, "step": 3}  # of a layer, by phase
LONGEST_COMPUTING_S = 3600.0  # of a run, so that its time can be counted


class Fsdp(Workload):
    """Collectives and computations of FSDP training."""

    kind: Literal["fsdp"] = "fsdp"
    model: str = Field("llama3_405b", description="a file of data/models: llama3_8b, llama3_70b, llama3_405b")
    ranks: Annotated[int, Field(ge=2)] | None = Field(None, description="hosts that take part; null: all")
    shards: int = Field(1024, ge=2, le=10**7, description="GPUs that share a layer; at least as many as ranks (paper: 128 servers of 8)")
    bytes_per_parameter: int = Field(2, ge=1, le=8, description="gathered (bf16: gives the paper's packets a flow; FP8: 1)")
    bytes_per_gradient: int = Field(2, ge=1, le=8, description="reduced (our choice: as gathered; Llama 3 reduces in FP32: 4)")
    message_packets: MessagePackets | None = Field(None, description="data packets a shard; null: from model, bytes and shards")
    collective: Literal["ring", "direct"] = Field(
        "ring", description="ring: on to the right what came in; direct: to each other rank its own, in the rotated order, one at a time"
    )
    steps: Annotated[int, Field(ge=1)] | None = Field(
        None, description="steps of a collective simulated, computing being cut by the same share (our choice); null: all n - 1"
    )
    placement: Placement = "random"
    phase: Literal["all_gather", "reduce_scatter", "backward", "step"] = Field(
        "all_gather", description="one collective of one layer; the backward pass, or forward and backward, of `layers` layers"
    )
    layers: int = Field(2, ge=1, le=1000, description="layers simulated in the phases backward and step (our choice)")
    prefetch: int = Field(1, ge=0, le=1000, description="layers gathered ahead while one computes (FSDP2: 1; 0: no overlap)")
    tflops: float = Field(400.0, ge=1, le=1e6, description="computing rate of a GPU, TFLOP/s (Llama 3 report: 380-430 on H100)")
    tokens: int = Field(1024, ge=1, le=10**8, description="tokens a GPU and step (Llama 3 report: 16M a batch on 16,384 GPUs)")
    title: ClassVar[str] = "FSDP training"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        gathered, reduced = self.messages(load_model(self.model), payload_bytes)
        per_layer = {"all_gather": gathered, "reduce_scatter": reduced, "backward": gathered + reduced, "step": 2 * gathered + reduced}
        layers = self.layers if self.phase in ("backward", "step") else 1
        most = min(self.ranks or fabric.n_hosts, fabric.n_hosts) - 1
        return min(self.steps or most, most) * layers * per_layer[self.phase]

    def messages(self, model: Model, payload_bytes: int) -> tuple[int, int]:
        """Data packets of one shard of parameters, and of gradients."""
        if self.message_packets is not None:
            return self.message_packets, self.message_packets
        per_packet = self.shards * payload_bytes
        gathered, reduced = (-(-model.layer_parameters * b // per_packet) for b in (self.bytes_per_parameter, self.bytes_per_gradient))
        if max(gathered, reduced) > MOST_PACKETS:
            rule = f"makes shards of {max(gathered, reduced)} packets, at most {MOST_PACKETS} are possible"
            raise ScenarioError("workload.shards", self.shards, rule)
        return gathered, reduced

    def compute_ns(self, model: Model) -> tuple[float, float]:
        """Time in which a GPU computes one layer forward, and backward."""
        per_pass = model.layer_parameters * self.tokens / (self.tflops * 1e12) * 1e9
        return 2 * per_pass, 4 * per_pass

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        model = load_model(self.model)
        n = self.ranks or fabric.n_hosts
        steps = self.steps or n - 1
        layers = self.layers if self.phase in ("backward", "step") else 1
        if n > fabric.n_hosts:
            raise ScenarioError("workload.ranks", n, f"the fabric has {fabric.n_hosts} hosts")
        if steps > n - 1:
            raise ScenarioError("workload.steps", steps, f"a collective of {n} ranks has {n - 1} steps")
        if self.shards < n:
            raise ScenarioError("workload.shards", self.shards, f"a layer has at least one shard a rank: {n}")
        if layers > model.layers:
            raise ScenarioError("workload.layers", layers, f"{model.title} has {model.layers} layers")
        if n * layers * (COLLECTIVES[self.phase] * steps + 7) > MAX_FLOWS:  # with a layer's computations, and where they join
            raise ScenarioError("workload.layers", layers, f"{n} ranks of {steps} steps would have more than {MAX_FLOWS} flows")
        forward_ns, backward_ns = (x * steps / (n - 1) for x in self.compute_ns(model))
        computing_s = layers * (forward_ns + backward_ns) / 1e9
        if computing_s > LONGEST_COMPUTING_S:
            raise ScenarioError("workload.tokens", self.tokens, f"computing takes {computing_s:.0f} s, at most {LONGEST_COMPUTING_S:.0f}")

        who = placed(np.arange(fabric.n_hosts), self.placement, fabric, rng)[:n]
        gathered, reduced = self.messages(model, payload_bytes)
        dag = Dag(who, self.collective == "ring", steps)
        if self.phase == "all_gather":
            dag.collective("AG forward 0", gathered)
        elif self.phase == "reduce_scatter":
            dag.collective("RS 0", reduced)
        else:
            forward = _forward(dag, layers, self.prefetch, gathered, forward_ns) if self.phase == "step" else None
            _backward(dag, layers, self.prefetch, gathered, reduced, backward_ns, forward)
        return dag.flows()


def _forward(dag: Dag, layers: int, prefetch: int, packets: int, compute_ns: float) -> np.ndarray:
    """The forward pass; returns its last computation (int64[n], a flow a rank)."""
    gate, computed = None, []
    for i in range(layers):
        earlier = computed[i - prefetch - 1] if i > prefetch else None
        gate = dag.gate(dag.collective(f"AG forward {i}", packets, gate, earlier))
        computed.append(dag.compute(compute_ns, gate, computed[-1] if i else None))
    return computed[-1]


def _backward(dag: Dag, layers: int, prefetch: int, gathered: int, reduced: int, compute_ns: float, forward: np.ndarray | None) -> None:
    """The backward pass, from the last layer to the first, after the computation `forward`."""
    gate, computed, scattered = None, [], []
    for j in range(layers):
        i = layers - 1 - j
        earlier = computed[j - prefetch - 1] if j > prefetch else forward if j == 0 else None
        gate = dag.gate(dag.collective(f"AG backward {i}", gathered, gate, earlier))
        before = computed[-1] if j else forward
        computed.append(dag.compute(compute_ns, gate, before, scattered[j - 2] if j > 1 else None))
        last = dag.collective(f"RS {i}", reduced, computed[-1], scattered[-1] if j else None)
        if i:
            scattered.append(dag.gate(last))


class Dag:
    """Flows and what they wait for, put together collective by collective.

    `who` int64[n]: hosts by rank. What a rank waits for, and what it may be waited for by, is an int64[n]: a flow a rank that arrives at
    that rank's host; None: nothing.
    """

    def __init__(self, who: np.ndarray, in_ring: bool, steps: int):
        self.who, self.in_ring, self.steps = who, in_ring, steps
        self.groups: list[str] = []
        self._rows: list[tuple[np.ndarray, ...]] = []
        self._pairs: list[tuple[np.ndarray, np.ndarray]] = []
        self._count = 0

    def _add(self, src: np.ndarray, dst: np.ndarray, packets: int, delay_ns: float, group: int) -> np.ndarray:
        n = len(src)
        self._rows.append((src, dst, same(n, packets), np.full(n, delay_ns), same(n, group)))
        self._count += n
        return np.arange(self._count - n, self._count)

    def _wait(self, earlier: np.ndarray, later: np.ndarray) -> None:
        """`later` waits for `earlier`; one may be int64[k, n] and the other int64[n]."""
        pair = np.broadcast_arrays(earlier, later)
        self._pairs.append((pair[0].ravel(), pair[1].ravel()))

    def compute(self, delay_ns: float, *waits: np.ndarray | None) -> np.ndarray:
        """A computation at every rank, after `waits`."""
        ids = self._add(self.who, self.who, 0, delay_ns, -1)
        for earlier in waits:
            if earlier is not None:
                self._wait(earlier, ids)
        return ids

    def collective(self, name: str, packets: int, *waits: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """A collective that each rank takes part in after `waits`; returns (arrivals int64[steps, n] by receiving rank, its issue)."""
        n, steps = len(self.who), self.steps
        waits = [w for w in waits if w is not None]
        issue = self.compute(0.0, *waits) if len(waits) > 1 else waits[0] if waits else None
        self.groups.append(name)
        group = len(self.groups) - 1
        if self.in_ring:
            rank, to, earlier, later = ring(n, steps)
            ids = self._add(self.who[rank], self.who[to], packets, 0.0, group)
            self._wait(ids[earlier], ids[later])
            by_step = ids.reshape(steps, n)
        else:
            rank, to = rotated(n, steps)
            ids = self._add(self.who[rank], self.who[to], packets, 0.0, group)
            by_step = ids.reshape(n, steps).T
        if issue is not None:
            self._wait(issue, by_step)
        arrivals = np.empty_like(by_step)
        arrivals[np.arange(steps)[:, None], to[by_step - ids[0]]] = by_step
        return arrivals, issue

    def gate(self, collective: tuple[np.ndarray, np.ndarray | None]) -> np.ndarray:
        """The end of a collective at every rank."""
        return self.compute(0.0, *collective)

    def flows(self) -> Flows:
        src, dst, packets, delay_ns, group = (np.concatenate(column) for column in zip(*self._rows))
        none = [(np.zeros(0, np.int64),) * 2]
        after = np.stack([np.concatenate(column) for column in zip(*(self._pairs or none))], axis=1)
        return Flows(src, dst, packets, after, 1 << 40 if self.in_ring else 1, delay_ns, group, self.groups)
