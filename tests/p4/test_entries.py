"""Table entries: complete, within their tables, and with the pointers that the simulator counts."""

import json
import subprocess
import sys

import pytest

from ofancore.errors import ScenarioError
from ofancore.p4.addresses import Addresses, port_number
from ofancore.p4.entries import PORTS, ROUTE, SCHEDULE, SLOTS, entries_of, ranks, with_backups
from ofancore.p4.sources import sizes
from ofancore.p4.switches import view

BROKEN = {"cables": [{"cable": "edge:0:1-agg:0:2", "capacity": 0.0}, {"cable": "agg:2:0-core:0:1", "capacity": 0.5}]}


@pytest.mark.parametrize("knows", ["nothing", "neighbours", "everybody"])
@pytest.mark.parametrize("switch", ["edge:0:1", "agg:0:2"])
@pytest.mark.parametrize("program", ["ofan", "pofan", "ecmp"])
def test_entries_hang_together(program, switch, knows):
    d = entries_of(program, 8, switch, failures=BROKEN, knows=knows, seed=3)
    tables, size = d["tables"], sizes(8)
    ports = {row["match"]["port"]: row["action"] for row in tables[PORTS]}
    up = {row["params"]["group"] for row in tables[ROUTE] if row["action"] == "up"}
    slots = {(row["match"]["schedule"], row["match"]["position"]): row["params"] for row in tables[SLOTS]}
    assert len(ports) == 8
    assert len(slots) == len(tables[SLOTS]) <= size.slots
    assert {(row["match"]["group"], row["match"]["bin"]) for row in tables[SCHEDULE]} == {(g, b) for g in up for b in (0, 1)}
    for row in tables[SCHEDULE]:
        number, last = row["params"]["number"], row["params"]["last"]
        for slot in ((number, position) for position in range(last + 1)):
            assert ports[slots[slot]["port"]] == ports[slots[slot]["backup"]] == "above"
    prefixes = [tuple(row["match"]["destination"]) for row in tables[ROUTE]]
    assert len(set(prefixes)) == len(prefixes) <= size.routes
    # every host is below or in exactly one group
    addresses = Addresses(view(program, 8, switch).inputs.fabric)
    for host in range(128):
        address = addresses.host(host)
        assert sum(address >> 32 - n == prefix >> 32 - n for prefix, n in prefixes) == 1


@pytest.mark.parametrize("switch", ["edge:0:1", "agg:3:0"])
@pytest.mark.parametrize("radix", [8, 12, 16])
@pytest.mark.parametrize("program", ["ofan", "pofan"])
def test_pointers_are_those_that_the_simulator_counts(program, radix, switch):
    """Healthy, there is a schedule for each pointer; those of every pipe are installed for pofan."""
    d = entries_of(program, radix, switch)
    values = [value for register in d["registers"] for value in register["values"]]
    pipes = 4 if program == "pofan" else 1
    assert len(values) == d["pointers"] == len(d["tables"][SCHEDULE]) * pipes
    tofino = entries_of(program, radix, switch, target="tofino")
    assert [r["pipe"] for r in tofino["registers"]] == [0, 1, 2, 3]
    for register in tofino["registers"]:
        assert len(register["values"]) * pipes == d["pointers"]
        assert max(i for i, _ in register["values"]) < sizes(radix).pointers


def test_pofan_staggers_its_pipes_and_ofan_does_not():
    def starts(program):
        return [dict(map(tuple, r["values"])) for r in entries_of(program, 8, "edge:0:1", target="tofino")["registers"]]

    assert all(sorted(s[i] for s in starts("pofan")) == [0, 1, 2, 3] for i in starts("pofan")[0])
    assert all(s == starts("ofan")[0] for s in starts("ofan"))


def test_a_schedule_without_a_path_has_no_route():
    cut = {"cables": [{"cable": f"edge:0:1-agg:0:{i}", "capacity": 0.0} for i in range(4)]}
    d = entries_of("ofan", 8, "edge:1:0", failures=cut)
    assert 1 not in {row["params"].get("group") for row in d["tables"][ROUTE]}
    assert all(row["match"]["group"] != 1 for row in d["tables"][SCHEDULE])


