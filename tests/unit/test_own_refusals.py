"""Balancers of one's own: whatever is wrong with them is said, and a scenario keeps the functions that it was made with."""

import numba
import numpy as np
import pytest
from unit.own_bench import SMALL, outcome, run

from ofancore import Scenario, ScenarioError, own, simulate
from ofancore.balancers.reps import label_reps
from ofancore.own import random_below, slot


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in own.names():
        own.forget(name)


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
    (lambda: 0.5, r"choose_uplink of mine = '.*test_own_refusals.py:\d+': must return an integer, not float64"),
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
    (lambda width: deep(width), r"= '.*test_own_refusals.py:\d+': deep must not call itself, also not through others"),
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
