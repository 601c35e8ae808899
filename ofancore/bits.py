"""Packet words, random numbers and the label hash: integers only, the same on every machine and in the slow twin.

A packet is one int64 word in a stream; the layout from the low bit is

    ecn 1 | kind 2 (DATA, ACK, TRIM, NACK) | label 16 | seq 20 | ask 1 | flow 23

so a fabric may hold 2**23 flows of 2**20 packets (losses included). An ACK carries its data packet's flow, seq and label, and as its ecn
bit the echo of the mark. TRIM is the header that is left of a trimmed data packet, NACK the receiver's answer. All but DATA are small; DATA
and TRIM go to where the flow goes (kind even), ACK and NACK back (kind odd). `ask` wants an ACK at once.

Random numbers are SplitMix64 (Steele et al., OOPSLA 2014), one stream per node, so that nodes may be served in any order.
"""

from __future__ import annotations

import numpy as np

from ofancore.jit import inner

DATA, ACK, TRIM, NACK = range(4)
ECN_BITS, KIND_BITS, LABEL_BITS, SEQ_BITS, FLOW_BITS = 1, 2, 16, 20, 23
KIND_AT = ECN_BITS
LABEL_AT = KIND_AT + KIND_BITS
SEQ_AT = LABEL_AT + LABEL_BITS
ASK_AT = SEQ_AT + SEQ_BITS
FLOW_AT = ASK_AT + 1
KIND_MASK = (1 << KIND_BITS) - 1
LABEL_MASK = (1 << LABEL_BITS) - 1
SEQ_MASK = (1 << SEQ_BITS) - 1
MAX_FLOWS = 1 << FLOW_BITS
MAX_SEQ = 1 << SEQ_BITS

# route words: where a packet goes, as pod | edge switch | host (see `pack_route`)
EDGE_AT, POD_AT = 20, 40
PLACE_MASK = (1 << 20) - 1

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U30, _U27, _U31, _U32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_M32 = 0xFFFFFFFF


def pack_route(host, edge, pod):
    """int64 word(s) of a destination from its host, edge switch and pod indices."""
    return (np.asarray(pod, np.int64) << POD_AT) | (np.asarray(edge, np.int64) << EDGE_AT) | np.asarray(host, np.int64)


@inner
def random_bits(rng, stream):
    """Next 32 random bits of a stream as int64; `rng` uint64[n_streams] is advanced in place."""
    z = rng[stream] + _GOLDEN
    rng[stream] = z
    z = (z ^ (z >> _U30)) * _MIX1
    z = (z ^ (z >> _U27)) * _MIX2
    z = z ^ (z >> _U31)
    return np.int64(z >> _U32)


@inner
def random_below(rng, stream, n):
    """A random int64 in 0..n-1 for n < 2**62 (bias below n / 2**32; from 2**31 on, steps of n / 2**32)."""
    bits = random_bits(rng, stream)
    if n < 1 << 31:
        return (bits * n) >> 32
    return (bits * (n >> 31)) >> 1


@inner
def random_label(rng, stream, n):
    """A random int64 in 0..n-1 for n <= 2**16. A division takes as long as half a hop, and n mostly is a power of two."""
    bits = random_bits(rng, stream)
    return bits & (n - 1) if n & (n - 1) == 0 else bits % n


@inner
def mix32(x):
    """Avalanche of a 32-bit value (the lowbias32 constants of C. Wellons); int64 in and out, masked after every product."""
    x = x & _M32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _M32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _M32
    return x ^ (x >> 16)


@inner
def hash_below(label, flow, salt, n):
    """The switch's ECMP hash: label, flow and the switch's salt to 0..n-1."""
    return (mix32(label * 0x9E3779B1 + flow * 0x85EBCA6B + salt) * n) >> 32
