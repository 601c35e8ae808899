"""Scenarios: bad input is refused in one line that names key, value and rule; good input survives the way to text and back."""

import json
import math
import time

import pytest
from pydantic import BaseModel
from scenarios import rails_for

from ofancore.balancers import BALANCERS
from ofancore.errors import ScenarioError
from ofancore.prepare import prepare
from ofancore.scenario import REGISTRIES, Scenario
from ofancore.workloads import WORKLOADS

CABLE = "edge:0:0-agg:0:0"
KINDS = ", ".join(BALANCERS)
CABLE_RULE = "a cable is named edge:POD:INDEX-agg:POD:INDEX or agg:POD:INDEX-core:J:I, both ends being neighbours"


def refusal(data) -> str:
    """The line of a refusal, wherever on the way to the engine it falls."""
    with pytest.raises(ScenarioError) as caught:
        prepare(Scenario.from_dict(data))
    line = str(caught.value)
    assert line.isprintable()
    return line


@pytest.mark.parametrize(
    ("data", "line"),
    [
        # shape
        ({"fabric": {"radix": 7}}, "fabric.radix = 7: must be a multiple of 2"),
        ({"fabric": {"radix": 2}}, "fabric.radix = 2: must be greater than or equal to 4"),
        ({"fabric": {"radix": 0}}, "fabric.radix = 0: must be greater than or equal to 4"),
        ({"fabric": {"radix": -8}}, "fabric.radix = -8: must be greater than or equal to 4"),
        ({"fabric": {"radix": 10**30}}, f"fabric.radix = {10**30}: must be less than or equal to 128"),
        ({"fabric": {"tiers": 4}}, "fabric.tiers = 4: must be less than or equal to 3"),
        ({"fabric": {"oversubscription": 3}}, "fabric.oversubscription = 3: must divide radix / 2 = 4"),
        ({"fabric": {"rails": 3}}, "fabric.rails = 3: must divide the number of edge switches of a pod, 4"),
        ({"fabric": {"rails": 3, "tiers": 2}}, "fabric.rails = 3: must divide the number of leaves, 8"),
        ({"fabric": {"rails": 0}}, "fabric.rails = 0: must be greater than or equal to 1"),
        (
            {"balancer": {"kind": "rails"}},
            "fabric.rails = 1: must be at least 2, since balancer.kind = rails shares traffic out over rails",
        ),
        ({"fabric": {"oversubscription": 0}}, "fabric.oversubscription = 0: must be greater than or equal to 1"),
        # types: YAML's true is not 1, text is not a number, null is not a default
        ({"fabric": {"radix": True}}, "fabric.radix = True: must be a valid integer"),
        ({"fabric": {"radix": "8"}}, "fabric.radix = '8': must be a valid integer"),
        ({"fabric": {"radix": 8.0}}, "fabric.radix = 8.0: must be a valid integer"),
        ({"fabric": {"radix": None}}, "fabric.radix = None: must be a valid integer"),
        ({"fabric": {"unlimited_buffer": 1}}, "fabric.unlimited_buffer = 1: must be a valid boolean"),
        ({"fabric": None}, "fabric = None: must be a mapping of keys"),
        ({"fabric": [8]}, "fabric = [8]: must be a mapping of keys"),
        ({"balancer": "ofan"}, "balancer = 'ofan': must be a mapping of keys"),
        ({"seed": 1.5}, "seed = 1.5: must be a valid integer"),
        ({"seed": 2**63}, f"seed = {2**63}: must be less than or equal to {2**63 - 1}"),
        (
            {"time_limit_ns": "1e5"},
            "time_limit_ns = '1e5': must be a valid number, but this is text (YAML reads 1.0e+5 as a number, 1e5 not)",
        ),
        ([], "scenario = []: must be a mapping of keys"),
        # unknown keys and kinds
        ({"fabrik": {}}, "fabrik = {}: unknown key"),
        ({"fabric": {"ecn": {"x": 1}}}, "fabric.ecn.x = 1: unknown key"),
        ({"balancer": {"kind": "ofan", "pipes": 2}}, "balancer.pipes = 2: unknown key"),
        ({"balancer": {"kind": "ecpm"}}, f"balancer.kind = 'ecpm': must be one of {KINDS}"),
        ({"balancer": {"kind": None}}, f"balancer.kind = None: must be one of {KINDS}"),
        ({"balancer": {"kind": ["ofan"]}}, f"balancer.kind = ['ofan']: must be one of {KINDS}"),
        ({"fabr\nic": 1}, "'fabr\\nic' = 1: unknown key"),
        # numbers that are none, and numbers that time cannot hold
        ({"fabric": {"link_gbps": math.nan}}, "fabric.link_gbps = nan: must be a finite number"),
        ({"fabric": {"link_gbps": math.inf}}, "fabric.link_gbps = inf: must be a finite number"),
        ({"fabric": {"link_gbps": 1e308}}, "fabric.link_gbps = 1e+308: must be less than or equal to 100000"),
        ({"fabric": {"link_gbps": 1e-308}}, "fabric.link_gbps = 1e-308: must be greater than or equal to 0.001"),
        ({"fabric": {"link_gbps": -1.0}}, "fabric.link_gbps = -1.0: must be greater than or equal to 0.001"),
        ({"failures": {"convergence_ns": math.nan}}, "failures.convergence_ns = nan: must be greater than or equal to 0"),
        ({"failures": {"convergence_ns": 1e308}}, "failures.convergence_ns = 1e+308: must be at most 1e12 ns, or inf"),
        ({"failures": {"detection_ns": math.inf}}, "failures.detection_ns = inf: must be a finite number"),
        ({"balancer": {"kind": "reps", "freeze_ns": 1e300}}, "balancer.freeze_ns = 1e+300: must be at most 1e+15"),
        ({"balancer": {"kind": "reps", "explore": 10**18}}, f"balancer.explore = {10**18}: must be at most 1e+15"),
        ({"workload": {"kind": "all_to_all", "open_flows": 2**63}}, f"workload.open_flows = {2**63}: must be at most 1e+15"),
        (
            {"fabric": {"link_gbps": 1e5}, "packet": {"ack_bytes": 1}},
            "fabric.link_gbps = 100000.0: is too high: an ACK must take at least one picosecond on a link",
        ),
        (
            {"fabric": {"link_gbps": 0.001}, "workload": {"message_packets": 10**6}},
            "workload.message_packets = 1000000: is too large: a host's 1000000 packets must take at most 18014 s at this rate",
        ),
        (
            {"fabric": {"link_gbps": 0.001, "buffer_bytes": 10**12}},
            "fabric.buffer_bytes = 1000000000000: is too large: the slowest link must drain it within 13 days",
        ),
        (
            {"fabric": {"buffer_bytes": 10**9, "ecn": {"min_fraction": 0.1, "max_fraction": 1.0}}},
            "fabric.ecn.max_fraction = 1.0: is too far above min_fraction: a link must drain what lies between in 2 ms",
        ),
        # rules that join keys name the one to blame
        (
            {"fabric": {"unlimited_buffer": True}, "packet": {"control": "priority"}},
            "packet.control = 'priority': needs a buffer of at most 65,536 data packets (273809408 bytes)",
        ),
        ({"recovery": {"kind": "sack", "ack_every_packets": 65}}, "recovery.ack_every_packets = 65: must be less than or equal to 64"),
        ({"recovery": {"kind": "erasure", "ack_every_packets": 2}}, "recovery.ack_every_packets = 2: unknown key"),
        ({"fabric": {"buffer_bytes": 4177}}, "fabric.buffer_bytes = 4177: must hold a data packet and its gap, 4178 bytes"),
        (
            {"packet": {"payload_bytes": 1}},
            "packet.ack_bytes = 64: must not be larger than a data packet (payload_bytes + header_bytes = 63)",
        ),
        (
            {"fabric": {"ecn": {"min_fraction": 0.5, "max_fraction": 0.1}}},
            "fabric.ecn.max_fraction = 0.1: must be at least min_fraction = 0.5",
        ),
        ({"balancer": {"kind": "spectrum_ar", "bins": [0.2, 0.1]}}, "balancer.bins = [0.2, 0.1]: bin edges must rise"),
        ({"balancer": {"kind": "spectrum_ar", "bins": []}}, "balancer.bins = []: list should have at least 1 item, not 0"),
        # traffic
        ({"workload": {"message_packets": 0}}, "workload.message_packets = 0: must be greater than or equal to 1"),
        ({"workload": {"message_packets": 10**7}}, "workload.message_packets = 10000000: must be less than or equal to 1000000"),
        ({"workload": {"hosts": [0, 128]}}, "workload.hosts = 128: no such host: the fabric has hosts 0 to 127"),
        ({"workload": {"hosts": [0, -1]}}, "workload.hosts.1 = -1: must be greater than or equal to 0"),
        ({"workload": {"hosts": [3, 5, 3]}}, "workload.hosts = [3, 5, 3]: a host may be named once"),
        ({"workload": {"hosts": [3]}}, "workload.hosts = [3]: at least 2 hosts must take part"),
        ({"workload": {"hosts": []}}, "workload.hosts = []: at least 2 hosts must take part"),
        ({"workload": {"kind": "pairs", "pairs": []}}, "workload.pairs = []: list should have at least 1 item, not 0"),
        ({"workload": {"kind": "pairs", "pairs": [[0]]}}, "workload.pairs.0 = [0]: list should have at least 2 items, not 1"),
        ({"workload": {"kind": "pairs", "pairs": [[0, 1], [2, 2]]}}, "workload.pairs.1 = [2, 2]: a flow needs two different hosts"),
        ({"workload": {"kind": "pairs", "pairs": [[0, 128]]}}, "workload.pairs.0 = 128: no such host: the fabric has hosts 0 to 127"),
        ({"workload": {"kind": "ring_all_gather", "steps": 128}}, "workload.steps = 128: a ring of 128 ranks has 127 steps"),
        (
            {"fabric": {"radix": 32}, "workload": {"kind": "all_to_all"}},
            "workload.hosts = 8192: an all-to-all of n hosts has n(n-1) flows, of which at most 8388608 are possible",
        ),
        # failures
        ({"failures": {"link_failure_rate": 1.5}}, "failures.link_failure_rate = 1.5: must be less than or equal to 1"),
        ({"failures": {"capacity": 1.0}}, "failures.capacity = 1.0: must be less than 1"),
        ({"failures": {"capacity": 1e-5}}, "failures.capacity = 1e-05: must be 0 (dead) or at least 0.001"),
        ({"failures": {"cables": [1]}}, "failures.cables.0 = 1: must be a mapping of keys"),
        ({"failures": {"cables": [{}]}}, "failures.cables.0.cable = {}: field required"),
        ({"failures": {"cables": [{"cable": "edge:0:0"}]}}, f"failures.cables.0.cable = 'edge:0:0': {CABLE_RULE}"),
        (
            {"failures": {"cables": [{"cable": CABLE}, {"cable": "edge:0:0-agg:1:0"}]}},
            f"failures.cables.1.cable = 'edge:0:0-agg:1:0': {CABLE_RULE}",
        ),
        ({"failures": {"cables": [{"cable": "edge:00:0-agg:0:0"}]}}, f"failures.cables.0.cable = 'edge:00:0-agg:0:0': {CABLE_RULE}"),
        ({"failures": {"cables": [{"cable": "edge:0: 0-agg:0:0"}]}}, f"failures.cables.0.cable = 'edge:0: 0-agg:0:0': {CABLE_RULE}"),
        (
            {"failures": {"cables": [{"cable": CABLE}, {"cable": CABLE, "capacity": 0.5}]}},
            f"failures.cables.1.cable = '{CABLE}': a cable may be named once; failures.cables.0 is it",
        ),
        (
            {"fabric": {"tiers": 2}, "failures": {"cables": [{"cable": "agg:0:0-core:0:0"}]}},
            f"failures.cables.0.cable = 'agg:0:0-core:0:0': {CABLE_RULE}",
        ),
    ],
)
def test_a_refusal_names_key_value_and_rule(data, line):
    assert refusal(data) == line


