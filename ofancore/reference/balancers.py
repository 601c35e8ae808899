"""The twins of every balancer: the class that decides at a switch and the one that decides at a host."""

from __future__ import annotations

from ofancore.reference.own import OwnSender, OwnSwitch
from ofancore.reference.senders import FreshSender, PartSender, PathSender, PlbSender, RepsSender, SenderTwin, SubflowSender
from ofancore.reference.sprayers import BitmapSender, MixedSender, PrimeSender, SkippingSender, TurnSender, WhackSender
from ofancore.reference.switches import (
    BinnedQueue,
    ByLength,
    ByPath,
    Drill,
    Flowlets,
    Hashing,
    PerGroup,
    PerHost,
    PerPipe,
    RandomUplink,
    RoundRobin,
    ShortestQueue,
    SwitchTwin,
)

TWINS: dict[str, tuple[type[SwitchTwin], type[SenderTwin]]] = {
    "ecmp": (Hashing, SenderTwin),
    "subflow": (Hashing, SubflowSender),
    "plb": (Hashing, PlbSender),
    "flowlet": (Flowlets, SenderTwin),
    "ethereal": (ByPath, PartSender),
    "ops": (Hashing, FreshSender),
    "reps": (Hashing, RepsSender),
    "host_rr": (Hashing, TurnSender),
    "strack": (Hashing, SkippingSender),
    "uec_bitmap": (Hashing, BitmapSender),
    "uec_mixed": (Hashing, MixedSender),
    "whack_a_mole": (ByPath, WhackSender),
    "prime": (ByPath, PrimeSender),
    "rails": (Hashing, FreshSender),  # of flows that `rails.py` makes of messages
    "switch_rr": (RoundRobin, SenderTwin),
    "spectrum_ar": (BinnedQueue, SenderTwin),
    "jsq": (ShortestQueue, SenderTwin),
    "drill": (Drill, SenderTwin),
    "rsq": (RandomUplink, SenderTwin),
    "diffflow": (ByLength, SenderTwin),
    "host_dr": (ByPath, PathSender),
    "switch_dr": (PerHost, SenderTwin),
    "ofan": (PerGroup, SenderTwin),
    "pofan": (PerPipe, SenderTwin),
    "partial": (PerGroup, SenderTwin),  # at the switches that have it; the others have the twin of their own scheme
}
OWN: tuple[type[SwitchTwin], type[SenderTwin]] = (OwnSwitch, OwnSender)  # of functions of a user's own
