"""The animation: where everything is drawn, what a frame holds, and the page and command around it."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shlex

import numpy as np
import pytest

from ofancore import OfanError, Scenario, ScenarioError, animate, cli, simulate
from ofancore.config import load_config
from ofancore.fabric import Fabric
from ofancore.palette import STYLES, contrast, lightened, name_of
from ofancore.plan import expand

SMALL = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 32}})
FABRICS = [Fabric.build(4), Fabric.build(8), Fabric.build(6, oversubscription=3), Fabric.build(6, tiers=2), Fabric.build(4, 2, 2)]


@pytest.fixture(scope="module")
def runs():
    return animate.runs_of(SMALL, ("ops", "ofan"))


def data_in(page: str) -> dict:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("tiers", [2, 3])
def test_links_lead_where_the_result_says(tiers):
    scenario = Scenario.from_dict({"fabric": {"radix": 4, "tiers": tiers}, "workload": {"message_packets": 1}})
    links = simulate(scenario).links
    tails, heads = animate.ends_of(scenario.shape)
    assert tails.tolist() == links["tail"].tolist()
    assert heads.tolist() == links["head"].tolist()


@pytest.mark.parametrize("fabric", FABRICS, ids=str)
def test_the_tree_is_in_its_box_tier_over_tier(fabric):
    drawn = animate.tree(fabric)
    assert (drawn.place >= 0).all()
    assert (drawn.place <= [animate.WIDTH, animate.HEIGHT]).all()
    assert len({tuple(p) for p in drawn.place.round(3)}) == fabric.n_nodes  # no two at one place
    base = [*fabric.node_base[: fabric.tiers + 1], fabric.n_nodes]
    heights = [set(drawn.place[low:high, 1]) for low, high in itertools.pairwise(base) if low < high]
    assert all(len(h) == 1 for h in heights)
    assert sorted(heights, key=min, reverse=True) == heights  # y points down
    tails, heads = animate.ends_of(fabric)
    assert drawn.links.tolist() == [link for link in range(fabric.n_links) if tails[link] >= fabric.n_hosts]
    for link, (x, y, u, v) in zip(drawn.links, drawn.ends):
        assert (x, y) == tuple(drawn.place[tails[link]])
        assert (u, v) == pytest.approx(tuple((drawn.place[tails[link]] + drawn.place[heads[link]]) / 2))
    assert len(drawn.cables) == fabric.n_hosts + fabric.n_cables


@pytest.mark.parametrize(("ended", "step"), [(54_000, 200), (48_000, 200), (47_999, 100), (240, 1), (1_200_000, 5000)])
def test_frames_are_a_round_time_apart(ended, step):
    assert animate.step_of(ended) == pytest.approx(step)
    assert animate.FRAMES <= ended / step <= 2.5 * animate.FRAMES


def test_frames_are_the_runs_queues(runs):
    data = data_in(animate.page(runs))
    drawn = animate.tree(SMALL.shape)
    assert [s["label"] for s in data["schemes"]] == ["ops", "ofan"]
    assert data["times_ns"] == runs["ops"].times_ns.tolist() == runs["ofan"].times_ns.tolist()
    assert data["times_ns"][-2] < max(run.result.ended_ns for run in runs.values()) <= data["times_ns"][-1]
    longest = []
    for scheme, run in zip(data["schemes"], runs.values()):
        frames = np.frombuffer(base64.b64decode(scheme["frames"]), np.uint8).reshape(len(run.times_ns), len(drawn.links))
        waiting = run.queue_bytes[:, drawn.links] / run.packet_bytes
        assert (frames * data["quantum"] <= waiting + 1e-6).all()
        assert ((frames + 1) * data["quantum"] > waiting - 1e-6).all()
        assert scheme["longest"] == pytest.approx(waiting.max(axis=1).tolist(), abs=0.005)
        assert frames.any()
        assert not frames[-1].any()
        longest.append(waiting.max(axis=1))
        assert f"{run.result.queue_max_packets:.1f}" in data["notes"]
    assert data["worst"] == np.max(longest, axis=0).argmax()


def test_long_queues_fit_a_byte():
    deep = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 300}, "balancer": {"kind": "ecmp"}, "seed": 1})
    runs = animate.runs_of(deep, ("ecmp", "ofan"))
    data = data_in(animate.page(runs))
    most = max(run.queue_bytes.max() / run.packet_bytes for run in runs.values())
    assert most > 255 * animate.FINEST
    assert data["quantum"] == pytest.approx(most / 255)
    assert base64.b64decode(data["schemes"][0]["frames"]).find(b"\xff") >= 0


def test_the_scenarios_own_balancer_keeps_its_parameters():
    own = Scenario.from_dict({**SMALL.to_dict(), "balancer": {"kind": "switch_rr", "reshuffle_wraps": 0}})
    runs = animate.runs_of(own, ("switch_rr", "ops"))
    assert runs["switch_rr"].result.scenario.balancer.reshuffle_wraps == 0


def test_the_page_needs_no_network(runs):
    page = animate.page(runs)
    assert set(re.findall(r"https?://[^'\"\s<]*", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"(src|href)\s*=|@import|url\((?!#)", page)
    assert "@DATA@" not in page
    assert page.count("</script>") == 2
    assert 'srcdoc="&lt;!doctype html' in animate.frame(page).data


def test_refusals():
    with pytest.raises(OfanError, match=r"fabric\.radix = 12: 432 hosts; a tree is drawn with up to 256"):
        animate.runs_of(Scenario.from_dict({"fabric": {"radix": 12}}), ("ops", "ofan"))
    with pytest.raises(OfanError, match=r"ops: not finished by 100 ns: only runs that finish are drawn"):
        animate.runs_of(Scenario.from_dict({**SMALL.to_dict(), "time_limit_ns": 100.0}), ("ops", "ofan"))
    with pytest.raises(ScenarioError, match=r"balancer\.kind = 'nosuch'"):
        animate.runs_of(SMALL, ("ops", "nosuch"))


@pytest.mark.parametrize("label", STYLES)
def test_names_can_be_read_on_the_dark_ground(label):
    assert contrast(lightened(STYLES[label].colour, animate.DARK_GROUND, animate.READABLE), animate.DARK_GROUND) >= animate.READABLE


def explained(capsys, *words) -> str:
    capsys.readouterr()
    assert cli.main(["explain", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_the_command(tmp_path, capsys):
    out = tmp_path / "queues.html"
    small = ["--set", "fabric.radix=4", "--set", "workload.message_packets=16"]
    assert cli.main(["animate", *small, "--schemes", "ecmp", "rsq", "--seed", "4", "--out", str(out)]) == 0
    data = data_in(out.read_text())
    assert [s["label"] for s in data["schemes"]] == ["ecmp", "rsq"]
    assert data["setup"].startswith("Permutation on 16 hosts, 800 Gb/s, 16 packets a message, seed 4. ")
    assert "raw runs    none" in explained(capsys, out)
    record = json.loads(explained(capsys, out, "--json"))
    assert record["now"]["files"] == {"queues.html": "as then"}
    grid = tmp_path / "grid.yaml"
    explained(capsys, out, "--grid", grid)
    runs = [simulate(Scenario.from_dict(s)) for group in load_config(grid).groups() for s in expand(group)]
    assert [run.scenario.seed for run in runs] == [4, 4]
    assert all(f"{name_of(run.scenario.balancer.kind)} {run.queue_max_packets:.1f}" in data["notes"] for run in runs)
    before, again = out.read_bytes(), shlex.split(record["now"]["again"])
    assert again[0] == ".venv/bin/ofancore"
    assert cli.main(again[1:]) == 0
    assert out.read_bytes() == before
    assert cli.main(["animate", *small, "--set", "workload.kind=all_to_all", "--out", str(out)]) == 0  # without the default's message
    assert data_in(out.read_text())["setup"].startswith("All-to-all on 16 hosts, 800 Gb/s, 8 packets a message, ")
    capsys.readouterr()
    for words, line in (
        (["--schemes", "ops", "ops"], "--schemes = 'ops ops': must be two different ones"),
        (["--set", "balancer.kind=reps"], "balancer.kind = 'reps': must be one of --schemes, ops and ofan"),
    ):
        assert cli.main(["animate", *small, *words, "--out", str(out)]) == 2
        assert capsys.readouterr().err == f"ofancore: {line}\n"
