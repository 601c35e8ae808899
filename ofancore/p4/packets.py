"""Frames of a decision trace, and pcap files: plain bytes, no packet library.

Every frame ends with its number in the trace (4 bytes, big-endian), so that what comes out of a switch can be told apart.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ofancore.errors import OfanError
from ofancore.p4.addresses import ROUTER_MAC

HOST_SOURCE_MAC = 0x02_02_00_00_00_00
UDP, TCP = 17, 6
ROCE_PORT = 4791
IPV4_AT = 14  # bytes of Ethernet
ROUTED = ("roce", "udp", "tcp", "fragment_first", "fragment_later")  # IPv4 that a router passes on
REFUSED = (
    "ttl0", "ttl1", "version", "options", "length", "checksum", "truncated", "ipv6", "arp", "broadcast", "other_mac"
)  # fmt: skip
ETHERTYPES = {"ipv6": 0x86DD, "arp": 0x0806}


@dataclass(frozen=True)
class Packet:
    """A packet of a trace: `kind` of ROUTED or REFUSED, addresses as integers, `total_bytes` of IPv4, front port it comes in by."""

    number: int
    port: int
    kind: str
    src: int
    dst: int
    total_bytes: int
    source_port: int
    queue_pair: int

    @property
    def protocol(self) -> int:
        return TCP if self.kind == "tcp" else UDP

    def entropy(self) -> bytes:
        """What the ecmp program hashes: addresses, protocol, UDP source port and queue pair, the last two 0 where they are not read."""
        source_port = self.source_port if self.kind in ("roce", "udp") else 0
        queue_pair = self.queue_pair if self.kind == "roce" else 0
        return struct.pack(">IIBH", self.src, self.dst, self.protocol, source_port) + queue_pair.to_bytes(3, "big")

    def hash(self, bits: int) -> int:
        """The low bits of CRC-32 over `entropy`."""
        return zlib.crc32(self.entropy()) & (1 << bits) - 1

    def frame(self) -> bytes:
        """The frame as it comes in."""
        to = {"broadcast": (1 << 48) - 1, "other_mac": HOST_SOURCE_MAC}.get(self.kind, ROUTER_MAC)
        ethernet = to.to_bytes(6, "big") + HOST_SOURCE_MAC.to_bytes(6, "big") + ETHERTYPES.get(self.kind, 0x0800).to_bytes(2, "big")
        tail = self.number.to_bytes(4, "big")
        if self.kind == "truncated":
            return ethernet + self._ipv4(64)[:8] + tail
        payload = self._transport()
        payload += bytes(max(self.total_bytes - 20 - len(payload) - len(tail), 0))
        if self.kind == "ipv6":
            return ethernet + bytes((0x60, 0, 0, 0)) + struct.pack(">HBB", len(payload), UDP, 64) + bytes(32) + payload + tail
        return ethernet + self._ipv4({"ttl0": 0, "ttl1": 1}.get(self.kind, 64)) + payload + tail

    def routed(self, mac: int | None) -> bytes:
        """The frame as a router sends it on: its own source MAC, `mac` as destination (None: unchanged), a lower TTL, a new checksum."""
        frame = bytearray(self.frame())
        if mac is not None:
            frame[0:6] = mac.to_bytes(6, "big")
        frame[6:12] = ROUTER_MAC.to_bytes(6, "big")
        frame[IPV4_AT + 8] -= 1
        frame[IPV4_AT + 10 : IPV4_AT + 12] = bytes(2)
        frame[IPV4_AT + 10 : IPV4_AT + 12] = checksum(frame[IPV4_AT : IPV4_AT + 20]).to_bytes(2, "big")
        return bytes(frame)

    def _ipv4(self, ttl: int) -> bytes:
        first = {"version": 0x65, "options": 0x46}.get(self.kind, 0x45)
        total = 12 if self.kind == "length" else self.total_bytes
        fragment = {"fragment_first": 0x2000, "fragment_later": 0x00B9}.get(self.kind, 0)
        head = struct.pack(">BBHHHBBHII", first, 0, total, self.number & 0xFFFF, fragment, ttl, self.protocol, 0, self.src, self.dst)
        options = b"\x01\x01\x01\x00" if self.kind == "options" else b""
        right = checksum(head + options) ^ (0x5555 if self.kind == "checksum" else 0)
        return head[:10] + right.to_bytes(2, "big") + head[12:] + options

    def _transport(self) -> bytes:
        if self.kind in ("tcp", "fragment_later"):
            return struct.pack(">HH", self.source_port, 80) + bytes(16)
        udp = struct.pack(">HHHH", self.source_port, 53 if self.kind == "udp" else ROCE_PORT, self.total_bytes - 20, 0)
        bth = struct.pack(">BBHB", 0x04, 0x40, 0xFFFF, 0) + self.queue_pair.to_bytes(3, "big") + struct.pack(">I", self.number & 0xFFFFFF)
        return udp + bth


def checksum(header: bytes) -> int:
    """The Internet checksum of a header whose checksum field is 0."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def number_of(frame: bytes) -> int:
    """The number in the trace of a frame."""
    return int.from_bytes(frame[-4:], "big")


def write_pcap(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """A pcap file (microseconds, Ethernet) of (time in microseconds, frame)."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for at, frame in frames:
        parts.append(struct.pack("<IIII", at // 1_000_000, at % 1_000_000, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(parts))


def read_pcap(path: Path) -> Iterator[bytes]:
    """The frames of a pcap file of this machine's byte order; an empty file (a port that sent nothing) has none."""
    data = path.read_bytes()
    if not data:
        return
    if len(data) < 24 or struct.unpack_from("<I", data)[0] not in (0xA1B2C3D4, 0xA1B23C4D):
        raise OfanError(f"{path}: not a pcap file")
    at = 24
    while at + 16 <= len(data):
        kept = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + kept]
        at += 16 + kept
