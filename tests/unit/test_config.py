"""The grid: both configs are valid and alike, the schema is current, and bad input is refused by its dotted key."""

from __future__ import annotations

import copy
import datetime
import json
import os
import re
from pathlib import Path

import pytest
import yaml

from ofancore import config as config_module
from ofancore.config import load_config, main, schema_text
from ofancore.errors import ScenarioError
from ofancore.files import write_file
from ofancore.plan import Group, expand, json_text, packet_hops, run_hops, run_seconds, seconds

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ["paper", "smoke"]
ALL = [*CONFIGS, "full"]


def path(name: str) -> Path:
    return ROOT / "config" / f"{name}.yaml"


@pytest.fixture
def small(tmp_path, monkeypatch) -> dict:
    """A config with one of everything, in a project of its own."""
    monkeypatch.setattr(config_module, "ROOT", tmp_path)
    (tmp_path / "notebooks/figures").mkdir(parents=True)
    (tmp_path / "workflow/report").mkdir(parents=True)
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "figure = source = None\nfit_from: int = 4"}
    (tmp_path / "notebooks/figures/fig_f.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tmp_path / "workflow/report/f.rst").write_text("A caption.")
    return {
        "results": "out",
        "seeds": 2,
        "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}},
        "experiments": {
            "one": {
                "about": "a test",
                "scenario": {"fabric": {"radix": 4}},
                "sweep": {"workload.message_packets": [1, 2]},
                "schemes": ["ops", "ofan"],
            }
        },
        "figures": {"f": {"notebook": "fig_f", "category": "c", "experiments": ["one"], "parameters": {"fit_from": 8}}},
        "claims": {
            "C1": {
                "text": "t", "paper": "p", "source": "s", "figure": "f",
                "checks": [
                    {"says": "w", "experiment": "one", "measure": "value", "metric": "cct_ns", "schemes": ["ops"], "at_most": 1.0},
                    {
                        "says": "w", "experiment": "one", "measure": "exponent", "metric": "cct_ns", "schemes": ["ops"],
                        "along": "workload.message_packets", "at_most": 1.0,
                    },
                ],
            }
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_committed_configs_are_valid_to_the_last_scenario(name):
    load_config(path(name))


@pytest.mark.parametrize("name", ALL)
def test_committed_configs_fit_the_schema_without_our_code(name):
    import jsonschema

    jsonschema.validate(yaml.safe_load(path(name).read_text()), yaml.safe_load((ROOT / "config/schema.yaml").read_text()))


def test_schema_is_current():
    assert (ROOT / "config/schema.yaml").read_text() == schema_text(), "run: python -m ofancore.config schema > config/schema.yaml"


def test_both_sizes_have_the_same_keys():
    paper, smoke = (load_config(path(name), scenarios=False) for name in CONFIGS)
    assert smoke.notice
    assert paper.notice is None
    for part in ("schemes", "experiments", "figures", "claims"):
        assert list(getattr(paper, part)) == list(getattr(smoke, part))
    for name, claim in paper.claims.items():
        assert criteria(claim) == criteria(smoke.claims[name])


def criteria(claim) -> list:
    """The same at all sizes; only the points that they look at differ."""
    return [(c.says, c.measure, c.metric, c.against, c.at_least, c.at_most) for c in claim.checks]


def without_hosts(name: str) -> str:
    """The name of what is the same in `config/paper.yaml`, on fewer hosts."""
    return re.sub(r"_(432|1024)$", "", name)


def test_the_full_size_extends_what_the_paper_size_has():
    paper, full = (load_config(path(name), scenarios=False) for name in ("paper", "full"))
    assert full.results != paper.results
    assert full.schemes == paper.schemes
    for name, experiment in full.experiments.items():
        there = set(paper.experiments[without_hosts(name)].schemes)
        # Runs of a quarter of an hour each are of some schemes.
        assert set(experiment.schemes) <= there if name.endswith("_1024") else set(experiment.schemes) >= there
    for name, figure in full.figures.items():
        assert figure.notebook == paper.figures[without_hosts(name)].notebook
    for name, claim in full.claims.items():
        assert criteria(claim) == criteria(paper.claims[name])


@pytest.mark.parametrize("name", ALL)
def test_every_figure_has_its_notebook_and_its_caption(name):
    for figure, block in load_config(path(name), scenarios=False).figures.items():
        assert (ROOT / "notebooks/figures" / f"{block.notebook}.ipynb").exists()
        assert (ROOT / "workflow/report" / f"{figure}.rst").exists()


@pytest.mark.parametrize("name", ["paper", "full"])
def test_stated_costs_are_those_of_the_tool(name):
    config, text = load_config(path(name), scenarios=False), path(name).read_text()
    for name in config.experiments:
        hops = sum(packet_hops(g) for g in config.groups([name]))
        stated = text.split(f"\n  {name}:")[1].split("\n")[0]
        assert f" {hops:.1e} packet-hops" in stated, name


def test_the_default_grid_fits_its_minutes():
    groups = load_config(path("paper"), scenarios=False).groups()
    assert sum(packet_hops(g) for g in groups) <= 2.5e10
    # 220 and the league's schemes once more: runs that are followed packet by packet are so few and short that one a group is enough.
    assert len(groups) <= 245, "process start-up would dominate"


def set_at(data: dict, key: str, value) -> dict:
    data = copy.deepcopy(data)
    at = data
    *parents, last = key.split(".")
    for p in parents:
        at = at[int(p) if isinstance(at, list) else p]
    at[last] = value
    return data


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("seeds", 0, "seeds"),
        ("seeds", 2.5, "seeds"),
        ("seeds", True, "seeds"),
        ("sedes", 3, "sedes"),
        ("results", "/abs", "results"),
        ("results", "", "results"),
        ("results", "..", "results"),
        ("results", "a/../../x", "results"),
        ("results", "a/.git", "results"),
        ("results", "a\n", "results"),
        ("schemes", {}, "schemes"),
        ("figures.f.notebook", "x" * 101, "figures.f.notebook"),
        ("experiments.one.schemes", ["opps"], "experiments.one.schemes.0"),
        ("experiments.one.schemes", ["ops", "ops"], "experiments.one.schemes"),
        ("experiments.one.schemes", [], "experiments.one.schemes"),
        ("experiments.one.sweep", {"workload.message_packets": []}, "experiments.one.sweep.workload.message_packets"),
        ("experiments.one.sweep", {"workload.message_packets": [0]}, "experiments.one.workload.message_packets"),
        ("experiments.one.sweep", {"workload.mesage": [1]}, "experiments.one.workload.mesage"),
        ("experiments.one.scenario", {"fabric": {"radix": 7}}, "experiments.one.fabric.radix"),
        ("schemes.ops", {"kind": "opps"}, "experiments.one.balancer.kind"),
        ("experiments.one.scenario", {"balancer": {"kind": "ofan"}}, "experiments.one.scenario.balancer"),
        ("experiments.one.scenario", {"workload": 3}, "experiments.one.workload.message_packets"),
        ("experiments.one.scenario", {"seed": 3}, "experiments.one.seed"),
        ("experiments.one.sweep", {"workload.message_packets": [1, 2, 1]}, "experiments.one.seed"),
        ("experiments.one.points", [{"workload.message_packets": 1}], "experiments.one.points.0.workload.message_packets"),
        ("experiments.one.points", [{"workload.hosts": [0, 128]}], "experiments.one.workload.hosts"),
        ("experiments.one.points", [{"workload.kind": "pairs", "workload.pairs": [[0, 16]]}], "experiments.one.workload.pairs.0"),
        ("experiments.one.points", [{"failures.cables": [{"cable": "x"}]}], "experiments.one.failures.cables.0.cable"),
        ("experiments.one.points", [{"failures.link_failure_rate": 0.5}], "experiments.one.failures"),
        ("experiments.one.points", [{"workload.kind": "pairs", "workload.pairs": [[0, 1]] * 10_000}], "figures.f.experiments"),
        ("experiments.one.one_at_a_time", {"opps": {"balancer.pipes": [2]}}, "experiments.one.one_at_a_time.opps"),
        ("experiments.one.one_at_a_time", {"ops": {}}, "experiments.one.one_at_a_time.ops"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.labels": []}}, "experiments.one.one_at_a_time.ops.balancer.labels"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.lables": [2]}}, "experiments.one.balancer.lables"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.labels": [0]}}, "experiments.one.balancer.labels"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.labels": [65536]}}, "experiments.one.one_at_a_time.ops.balancer.labels"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.labels": [2, 2]}}, "experiments.one.one_at_a_time.ops.balancer.labels"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.kind": ["ofan"]}}, "experiments.one.one_at_a_time.ops.balancer.kind"),
        ("experiments.one.one_at_a_time", {"ops": {"balancer": [{"kind": "ofan"}]}}, "experiments.one.one_at_a_time.ops.balancer"),
        ("experiments.one.one_at_a_time", {"ops": {"start_jitter_ns": [1.0]}}, "experiments.one.one_at_a_time.ops.start_jitter_ns"),
        (
            "experiments.one.one_at_a_time",
            {"ops": {"workload.message_packets": [3]}},
            "experiments.one.one_at_a_time.ops.workload.message_packets",
        ),
        ("experiments.one.one_at_a_time", {"ops": {"balancer.labels": [2] * 50_000}}, "experiments.one"),
        ("figures.f.notebook", "fig_g", "figures.f.notebook"),
        ("figures.f.parameters", {"fit_form": 8}, "figures.f.parameters.fit_form"),
        ("figures.f.parameters", {"source": {}}, "figures.f.parameters.source"),
        ("figures.f.parameters", {"figure": "x"}, "figures.f.parameters.figure"),
        ("figures.f.parameters", {"fit_from": datetime.date(2020, 1, 1)}, "figures.f.parameters.fit_from"),
        ("figures", {"g": {"notebook": "fig_f", "category": "c", "experiments": ["one"]}}, "claims.C1.figure"),
        ("figures.f.experiments", ["two"], "figures.f.experiments.0"),
        ("figures.f.experiments", [], "figures.f.experiments"),
        ("claims.C1.figure", "g", "claims.C1.figure"),
        ("claims.C1.checks.0.schemes", ["reps"], "claims.C1.checks.0.schemes"),
        ("claims.C1.checks.0.measure", "ratio", "claims.C1.checks.0"),
        ("claims.C1.checks.0.at_most", None, "claims.C1.checks.0"),
        ("claims.C1.checks.0.at_least", 2.0, "claims.C1.checks.0"),
        ("claims.C1.checks.0.beyond", 2.0, "claims.C1.checks.0"),
        ("claims.C1.checks.0.metric", "cct_inflatoin", "claims.C1.checks.0.metric"),
        ("claims.C1.checks.0.metric", "collectives", "claims.C1.checks.0.metric"),
        ("claims.C1.checks.0.where", {"workload.mesage": 1}, "claims.C1.checks.0.where.workload.mesage"),
        ("claims.C1.checks.0.where", {"workload.message_packets": 3}, "claims.C1.checks.0.where.workload.message_packets"),
        ("claims.C1.checks.0.where", {"workload.message_packets": "1"}, "claims.C1.checks.0.where.workload.message_packets"),
        ("claims.C1.checks.1.along", "workload.mesage", "claims.C1.checks.1.along"),
        ("claims.C1.checks.1.along", "fabric.radix", "claims.C1.checks.1.along"),
        ("claims.C1.checks.1.along", "workload.kind", "claims.C1.checks.1.along"),
        ("claims.C1.checks.1.beyond", 2.0, "claims.C1.checks.1.along"),
        ("claims.C1.checks.1.where", {"workload.message_packets": 1}, "claims.C1.checks.1.along"),
    ],
)
def test_bad_input_is_refused_by_its_key(small, key, value, named):
    load_config(small)
    with pytest.raises(ScenarioError) as refusal:
        load_config(set_at(small, key, value))
    assert refusal.value.key.split(" ")[0] == named
    assert "\n" not in str(refusal.value)