def test_pairs_that_no_path_joins_are_named():
    data = {"fabric": {"radix": 4}, "failures": {"link_failure_rate": 1.0}}
    told = refusal(data)
    assert told.startswith("failures = 'edge:0:0-agg:0:0, edge:0:0-agg:0:1, edge:0:1-agg:0:0, edge:0:1-agg:0:1 and 28 more': ")
    assert told.endswith("; cables are drawn by the seed: take another one, or a lower failures.link_failure_rate")
    uplinks = [{"cable": f"edge:1:0-agg:1:{j}"} for j in range(2)]
    data = {"fabric": {"radix": 4}, "failures": {"cables": uplinks}, "workload": {"kind": "pairs", "pairs": [[0, 2], [5, 0]]}}
    assert refusal(data) == (
        "failures = 'edge:1:0-agg:1:0, edge:1:0-agg:1:1': these dead cables leave no path between host:5 (edge:1:0) and host:0"
    )
    # below the cut, and elsewhere, hosts still reach one another
    prepare(Scenario.from_dict(data | {"workload": {"kind": "pairs", "pairs": [[4, 5], [0, 15]]}}))


@pytest.mark.parametrize("data", [{"failures": {"cables": [1] * 10**6}}, {"workload": {"hosts": [-1] * 10**6}}])
def test_the_first_of_many_mistakes_is_told_at_once(data):
    began = time.monotonic()
    assert ".0 = " in refusal(data)
    assert time.monotonic() - began < 5


