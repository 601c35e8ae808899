"""What every balancer keeps: how much of it, how it is drawn, and that the plain twin keeps the same."""

import numpy as np
import pytest
from unit.bench import Bench, shape_of

from ofancore.balancers import BALANCERS
from ofancore.balancers.base import N_CONSTANTS, N_ORDERS
from ofancore.fabric import AGG, EDGE
from ofancore.reference.balancers import TWINS
from ofancore.reference.switches import Request
from ofancore.reference.words import Random


def test_pointer_counts_of_the_paper():
    """k = 64 (65,536 hosts): about 2K destinations at an edge switch and 63 at an aggregation switch, times two size bins."""
    shape = shape_of(64)
    ofan = BALANCERS["ofan"]()
    assert ofan.pointers(shape, EDGE) == 2 * (2048 - 1)
    assert ofan.pointers(shape, AGG) == 2 * 63
    assert BALANCERS["pofan"](pipes=4).pointers(shape, EDGE) == 4 * 2 * 2047
    assert BALANCERS["switch_dr"]().pointers(shape, EDGE) == 2 * (65_536 - 32)
    assert BALANCERS["switch_dr"]().pointers(shape, AGG) == 2 * (65_536 - 1024)
    assert BALANCERS["switch_rr"]().pointers(shape, EDGE) == 1


@pytest.mark.parametrize("kind", sorted(BALANCERS))
@pytest.mark.parametrize("case", [{"radix": 4}, {"radix": 6, "tiers": 2}, {"radix": 8, "oversubscription": 2}], ids=str)
def test_every_balancer_draws_the_state_it_asks_for(kind, case):
    balancer, shape = BALANCERS[kind](), shape_of(**case)
    for tier in (EDGE, AGG):
        registers = balancer.init_switch(shape, tier, np.random.default_rng(1))
        assert len(registers) == balancer.switch_registers(shape, tier)
        assert registers.dtype == np.int32
        assert balancer.pointers(shape, tier) >= 0
    registers, index = balancer.init_hosts(shape, np.random.default_rng(1))
    assert registers.dtype == index.dtype == np.int64
    assert len(registers) == max(balancer.host_registers(shape), 1)
    assert 0 <= index.min() <= index.max() < len(registers)
    assert len(balancer.constants(shape)) <= N_CONSTANTS


def test_every_balancer_has_a_plain_twin():
    assert set(TWINS) == set(BALANCERS)


def test_drawn_pointers_name_a_position_and_an_order_of_their_tier():
    shape = shape_of(8)
    for tier, width in [(EDGE, shape.fabric.A), (AGG, shape.fabric.C)]:
        registers = BALANCERS["switch_dr"]().init_switch(shape, tier, np.random.default_rng(2))
        orders = registers >> 16
        assert set(registers & 0xFFFF) == set(range(width))
        assert orders.min() >= (N_ORDERS if tier == AGG else 0)
        assert orders.max() < (2 * N_ORDERS if tier == AGG else N_ORDERS)


# --- the plain twins on the same asks


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_kernel_and_twin_agree_on_random_asks(kind):
    """Any sequence of questions to one switch, with and without a schedule, ends in the same registers and random state."""
    rng = np.random.default_rng(17)
    width = 4
    parameters = {
        "reshuffle_wraps": 2, "pipes": 2, "A": 4, "C": 4, "bin_ticks": [50, 100, 200], "change_threshold": 0.4, "samples": 2, "memory": 3,
        "engines": 2, "gap_ticks": 90, "timer": "exact", "threshold_packets": 5, "entries": 8,
    }  # fmt: skip
    constants = {
        "switch_rr": [2], "pofan": [2], "host_dr": [4, 4, 1, 10], "ethereal": [4, 4, 0, 10], "spectrum_ar": [3, 50, 100, 200],
        "drill": [2, 3, 2], "flowlet": [8, 90, 0], "diffflow": [5, 8], "whack_a_mole": [4, 8, 16, 10], "prime": [4, 4, 16, 10],
    }.get(kind, [])  # fmt: skip
    start = [1, 0, 2, 0, 3, 1] if kind == "switch_rr" else [int(r) for r in rng.integers(0, 4, 64)]
    start = {"drill": [0] * 6, "flowlet": [0] * 24, "diffflow": [0] * 16}.get(kind, start)
    queues = [int(q) for q in rng.integers(0, 300, width)]
    bench = Bench(kind, width, start, constants, queues, seed=6)
    state = Random(6)
    orders = {0: [2, 0, 3, 1]}
    bench.sw.orders[0] = orders[0]
    twin = TWINS[kind][0](list(start), parameters, width, "edge", 12345, state, orders, lambda j, now: max(0, queues[j] - now))
    weights = {0: 2, 1: 0, 2: 3, 3: 1}
    for step in range(300):
        if step == 150:
            bench.schedule(list(weights.values()), [orders[0]])
        weighted = step >= 150
        ask = Request(
            now=int(rng.integers(0, 300)), group=int(rng.integers(0, 4)), small=int(rng.integers(0, 2)), port=int(rng.integers(0, 8)),
            host=int(rng.integers(0, 16)), label=int(rng.integers(0, 2**16)), flow=int(rng.integers(0, 2**24)),
            weights=weights if weighted else None,
        )  # fmt: skip
        assert bench.ask(ask.group, ask.small, ask.port, ask.host, ask.label, ask.flow, ask.now) == twin.choose(ask), step
    if twin.registers():
        assert list(bench.sw.reg) == twin.registers()
    assert int(bench.sw.rng[0]) == state.state