def test_a_metric_of_three_tiers_needs_them(small):
    key = "claims.C1.checks.0.metric"
    three = set_at(small, key, "pointers_per_switch_agg")
    load_config(three)
    with pytest.raises(ScenarioError, match=key):
        load_config(set_at(three, "experiments.one.scenario.fabric", {"radix": 4, "tiers": 2}))


def test_points_are_looked_for_in_the_scheme_of_the_denominator_as_well(small):
    small["claims"]["C1"]["checks"][0] |= {"measure": "ratio", "against": "ofan", "where": {"balancer.kind": "ops"}}
    with pytest.raises(ScenarioError, match=r"^claims\.C1\.checks\.0\.where\.balancer\.kind = 'ops': must be one of .* 'ofan'$"):
        load_config(small)


def test_a_figure_needs_a_caption_and_a_whole_notebook(small, tmp_path):
    (tmp_path / "notebooks/figures/fig_f.ipynb").write_text("{}")
    with pytest.raises(ScenarioError, match=r"^figures\.f\.notebook = 'fig_f': .*fig_f\.ipynb: not a readable notebook"):
        load_config(small)
    small["figures"]["f"]["notebook"] = "fig_g"
    (tmp_path / "notebooks/figures/fig_g.ipynb").write_text('{"cells": []}')
    with pytest.raises(ScenarioError, match=r"^figures\.f\.parameters\.fit_from = 8: must be a parameter of the notebook: none"):
        load_config(small)
    del small["figures"]["f"]["parameters"]
    load_config(small)
    (tmp_path / "workflow/report/f.rst").unlink()
    with pytest.raises(ScenarioError, match=r"^figures\.f = 'f': needs a caption in .*f\.rst"):
        load_config(small)


