"""Who is on which link: small cases worked out by hand, conservation, refusals, the command and the map."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ofancore import EngineError, OfanError, Scenario, ScenarioError, cli, glossary, linkmap, path_files, paths, simulate, watch
from ofancore.fabric import LINK_CLASSES
from ofancore.figures import MissingRun, Source
from ofancore.plan import Group, simulate_group
from ofancore.result import write_table

DATA, ACK = 4096 + 62, 64  # bytes
RADIX_4 = {"radix": 4}  # 16 hosts: pods of two edge switches with two hosts each, two uplinks a switch


def run(**keys):
    """(result, links, use) of a scenario on 16 hosts."""
    result = simulate(Scenario.from_dict({"fabric": RADIX_4, **keys}))
    return result, paths.link_table(result), watch.flow_use(result)


def pairs_of(*ends, packets):
    return {"kind": "pairs", "pairs": [list(pair) for pair in ends], "message_packets": packets}


def crossed(use, links, flow, column="data"):
    """Packets of a flow by stage, as sorted lists of what each link got."""
    rows = use[(use["flow"] == flow) & (use[column] > 0)].merge(links[["link", "stage"]], on="link")
    return {stage: sorted(rows.loc[rows["stage"] == stage, column]) for stage in LINK_CLASSES}


def test_ecmp_puts_a_flow_on_one_path_and_sometimes_two_flows_on_one_uplink():
    """Hosts 0 and 1 are on one edge switch, 14 and 15 on another in the last pod; 4 packets each."""
    seen = set()
    for seed in range(16):
        _, links, use = run(balancer={"kind": "ecmp"}, workload=pairs_of((0, 15), (1, 14), packets=4), seed=seed)
        for flow in (0, 1):
            assert crossed(use, links, flow) == {stage: [4] for stage in LINK_CLASSES}
            assert crossed(use, links, flow, "acks") == {stage: [4] for stage in LINK_CLASSES}
        together = [(links.loc[links["stage"] == stage, "data"] == 8).any() for stage in LINK_CLASSES[1:5]]
        found = paths.pairs(use, links)
        if sum(together) >= 2:
            assert found.to_dict("records") == [{"a": 0, "b": 1, "overlap": sum(together) / 4}]
        else:
            assert found.empty
        uplink = links[(links["stage"] == "edge_agg") & (links["data"] == 8)]
        seen.add(len(uplink))
        if len(uplink):
            there = paths.sharers(use, uplink["link"].item())
            assert there[["flow", "data", "acks", "share"]].to_numpy().tolist() == [[0, 4, 0, 0.5], [1, 4, 0, 0.5]]
            tier = paths.tiers(links).set_index("stage").loc["edge_agg"]
            assert tier["max_bytes"] == 8 * DATA
            assert tier["mean_bytes"] == (8 * DATA + 8 * ACK) / 16  # the ACKs go up at the other end
            assert tier["overload"] == pytest.approx(8 * DATA * 16 / (8 * DATA + 8 * ACK))
            assert uplink["cable"].item() == paths.busiest(links, 100).query("stage == 'edge_agg'")["cable"].iloc[0]
            assert uplink["cable"].item() in ("edge:0:0-agg:0:0", "edge:0:0-agg:0:1")
    assert seen == {0, 1}


def test_ofan_spreads_a_flow_evenly():
    """8 packets over 2 uplinks, then over 4 cores, and the same on the way down; their ACKs likewise."""
    _, links, use = run(workload=pairs_of((0, 15), packets=8))
    even = dict(zip(LINK_CLASSES, ([8], [4, 4], [2] * 4, [2] * 4, [4, 4], [8])))
    assert crossed(use, links, 0) == even
    assert crossed(use, links, 0, "acks") == even
    assert use["bytes"].sum() == 6 * 8 * (DATA + ACK)
    tiers = paths.tiers(links).set_index("stage")
    assert list(tiers["used"]) == [2, 4, 8, 8, 4, 2]  # data one way, ACKs the other
    data_only = links.assign(bytes=links["data"])
    assert list(paths.tiers(data_only).set_index("stage")["overload"]) == [16, 8, 4, 4, 8, 16]  # of 16 links one, two or four are used
    assert paths.pairs(use, links).empty


def test_all_links_alike():
    """Every host to each other: all links of a stage carry what all others do, under Ofan but for what ends unevenly."""
    _, links, _ = run(workload={"kind": "all_to_all", "message_packets": 32})
    tiers = paths.tiers(links).set_index("stage")
    assert tiers.loc["host_edge", "cv"] == 0
    assert (tiers["overload"] < 1.02).all()
    _, ecmp, _ = run(workload={"kind": "all_to_all", "message_packets": 32}, balancer={"kind": "ecmp"})
    assert (paths.tiers(ecmp).set_index("stage").loc[list(LINK_CLASSES[1:5]), "overload"] > 1.1).all()


@pytest.mark.parametrize("kind", ["ecmp", "ops", "ofan"])
def test_stages_carry_the_flows_that_must_cross_them(kind):
    result, links, use = run(balancer={"kind": kind}, workload={"kind": "permutation", "message_packets": 16}, seed=5)
    assert result.packets["dropped"] == 0
    stages, flows = paths.per_stage(use, links), result.flows
    hops = result.scenario.shape.hops(flows["src"], flows["dst"])
    assert set(hops) >= {4, 6}
    sent = flows["sent"].to_numpy()
    expected = np.stack([sent, sent * (hops > 2), sent * (hops > 4), sent * (hops > 4), sent * (hops > 2), sent], axis=1)
    assert stages.to_numpy().tolist() == expected.tolist()


def test_what_is_sent_again_counts_again_and_what_is_dropped_goes_no_further():
    """All flows between pods, so every packet crosses all stages but for those refused on the way."""
    across = pairs_of(*((host, (host + 8) % 16) for host in range(16)), packets=64)
    result, links, use = run(
        fabric={**RADIX_4, "buffer_bytes": 30_000}, balancer={"kind": "ecmp"}, workload=across, recovery={"kind": "sack"}, seed=1
    )
    assert result.resent_packets > 0
    assert result.packets["in_flight"] == 0
    stages = paths.per_stage(use, links)
    assert stages["host_edge"].tolist() == result.flows["sent"].tolist()
    assert stages["host_edge"].sum() == 16 * 64 + result.resent_packets
    handed = (links["data"] + links["acks"]).groupby(links["class"]).sum()
    drops = links.groupby("class")["drops"].sum()
    assert drops.sum() == result.packets["dropped"] > 0
    for stage in range(1, 6):
        assert handed[stage] + drops[stage] == handed[stage - 1]


@pytest.mark.parametrize("keys", [{}, {"tiers": 2}, {"oversubscription": 2}])
def test_links_are_named_as_in_failures(keys):
    result = simulate(Scenario.from_dict({"fabric": RADIX_4 | keys, "workload": pairs_of((0, 3), packets=1)}))
    fabric, links = result.scenario.shape, paths.link_table(result)
    for cable in range(fabric.n_cables):
        up, down = fabric.cable_links(cable)
        assert links.loc[[up, down], "cable"].tolist() == [fabric.cable_name(cable)] * 2
        assert links.loc[[up, down], "direction"].tolist() == ["up", "down"]
    assert links["cable"].iloc[0] == "host:0-edge:0:0"
    assert links["cable"].iloc[-1] == f"host:{fabric.n_hosts - 1}-{fabric.node_name(fabric.node_base[2] - 1)}"
    assert list(paths.tiers(links)["stage"]) == [name for name, n in zip(LINK_CLASSES, np.diff(fabric.link_base)) if n]
    overload = paths.tiers(links).set_index("stage")["overload"]
    for stage, value in result.link_overload.items():
        assert value == pytest.approx(overload.get(stage, float("nan")), nan_ok=True)


def test_broken_links_are_marked():
    broken = [{"cable": "edge:0:0-agg:0:1"}, {"cable": "agg:1:0-core:0:1", "capacity": 0.5}]
    _, links, use = run(failures={"cables": broken}, workload={"kind": "permutation", "message_packets": 16})
    tiers = paths.tiers(links).set_index("stage")
    assert list(tiers["dead"]) == [0, 1, 0, 0, 1, 0]
    assert list(tiers["degraded"]) == [0, 0, 1, 1, 0, 0]
    dead = links[links["capacity"] == 0]
    assert set(dead["cable"]) == {"edge:0:0-agg:0:1"}
    assert dead["bytes"].sum() == 0  # known from the start
    assert not use["link"].isin(dead["link"]).any()
    assert set(links.loc[links["capacity"] == 0.5, "cable"]) == {"agg:1:0-core:0:1"}


def test_columns_are_those_of_the_glossary():
    _, links, use = run(workload=pairs_of((0, 15), packets=1))
    assert list(links) == [*glossary.PATH_LINKS, *glossary.LINK_ROWS]
    assert list(use) == list(glossary.USE)
    assert list(paths.named(use, links)) == [*glossary.USE, "stage", "cable", "direction", "capacity"]
    assert list(paths.tiers(links)) == list(glossary.TIERS)


def naive_overlap(use, links, a, b):
    """The definition, link by link."""
    inner = links[links["class"].isin(paths.BETWEEN_SWITCHES)].set_index("link")["class"]
    counts = {flow: {r.link: r.data for r in use[use["flow"] == flow].itertuples() if r.link in inner.index and r.data} for flow in (a, b)}

    def share(flow, link):
        stage = [n for other, n in counts[flow].items() if inner[other] == inner[link]]
        return counts[flow].get(link, 0) / sum(stage)

    common = counts[a].keys() & counts[b].keys()
    stages = max(len({inner[link] for link in counts[flow]}) for flow in (a, b))
    return sum(share(a, link) * share(b, link) for link in common) / stages if stages else 0.0


def compare_with_definition(use, links):
    """How many pairs are listed; none may be lost by looking only at flows with a common link that takes half of one."""
    listed = {(row.a, row.b): row.overlap for row in paths.pairs(use, links).itertuples()}
    overlaps = {(a, b): naive_overlap(use, links, a, b) for a, b in combinations(sorted(set(use["flow"])), 2)}
    assert listed == pytest.approx({pair: value for pair, value in overlaps.items() if value >= 0.5 - 1e-9})
    return len(listed)


def test_pairs_of_a_run_are_those_of_the_definition():
    found = 0
    for seed in range(3):
        _, links, use = run(balancer={"kind": "ecmp"}, workload={"kind": "permutation", "message_packets": 12}, seed=seed)
        found += compare_with_definition(use, links)
    assert found


def test_pairs_of_any_table_are_those_of_the_definition():
    """Flows within a pod and between pods, on one to three links of a stage, in uneven shares."""
    links = pd.DataFrame({"link": range(24), "class": np.repeat(range(6), 4)})
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(40):
        rows = []
        for flow in range(8):
            for stage in (1, 2, 3, 4) if rng.random() < 0.7 else (1, 4):
                for link in rng.choice(4, rng.integers(1, 4), replace=False):
                    if rng.random() < 0.8 or link == 0:
                        rows.append([flow, 4 * stage + min(link, 2), int(rng.integers(1, 30)) ** 2])
        use = pd.DataFrame(rows, columns=["flow", "link", "data"]).groupby(["flow", "link"], as_index=False).sum()
        found += compare_with_definition(use.assign(first_ns=0.0, last_ns=1.0), links)
    assert found > 20


def test_flows_that_take_turns_are_no_pair():
    _, links, use = run(balancer={"kind": "ecmp"}, workload=pairs_of((0, 15), packets=4))
    later = use.assign(flow=1, first_ns=use["first_ns"] + 1e6, last_ns=use["last_ns"] + 1e6)
    assert paths.pairs(pd.concat([use, later], ignore_index=True), links).empty
    at_once = pd.concat([use, use.assign(flow=1)], ignore_index=True)
    assert paths.pairs(at_once, links).to_dict("records") == [{"a": 0, "b": 1, "overlap": 1.0}]
    with pytest.raises(paths.TooManyPairs, match="more than 7 pairs"):
        paths.pairs(at_once, links, most=7)  # two flows with two on each of four links


def test_slow_runs_are_refused_unless_forced(monkeypatch):
    result = simulate(Scenario.from_dict({"fabric": RADIX_4, "workload": pairs_of((0, 15), packets=8)}))
    monkeypatch.setattr(watch, "MOST_HOPS", 95)
    with pytest.raises(ScenarioError, match=r"packet hops = 96: flow by flow at most 95 unless forced; these take about 0 s"):
        watch.flow_use(result)
    assert watch.flow_use(result, force=True)["data"].sum() == 48


def test_progress_is_told(monkeypatch):
    monkeypatch.setattr(watch, "LOOK_EVERY", 10)
    told = []
    result = simulate(Scenario.from_dict({"fabric": RADIX_4, "workload": pairs_of((0, 15), packets=8)}))
    watch.flow_use(result, progress=lambda done, total, seconds: told.append((done, total)))
    assert told == [(done, 96) for done in range(10, 100, 10)]


def test_twins_that_differ_are_a_fault():
    result = simulate(Scenario.from_dict({"fabric": RADIX_4, "workload": pairs_of((0, 15), packets=8)}))
    data = result.link["data"].copy()
    data[0] -= 1
    data[1] += 1
    with pytest.raises(EngineError, match="data of 2 links"):
        watch.flow_use(replace(result, link={**result.link, "data": data}))


def test_a_run_that_was_stopped_is_watched_up_to_there():
    result, links, use = run(workload={"kind": "permutation", "message_packets": 64}, time_limit_ns=1500)
    assert not result.finished
    assert paths.per_stage(use, links)["host_edge"].sum() == result.flows["sent"].sum() < 16 * 64


# --- the map


def test_a_cell_is_a_switch_and_its_port():
    result, links, _ = run(workload={"kind": "permutation", "message_packets": 4})
    cells = linkmap.cells(links).set_index(["cable", "direction"])
    fabric = result.scenario.shape
    assert len(cells) == 4 * 16
    assert not cells.duplicated(["class", "row", "column"]).any()
    for cable, direction, place in (
        ("edge:2:1-agg:2:1", "up", (2 * fabric.E + 1, 1)),
        ("agg:3:1-core:1:0", "up", (3 * fabric.A + 1, 0)),
        ("agg:3:1-core:1:0", "down", (1 * fabric.C + 0, 3)),
        ("edge:2:1-agg:2:0", "down", (2 * fabric.A + 0, 1)),
    ):
        assert tuple(cells.loc[(cable, direction), ["row", "column"]]) == place


def test_the_map_has_a_panel_a_stage_and_one_scale():
    runs = {}
    for kind in ("ecmp", "ofan"):
        _, runs[kind], _ = run(balancer={"kind": kind}, workload={"kind": "permutation", "message_packets": 4})
    chart = linkmap.link_map(runs, "finding", "setup").to_dict()
    assert chart["title"]["text"] == ["finding"]
    assert [strip["title"]["text"] for strip in chart["vconcat"]] == ["ecmp", "ofan"]
    panels = [panel for strip in chart["vconcat"] for panel in strip["hconcat"]]
    assert [panel["title"]["text"] for panel in panels] == list(linkmap.TITLES.values()) * 2
    domains = [panel["layer"][0]["encoding"]["color"]["scale"]["domain"] for panel in panels]
    assert domains == [[0, max(table["over_mean"][16:-16].max() for table in runs.values())]] * 8
    many = pd.concat([runs["ofan"]] * 400, ignore_index=True)
    with pytest.raises(OfanError, match="up to 5,000 links, not 6,400"):
        linkmap.link_map({"ofan": many}, "finding", "setup")


def test_the_spread_of_a_stage_is_that_of_its_links():
    _, links, _ = run(balancer={"kind": "ecmp"}, workload={"kind": "permutation", "message_packets": 4})
    spread = paths.spread(links).set_index("stage")
    assert list(spread.index) == list(paths.STAGES)
    for stage in paths.STAGES:
        loads = np.sort(links.loc[links["stage"] == stage, "over_mean"])
        assert list(spread.loc[stage]) == [loads[0], loads[2], loads[14], loads[15]]  # 10% is 1.5 links from the first


def test_a_link_says_how_many_flows_it_carried_and_the_largest_share():
    pairs = pairs_of((0, 15), (1, 14), packets=8)
    _, links, use = run(balancer={"kind": "ecmp"}, workload=pairs)
    table = paths.per_link(use, links)
    assert list(table.drop(columns=["flows", "largest"])) == list(links)
    for row in table.itertuples():
        sent = use.loc[(use["link"] == row.link) & (use["data"] > 0), "data"]
        assert row.flows == len(sent)
        assert np.isnan(row.largest) if sent.empty else row.largest == sent.max() / sent.sum()
    assert table["flows"].max() <= 2
    assert table.loc[table["stage"] == "host_edge", "flows"].sum() == 2


def test_one_map_shows_any_of_many_runs():
    runs = {}
    for name, failures in (("healthy", {}), ("broken", {"cables": [{"cable": "edge:0:0-agg:0:1"}], "convergence_ns": 0.0})):
        _, links, use = run(balancer={"kind": "ofan"}, failures=failures, workload={"kind": "permutation", "message_packets": 4})
        runs[name] = paths.per_link(use, links)
    chart = linkmap.chosen_map(runs).add_params(linkmap.choice(list(runs), "broken")).to_dict()
    assert [(p["value"], p["bind"]["options"]) for p in chart["params"] if p["name"] == linkmap.CHOICE] == [("broken", list(runs))]
    assert [panel["title"]["text"] for panel in chart["hconcat"]] == list(linkmap.TITLES.values())
    (rows,) = chart["datasets"].values()
    for i, links in enumerate(runs.values()):
        inner = links[links["class"].isin(paths.BETWEEN_SWITCHES)]
        assert [row["load_of"][i] for row in rows] == pytest.approx(list(inner["over_mean"]), rel=5e-3)
        assert [row["flows_of"][i] for row in rows] == list(inner["flows"])
    assert {(row["cable"], tuple(row["dead_in"])) for row in rows if row["dead_in"]} == {("edge:0:0-agg:0:1", (1,))}


# --- files of the pipeline


GROUP = Group("few", "ecmp", {"fabric": RADIX_4, "workload": pairs_of((0, 15), packets=4)}, {"kind": "ecmp"}, {}, [], 2)


@pytest.fixture
def kept(tmp_path):
    """A results folder with the raw runs of a group, and their tables beside them."""
    write_table(simulate_group(GROUP), GROUP.raw_path(tmp_path))
    path_files.make(GROUP, tmp_path)
    return tmp_path


def test_a_figure_reads_who_was_on_which_link(kept):
    links, flows = path_files.of(Source(str(kept), [GROUP]), "few")
    assert list(links) == ["digest", *glossary.PATH_LINKS, *glossary.LINK_ROWS, "label"]
    assert list(flows) == ["digest", *glossary.USE, "label"]
    assert set(links["label"]) | set(flows["label"]) == {"ecmp"}
    for seed, digest in enumerate(dict.fromkeys(links["digest"])):
        result, its_links, its_use = run(balancer={"kind": "ecmp"}, workload=pairs_of((0, 15), packets=4), seed=seed)
        assert digest == result.scenario.digest
        for table, own in ((links, its_links), (flows, its_use)):
            found = table[table["digest"] == digest].drop(columns=["digest", "label"]).reset_index(drop=True)
            pd.testing.assert_frame_equal(found, own, check_dtype=False)


def test_opened_by_hand_a_figure_makes_the_tables_itself(tmp_path):
    links, flows = path_files.of(Source(str(tmp_path), [GROUP], simulate=True), "few")
    assert len(links) == 2 * 6 * 16
    assert len(flows) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_same_runs_give_the_same_files(kept):
    before = [path.read_bytes() for path in path_files.files(GROUP, kept)]
    path_files.make(GROUP, kept)
    assert [path.read_bytes() for path in path_files.files(GROUP, kept)] == before


def test_tables_that_are_missing_damaged_or_of_other_runs_are_refused(kept):
    links, flows = path_files.files(GROUP, kept)
    whole = flows.read_bytes()

    def refusal():
        with pytest.raises(MissingRun) as caught:
            path_files.of(Source(str(kept), [GROUP]), "few")
        return str(caught.value)

    flows.write_bytes(whole[:-9])
    assert refusal().startswith(f"{flows}: not readable (")
    table = pd.read_parquet(links)
    table[table["digest"] == table["digest"].iloc[0]].to_parquet(links)
    flows.write_bytes(whole)
    assert refusal() == f"{links}: of other runs than the raw file has; delete it and run the pipeline again"
    links.unlink()
    assert refusal() == f"{links}: missing; the pipeline makes it"


# --- the command

SMALL = ["--set", "fabric.radix=4", "--set", "workload.message_packets=8", "--set", "balancer.kind=ecmp"]


def call(capsys, *words):
    try:
        status = cli.main(["paths", *map(str, words)])
    except SystemExit as end:
        status = end.code
    return status, *capsys.readouterr()


def test_the_command_prints_stages_links_and_flows(capsys, tmp_path):
    simulate(Scenario.from_dict({"fabric": RADIX_4, "workload": pairs_of((0, 1), packets=1)}))  # compiled, so nothing to be told of
    status, out, err = call(capsys, *SMALL, "--seed", 2, "--top", 3, "--out", tmp_path / "links.csv")
    assert (status, err) == (0, "")
    stages, worst = out.split("\n\n")[1:]
    assert [line.split()[0] for line in stages.splitlines()] == ["stage", *LINK_CLASSES]
    assert len(worst.splitlines()) == 2 + 3
    assert len(pd.read_csv(tmp_path / "links.csv")) == 6 * 16
    status, out, err = call(capsys, *SMALL, "--seed", 2, "--top", 3, "--flows", "--out", tmp_path / "use.parquet")
    assert (status, err) == (0, "")
    _, _, again, *lists, together = out.split("\n\n")
    assert again == worst.rstrip("\n")
    assert [text.splitlines()[0] for text in lists] == [line[: len(name)] for name, line in heads(lists, again)]
    assert together.startswith(("Pairs of flows that share half", "No two flows share half"))
    use = pd.read_parquet(tmp_path / "use.parquet")
    assert use["data"].sum() + use["acks"].sum() == pd.read_csv(tmp_path / "links.csv")[["data", "acks"]].to_numpy().sum()
    about = json.loads(pq.read_schema(tmp_path / "use.parquet").metadata[b"ofan"])
    assert about["scenario"]["seed"] == 2


def test_a_scheme_of_ones_own_goes_by_its_title(capsys, tmp_path):
    file = tmp_path / "first.py"
    for title, name in (('title = "The first uplink"\n', "The first uplink"), ("", "first")):
        file.write_text(f"{title}def choose_uplink():\n    return 0\n")
        scheme = ["--set", "balancer.kind=own", "--set", f"balancer.module={file}"]
        status, out, _ = call(capsys, *SMALL, *scheme)
        assert status == 0
        assert out.startswith(f"{name}: CCT ")
    status, out, _ = call(capsys, *SMALL, "--set", "balancer.kind=reps")
    assert out.startswith("reps: CCT ")


def heads(lists, worst):
    """(name of the link that a list is about, the line of the table of busiest links that should name it)."""
    return zip([text.splitlines()[0] for text in lists], worst.splitlines()[2:], strict=True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--top", "0"], "--top = 0: must be at least 1"),
        (["--top", "x"], "argument --top: invalid int value: 'x' (see ofancore paths --help)"),
        (["--force"], "--force = True: goes with --flows"),
        (["--out", "table.txt"], "--out = 'table.txt': must end in .csv or .parquet"),
        (["--out", "/dev/null/x.csv"], "/dev/null/x.csv: "),
        (["my.csv", "--out", "my.csv"], "scenario = 'my.csv': cannot be read: No such file or directory"),
        (["--set", "fabric.radix=5"], "fabric.radix = 5: must be a multiple of 2"),
        (["--set", "balancer.kind=none"], "balancer.kind = 'none': "),
    ],
)
def test_bad_words_end_with_status_2_and_one_line(capsys, words, line):
    status, out, err = call(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"ofancore: {line}")
    assert err.count("\n") == 1


def test_the_command_refuses_what_takes_long(capsys, monkeypatch):
    monkeypatch.setattr(watch, "MOST_HOPS", 100)
    status, out, err = call(capsys, *SMALL, "--flows")
    assert (status, out) == (2, "")
    assert err.startswith("ofancore: packet hops = ")
    assert call(capsys, *SMALL, "--flows", "--force")[0] == 0


def test_progress_is_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(cli._Ticker, "every_s", 0.0)
    monkeypatch.setattr(watch, "LOOK_EVERY", 500)
    status, _, err = call(capsys, *SMALL, "--flows")
    assert status == 0
    assert err.splitlines()[0].startswith("ofancore: 500 of ")
    assert err.splitlines()[0].endswith(" left")
