"""What a function of a user's own is shown, and what it may call: a window on the state that ends where the switch or the flow ends.

A switch sees its registers, its uplinks, its random stream and the schedules of ways around failures; a flow sees its registers and its
host's random stream. There is no index by which it could reach those of another one, whose work may be under way in another thread.
`reg` and `rng` may be written; all else is only read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ofancore import bits
from ofancore.balancers.base import HostState, SwitchState
from ofancore.jit import inner, window

WRITABLE = ("reg", "rng")


class SwitchView(NamedTuple):
    """`sw` of `choose_uplink`."""

    reg: np.ndarray  # int32[registers_per_switch]: the switch's registers
    free: np.ndarray  # int64[width]: time in ticks at which each uplink has sent all that it holds
    par: np.ndarray  # int64[as many as given]
    salt: int  # of the switch's hash
    sched: np.ndarray  # int64[rows, 2]: offset and length in `slots`
    slots: np.ndarray  # int32[...]: uplinks of the weighted schedules
    rng: np.ndarray  # uint64[1]: the switch's random stream


class HostView(NamedTuple):
    """`hx` of `next_label`, `on_ack` and `on_loss`."""

    reg: np.ndarray  # int64[registers_per_flow]: the flow's registers
    par: np.ndarray  # int64[as many as given]
    known: int  # 1 once hosts know of the failures
    rng: np.ndarray  # uint64[1]: the random stream of the sending host


# --- from the state of a run; `n` registers and `n_par` parameters belong to the functions


@inner
def view_switch(sw, node, up, width, n, n_par):
    """What a switch shows."""
    reg, free, par, rng = window(sw.reg, sw.first[node], n), window(sw.link, up, width), window(sw.par, 0, n_par), window(sw.rng, node, 1)
    return SwitchView(reg, free, par, sw.salt[node], sw.sched, sw.slots, rng)


@inner
def view_host(hx, at, host, n, n_par):
    """What a host shows of a flow whose registers start at `at`."""
    return HostView(window(hx.reg, at, n), window(hx.par, 0, n_par), hx.known[0], window(hx.rng, host, 1))


_INTS, _TABLE, _SLOTS, _RANDOM = np.zeros(1, np.int64), np.zeros((1, 2), np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint64)
STATES = {  # of the types that every run has
    "sw": SwitchState(_SLOTS, _INTS, np.zeros((1, 1), np.int32), _TABLE, _SLOTS, _TABLE, _RANDOM, _INTS, _INTS, _INTS),
    "hx": HostState(_INTS, _INTS, _RANDOM, _INTS, _INTS, _TABLE, _SLOTS),
}
VIEWS = {
    "sw": SwitchView(_SLOTS, np.zeros((2, 2), np.int64)[:, 0], _INTS, np.int64(0), _TABLE, _SLOTS, _RANDOM),
    "hx": HostView(_INTS, _INTS, np.int64(0), _RANDOM),
}


# --- what functions may call


@inner
def random_below(state, n):
    """A random integer from 0 to n - 1, from the stream of the switch (`sw`) or the host (`hx`)."""
    return bits.random_below(state.rng, 0, n)


@inner
def random_bits(state):
    """32 random bits as an integer, from the stream of the switch (`sw`) or the host (`hx`)."""
    return bits.random_bits(state.rng, 0)


@inner
def random_label(hx):
    """A random label, 0 to 65535."""
    return bits.random_bits(hx.rng, 0) & bits.LABEL_MASK


@inner
def queue(sw, uplink, now):
    """Length of an uplink's queue, in ticks that it takes to send what it holds."""
    return max(sw.free[uplink] - now, 0)