def test_too_many_schedules_are_refused():
    shares = [0.95, 0.9, 0.85, 0.8]  # weights 79, 78, 77, 76: 310 slots in each port order
    uneven = {"cables": [{"cable": f"agg:{pod}:{i}-core:{i}:0", "capacity": share} for pod in (1, 2, 3) for i, share in enumerate(shares)]}
    with pytest.raises(ScenarioError, match=r"SLOTS = 2048: the schedules of this switch take \d+ slots"):
        entries_of("ofan", 8, "edge:0:1", failures=uneven)


@pytest.mark.parametrize(
    ("slots", "pairs"),
    [
        ((0, 1, 2, 0, 2), [(0, 1), (1, 2), (2, 0), (0, 2), (2, 0)]),
        ((1, 2, 2), [(1, 2), (2, 1), (2, 1)]),
        ((3, 3), [(3, 3), (3, 3)]),
        ((5,), [(5, 5)]),
    ],
)
def test_a_backup_is_the_next_other_uplink(slots, pairs):
    assert with_backups(slots) == pairs


def test_ranks_are_a_permutation_that_the_salt_decides():
    assert sorted(ranks(1, 8)) == list(range(256))
    assert ranks(1, 8) != ranks(2, 8)


@pytest.mark.parametrize("target", ["v1model", "tofino", "tofino2"])
@pytest.mark.parametrize("pipes", [1, 2, 4])
def test_front_ports_have_numbers_of_their_own(target, pipes):
    ports = 16 * pipes
    numbers = [port_number(target, i, pipes) for i in range(ports)]
    assert len(set(numbers)) == ports
    assert max(numbers) < 512
    if target != "v1model":
        assert [n >> 7 for n in numbers] == [i % pipes for i in range(ports)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--radix", "7", "--switch", "edge:0:0"], "radix = 7: must be even, from 8 to 64"),
        (
            ["--radix", "8", "--switch", "edge:9:0"],
            "switch = 'edge:9:0': must be edge:POD:INDEX or agg:POD:INDEX with POD 0 to 7, INDEX 0 to 3",
        ),
        (["--radix", "8", "--switch", "core:0:0"], "switch = 'core:0:0': must be"),
        (["--radix", "8", "--switch", "edge:0:0", "--pipes", "5"], "pipes = 5: must be 1 to 4"),
        (["--radix", "8", "--switch", "edge:01:0"], "switch = 'edge:01:0': must be edge:POD:INDEX"),
        (["--radix", "8", "--switch", "edge: 1:0"], "switch = 'edge: 1:0': must be edge:POD:INDEX"),
        (
            ["--radix", "64", "--switch", "edge:0:0", "--target", "tofino2", "--pipes", "2"],
            "pipes = 2: a pipe of tofino2 has 16 front ports; radix 64 needs 4 pipes",
        ),
        (["--radix", "8", "--switch", "edge:0:0", "--failures", "nothing.yaml"], "failures = 'nothing.yaml': no such file"),
    ],
)
def test_bad_requests_end_with_status_2_and_one_line(capsys, arguments, message):
    from ofancore.cli import main

    assert main(["p4-entries", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_the_command_writes_the_document(tmp_path):
    failures = tmp_path / "failures.yaml"
    failures.write_text("cables:\n  - {cable: 'agg:1:0-core:0:1', capacity: 0.0}\n")
    out = tmp_path / "entries.json"
    command = ["p4-entries", "--radix", "8", "--switch", "agg:0:1", "--program", "pofan", "--failures", str(failures), "--out", str(out)]
    subprocess.run([sys.executable, "-m", "ofancore", *command], check=True)
    failed = {"cables": [{"cable": "agg:1:0-core:0:1", "capacity": 0.0}]}
    assert json.loads(out.read_text()) == entries_of("pofan", 8, "agg:0:1", failures=failed)
