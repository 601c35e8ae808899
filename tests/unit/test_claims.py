"""Verdicts: intervals against bands, claims from checks, and what may not be passed over in silence."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pandas as pd
import pytest

from ofancore import claims
from ofancore.config import Check, Claim
from ofancore.plan import Group


def runs() -> pd.DataFrame:
    rows = [
        {"label": label, "seed": seed, "m": m, "finished": True, "q": factor * m**power * (1 + 0.01 * seed)}
        for label, factor, power in (("flat", 2.0, 0.0), ("root", 1.0, 0.5))
        for seed in range(4)
        for m in (16, 64, 256)
    ]
    return pd.DataFrame(rows)


def check(**given) -> Check:
    return Check(**{"says": "s", "experiment": "e", "measure": "value", "metric": "q", "schemes": ["flat"], "at_most": 3.0, **given})


@pytest.mark.parametrize(
    ("low", "high", "band", "passed"),
    [
        (1, 2, (0, 3), "yes"), (1, 4, (0, 3), "open"), (4, 5, (0, 3), "no"), (-2, -1, (0, None), "no"), (-1, 1, (0, None), "open"),
        (1, 3, (None, 3), "yes"), (math.nan, 1, (0, 3), "no"), (0, math.inf, (0, None), "no"),
    ],
)  # fmt: skip
def test_the_whole_interval_decides(low, high, band, passed):
    assert claims.judge(low, high, *band) == passed


def test_measures():
    value = claims.measure(check(where={"m": 64}), "flat", runs())
    assert value.value == pytest.approx(2.03)
    assert value.passed == "yes"
    power = claims.measure(check(measure="exponent", along="m", at_least=0.4, at_most=0.6), "root", runs())
    assert (power.value, power.passed, power.seeds) == (pytest.approx(0.5), "yes", 4)
    ratio = claims.measure(check(measure="ratio", against="flat", where={"m": 64}, at_least=3.9, at_most=4.1), "root", runs())
    assert (ratio.value, ratio.passed) == (pytest.approx(4.0), "yes")


def test_runs_that_did_not_finish_never_pass():
    r = runs()
    r.loc[(r["label"] == "flat") & (r["seed"] == 0), ["q", "finished"]] = [math.nan, False]
    outcome = claims.measure(check(where={"m": 64}), "flat", r)
    assert (outcome.passed, outcome.unfinished) == ("no", 1)


def test_a_point_without_runs_is_an_error():
    with pytest.raises(KeyError, match="no runs"):
        claims.measure(check(where={"m": 65}), "flat", runs())


def claim(*checks: Check) -> Claim:
    return Claim(text="t <b>", paper="p", source="s", checks=list(checks))


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([check()], claims.REPRODUCED),
        ([check(), check(at_most=0.1)], claims.PARTLY),
        ([check(at_most=0.1)], claims.NOT),
        ([], claims.UNMEASURED),
    ],
)
def test_verdicts(checks, verdict):
    (row,) = claims.evaluate({"C1": claim(*checks)}, lambda _: runs())
    assert row["verdict"] == verdict


def test_a_claim_with_open_checks_only_is_undecided():
    passed = claims.measure(check(), "flat", runs())
    is_open, no = (dataclasses.replace(passed, passed=word) for word in ("open", "no"))
    assert claims.verdict([is_open, is_open]) == claims.UNDECIDED
    assert claims.verdict([is_open, no]) == claims.NOT
    assert claims.verdict([is_open, passed]) == claims.PARTLY


def test_tables_say_it_all_and_escape():
    table = claims.evaluate({"C1": claim(check(), check(at_most=0.1)), "C6": claim()}, lambda _: runs())
    json.dumps(table, allow_nan=False)
    text, page = claims.markdown(table, "From 3 runs."), claims.web_page(table, "From 3 runs.")
    for word in ("C1", "partly", "C6", "not yet measured", "1 of 2", "From 3 runs."):
        assert word in text
        assert word in page
    assert "t <b>" not in page


def test_a_notice_stands_above_the_verdicts():
    table = claims.evaluate({"C1": claim(check())}, lambda _: runs())
    text, page = claims.markdown(table, "From 3 runs.", "A <small> grid."), claims.web_page(table, "From 3 runs.", "A <small> grid.")
    assert text.index("**A &lt;small> grid.**") < text.index("C1")
    assert page.index("<strong>A &lt;small&gt; grid.</strong>") < page.index("C1")
    assert "**" not in claims.markdown(table, "From 3 runs.").split("|")[0]
    assert "<strong>" not in claims.web_page(table, "From 3 runs.")


def test_texts_of_a_config_stay_on_their_line_of_markdown():
    hostile = "a|b\\|c\n# d\n- <script>"
    one = Claim(text=f"# {hostile}", paper=hostile, source=hostile, checks=[check(says=hostile)])
    lines = claims.markdown(claims.evaluate({"C1": one}, lambda _: runs()), "From 3 runs.", f"n\n{hostile}").splitlines()
    assert [x for x in lines if x.startswith(("#", "-", "<"))] == ["# Claims", "## C1: reproduced"]
    assert not [x for x in lines if "<" in x]
    bars = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", x)) for x in lines if x.startswith("|")]
    assert bars == [6] * 6  # two tables of five columns: head, rule, row
    assert r"**n a\|b\\\|c # d - &lt;script>**" in lines
    assert r"\# a\|b\\\|c # d - &lt;script>" in lines


def test_what_verdicts_rest_on_is_counted():
    def group(radix, seeds):
        return Group("e", "ops", {"fabric": {"radix": radix}}, {"kind": "ops"}, {"workload.message_packets": [1, 2]}, [], seeds)

    assert claims.scope([group(4, 3)]) == "From 6 runs: traffic simulated on 16 hosts with 3 seeds a point."
    assert claims.scope([group(4, 3), group(16, 10)]) == "From 26 runs: traffic simulated on 16 to 1,024 hosts with 3 to 10 seeds a point."
    one = {"workload": {"kind": "pairs", "message_packets": 1, "pairs": [[0, 1]]}}
    state = Group("state", "ofan", one, {"kind": "ofan"}, {"fabric.radix": [8, 64]}, [], 1)
    traffic = "traffic simulated on 16 hosts with 3 seeds a point"
    counted = "state counted, by runs of one packet, on 128 to 65,536 hosts with 1 seed a point"
    assert claims.scope([group(4, 3), state]) == f"From 8 runs: {traffic}; {counted}."
    # two packets are traffic, and so is one packet of every host
    two = Group("e", "ops", {"workload": {**one["workload"], "message_packets": 2}}, {"kind": "ops"}, {}, [], 1)
    many = Group("e", "ops", {"workload": {"kind": "permutation", "message_packets": 1}}, {"kind": "ops"}, {}, [], 1)
    assert claims.scope([two, many, state]) == f"From 4 runs: traffic simulated on 128 hosts with 1 seed a point; {counted}."