VALUES = [
    True,
    None,
    "x",
    "",
    -1,
    0,
    7,
    -0.5,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    1e-308,
    10**30,
    10**400,
    [],
    [1],
    [[0, 1]],
    {},
    {"a": 1},
]


def keys_of(model, prefix=()):
    for name, field in model.model_fields.items():
        yield (*prefix, name)
        if isinstance(field.default, BaseModel):
            yield from keys_of(type(field.default), (*prefix, name))


SCENARIO_KEYS = [*keys_of(Scenario)]
KIND_KEYS = [(part, kind, key) for part, registry in REGISTRIES.items() for kind, model in registry.items() for key in model.model_fields]


@pytest.mark.parametrize("path", SCENARIO_KEYS, ids=".".join)
@pytest.mark.filterwarnings("error")
def test_any_value_of_any_key_is_taken_or_refused(path):
    for value in VALUES:
        data = value
        for name in reversed(path):
            data = {name: data}
        taken_or_refused(data if path[0] == "fabric" else {"fabric": {"radix": 4}} | data)


@pytest.mark.parametrize(("part", "kind", "key"), KIND_KEYS)
def test_any_value_of_any_kind_is_taken_or_refused(part, kind, key):
    for value in VALUES:
        taken_or_refused({"fabric": {"radix": 4}, part: {"kind": kind, key: value}})


