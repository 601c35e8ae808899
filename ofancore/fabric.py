"""Fat trees and leaf-spines as flat arrays of directed links, and names back.

A three-tier k-ary fat tree has k pods; a pod has k/2 edge switches with k/2 hosts each and `aggs_per_pod` aggregation
switches (k/2 without oversubscription); aggregation index j of every pod connects to the `cores_per_agg` core switches of
group j. A two-tier leaf-spine of radix k is one pod of k leaves (edge switches) and k/2 spines (aggregation switches).

Nodes are numbered hosts, edges, aggs, cores. Directed links are numbered by class, and within a class by the lower node and
its port, so that the uplinks of a switch are consecutive and so are its downlinks:

    host_edge  h                                 edge_host  h
    edge_agg   edge * A + j                      agg_edge   agg * E + edge index in pod
    agg_core   agg * C + i                       core_agg   core * P + pod

Input ports of a switch count its lower neighbours first, then its upper ones.

Rails. With `rails` = R > 1, R hosts in a row are the NICs of one server, and host h is NIC h mod R of server h div R. Switches and cables
stay as they are; R neighbouring edge switches of a pod are the rails 0 to R - 1 of the S servers below them, and a server's NIC r hangs
off the edge switch of rail r. So hosts are numbered otherwise than the ports they are plugged into, their *places*: place e * S + i is port
i of edge switch e, as above. Nodes, links and all that follows a packet (`edge_of`, `hops`) know places; who sends to whom, and results,
are in numbers of hosts. `place_of` and `host_at` lead from one to the other; with one rail both are the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LINK_CLASSES = ("host_edge", "edge_agg", "agg_core", "core_agg", "agg_edge", "edge_host")
TIERS = ("host", "edge", "agg", "core")
HOST, EDGE, AGG, CORE = range(4)


@dataclass(frozen=True)
class Fabric:
    """The shape of a fabric; every count below is exact and every array is derived from them.

    P pods, E edge switches a pod, S hosts an edge switch, A aggregation switches a pod, C core switches an aggregation
    index (0 in a leaf-spine), `rails` NICs a server.
    """

    P: int
    E: int
    S: int
    A: int
    C: int
    rails: int = 1

    @classmethod
    def build(cls, radix: int, tiers: int = 3, oversubscription: int = 1, rails: int = 1) -> Fabric:
        """A fabric from valid scenario keys: even radix >= 4, tiers 2 or 3, oversubscription dividing radix / 2, rails dividing E."""
        half = radix // 2
        if tiers == 2:
            return cls(P=1, E=radix, S=half, A=half // oversubscription, C=0, rails=rails)
        return cls(P=radix, E=half, S=half, A=half // oversubscription, C=half, rails=rails)

    # --- counts
    @property
    def tiers(self) -> int:
        return 3 if self.C else 2

    @property
    def n_hosts(self) -> int:
        return self.P * self.E * self.S

    @property
    def n_edges(self) -> int:
        return self.P * self.E

    @property
    def n_aggs(self) -> int:
        return self.P * self.A

    @property
    def n_cores(self) -> int:
        return self.A * self.C

    @property
    def n_nodes(self) -> int:
        return self.n_hosts + self.n_edges + self.n_aggs + self.n_cores

    @cached_property
    def node_base(self) -> tuple[int, int, int, int, int]:
        """First node id of each tier (host, edge, agg, core), and the number of nodes."""
        e = self.n_hosts
        a = e + self.n_edges
        return (0, e, a, a + self.n_aggs, self.n_nodes)

    @cached_property
    def link_base(self) -> tuple[int, ...]:
        """First link id of each class in the order of LINK_CLASSES, and the number of links (7 entries)."""
        sizes = (
            self.n_hosts,
            self.n_edges * self.A,
            self.n_aggs * self.C,
            self.n_aggs * self.C,
            self.n_edges * self.A,
            self.n_hosts,
        )
        base = [0]
        for size in sizes:
            base.append(base[-1] + size)
        return tuple(base)

    @property
    def n_links(self) -> int:
        return self.link_base[6]

    @property
    def max_hops(self) -> int:
        """Links on the longest shortest path."""
        return 6 if self.P > 1 else 4

    # --- arrays
    @cached_property
    def link_class(self) -> np.ndarray:
        """int64[n_links]: index into LINK_CLASSES."""
        return np.repeat(np.arange(6), np.diff(self.link_base))

    @cached_property
    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """(first int64[n_nodes + 1], links int64[n_links]): a node's incoming links in input-port order."""
        b, P, E, S, A, C = self.link_base, self.P, self.E, self.S, self.A, self.C
        rows: list[np.ndarray] = [np.array([b[5] + h]) for h in range(self.n_hosts)]
        for p in range(P):
            for e in range(E):
                edge = p * E + e
                rows.append(np.concatenate([b[0] + edge * S + np.arange(S), b[4] + (p * A + np.arange(A)) * E + e]))
        for p in range(P):
            for j in range(A):
                below = b[1] + (p * E + np.arange(E)) * A + j
                above = b[3] + (j * C + np.arange(C)) * P + p
                rows.append(np.concatenate([below, above]))
        for j in range(A):
            for i in range(C):
                rows.append(b[2] + (np.arange(P) * A + j) * C + i)
        first = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
        return first.astype(np.int64), np.concatenate(rows).astype(np.int64)

    @cached_property
    def switch_outputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(up, n_up, down) int64[n_nodes]: first uplink, number of uplinks, first downlink of each node."""
        b = self.link_base
        h, e, a, c = (np.arange(n) for n in (self.n_hosts, self.n_edges, self.n_aggs, self.n_cores))
        up = np.concatenate([b[0] + h, b[1] + e * self.A, b[2] + a * self.C, np.zeros_like(c)])
        n_up = np.repeat([1, self.A, self.C, 0], [len(h), len(e), len(a), len(c)])
        down = np.concatenate([np.zeros_like(h), b[5] + e * self.S, b[4] + a * self.E, b[3] + c * self.P])
        return up.astype(np.int64), n_up.astype(np.int64), down.astype(np.int64)

    def place_of(self, host):
        """The place of a host or of an array of hosts."""
        block, inside = divmod(host, self.rails * self.S)  # of the servers below the same edge switches
        server, rail = divmod(inside, self.rails)
        return (block * self.rails + rail) * self.S + server

    def host_at(self, place):
        """The host at a place or at an array of places."""
        block, inside = divmod(place, self.rails * self.S)
        rail, server = divmod(inside, self.S)
        return (block * self.S + server) * self.rails + rail

    @property
    def servers(self) -> Fabric:
        """The fabric with servers in the place of hosts: as many links between two servers as between their NICs of one rail."""
        return Fabric(self.P, self.E // self.rails, self.S, self.A, self.C)

    def edge_of(self, host):
        """Edge switch index (0..n_edges-1) of the place of a host, or of an array of places."""
        return host // self.S

    def pod_of(self, host):
        """Pod of a host or an array of hosts, by number or place."""
        return host // (self.S * self.E)

    def news_links(self, place, to):
        """Links whose time the news of a flow takes from one place to another: none at a host, one within a server; works on arrays."""
        one = self.host_at(np.asarray(place)) // self.rails == self.host_at(np.asarray(to)) // self.rails
        return np.where(np.equal(place, to), 0, np.where(one, 1, self.hops(place, to)))

    def hops(self, src, dst):
        """Number of links between the places of two hosts (2, 4 or 6); works on arrays."""
        src, dst = np.asarray(src), np.asarray(dst)
        same_edge = self.edge_of(src) == self.edge_of(dst)
        same_pod = self.pod_of(src) == self.pod_of(dst)
        return np.where(same_edge, 2, np.where(same_pod, 4, 6))

    # --- names
    def node_name(self, node: int) -> str:
        """`host:5`, `edge:POD:INDEX`, `agg:POD:INDEX`, `core:J:I` (J = aggregation index it hangs off)."""
        _, e, a, c, _ = self.node_base
        if node < e:
            return f"host:{node}"
        if node < a:
            return f"edge:{(node - e) // self.E}:{(node - e) % self.E}"
        if node < c:
            return f"agg:{(node - a) // self.A}:{(node - a) % self.A}"
        return f"core:{(node - c) // self.C}:{(node - c) % self.C}"

    @property
    def n_cables(self) -> int:
        """Cables between switches (edge-agg first, then agg-core); a host's own cable cannot fail."""
        return self.n_edges * self.A + self.n_aggs * self.C

    def cable_links(self, cable: int) -> tuple[int, int]:
        """The (upward, downward) directed links of a cable."""
        b = self.link_base
        n1 = self.n_edges * self.A
        if cable < n1:
            edge, j = divmod(cable, self.A)
            pod, e = divmod(edge, self.E)
            return b[1] + cable, b[4] + (pod * self.A + j) * self.E + e
        agg, i = divmod(cable - n1, self.C)
        pod, j = divmod(agg, self.A)
        return b[2] + cable - n1, b[3] + (j * self.C + i) * self.P + pod

    def cable_name(self, cable: int) -> str:
        """`edge:POD:INDEX-agg:POD:INDEX` or `agg:POD:INDEX-core:J:I`."""
        n1 = self.n_edges * self.A
        if cable < n1:
            edge, j = divmod(cable, self.A)
            pod, e = divmod(edge, self.E)
            return f"edge:{pod}:{e}-agg:{pod}:{j}"
        agg, i = divmod(cable - n1, self.C)
        pod, j = divmod(agg, self.A)
        return f"agg:{pod}:{j}-core:{j}:{i}"

    def cable_of(self, name: str) -> int:
        """The cable of that name; ValueError (with the rule) if there is none."""
        rule = "a cable is named edge:POD:INDEX-agg:POD:INDEX or agg:POD:INDEX-core:J:I, both ends being neighbours"
        try:
            low, high = name.split("-")
            (kind_l, x, y), (kind_h, u, v) = low.split(":"), high.split(":")
            x, y, u, v = int(x), int(y), int(u), int(v)
        except (ValueError, AttributeError):
            raise ValueError(rule) from None
        if name != f"{kind_l}:{x}:{y}-{kind_h}:{u}:{v}":  # int() takes spaces, signs and zeros as well
            raise ValueError(rule)
        if (kind_l, kind_h) == ("edge", "agg") and x == u and 0 <= x < self.P and 0 <= y < self.E and 0 <= v < self.A:
            return (x * self.E + y) * self.A + v
        if (kind_l, kind_h) == ("agg", "core") and y == u and 0 <= x < self.P and 0 <= y < self.A and 0 <= v < self.C:
            return self.n_edges * self.A + (x * self.A + y) * self.C + v
        raise ValueError(rule)
