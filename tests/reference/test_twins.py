"""The engine and the slow twin end alike: links, flows, counts, balancers' registers and random states.

Registers and random states change with every decision, so equal ones at the end mean equal decisions all the way.
"""

import pytest
from hypothesis import given
from reference.twins import differences
from scenarios import connected, examples, scenarios

from ofancore import BALANCERS, CONGESTION, RECOVERY, WORKLOADS


def check(keys, blocks=1):
    found = differences(connected(keys), blocks)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_every_balancer(kind):
    """Without failures."""

    @examples(12)
    @given(scenarios(broken=False, kinds=(kind,)))
    def run(keys):
        check(keys)

    run()


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_every_balancer_with_failures(kind):
    @examples(15)
    @given(scenarios(broken=True, kinds=(kind,)))
    def run(keys):
        check(keys)

    run()


@pytest.mark.parametrize("kind", sorted(WORKLOADS))
def test_every_workload_with_and_without_failures(kind):
    @examples(12)
    @given(scenarios(workload_kinds=(kind,)))
    def run(keys):
        check(keys)

    run()


@pytest.mark.parametrize("blocks", [1, 3])
def test_triggers_of_matrices(blocks):
    """Multishots among them, of which the run decides who fires when."""

    @examples(40)
    @given(scenarios(workload_kinds=("htsim_matrix",), kinds=("ops", "ethereal"), recovery=("erasure", "sack")))
    def run(keys):
        check(keys, blocks)

    run()


@pytest.mark.parametrize("blocks", [2, 5])
def test_nodes_shared_out_over_blocks(blocks):
    @examples(20)
    @given(scenarios())
    def run(keys):
        check(keys, blocks)

    run()


@pytest.mark.parametrize("recovery", RECOVERY)
@pytest.mark.parametrize("congestion", CONGESTION)
def test_every_pair_of_control_and_recovery(congestion, recovery):
    """With and without failures, over all balancers."""

    @examples(12)
    @given(scenarios(congestion=(congestion,), recovery=(recovery,)))
    def run(keys):
        check(keys)

    run()


@pytest.mark.parametrize("blocks", [2, 5])
def test_closed_loop_shared_out_over_blocks(blocks):
    @examples(20)
    @given(scenarios(congestion=tuple(CONGESTION), recovery=tuple(RECOVERY)))
    def run(keys):
        check(keys, blocks)

    run()
