"""Progress: what is still to do, and how long it will take at the pace so far."""

from __future__ import annotations

from ofancore import progress


def test_time_left_is_the_expected_rest_at_the_pace_so_far(tmp_path):
    """On two cores an expected second should take half a second, and 60 of them count as having done so."""
    progress.begin(tmp_path, {"a": 20, "b": 60, "c": 40}, cores=2, now=1000)
    # it compiles until 1050, then a takes 10 s: 100 * (10 + 30) / (20 + 60)
    assert progress.done(tmp_path, "a", 10.0, now=1060) == "[1/3] a: 10.0 s, about 50 s left"
    # b too is slower than it should be: 40 * (180 + 30) / (80 + 60)
    assert progress.done(tmp_path, "b", 170.0, now=1230) == "[2/3] b: 170.0 s, about 60 s left"
    assert progress.done(tmp_path, "c", 1.0, now=1250) == "[3/3] c: 1.0 s"


def test_a_small_first_job_says_little_of_the_rest(tmp_path):
    progress.begin(tmp_path, {"a": 0.1, "b": 600}, now=0)
    assert progress.done(tmp_path, "a", 4.0, now=50) == "[1/2] a: 4.0 s, about 11 min left"


def test_a_job_that_ended_before_is_to_do_again_if_it_is_asked_for(tmp_path):
    progress.begin(tmp_path, {"a": 10, "b": 10}, now=0)
    progress.done(tmp_path, "a", 10.0, now=10)
    progress.begin(tmp_path, {"a": 10, "b": 10}, now=100)
    assert progress.done(tmp_path, "b", 10.0, now=110).startswith("[1/2] b: 10.0 s, about ")


def test_lost_records_cost_an_estimate_only(tmp_path):
    assert progress.done(tmp_path, "x/y", 1.0) == "x/y: 1.0 s"
    for text in ("{", "[]", "null"):
        for path in (tmp_path / "raw/.progress").iterdir():
            path.write_text(text)
        progress.begin(tmp_path, {"a": 1})
        (tmp_path / "raw/.progress/plan.json").write_text(text)
        assert progress.done(tmp_path, "x/y", 1.0) == "x/y: 1.0 s"


def test_durations():
    assert progress.duration(61) == "61 s"
    assert progress.duration(600) == "10 min"
