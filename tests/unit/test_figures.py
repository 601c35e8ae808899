"""Raw files that a figure reads: exactly the runs that the config asks for, whole, and by these sources."""

import os

import pytest
from scenarios import rows_without_runs

from ofancore import figures
from ofancore.figures import MissingRun, Source, read_group
from ofancore.metrics import METRICS
from ofancore.plan import Group
from ofancore.result import source_digest, write_table

GROUP = Group("one", "ops", {"fabric": {"radix": 4}}, {"kind": "ops"}, {"workload.message_packets": [1, 2]}, [], 2)


def write(folder, change=lambda rows: rows, source=None):
    write_table(change(rows_without_runs(GROUP, source or source_digest())), GROUP.raw_path(folder))
    return GROUP.raw_path(folder)


def without(name):
    return lambda rows: [{k: v for k, v in row.items() if k != name} for row in rows]


def refusal(folder) -> str:
    with pytest.raises(MissingRun) as caught:
        Source(str(folder), [GROUP]).runs("one")
    line = str(caught.value)
    assert line.isprintable()
    assert line.startswith(f"{GROUP.raw_path(folder)}: ")
    return line.removeprefix(f"{GROUP.raw_path(folder)}: ")


def test_runs_as_asked_for_are_taken(tmp_path):
    write(tmp_path)
    assert len(read_group(GROUP, tmp_path)) == 4


def test_missing_and_damaged_files_are_refused(tmp_path):
    assert refusal(tmp_path) == "missing; the pipeline makes it"
    path = write(tmp_path)
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], whole[:-1], b"", b"PAR1", whole[:4] + bytes(len(whole) - 8) + whole[-4:]):
        path.write_bytes(data)
        line = refusal(tmp_path)
        assert line.startswith("not readable (")
        assert line.endswith("); delete it and run the pipeline again")
    path.unlink()
    path.mkdir()
    assert refusal(tmp_path)


@pytest.mark.parametrize("name", ["seed", "finished", "label", "fabric.radix", "workload.hosts", "cct_ns", "pointers_per_switch_agg"])
def test_a_lost_column_is_named(tmp_path, name):
    write(tmp_path, without(name))
    assert refusal(tmp_path) == f"the columns ['{name}'] are not there as they should be; delete it and run the pipeline again"


@pytest.mark.parametrize("name", METRICS[:3])
def test_text_is_no_metric(tmp_path, name):
    write(tmp_path, lambda rows: [row | {name: "fast"} for row in rows])
    assert f"['{name}']" in refusal(tmp_path)


@pytest.mark.parametrize("change", [lambda rows: rows[1:], lambda rows: rows[::-1], without("digest")])
def test_other_runs_are_refused(tmp_path, change):
    write(tmp_path, change)
    assert refusal(tmp_path).startswith("holds other runs than the config asks for")


@pytest.mark.parametrize("made_by", [["0123456789abcdef"] * 4, ["0123456789abcdef", *[None] * 3], None])
def test_runs_of_another_version_are_refused(tmp_path, made_by):
    change = without("source") if made_by is None else lambda rows: [r | {"source": s or r["source"]} for r, s in zip(rows, made_by)]
    write(tmp_path, change)
    line = refusal(tmp_path)
    assert line.startswith("made by another version of the simulator (")
    assert f"this is {source_digest()}); delete it" in line


def test_a_notebook_opened_by_hand_simulates_what_it_cannot_take(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "simulate_group", lambda _: [{"simulated": True}])
    write(tmp_path, source="0123456789abcdef")
    assert list(Source(str(tmp_path), [GROUP], simulate=True).runs("one")) == ["simulated"]
    write(tmp_path)
    assert len(Source(str(tmp_path), [GROUP], simulate=True).runs("one")) == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read(tmp_path):
    write(tmp_path).chmod(0)
    assert "Permission denied" in refusal(tmp_path)


def test_an_experiment_that_the_figure_does_not_name(tmp_path):
    with pytest.raises(MissingRun, match=r"^two: not among the experiments"):
        Source(str(tmp_path), [GROUP]).runs("two")
