"""The watched twin's totals are the engine's, link by link, where the engine stopped, whatever the scenario."""

from hypothesis import given
from scenarios import connected, examples, scenarios

from ofancore import CONGESTION, RECOVERY, simulate
from ofancore.watch import flow_use


def check(keys):
    """`flow_use` compares link by link; what hosts sent has to be there as well."""
    scenario = connected(keys)
    result = simulate(scenario)
    use = flow_use(result)
    nics = use[use["link"] < scenario.shape.n_hosts]
    data = nics.groupby("flow")["data"].sum().reindex(range(len(result.flow["sent"])), fill_value=0)
    assert data.tolist() == result.flow["sent"].tolist()
    assert (use["first_ns"] <= use["last_ns"]).all()


def test_any_scenario():
    @examples(30)
    @given(scenarios())
    def run(keys):
        check(keys)

    run()


def test_any_control_and_recovery():
    @examples(30)
    @given(scenarios(congestion=tuple(CONGESTION), recovery=tuple(RECOVERY)))
    def run(keys):
        check(keys)

    run()
