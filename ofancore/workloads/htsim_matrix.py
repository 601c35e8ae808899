"""A connection matrix of htsim: its connections with their sizes, start times and triggers.

`connection_matrix.py` has the format and what of it is refused. In short: `Nodes` must be the hosts of the fabric, `start` is in
picoseconds, `size` in bytes of payload, `prio` has no effect, and every connection starts at its time or by a trigger that will be fired.

A connection of so many bytes is a message of so many data packets, the last one filled up: packets are of one size here. Starts are
exact, in picoseconds (htsim itself reads them as 24-bit floating point numbers). A trigger that is fired at one host and starts a
connection of another one takes the time of an ACK over an empty path to get there; in htsim it takes none.

The scenario keeps the SHA-256 of the file, so that a result says what was run, and another file of that name is refused.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.reading import read_text
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Workload
from ofancore.workloads.connection_matrix import Matrix, parse_matrix

ROOT = Path(__file__).parents[2]
MOST_PACKETS = 1_000_000  # of a message


class HtsimMatrix(Workload):
    """The connections of a file in htsim's format."""

    kind: Literal["htsim_matrix"] = "htsim_matrix"
    file: str = Field(
        "data/peers/permutation_128.cm", min_length=1, max_length=4096, description="path of the .cm file, from here or from the checkout"
    )
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(None, description="of the file; null: whatever it is")
    title: ClassVar[str] = "connection matrix of htsim"

    @model_validator(mode="after")
    def _known(self) -> HtsimMatrix:
        digest = hashlib.sha256(self._text().encode()).hexdigest()
        if self.sha256 is None:
            object.__setattr__(self, "sha256", digest)  # the model is frozen from here on
        elif self.sha256 != digest:
            raise ScenarioError("workload.sha256", self.sha256, f"is not that of {self.file}: {digest}")
        return self

    def _text(self) -> str:
        beside = ROOT / self.file
        there = not Path(self.file).exists() and beside.exists() if self.file.isprintable() else False
        return read_text(beside if there else self.file, "workload.file", "text")

    def matrix(self) -> Matrix:
        """What the file says."""
        return parse_matrix(self._text(), self.file)

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return sum(-(-at.size // payload_bytes) for at in self.matrix().connections)

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        matrix = self.matrix()
        if matrix.nodes != fabric.n_hosts:
            raise ScenarioError("workload.file", self.file, f"is for {matrix.nodes} hosts, but the fabric has {fabric.n_hosts}")
        src, dst, size, start = np.array([(at.src, at.dst, at.size, at.start or 0) for at in matrix.connections], np.int64).T
        packets = -(-size // payload_bytes)
        if packets.max() > MOST_PACKETS:
            worst = matrix.connections[int(packets.argmax())]
            rule = f"makes a message of {packets.max()} packets, at most {MOST_PACKETS} are possible"
            raise ScenarioError("workload.file", f"{self.file}, line {worst.line}", rule)
        waits = {"after": matrix.after, "after_acked": matrix.after_acked, "after_some": matrix.after_some}
        return Flows(src, dst, packets, delay_ns=start / 1000, **waits)
