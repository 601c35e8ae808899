"""The data plane of `p4/` once more, in plain Python on raw frames: parse, look up the installed entries, turn registers.

It knows the entries' document and nothing of the simulator, so that entries are checked where no P4 compiler is; BMv2's recorded
outputs then say that the P4 programs do the same.
"""

import struct
import zlib

from ofancore.p4.packets import checksum

FORWARD = "SwitchIngress.forward."
ROUTER = bytes.fromhex("020000000001")
DROPPED = (None, None)


class DataPlane:
    """A switch with the entries of a document; `forward` returns (output port, frame) or DROPPED."""

    def __init__(self, document: dict, hash_bits: int | None = None, dead: tuple[int, ...] = ()):
        rows = {name.removeprefix(FORWARD).partition(".")[0]: table for name, table in document["tables"].items()}
        self.ports = {r["match"]["port"]: (r["action"], r["params"]["pipe"]) for r in rows["ports"]}
        self.routes = [(*r["match"]["destination"], r["action"], r["params"]) for r in rows["route"]]
        self.schedules = {(r["match"]["group"], r["match"]["bin"]): r["params"] for r in rows["schedule"]}
        self.slots = {(r["match"]["schedule"], r["match"]["position"]): r["params"] for r in rows["slots"]}
        self.pointers = {index: value for register in document["registers"] for index, value in register["values"]}
        self.hash_bits = hash_bits
        self.per_pipe = document["program"] == "pofan" if "program" in document else False
        self.dead = dead

    def forward(self, port: int, frame: bytes):
        if frame[:6] != ROUTER or frame[12:14] != b"\x08\x00" or len(frame) < 34:
            return DROPPED
        ip = frame[14:34]
        version, _, total, _, fragment, ttl, protocol, _, src, dst = struct.unpack(">BBHHHBBHII", ip)
        if version != 0x45 or ttl < 2 or total < 20 or checksum(ip):
            return DROPPED
        if port not in self.ports:
            return DROPPED
        side, pipe = self.ports[port]
        _, action, params = max(
            ((length, action, params) for prefix, length, action, params in self.routes if dst >> 32 - length == prefix >> 32 - length),
            key=lambda found: found[0],
            default=(0, None, None),
        )
        if action == "down":
            return params["port"], self.hop(frame, params["mac"].to_bytes(6, "big"))
        if action != "up" or side == "above":
            return DROPPED
        small = int(total < 256)
        schedule = self.schedules.get((params["group"], small))
        if schedule is None:
            return DROPPED
        if self.hash_bits is not None:
            source_port, pair = 0, bytes(3)
            if fragment & 0x3FFF == 0 and protocol == 17:
                source_port, to = struct.unpack(">HH", frame[34:38])
                pair = frame[47:50] if to == 4791 else pair
            position = zlib.crc32(struct.pack(">IIBH", src, dst, protocol, source_port) + pair) & (1 << self.hash_bits) - 1
        else:
            position = self.turn((pipe << 12 if self.per_pipe else 0) | params["group"] << 1 | small, schedule["last"])
        slot = self.slots[schedule["number"], position]
        out = slot["backup"] if slot["port"] in self.dead else slot["port"]
        return out, self.hop(frame, frame[:6])

    def turn(self, index: int, last: int) -> int:
        at = self.pointers.get(index, 0)
        self.pointers[index] = 0 if at >= last else at + 1
        return at if at <= last else 0

    @staticmethod
    def hop(frame: bytes, mac: bytes) -> bytes:
        ip = bytearray(frame[14:34])
        ip[8] -= 1
        ip[10:12] = bytes(2)
        ip[10:12] = checksum(ip).to_bytes(2, "big")
        return mac + ROUTER + frame[12:14] + bytes(ip) + frame[34:]