def shown_by(small, folder, name: str) -> dict:
    """The config with its experiment under this name, and a figure `fig_<name>` of it."""
    (folder / f"notebooks/figures/fig_{name}.ipynb").write_text('{"cells": []}')
    figure = {"notebook": f"fig_{name}", "category": "c", "experiments": [name]}
    return small | {"experiments": dict.fromkeys([name, "two"], small["experiments"]["one"]), "figures": {"f": figure}, "claims": {}}


def test_a_figure_of_single_runs_needs_to_tell_them_apart(small, tmp_path):
    """Before the first job, with the keys that make runs differ; also where the figure does not name what its notebook reads."""
    paths, ranked = (shown_by(small, tmp_path, name) for name in ("paths", "league"))
    with pytest.raises(ScenarioError) as refusal:
        load_config(paths)
    assert str(refusal.value) == (
        "experiments.paths = {'condition': 'healthy', 'label': 'ops'}: 4 runs are so, of which the figure can show one; "
        "they differ in workload.message_packets [1, 2], seed [0, 1]"
    )
    with pytest.raises(ScenarioError, match=r"^experiments.league = .*'seed': 0, .*}: 2 runs .* in workload.message_packets \[1, 2\]$"):
        load_config(ranked)
    load_config(set_at(ranked, "experiments.league.sweep", {}))
    one = set_at(paths, "experiments.paths.sweep", {"failures": [{}, {"cables": [{"cable": "edge:0:0-agg:0:0"}]}]})
    load_config(set_at(one, "experiments.paths.seeds", 1))
    with pytest.raises(ScenarioError, match=r"^figures.f.experiments = \['two'\]: must name paths, which fig_paths reads$"):
        load_config(set_at(paths, "figures.f.experiments", ["two"]))
    ranked["experiments"]["league"] |= {"seeds": 1, "sweep": {"seed": [0, 1, 2]}}
    load_config(ranked)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("experiments", ["one", "one"], "figures.f.experiments = ['one', 'one']: must name each experiment once"),
        ("category", "", "figures.f.category = '': string should have at least 1 character"),
        ("category", "c" * 201, "string should have at most 200 characters"),
        ("parameters.fit_from", "4" * 20_000, "figures.f.parameters = {'fit_from': '4"),
    ],
)
def test_a_figure_is_refused_before_its_runs_are_made(small, key, value, text):
    with pytest.raises(ScenarioError) as refusal:
        load_config(set_at(small, f"figures.f.{key}", value))
    assert text in str(refusal.value)


