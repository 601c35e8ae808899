"""Balancers of one's own: they decide as built-in ones of the same rule, and whatever is wrong with them is said."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from reference.twins import differences

from ofancore import Scenario, ScenarioError, own, simulate
from ofancore.balancers.reps import label_reps, on_ack_reps, on_loss_reps
from ofancore.config import load_config
from ofancore.own import leads, queue, random_below, random_bits, random_label, slot, slots_of
from ofancore.result import Result

SMALL = {"fabric": {"radix": 4, "buffer_bytes": 50_000}, "workload": {"message_packets": 60}}
CABLES = [{"cable": "edge:0:0-agg:0:1"}, {"cable": "agg:1:0-core:0:0"}, {"cable": "agg:2:1-core:1:0", "capacity": 0.25}]
BROKEN = {"failures": {"cables": CABLES, "at_ns": 1000.0, "detection_ns": 500.0, "convergence_ns": 4000.0}, "seed": 2}


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in own.names():
        own.forget(name)


def run(kind, threads=1, **keys) -> Result:
    return simulate(Scenario.from_dict({**SMALL, "balancer": {"kind": kind}, **keys}), threads)


def outcome(result: Result) -> str:
    """All that a run decided, but for what it says of state in hardware."""
    values = {key: value for key, value in result.values.items() if not key.startswith(("pointers", "state"))}
    tables = {key: np.asarray(column).tolist() for table in (result.flow, result.link) for key, column in table.items()}
    return json.dumps([values, tables])


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


# --- refusals


def raising(width):
    if width > 0:
        raise ValueError("not today")
    return 0


def allocating():
    return len(np.zeros(3))


def count(hx):
    hx.reg[0] += 1


def helper_without_checks(reg, i):
    reg[i] = 1
    return 0


compiled_without_checks = numba.njit(helper_without_checks)
compiled_without_checks(np.zeros(1, np.int32), 0)
OUTSIDE = np.zeros(3, np.int64)
SEEN = [0]
WEIGHTS = {0: 1}
TAKEN = {1, 2}
GENERATOR = np.random.default_rng(0)


def weighed(i):
    return WEIGHTS[i]


def constant_from(value):
    return lambda: value


def deep(n):
    return deeper(n - 1) if n > 0 else 0


def deeper(n):
    return deep(n - 1) if n > 0 else 0


def writing(target, by="{} = 1"):
    """A function of `sw` that writes there."""
    scope = {"np": np, "OUTSIDE": OUTSIDE}
    exec(f"def choose_uplink(sw):\n    {by.format(target)}\n    return 0", scope)
    return scope["choose_uplink"]


def through_a_name(sw):
    times = sw.free
    times[0] -= 1
    return 0


def through_a_helper(sw):
    return helper_without_checks(sw.free, 0)


def drawing(width):
    import random

    return random.randrange(width)


def with_a_list(sw, width):
    return min([sw.free[j] for j in range(width)])


SWITCH_WRONG = [
    (lambda width: width, r"choose_uplink of mine = 2: must return an uplink from 0 to 1 \(edge switch 0, at 541.58 ns\)"),
    (lambda: -1, "choose_uplink of mine = -1: must return an uplink from 0 to 1"),
    (lambda: 1 << 62, f"choose_uplink of mine = {1 << 62}: must return an uplink"),
    (lambda sw: sw.reg[0], r"IndexError: index .*': must not raise \(edge switch 0.*there are sw.reg\[0\], sw.par\[0\], sw.free\[2\]"),
    (lambda sw: sw.reg[10**9], r"choose_uplink of mine = 'IndexError: index is out of bounds': must not raise \(edge switch 0"),
    (lambda sw, width: sw.free[width], "choose_uplink of mine = 'IndexError"),
    (lambda sw: sw.par[0], "choose_uplink of mine = 'IndexError"),
    (lambda sw: helper_without_checks(sw.reg, 0), "choose_uplink of mine = 'IndexError"),
    (lambda sw: compiled_without_checks(sw.reg, 1 << 40), "choose_uplink of mine = 'IndexError"),
    (lambda sw, sched: slot(sw, 2, 0, 1 << 40), "choose_uplink of mine = 'IndexError"),
    (lambda sw: random_below(sw, 2) + label_reps(sw, 99, 0, 0, 0, 0), "choose_uplink of mine = 'IndexError"),
    (lambda sw: sw.reg[-1], "choose_uplink of mine = 'IndexError"),
    (lambda flow: 1 % (flow - flow), "choose_uplink of mine = 'ZeroDivisionError"),
    (raising, "choose_uplink of mine = 'ValueError: not today': must not raise"),
    (lambda: 0.5, r"choose_uplink of mine = '.*test_own_balancers.py:\d+': must return an integer, not float64"),
    (lambda: None, "must return an integer, not none"),
    (allocating, "choose_uplink of mine = '.*': does not compile: it makes an array"),
    (lambda sw: sw.regs[0], "does not compile: it uses sw.regs, which is not there: there are sw.reg, sw.free, "),
    (with_a_list, "does not compile: it makes an array, a list"),
    (lambda: WEIGHTS[0], r"does not compile: it uses WEIGHTS, a dict; what comes from outside must be a number, .* \(line \d+\)$"),
    (numba.njit(lambda: WEIGHTS[0]), "does not compile: it uses WEIGHTS, a dict; what comes from outside must be a number"),
    (lambda: weighed(0), "does not compile: it uses WEIGHTS, a dict; what comes from outside must be a number"),
    (constant_from({}), "does not compile: it uses value, a dict; what comes from outside must be a number"),
    (lambda: len(TAKEN), "does not compile: it uses TAKEN, a set; what comes from outside must be a number"),
    (lambda: SEEN[0], "does not compile: it uses SEEN, a list from outside; a scheme's memory are its registers"),
    *((writing(f"sw.{field}[0]"), rf"it writes to sw.{field}, which can only be read") for field in ("free", "par", "slots")),
    (writing("sw.sched[0, 0]"), "it writes to sw.sched, which can only be read"),
    (writing("sw.free[:]"), "it writes to sw.free, which can only be read"),
    (writing("sw.free[0:1][0]"), "it writes to sw.free, which can only be read"),
    (writing("sw.free.flat[0]"), "it writes to sw.free, which can only be read"),
    (writing("sw.free", "{0}[0] += 1"), "it writes to sw.free, which can only be read"),
    (writing("sw.free", "np.add({0}, {0}, {0})"), "it writes to sw.free, which can only be read"),
    (writing("sw.free", "{}.fill(1)"), r"it uses sw.free.fill, and sw.free can only be read: it has shape, size"),
    (writing("sw.free", "{}.sort()"), "it uses sw.free.sort, and sw.free can only be read"),
    (writing("sw.free", "next(np.nditer({}))[()] = 1"), "must not use np.nditer, which goes past the checks"),
    (writing("sw.salt"), "it writes to sw.salt, which can only be read"),
    (writing("sw.free"), "it writes to sw.free, which can only be read"),
    (writing("sw.other"), "it gives sw a other; there are sw.reg, sw.free"),
    (writing("OUTSIDE[0]"), "it writes to an array from outside, which is a constant to it"),
    (writing("COUNT", "global {0}; {0} = 1"), "it writes to a global"),
    (through_a_name, r"it writes to sw.free, which can only be read; .* \(line \d+\)$"),
    (through_a_helper, "it writes to sw.free, which can only be read"),
    (lambda width: np.random.randint(width), r"choose_uplink of mine = .*: np.random has no seed here; draw with own.random_below"),  # noqa: NPY002
    (lambda width: GENERATOR.integers(width), "GENERATOR has no seed here"),
    (drawing, "random has no seed here"),
    (lambda width: deep(width), r"= '.*test_own_balancers.py:\d+': deep must not call itself, also not through others"),
    (lambda sw, wdith: 0, "choose_uplink of mine = 'wdith': is no argument of it; it may take sw, node, width"),
    (lambda width=3: 0, "choose_uplink of mine = 'width=3': must be a plain argument"),
    (lambda *all: 0, r"choose_uplink of mine = '\*all': must be a plain argument"),
    (3, "choose_uplink of mine = 3: must be a function"),
]


@pytest.mark.parametrize(("function", "said"), SWITCH_WRONG)
def test_what_is_wrong_with_a_choice_of_uplinks_is_said(function, said):
    def registered_and_run():
        own.register("mine", choose_uplink=function)
        run("mine")

    with pytest.raises(ScenarioError, match=said):
        registered_and_run()


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ({"next_label": lambda seq: 65535 + seq}, r"next_label of mine = 65536: must return a label from 0 to 65535 \(host 0, at "),
        ({"next_label": lambda: -1}, r"next_label of mine = -1: must return a label from 0 to 65535 \(host 0, at 0.0 ns\)"),
        ({"next_label": lambda: 3, "on_ack": count}, "on_ack of mine = 'IndexError: index is out of bounds': must not raise"),
        ({"next_label": lambda: 3, "on_ack": lambda hx: 0.5}, "on_ack of mine = '.*': must return nothing, not float64"),
        (
            {"next_label": lambda hx: hx.reg[1], "registers_per_flow": 1},
            r"next_label of mine = 'IndexError: .*there are hx.reg\[1\], hx.par\[0\]$",
        ),
        ({"next_label": lambda hx: hx.known + 3, "on_ack": writing("hx.par[0]")}, "on_ack of mine = 'sw': is no argument of it"),
        ({"on_ack": count}, "must have choose_uplink or next_label"),
        ({"choose_uplink": lambda: 0, "on_ack": count}, "on_ack of mine = .*: belongs to a next_label, which is not there"),
        ({"choose_uplink": lambda: 0, "par": [0.5]}, "par of mine = 0.5: must be an integer"),
        ({"choose_uplink": lambda: 0, "par": list(range(9))}, "par of mine = .*: must be at most 8 integers"),
        ({"choose_uplink": lambda: 0, "par": lambda shape: 3}, "par of mine = 3: must be a list of integers"),
        ({"choose_uplink": lambda: 0, "registers_per_switch": -1}, "registers_per_switch of mine = -1: must be an integer from 0"),
        ({"choose_uplink": lambda: 0, "registers_per_switch": lambda s, t: 0.5}, "registers_per_switch of mine = 0.5: must be"),
        (
            {"choose_uplink": lambda: 0, "registers_per_switch": lambda s: 1},
            r"registers_per_switch of mine = '.*': must not raise \(TypeError",
        ),
        ({"next_label": lambda: 0, "registers_per_flow": 1 << 24 + 1}, "registers_per_flow of mine = .*: must be an integer from 0 to"),
        ({"choose_uplink": lambda: 0, "pointers_per_switch": -1}, "pointers_per_switch of mine = -1: must be an integer from 0"),
        ({"choose_uplink": lambda: 0, "par": lambda shape: shape.nothing}, "par of mine = '.*': must not raise .AttributeError"),
    ],
)
def test_what_else_is_wrong_is_said(functions, said):
    def registered_and_run():
        own.register("mine", **functions)
        run("mine")

    with pytest.raises(ScenarioError, match=said):
        registered_and_run()


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        (
            {"choose_uplink": lambda: 0, "registers_per_switch": 1 << 24},
            "registers_per_switch of mine = 16777216: needs .* GiB for 36 switches",
        ),
        ({"next_label": lambda: 0, "registers_per_flow": 1 << 24}, "registers_per_flow of mine = 16777216: needs .* GiB for 54 flows"),
    ],
)
def test_registers_that_take_too_much_memory_are_refused(functions, said):
    own.register("mine", **functions)
    with pytest.raises(ScenarioError, match=said):
        run("mine", fabric={"radix": 6})


@pytest.mark.parametrize("threads", [1, 2])
def test_the_lowest_node_that_failed_is_told_with_any_number_of_threads(threads):
    own.register("mine", choose_uplink=lambda node, now: 7 if node >= 20 and now > 1_000_000 else 0)
    with pytest.raises(ScenarioError, match=r"choose_uplink of mine = 7: must return an uplink from 0 to 1 \(edge switch 4, at "):
        run("mine", threads)
    assert run("rsq").finished  # what failed leaves nothing behind


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(ScenarioError, match="register of mine = 'register_per_switch': is no setting; did you mean registers_per_switch"):
        own.register("mine", choose_uplink=lambda: 0, register_per_switch=1)


@pytest.mark.parametrize("name", ["ofan", "own", "Mine", "", "a b", None])
def test_names(name):
    with pytest.raises(ScenarioError, match="name = "):
        own.register(name, choose_uplink=lambda: 0)


def test_a_scenario_keeps_the_functions_that_it_was_made_with():
    own.register("mine", choose_uplink=lambda: 0)
    before = Scenario.from_dict({**SMALL, "balancer": {"kind": "mine"}})
    own.register("mine", choose_uplink=lambda: 1)
    after = Scenario.from_dict({**SMALL, "balancer": {"kind": "mine"}})
    assert before.digest != after.digest
    assert outcome(simulate(before)) != outcome(simulate(after))
    with pytest.raises(ScenarioError, match=r"balancer\.code = '0000': the functions have changed"):
        Scenario.from_dict({**SMALL, "balancer": {"kind": "mine", "code": "0000"}})
    own.forget("mine")
    with pytest.raises(ScenarioError, match=r"balancer\.kind = 'mine': must be one of ecmp"):
        Scenario.from_dict({**SMALL, "balancer": {"kind": "mine"}})
    assert simulate(before).finished


def test_the_digest_holds_what_functions_refer_to():
    digests = set()
    for value in (0, 1, 0):
        own.register("mine", choose_uplink=constant_from(value))
        digests.add(Scenario.from_dict({"balancer": {"kind": "mine"}}).balancer.code)
    assert len(digests) == 2


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
