"""Addresses of hosts and numbers of front ports: what an operator chooses and the simulator has no need of.

A host has the address 10.x.y.z whose low bits are its pod, its edge switch in the pod and its place there, each in as many bits as it
needs; so an edge switch and a pod are prefixes. Front port i of a switch (lower neighbours first, then uplinks) belongs to pipe i mod
pipes, which is the simulator's rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from ofancore.fabric import Fabric

NETWORK = 10 << 24
ROUTER_MAC = 0x02_00_00_00_00_01
HOST_MAC = 0x02_01_00_00_00_00
LANES_PER_PORT = 4
PORTS_PER_PIPE = 16  # front ports, of 4 of a pipe's 64 lanes each
FIRST_LANE = {"tofino": 0, "tofino2": 8}


def _bits(count: int) -> int:
    return max(count - 1, 0).bit_length()


@dataclass(frozen=True)
class Addresses:
    """IPv4 addresses of a fabric; `prefix` gives (address, prefix length)."""

    fabric: Fabric

    @property
    def host_bits(self) -> int:
        return _bits(self.fabric.S)

    @property
    def pod_bits(self) -> int:
        """Bits below those of the pod: host and edge switch."""
        return self.host_bits + _bits(self.fabric.E)

    def host(self, host: int) -> int:
        f = self.fabric
        edge, place = divmod(host, f.S)
        pod, index = divmod(edge, f.E)
        return NETWORK | pod << self.pod_bits | index << self.host_bits | place

    def host_mac(self, host: int) -> int:
        return HOST_MAC | host

    def edge(self, edge: int) -> tuple[int, int]:
        return self.host(edge * self.fabric.S), 32 - self.host_bits

    def pod(self, pod: int) -> tuple[int, int]:
        return self.host(pod * self.fabric.E * self.fabric.S), 32 - self.pod_bits


def dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def port_number(target: str, port: int, pipes: int) -> int:
    """The target's number of front port `port`: itself on BMv2; pipe and first lane on a Tofino."""
    if target == "v1model":
        return port
    return (port % pipes) << 7 | FIRST_LANE[target] + port // pipes * LANES_PER_PORT