def test_claims_with_nothing_after_it_are_none(small, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({name: block for name, block in small.items() if name != "claims"}) + "claims:\n")
    assert load_config(file).claims == {}
    assert load_config(small).claims["C1"].text == "t"


def test_half_a_surrogate_pair_is_refused_by_its_key(small):
    for key, data in (("claims.C1.text", set_at(small, "claims.C1.text", "a\ud800")), ("\udc00", small | {"\udc00": 1})):
        with pytest.raises(ScenarioError, match="half of a surrogate pair") as refusal:
            load_config(data)
        assert refusal.value.key == key
        assert str(refusal.value).isascii()


def test_missing_key_is_named(small):
    del small["figures"]
    with pytest.raises(ScenarioError, match="figures"):
        load_config(small)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "\x00", "seeds: 1\nseeds: 2"])
def test_files_that_are_no_config(tmp_path, text):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError):
        load_config(file)
    with pytest.raises(ScenarioError, match="No such file"):
        load_config(tmp_path / "none.yaml")


def test_command_prints_schema_and_cost(capsys):
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == schema_text()
    assert main(["cost", str(path("smoke"))]) == 0
    assert "packet-hops" in capsys.readouterr().out
    assert main(["nonsense"]) == 2


def test_command_measures_core_hours(capsys):
    """Of `state`, two groups whose runs take no time: what is left is the start of two processes."""
    assert main(["measure", str(path("smoke")), "state"]) == 0
    found = re.fullmatch(r"state +([\d.]+) core-hours estimated, +([\d.]+) from (\d+) runs made now, +(\d+) MiB\n", capsys.readouterr().out)
    groups = load_config(path("smoke"), scenarios=False).groups(["state"])
    assert float(found[1]) == round(sum(seconds(g) for g in groups) / 3600, 3)
    assert 0 < float(found[2]) < 0.05
    assert int(found[3]) == sum(len(expand(g, seeds=1)) for g in groups)
    assert 100 < int(found[4]) < 2000
    with pytest.raises(ScenarioError, match="experiments = 'none': must be one of"):
        main(["measure", str(path("smoke")), "none"])


