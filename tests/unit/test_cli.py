"""The command line: exit codes, one line for a refusal, files whole or not at all."""

import errno
import gc
import io
import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from ofancore import cli, result, simulation
from ofancore.console import tell_of_compiling
from ofancore.errors import EngineError
from ofancore.files import write_whole
from ofancore.jit import CACHE, kernel

SMALL = ["--set", "fabric.radix=4", "--set", "workload.message_packets=1"]


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """With the machine code on disk a run has nothing to say on standard error."""
    assert cli.main(["warmup"]) == 0


@pytest.fixture
def call(capsys):
    """Call the command line in this process: (status, standard output, the line on standard error)."""

    def run(*words):
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as end:
            status = end.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


def refused(outcome, line):
    status, out, err = outcome
    assert (status, out) == (2, "")
    assert err.endswith("\n")
    assert err[:-1].isprintable()
    assert err.startswith(f"ofancore: {line}")


@pytest.fixture
def no_runs(monkeypatch):
    """A run would be a fault of the test: the refusal has to come before it."""
    monkeypatch.setattr(simulation, "simulate", lambda *_, **__: pytest.fail("the run was begun"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "the following arguments are required: COMMAND (see ofancore --help)"),
        (["fly"], "argument COMMAND: invalid choice: 'fly'"),
        (["list"], "the following arguments are required: what (see ofancore list --help)"),
        (["list", "planes"], "argument what: invalid choice: 'planes'"),
        (["run", "--seed", "x"], "argument --seed: invalid int value: 'x' (see ofancore run --help)"),
        (["run", "--threads", "1.5"], "argument --threads: invalid int value: '1.5'"),
        (["run", "a.yaml", "b.yaml"], "unrecognized arguments: b.yaml"),
        (["run", "missing.yaml"], "scenario = 'missing.yaml': cannot be read: No such file or directory"),
        (["run", "."], "scenario = '.': cannot be read: Is a directory"),
        (["run", "--seed", "-3"], "seed = -3: must be greater than or equal to 0"),
        (["run", "--set", "fabric.radix"], "--set = 'fabric.radix': must read key=value"),
        (["run", "--set", "fabric.radix=5"], "fabric.radix = 5: must be a multiple of 2"),
        (["check-config", "missing.yaml"], "config = 'missing.yaml': cannot be read: No such file or directory"),
    ],
)
@pytest.mark.usefixtures("no_runs")
def test_bad_words_end_with_status_2_and_one_line(call, words, line):
    refused(call(*words), line)


@pytest.mark.parametrize("threads", [0, -1, 65, 10**30])
def test_numbers_of_threads_that_cannot_be(call, threads):
    refused(call("run", "--threads", threads), f"threads = {threads}: must be an integer from 1 to 64")


@pytest.mark.parametrize("option", ["--out", "--flows", "--links"])
@pytest.mark.usefixtures("no_runs")
def test_places_that_cannot_be_written_are_refused_before_the_run(call, tmp_path, option):
    (tmp_path / "file").write_text("kept")
    refused(call("run", *SMALL, option, tmp_path), f"{tmp_path}: is not a plain file")
    refused(call("run", *SMALL, option, "/dev/null"), "/dev/null: is not a plain file")  # not replaced by one
    refused(call("run", *SMALL, option, tmp_path / "file/x"), f"{tmp_path}/file/x: ")
    refused(call("run", *SMALL, option, tmp_path / ("x" * 300)), f"{tmp_path}/{'x' * 300}: File name too long")
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.usefixtures("no_runs")
def test_files_that_would_take_each_others_place_are_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text("seed: 1")
    (tmp_path / "link").symlink_to("x")
    rule = "must be another place than that of"
    refused(call("run", "--out", "x", "--flows", tmp_path / "y/../x"), f"--flows = '{tmp_path}/y/../x': {rule} --out")
    refused(call("run", "--out", "x", "--links", "link"), f"--links = 'link': {rule} --out")
    refused(call("run", "--flows", "x/y", "--links", "x"), f"--links = 'x': {rule} --flows")
    refused(call("run", "my.yaml", "--out", "./my.yaml"), f"--out = './my.yaml': {rule} scenario")
    refused(call("run", "--out", ""), ".: is not a plain file")
    assert sorted(os.listdir(tmp_path)) == ["link", "my.yaml"]


def test_folders_are_made_after_the_run_and_not_before(call, tmp_path, monkeypatch):
    def fails(*_, **__):
        assert os.listdir(tmp_path) == []
        raise EngineError("no")

    monkeypatch.setattr(simulation, "simulate", fails)
    assert call("run", "--out", tmp_path / "a/b/c", "--flows", tmp_path / "a/flows.csv")[0] == 3
    assert os.listdir(tmp_path) == []
    refused(call("run", "--out", tmp_path / "a" / ("x" * 300) / "c"), f"{tmp_path}/a/{'x' * 300}/c: File name too long")


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "table"
    path.write_text("old")

    def write(temporary):
        with open(temporary, "w") as file:
            file.write("ne")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(path, write)
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table"]


def test_an_internal_fault_has_a_status_of_its_own(call, monkeypatch):
    def fault(*_, **__):
        raise EngineError("the engine ran into internal limit 3")

    monkeypatch.setattr(simulation, "simulate", fault)
    assert call("run") == (3, "", "ofancore: the engine ran into internal limit 3\n")