def taken_or_refused(data):
    try:
        scenario = Scenario.from_dict(data)
        prepare(scenario)
    except ScenarioError as error:
        line, top = str(error), error.key.split(".")[0]
    else:
        assert Scenario.from_dict(scenario.to_dict()) == scenario
        return
    assert line.isprintable()
    assert top in Scenario.model_fields


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("balancer", BALANCERS)
def test_a_scenario_survives_the_way_to_text_and_back(balancer, workload):
    data = {
        "balancer": {"kind": balancer},
        "workload": {"kind": workload},
        "failures": {"convergence_ns": "inf"},
        "fabric": rails_for(balancer),
    }
    scenario = Scenario.from_dict(data)
    again = Scenario.from_dict(scenario.to_dict())
    assert again == scenario
    assert Scenario.from_dict(json.loads(again.to_json())).digest == again.digest
    assert math.isinf(again.failures.convergence_ns)


def test_defaults_are_those_of_the_paper():
    scenario = Scenario()
    assert (scenario.balancer.kind, scenario.workload.kind) == ("ofan", "permutation")
    assert Scenario.from_dict({"balancer": {}, "workload": {}, "congestion": {}, "recovery": {}}) == scenario
    assert scenario.shape.n_hosts == 128


def test_what_is_large_but_possible_is_taken():
    Scenario.from_dict({"fabric": {"radix": 64}, "workload": {"message_packets": 10**6}})
    Scenario.from_dict({"fabric": {"radix": 128}, "workload": {"message_packets": 10**6}, "failures": {"link_failure_rate": 0.01}})
    Scenario.from_dict({"fabric": {"unlimited_buffer": True, "buffer_bytes": 1}})
    Scenario.from_dict({"workload": {"kind": "all_to_all", "message_packets": 10**6, "hosts": [0, 1]}, "fabric": {"radix": 128}})


