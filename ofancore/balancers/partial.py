"""Partial deployment: Ofan at a share of the switches, another scheme at the rest (the paper, v3, asks how gains grow with the share).

Of the edge switches, and of the aggregation switches, the same share has Ofan, rounded to whole switches; which ones is drawn
from the seed, and a larger share includes the switches of a smaller one. With `tier` only switches of one tier may have it. Core switches
have no choice to make. The rest run the other scheme with its default parameters.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import Balancer, Shape
from ofancore.balancers.ecmp import Ecmp
from ofancore.balancers.ofan import Ofan
from ofancore.balancers.rsq import Rsq
from ofancore.balancers.spectrum_ar import SpectrumAr
from ofancore.balancers.switch_rr import SwitchRr
from ofancore.fabric import EDGE

RESTS: dict[str, type[Balancer]] = {"rsq": Rsq, "switch_rr": SwitchRr, "ecmp": Ecmp, "spectrum_ar": SpectrumAr}


class Partial(Ofan):
    """Ofan at a share of the switches, another switch scheme at the others."""

    kind: Literal["partial"] = "partial"
    share: float = Field(0.5, ge=0, le=1, description="share of the switches that run Ofan (of each tier)")
    rest: Literal["rsq", "switch_rr", "ecmp", "spectrum_ar"] = Field("rsq", description="scheme of the others, with its default parameters")
    tier: Literal["both", "edge", "agg"] = Field("both", description="tiers that may have Ofan: both, or only edge or aggregation switches")
    title: ClassVar[str] = "Ofan, partly deployed"

    def at_switches(self, shape: Shape, rng: np.random.Generator) -> list[Balancer]:
        ofan, rest = Ofan(), RESTS[self.rest]()
        tiers = [("edge", shape.fabric.n_edges), ("agg", shape.fabric.n_aggs)][: 2 if shape.fabric.C else 1]
        turns = [(name, rng.permutation(n)) for name, n in tiers]  # drawn whatever is asked for, so that shares and tiers nest
        return [ofan if i < self.upgraded(name, len(turn)) else rest for name, turn in turns for i in turn]

    def upgraded(self, tier: str, switches: int) -> int:
        """How many switches of a tier have Ofan."""
        return round(self.share * switches) if self.tier in ("both", tier) else 0

    def constants(self, shape: Shape) -> list[int]:
        return RESTS[self.rest]().constants(shape)  # Ofan has none

    def _present(self, shape: Shape, tier: int) -> list[Balancer]:
        """The schemes that switches of a tier run."""
        switches = shape.fabric.n_edges if tier == EDGE else shape.fabric.n_aggs
        upgraded = self.upgraded("edge" if tier == EDGE else "agg", switches)
        return [Ofan()] * (upgraded > 0) + [RESTS[self.rest]()] * (upgraded < switches)

    def pointers(self, shape: Shape, tier: int) -> int:
        """Of the switch of that tier that holds most: one that has Ofan, if any."""
        return max(scheme.pointers(shape, tier) for scheme in self._present(shape, tier))

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        """As `pointers`."""
        return max(scheme.switch_bytes(shape, tier) for scheme in self._present(shape, tier))