LISTED = {
    "balancers": "ofan",
    "workloads": "all_to_all",
    "congestion": "line_rate",
    "recovery": "erasure",
    "keys": "seed",
    "metrics": "cct_inflation",
}


@pytest.mark.parametrize("what", LISTED)
def test_lists(call, what):
    status, out, err = call("list", what)
    assert (status, err) == (0, "")
    assert "None" not in out
    assert "False" not in out
    assert LISTED[what] in out


def test_source_digest(call):
    assert call("source-digest") == (0, result.source_digest() + "\n", "")


def test_run_prints_json_and_writes_what_is_asked(call, tmp_path):
    paths = [tmp_path / "new/folder" / name for name in ("run.parquet", "flows.csv", "links.csv")]
    status, out, err = call("run", *SMALL, "--seed", 3, "--out", paths[0], "--flows", paths[1], "--links", paths[2])
    assert (status, err) == (0, "")
    metrics = json.loads(out)
    assert metrics["finished"]
    assert metrics["scenario"]["seed"] == 3
    row = pd.read_parquet(paths[0]).iloc[0]
    assert (row["seed"], row["cct_ns"], row["source"]) == (3, metrics["cct_ns"], result.source_digest())
    assert len(pd.read_csv(paths[1])) == 16
    assert len(pd.read_csv(paths[2])) == 2 * 16 + 4 * 16
    assert len(os.listdir(tmp_path / "new/folder")) == 3


def test_compiling_is_told_of(call, monkeypatch):
    """Another kernel stands for the simulator's, which takes a minute."""

    def compile_and_end(*_, **__):
        raise EngineError(f"one and one are {kernel(lambda x: x + 1, cache=False)(1)}")

    monkeypatch.setattr(simulation, "simulate", compile_and_end)
    status, _, err = call("run", *SMALL)
    first, second = err.splitlines()
    assert status == 3
    assert first.startswith("ofancore: compiling the simulator")
    assert first.endswith(f", kept in {CACHE}")
    assert second == "ofancore: one and one are 2"


@pytest.mark.parametrize("watched", [True, False])
def test_whoever_watches_a_script_is_told_of_compiling_too(monkeypatch, watched):
    class Errors(io.StringIO):
        def isatty(self):
            return watched

    monkeypatch.setattr(sys, "stderr", Errors())
    tell_of_compiling()
    gc.collect()
    assert kernel(lambda x: x + 1, cache=False)(1) == 2
    assert sys.stderr.getvalue().startswith("ofancore: compiling the simulator") == watched
    assert sys.stderr.getvalue().count("\n") == watched


def test_a_run_that_does_not_finish_says_so(call):
    status, out, err = call("run", *SMALL, "--set", "time_limit_ns=100")
    assert status == 0
    assert json.loads(out)["cct_ns"] is None
    assert err.startswith("ofancore: ofan: not finished by ")


def ofancore(*words, **options):
    return subprocess.Popen([sys.executable, "-m", "ofancore", *words], stderr=subprocess.PIPE, text=True, **options)


def test_a_reader_that_has_seen_enough_is_no_error():
    read, write = os.pipe()
    os.close(read)
    process = ofancore("list", "keys", stdout=write)
    os.close(write)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 141  # as a shell shows death by SIGPIPE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_finds_no_room_is_an_error():
    for words in (["list", "keys"], ["--help"]):
        with open("/dev/full", "w") as full:
            process = ofancore(*words, stdout=full)
        assert process.communicate(timeout=60)[1] == "ofancore: output: No space left on device\n"
        assert process.returncode == 2


@pytest.mark.parametrize("words", ["run", "list keys", "source-digest", "--help"])
def test_no_standard_output_at_all(words):
    process = subprocess.run(
        ["sh", "-c", f'exec "$0" -m ofancore {words} >&-', sys.executable], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (process.returncode, process.stderr) == (2, "ofancore: output: Bad file descriptor\n")


def test_refusals_without_standard_error_do_not_go_elsewhere():
    for place in ("2>&-", "2>/dev/full"):
        process = subprocess.run(
            ["sh", "-c", f'exec "$0" -m ofancore list planes {place}', sys.executable], stdout=subprocess.PIPE, timeout=60, check=False
        )
        assert (process.returncode, process.stdout) == (2, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_run_at_once_and_leaves_nothing(tmp_path, number):
    """Compiled code does not look at Python's signals; a run of minutes must not outlive Ctrl-C."""
    program = (
        "import sys, ofancore.cli, ofancore.simulation\n"
        "module = ofancore.simulation\n"
        "whole = module.prepare\n"
        "module.prepare = lambda s: (print('begun', flush=True), whole(s))[1]\n"
        "sys.exit(ofancore.cli.main(sys.argv[1:]))\n"
    )
    words = ["run", "--set", "fabric.radix=4", "--set", "workload.message_packets=1000000", "--out", str(tmp_path / "run.parquet")]
    # a shell may have told its children to ignore Ctrl-C
    start = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, **start) as process:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(number)
        began = time.monotonic()
        assert process.wait(timeout=120) == -number
    assert time.monotonic() - began < 1
    assert os.listdir(tmp_path) == []
