"""Progress: what is still to do, and how long it will take at the pace so far."""

from __future__ import annotations

from ofancore import progress


def jobs(tmp_path, **seconds) -> dict:
    return {name: {"seconds": s, "key": "k", "output": str(tmp_path / name)} for name, s in seconds.items()}


def test_time_left_is_the_expected_rest_at_the_pace_so_far(tmp_path):
    assert progress.begin(tmp_path, jobs(tmp_path, a=10, b=30, c=5), now=1000) == ["a", "b", "c"]
    assert progress.done(tmp_path, "a", "k", 3.0, now=1020) == "[1/3] a: 3.0 s, about 70 s left"
    assert progress.done(tmp_path, "b", "k", 9.0, now=1040) == "[2/3] b: 9.0 s, about 5 s left"
    assert progress.done(tmp_path, "c", "k", 1.0, now=1050) == "[3/3] c: 1.0 s"


def test_only_jobs_without_output_or_with_another_key_are_to_do(tmp_path):
    todo = jobs(tmp_path, a=1, b=1, c=1)
    progress.begin(tmp_path, todo, now=0)
    for name in "ab":
        progress.done(tmp_path, name, "k", 1.0, now=1)
    (tmp_path / "a").touch()
    assert progress.begin(tmp_path, todo, now=10) == ["b", "c"]
    todo["a"]["key"] = "other"
    assert progress.begin(tmp_path, todo, now=10) == ["a", "b", "c"]


def test_lost_records_cost_an_estimate_only(tmp_path):
    assert progress.done(tmp_path, "x/y", "k", 1.0) == "x/y: 1.0 s"
    for text in ("{", "[]", "null"):
        for path in (tmp_path / "raw/.progress").iterdir():
            path.write_text(text)
        assert progress.begin(tmp_path, jobs(tmp_path, a=1)) == ["a"]
        (tmp_path / "raw/.progress/plan.json").write_text(text)
        assert progress.done(tmp_path, "x/y", "k", 1.0) == "x/y: 1.0 s"


def test_durations():
    assert progress.duration(61) == "61 s"
    assert progress.duration(600) == "10 min"