def group(**changes) -> Group:
    given = {"sweep": {"workload.message_packets": [1, 2], "fabric.radix": [4, 6]}, "points": [], "seeds": 2, **changes}
    return Group("e", "l", {"fabric": {"link_gbps": 400.0}}, {"kind": "ofan"}, **given)


@pytest.mark.parametrize("name", ALL)
def test_every_scheme_of_committed_configs_has_a_style_of_its_own(name):
    assert load_config(path(name), scenarios=False).names() == {}


def test_a_scheme_of_ones_own_goes_by_the_title_of_its_file(small, tmp_path):
    for name, title in (("one", 'title = "The first uplink"\n'), ("two", "")):
        (tmp_path / f"{name}.py").write_text(f"{title}def choose_uplink():\n    return 0\n")
        small["schemes"][name] = {"kind": "own", "module": str(tmp_path / f"{name}.py")}
    small["schemes"]["jsq_x"] = {"kind": "jsq", "ties": "first"}
    assert load_config(small, scenarios=False).names() == {"one": "The first uplink", "two": "two", "jsq_x": "jsq_x"}


def test_axes_make_their_product_with_seeds_innermost():
    found = [(s["workload"]["message_packets"], s["fabric"]["radix"], s["seed"]) for s in expand(group())]
    assert found == [(m, k, s) for m in (1, 2) for k in (4, 6) for s in (0, 1)]
    assert all(s["fabric"]["link_gbps"] == 400.0 and s["balancer"] == {"kind": "ofan"} for s in expand(group()))


def test_points_are_crossed_with_axes():
    g = group(points=[{"packet.payload_bytes": 64}, {}], sweep={"fabric.radix": [4]}, seeds=1)
    assert [s.get("packet") for s in expand(g)] == [{"payload_bytes": 64}, None]


def test_a_scheme_varies_one_key_at_a_time_at_every_point():
    g = group(points=[{"start_jitter_ns": 1.0}], sweep={"fabric.radix": [4, 6]}, one_at_a_time={"balancer.b": [2, 1], "balancer.a": [None]})
    found = [(s["fabric"]["radix"], s["balancer"], s["seed"]) for s in expand(g)]
    variants = [{}, {"b": 2}, {"b": 1}, {"a": None}]
    assert found == [(k, {"kind": "ofan", **v}, s) for k in (4, 6) for v in variants for s in (0, 1)]
    again = Group.from_json(g.to_json())
    assert again == g
    assert expand(again) == expand(g)
    assert list(again.one_at_a_time) == ["balancer.b", "balancer.a"]


def test_what_does_not_vary_is_told_as_before():
    """Raw files of groups without `one_at_a_time` stay what they were."""
    assert "one_at_a_time" not in group().to_json()


