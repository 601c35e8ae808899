"""The twins of every balancer: the class that decides at a switch and the one that decides at a host."""

from __future__ import annotations

from ofancore.reference.own import OwnSender, OwnSwitch
from ofancore.reference.senders import FreshSender, PathSender, PlbSender, RepsSender, SenderTwin, SubflowSender
from ofancore.reference.switches import (
    BinnedQueue,
    ByPath,
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
    "ops": (Hashing, FreshSender),
    "reps": (Hashing, RepsSender),
    "switch_rr": (RoundRobin, SenderTwin),
    "spectrum_ar": (BinnedQueue, SenderTwin),
    "jsq": (ShortestQueue, SenderTwin),
    "rsq": (RandomUplink, SenderTwin),
    "host_dr": (ByPath, PathSender),
    "switch_dr": (PerHost, SenderTwin),
    "ofan": (PerGroup, SenderTwin),
    "pofan": (PerPipe, SenderTwin),
}
OWN: tuple[type[SwitchTwin], type[SenderTwin]] = (OwnSwitch, OwnSender)  # of functions of a user's own
