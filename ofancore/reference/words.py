"""Packets, random numbers and hashes of the slow twin: plain Python integers, written from the published definitions."""

from __future__ import annotations

from dataclasses import dataclass

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1


# Kinds of packets: data, its acknowledgement, data that a switch cut down to its header, and what tells of that or of a gap.
DATA, ACK, TRIM, NACK = range(4)


@dataclass(frozen=True)
class Packet:
    """A packet of a flow."""

    flow: int
    seq: int
    label: int
    kind: int
    ecn: int
    ask: int = 0  # of data: the sender wants an answer at once

    @property
    def small(self) -> int:
        """1 for whatever is as long as an ACK."""
        return int(self.kind != DATA)

    @property
    def back(self) -> bool:
        """Whether it goes to the source of its flow."""
        return self.kind in (ACK, NACK)

    @property
    def word(self) -> int:
        """The packet as the engine packs it, but for `ask`: flow 23 bits | seq 20 | label 16 | kind 2 | ecn 1."""
        return (((self.flow << 20 | self.seq) << 16 | self.label) << 2 | self.kind) << 1 | self.ecn


class Random:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), of which the upper 32 bits are used."""

    def __init__(self, state: int):
        self.state = state

    def bits(self) -> int:
        """The next 32 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        return (z ^ (z >> 31)) >> 32

    def below(self, n: int) -> int:
        """A random integer in 0..n-1: multiply, keep the upper half."""
        if n < 2**31:
            return self.bits() * n // 2**32
        return self.bits() * (n // 2**31) // 2  # as far as 64 bits go

    def label(self, labels: int = 2**16) -> int:
        """A random label out of so many."""
        return self.bits() % labels


def mix32(x: int) -> int:
    """The avalanche `lowbias32` of C. Wellons."""
    x &= MASK32
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK32
    x ^= x >> 15
    x = x * 0x846CA68B & MASK32
    return x ^ x >> 16


def hash_below(label: int, flow: int, salt: int, n: int) -> int:
    """A switch's ECMP hash to 0..n-1."""
    return mix32(label * 0x9E3779B1 + flow * 0x85EBCA6B + salt) * n // 2**32
