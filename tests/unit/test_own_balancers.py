"""Balancers of one's own: they decide as built-in ones of the same rule, compiled and interpreted, registered and from files."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from reference.twins import differences
from unit.own_bench import SMALL, outcome, run

from ofancore import Scenario, ScenarioError, own, simulate
from ofancore.balancers.reps import label_reps, on_ack_reps, on_loss_reps
from ofancore.config import load_config
from ofancore.own import leads, queue, random_below, random_bits, random_label, slot, slots_of

CABLES = [{"cable": "edge:0:0-agg:0:1"}, {"cable": "agg:1:0-core:0:0"}, {"cable": "agg:2:1-core:1:0", "capacity": 0.25}]
BROKEN = {"failures": {"cables": CABLES, "at_ns": 1000.0, "detection_ns": 500.0, "convergence_ns": 4000.0}, "seed": 2}


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in own.names():
        own.forget(name)


# --- functions of the same rules as built-in schemes


def random_uplink(sw, width, sched):
    return slot(sw, width, sched, random_below(sw, slots_of(sw, width, sched)))


def fresh_label(hx):
    return random_label(hx)


def reps_label(hx, flow, seq, now):
    """The built-in kernel: a flow's registers start at 0, and 0 is the host's random stream."""
    return label_reps(hx, 0, 0, flow, seq, now)


def reps_ack(hx, label, ecn, now):
    on_ack_reps(hx, 0, 0, label, ecn, now)


def reps_loss(hx, label, congested, silent, now):
    on_loss_reps(hx, 0, 0, label, congested, silent, now)


@numba.njit
def shortest(sw, width, sched, now):
    """JSQ, ties at random."""
    best = -1
    lowest = np.int64(0)
    ties = 0
    for j in range(width):
        waits = queue(sw, j, now)
        if not leads(sw, sched, j):
            continue
        if best < 0 or waits < lowest:
            best, lowest, ties = j, waits, 1
        elif waits == lowest:
            ties += 1
            if random_below(sw, ties) == 0:
                best = j
    return best


def round_robin(sw, width):
    """Simple RR from port 0 on."""
    j = sw.reg[0]
    sw.reg[0] = (j + 1) % width
    return j


SAME = {
    "rsq": {"choose_uplink": random_uplink},
    "ops": {"next_label": fresh_label},
    "jsq": {"choose_uplink": shortest},
    "reps": {
        "next_label": reps_label,
        "on_ack": reps_ack,
        "on_loss": reps_loss,
        "registers_per_flow": 16,
        "par": [1, 100_000_000, 16, 65536],
    },
}


@pytest.mark.parametrize("kind", sorted(SAME))
@pytest.mark.parametrize("keys", [{}, BROKEN], ids=["whole", "broken"])
def test_the_same_rule_gives_the_same_run(kind, keys):
    own.register("mine", **SAME[kind])
    assert outcome(run("mine", **keys)) == outcome(run(kind, **keys))


def test_the_same_run_with_threads_and_in_closed_loop():
    own.register("mine", **SAME["reps"])
    closed = {"congestion": {"kind": "mswift"}, "recovery": {"kind": "sack"}}
    assert outcome(run("mine", 2, **closed)) == outcome(run("reps", **closed))
    own.register("mine", **SAME["rsq"])
    assert outcome(run("mine", 3)) == outcome(run("rsq"))


def flowlet(hx, now):
    """A new label after a pause (LetFlow's idea at the host)."""
    if now - hx.reg[0] > hx.par[0]:
        hx.reg[1] = random_bits(hx) & 0xFFFF
    hx.reg[0] = now
    return hx.reg[1]


def two_choices(sw, width, sched):
    """The shorter of two random uplinks that lead there."""
    n = slots_of(sw, width, sched)
    a = slot(sw, width, sched, random_below(sw, n))
    b = slot(sw, width, sched, random_below(sw, n))
    return a if sw.free[a] <= sw.free[b] else b


def count_and_sum(sw, node, width, sched, group, small, port, host, label, flow, now):
    """All that a switch is shown goes into its registers, and from there into the choice."""
    sw.reg[0] = (sw.reg[0] + group + 3 * small + 5 * port + 7 * host + 11 * label + 13 * flow) % 10007
    sw.reg[1] = (sw.reg[0] + now + sw.salt + node + sw.free.argmin() + sw.free.sum() + len(sw.par)) % 10007
    return slot(sw, width, sched, sw.reg[1] % slots_of(sw, width, sched))


def hear_all(hx, host, flow, seq, now):
    hx.reg[0] = (hx.reg[0] * 31 + host + flow + seq + now + hx.known) % 10007
    return hx.reg[0]


def hear_ack(hx, host, label, ecn, now):
    hx.reg[0] += host + label + ecn + now


def hear_loss(hx, host, label, congested, silent, now):
    hx.reg[1] += host + label + 2 * congested + silent + now


@pytest.mark.parametrize("keys", [{}, BROKEN], ids=["whole", "broken"])
@pytest.mark.parametrize(
    "functions",
    [
        {"choose_uplink": two_choices},
        {"choose_uplink": round_robin, "registers_per_switch": 1},
        {"choose_uplink": count_and_sum, "registers_per_switch": 2, "par": [1, 2]},
        {"next_label": hear_all, "on_ack": hear_ack, "on_loss": hear_loss, "registers_per_flow": 2},
        {"next_label": flowlet, "registers_per_flow": 2, "par": lambda shape: [shape.base_rtt_ticks // 2]},
        {"choose_uplink": two_choices, "next_label": flowlet, "registers_per_flow": 2, "par": [0]},
        SAME["reps"],
    ],
    ids=["two_choices", "round_robin", "all_of_a_switch", "all_of_a_host", "flowlet", "both", "reps"],
)
def test_compiled_and_interpreted_decide_alike(functions, keys):
    """The slow twin runs the Python functions themselves."""
    own.register("mine", **functions)
    scenario = Scenario.from_dict({**SMALL, "workload": {"message_packets": 12}, "balancer": {"kind": "mine"}, **keys})
    assert differences(scenario) == []


def test_registers_are_per_switch_and_par_can_be_set_in_the_scenario():
    own.register("fixed", choose_uplink=lambda sw: sw.par[0], par=[1])
    first = run("fixed")
    moved = simulate(Scenario.from_dict({**SMALL, "balancer": {"kind": "fixed", "par": [0]}}))
    for result, j in ((first, 1), (moved, 0)):
        links = result.links
        up = links[(links["class"] == 1) & (links["data"] > 0)]  # edge_agg
        assert set(up.index % 2) == {j}
    own.register("mine", choose_uplink=round_robin, registers_per_switch=lambda shape, tier: 3)
    assert run("mine").values["state_bytes_per_switch"] == {"edge": 12, "agg": 12}


@pytest.mark.parametrize(
    ("stated", "reported"),
    [(None, {"edge": 3, "agg": 3}), (0, {"edge": 0, "agg": 0}), (lambda shape, tier: shape.width(tier) * tier, {"edge": 2, "agg": 4})],
)
def test_pointers_are_the_authors_or_the_registers(stated, reported):
    own.register("mine", choose_uplink=round_robin, registers_per_switch=3, pointers_per_switch=stated)
    assert run("mine").values["pointers_per_switch"] == reported


# --- files

FILE = """
from ofancore.own import random_below

title = "Mine"
par = [{par}]

def choose_uplink(sw, width):
    return (random_below(sw, width) + sw.par[0]) % width
"""


def of_file(path, **keys) -> Scenario:
    return Scenario.from_dict({**SMALL, "balancer": {"kind": "own", "module": str(path), **keys}})


def test_a_file_is_part_of_the_scenario(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(par=0))
    first = of_file(path)
    assert outcome(simulate(first)) == outcome(run("rsq"))
    assert Scenario.from_dict(first.to_dict()) == first
    path.write_text(FILE.format(par=1))
    assert of_file(path).digest != first.digest
    with pytest.raises(ScenarioError, match=r"balancer.code = '[0-9a-f]{16}': the functions have changed since"):
        of_file(path, code="0" * 16)
    assert outcome(simulate(first)) == outcome(run("rsq"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, r"balancer.module = '.*mine.py': cannot be read \(No such file or directory\)"),
        ("\nx = 1 / 0", r"balancer.module = '.*mine.py': does not run in line 2: ZeroDivisionError: division by zero"),
        ("def", "does not run in line 1: SyntaxError: invalid syntax"),
        ("import sys\nsys.exit()", "balancer.module = '.*mine.py': does not run in line 2: SystemExit$"),
        ("import sys\ndef end():\n    sys.exit('no')\nend()", "does not run in line 3: SystemExit: no"),
        ("import nothing.such", "does not run in line 1: ModuleNotFoundError: No module named 'nothing'"),
        ("class Mine(BaseException): pass\nraise Mine", "does not run in line 2: Mine"),
        ("def choose_uplnk(): return 0", "mine.py': defines choose_uplnk, which says nothing here; is choose_uplink meant"),
        ("def choose_uplink(): return 0\nregister_per_switch = 2", "defines register_per_switch, .* is registers_per_switch meant"),
        ("def choose_uplink(): return 0\nregisters_per_host = 2", "is registers_per_switch meant"),
        ("def choose_uplink(): return 0\nparams = [2]", "is par meant"),
        ("def next_label(): return 0\ndef on_acks(): pass", "is on_ack meant"),
        ("def choose(sw): return 0", "balancer.module = '.*': balancer = 'mine': must have choose_uplink or next_label"),
        ("def choose_uplink(wdith): return 0", "choose_uplink of mine = 'wdith': is no argument of it"),
    ],
)
def test_files_that_are_not_sound(tmp_path, text, said):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ScenarioError, match=said):
        of_file(path)


def test_a_file_may_define_what_it_likes_besides(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("""
import math
from ofancore.own import queue, random_below as draw

BEST_OF = 2
_params = [1]

class Part:
    pass

def helper(sw, j, now):
    return queue(sw, j, now)

def choose_uplink(sw, width, now):
    a, b = draw(sw, width), draw(sw, width)
    return a if helper(sw, a, now) <= helper(sw, b, now) else b
""")
    assert simulate(of_file(path)).finished


def test_an_interrupt_goes_through(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        of_file(path)


def test_a_module_belongs_to_own_and_own_needs_one():
    with pytest.raises(ScenarioError, match=r"balancer\.module = None: belongs to kind = own, which needs it"):
        Scenario.from_dict({"balancer": {"kind": "own"}})
    with pytest.raises(ScenarioError, match=r"balancer\.wrong = 1: unknown key"):
        Scenario.from_dict({"balancer": {"kind": "own", "module": "x.py", "wrong": 1}})


def test_another_process_runs_it_from_the_file_and_refuses_what_was_only_registered(tmp_path):
    """Addresses are found anew in each process; machine code on disk holds none."""
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(par=0))
    own.register("mine", choose_uplink=lambda: 0)
    both = [of_file(path), Scenario.from_dict({**SMALL, "balancer": {"kind": "mine"}})]
    (tmp_path / "scenarios").write_bytes(pickle.dumps(both))
    code = """if True:
        import pickle, sys
        from ofancore import ScenarioError, simulate
        file, registered = pickle.load(open(sys.argv[1], "rb"))
        print(simulate(file).summary())
        try:
            simulate(registered)
        except ScenarioError as error:
            print(error)
        """
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, str(tmp_path / "scenarios")]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()
    assert said[0] == simulate(both[0]).summary()
    assert said[1].startswith("kind = 'mine': is not registered in this process")


def test_the_pipeline_knows_the_content_of_the_file(tmp_path):
    path = tmp_path / "mine.py"
    grid = {
        "results": "results_own", "seeds": 1, "schemes": {"mine": {"kind": "own", "module": str(path)}},
        "experiments": {"one": {"about": "", "scenario": SMALL, "schemes": ["mine"]}}, "figures": {}, "claims": {},
    }  # fmt: skip
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_config(grid)
    path.write_text("def choose_uplink(sw): return sw.nothing[0]")
    with pytest.raises(ScenarioError, match=r"experiments.one.choose_uplink of mine \(scheme mine\) = .*: does not compile"):
        load_config(grid)
    groups = []
    for par in (0, 1, 0):
        path.write_text(FILE.format(par=par))
        groups.append(load_config(grid).group("one", "mine").to_json())
    assert groups[0] == groups[2] != groups[1]