YAML = {
    "[1, 2]": "must hold a mapping of keys",
    "0": "must hold a mapping of keys",
    "false": "must hold a mapping of keys",
    "text": "must hold a mapping of keys",
    "fabric: {radix: 4": "is not YAML: ",
    "fabric: !!python/object:os.system {}": "is not YAML: ",
    "? [1, 2]\n: 3": "is not YAML: ",
    "seed: 2020-13-41": "is not YAML: ",
    "a: " + "[" * 3000: "is not YAML: ",
}


@pytest.mark.parametrize(("text", "rule"), YAML.items(), ids=[str(i) for i in range(len(YAML))])
def test_files_that_hold_no_scenario(tmp_path, text, rule):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_yaml(path)
    assert str(caught.value).startswith(f"scenario = {str(path)!r}: {rule}"[:120])
    assert str(caught.value).isprintable()


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for path, rule in [("bytes.yaml", "is not YAML"), ("missing.yaml", "cannot be read: No such file"), (".", "cannot be read: Is a dir")]:
        with pytest.raises(ScenarioError) as caught:
            Scenario.from_yaml(tmp_path / path)
        assert (caught.value.key, caught.value.value) == ("scenario", str(tmp_path / path))
        assert caught.value.rule.startswith(rule)


def test_an_empty_file_means_the_defaults(tmp_path):
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert Scenario.from_yaml(tmp_path / "empty.yaml") == Scenario()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("radix", "--set = 'radix': must read key=value, the key being names joined by dots"),
        ("=4", "--set = '=4': must read key=value, the key being names joined by dots"),
        (".fabric.radix=4", "--set = '.fabric.radix=4': must read key=value, the key being names joined by dots"),
        ("fabric..radix=4", "--set = 'fabric..radix=4': must read key=value, the key being names joined by dots"),
        ("fabric.radix=[", "fabric.radix = '[': is not YAML: "),
        ("workload={kind: pairs, kind: fsdp}", "kind = 'fsdp': is given twice, on line 1"),
        ("fabric.radix=", "fabric.radix = None: must be a valid integer"),
        ("fabric.radix.x=4", "fabric.radix = {'x': 4}: must be a valid integer"),
        ("seed.x=4", "seed = {'x': 4}: must be a valid integer"),
    ],
)
def test_overrides_that_cannot_be(text, line):
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_yaml(sets=[text])
    assert str(caught.value).startswith(line)


def test_an_override_of_the_kind_drops_the_keys_of_the_old_one(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("balancer: {kind: reps, explore: 3}\nseed: 4\n")
    scenario = Scenario.from_yaml(path, ["balancer.kind=pofan", "balancer.pipes=2", "failures.convergence_ns=.inf"])
    assert (scenario.balancer.kind, scenario.balancer.pipes, scenario.seed) == ("pofan", 2, 4)
    with pytest.raises(ScenarioError, match=r"^seed\.x = 1: seed is not a mapping$"):
        Scenario.from_yaml(path, ["seed.x=1"])