def test_only_the_named_scheme_varies(small):
    varied = set_at(small, "experiments.one.one_at_a_time", {"ops": {"balancer.labels": [2, 4]}})
    with pytest.raises(ScenarioError, match="varies constants one at a time: a scheme there is several"):
        load_config(varied)
    found = load_config(set_at(varied, "claims", {})).groups()
    assert [g.one_at_a_time for g in found] == [{"balancer.labels": [2, 4]}, {}]
    assert [len(expand(g)) for g in found] == [2 * 3 * 2, 2 * 2]  # messages, the scheme as it is and varied, seeds


def test_expansion_leaves_the_group_alone_and_shares_nothing():
    g = group(one_at_a_time={"balancer.pipes": [1]})
    before = g.to_json()
    first = expand(g)
    first[0]["fabric"]["radix"] = 99
    assert g.to_json() == before
    assert expand(g)[0]["fabric"]["radix"] == 4


def test_a_group_survives_json_with_infinity_and_order_of_axes():
    g = group(sweep={"z.b": [1.0, float("inf")], "a.c": [2]})
    again = Group.from_json(g.to_json())
    assert again == g
    assert list(again.sweep) == ["z.b", "a.c"]


def test_json_text_is_canonical():
    assert json_text({"b": 1, "a": [1.5, None]}) == json_text(json.loads('{"a": [1.5, null], "b": 1}'))


def test_expected_hops():
    assert run_hops({"workload": {"kind": "permutation", "message_packets": 10}}) == 12 * 128 * 10
    assert run_hops({"fabric": {"radix": 4}, "workload": {"kind": "all_to_all", "message_packets": 1}}) == 12 * 16 * 15
    assert run_hops({"workload": {"kind": "ring_all_gather", "message_packets": 3, "steps": 2}}) == 12 * 128 * 2 * 3
    assert run_hops({"workload": {"kind": "ring_all_gather", "message_packets": 3}}) == 12 * 128 * 127 * 3


@pytest.mark.parametrize(
    ("workload", "packets"),
    [
        ({"steps": 4}, 4 * 1521),
        ({}, 127 * 1521),
        ({"steps": 4, "ranks": 32}, 4 * 1521 / 4),
        ({"steps": 1, "model": "llama3_8b", "phase": "step", "layers": 3}, 9 * 105),
        ({"steps": 2, "message_packets": 7, "phase": "backward", "layers": 2}, 2 * 2 * 2 * 7),
    ],
)
def test_expected_hops_of_training(workload, packets):
    assert run_hops({"workload": {"kind": "fsdp", **workload}}) == 12 * 128 * packets


def test_expected_hops_of_other_workloads_are_those_of_their_flows():
    assert run_hops({"workload": {"kind": "incast", "message_packets": 3, "senders": 7}}) == 12 * 7 * 3
    assert run_hops({"workload": {"kind": "halving_doubling", "message_packets": 2}}) == 12 * 128 * 2 * 127 * 2
    assert run_hops({"workload": {"kind": "htsim_matrix"}}) == 12 * 128 * 489  # 2,000,000 bytes a host


@pytest.mark.parametrize("workload", [{"steps": 2, "phase": "step"}, {"steps": 1, "collective": "direct", "ranks": 10}])
def test_expected_hops_of_training_are_those_of_its_flows(workload):
    import numpy as np

    from ofancore.scenario import Scenario

    given = {"fabric": {"radix": 4}, "packet": {"payload_bytes": 8192}, "workload": {"kind": "fsdp", **workload}}
    scenario = Scenario.from_dict(given)
    flows = scenario.workload.flows(scenario.shape, np.random.default_rng(0), 8192)
    assert run_hops(given) == 12 * flows.packets.sum()


def test_a_closed_loop_is_expected_to_take_longer():
    ideal = {"workload": {"kind": "permutation"}}
    for part in ({"congestion": {"kind": "dctcp"}}, {"recovery": {"kind": "sack"}}):
        assert run_seconds({**ideal, **part}) > run_seconds(ideal)
    assert run_seconds({**ideal, "congestion": {"kind": "line_rate"}}) == run_seconds(ideal)


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "deep" / "file.txt"
    write_file(target, "old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_file(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in target.parent.iterdir()] == ["file.txt"]


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    """A link is followed; a pipe stays a pipe, as a device would."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(OSError, match="is not a plain file"):
        write_file(tmp_path, "text")
