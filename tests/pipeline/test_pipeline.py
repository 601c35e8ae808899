"""The pipeline on a grid of seconds, in a copy of the checkout: what runs, what reruns, what survives a kill.

It runs once; each test that needs its outcome has a copy of that checkout, so any of them can run alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from pipeline.checkout import CONFIG, ROOT, Checkout

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Checkout, str]:
    """A checkout in which the pipeline has run, which no test changes, and what was said."""
    checkout = Checkout(tmp_path_factory.mktemp("checkout"))
    return checkout, checkout.run()


@pytest.fixture(scope="module")
def first(finished) -> dict[str, bytes]:
    return finished[0].made()


@pytest.fixture
def checkout(finished, tmp_path) -> Checkout:
    return finished[0].copied_to(tmp_path / "checkout")


def test_a_run_makes_everything_whole(finished, checkout, first):
    assert "To do: 2 jobs of simulations, 1 of figures; about " in finished[1]  # the claims job is too small to be counted
    assert "[3/3] fig_new" in finished[1]
    names = ["fig_new.csv", "fig_new.html", "fig_new.json", "fig_new.png", "fig_new.svg", "claims.html", "claims.json", "claims.md"]
    assert sorted(first) == sorted([*names, "index.html", "queues_on_the_tree.html", "ofan.parquet", "ops.parquet"])
    assert [p for p in (checkout.folder / "out").rglob(".*.*") if p.suffix not in (".log", ".compiled")] == []
    # A claim that fails is a result.
    assert json.loads(first["claims.json"])["claims"][0]["verdict"] == "not reproduced"
    assert "Nothing to be done" in checkout.run()


def test_figures_say_what_made_them(checkout, first):
    """By name, on the command line; and the command that they name makes the same bytes again."""

    def ask(*arguments: str) -> str:
        command = [sys.executable, "-m", "ofancore", *arguments]
        return subprocess.run(command, cwd=checkout.folder, env=checkout.environment, capture_output=True, text=True, check=True).stdout

    record = json.loads(ask("explain", "out/figures/fig_new.svg", "--json"))
    assert (record["notebook"], record["config"], record["commit"]) == ("notebooks/figures/fig_new.ipynb", "config.yaml", None)
    assert list(record["runs"]) == ["raw/tiny/ops.parquet", "raw/tiny/ofan.parquet"]
    assert set(record["now"]["runs"].values()) | set(record["now"]["files"].values()) == {"as then"}
    words = record["now"]["again"].split()
    assert words[0] == ".venv/bin/snakemake"
    text = checkout.run_as([sys.executable, "-m", "snakemake", *words[1:]])
    assert "Drawing fig_new" in text
    assert "Simulating" not in text
    assert checkout.made() == first
    # a commit is news for the record, and no reason to draw again
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run(["git", *words], cwd=checkout.folder, env=outside, check=True)
    assert "Nothing to be done" in checkout.run("--dry-run")
    shutil.rmtree(checkout.folder / ".git")
    # the grid that it names asks for the same runs, and no others
    ask("explain", "out/figures/fig_new.html", "--grid", "alone.yaml")
    command = [sys.executable, "-m", "snakemake", "--configfile", "alone.yaml", "--profile", "profiles/default", "--dry-run"]
    assert checkout.run_as(command).count(": Simulating tiny") == 2
    # so do the report, of all that it shows, and the animation, of runs of its own
    report, animation = (
        json.loads(ask("explain", f"out/{name}.html", "--json")) for name in ("report/index", "figures/queues_on_the_tree")
    )
    assert report["runs"] == record["runs"]
    assert set(report["now"]["files"]) == {"report/index.html", "claims.json", "figures/fig_new.html"}
    assert set(report["now"]["files"].values()) | set(report["now"]["runs"].values()) == {"as then"}
    assert animation["now"]["files"] == {"queues_on_the_tree.html": "as then"}
    assert animation["command"] == "ofancore animate --schemes ops ofan --out out/figures/queues_on_the_tree.html".split()
    for path, run in record["runs"].items():
        assert hashlib.sha256((checkout.folder / "out" / path).read_bytes()).hexdigest() == run["sha256"]


def test_what_a_config_does_not_ask_for_is_not_made(checkout):
    """Neither the animation nor files of claims, and the report does without."""
    checkout.configure({key: value for key, value in CONFIG.items() if key not in ("animation", "claims")} | {"results": "plain"})
    plan = checkout.run("--dry-run")
    assert "Drawing fig_new" in plan
    assert "Building the report" in plan
    assert "queues_on_the_tree" not in plan
    assert "laims" not in plan


def test_unpacked_from_an_archive_nothing_is_to_be_done(finished, tmp_path):
    """Files of one age, and without what Snakemake keeps."""
    there = finished[0].copied_to(tmp_path / "unpacked", ".snakemake", ".progress", "*.log", "__pycache__")
    for path in there.folder.rglob("*"):
        os.utime(path, (1770091506, 1770091506))
    assert "Nothing to be done" in there.run("--dry-run")


def test_one_core_makes_the_same_bytes(first, tmp_path):
    alone = Checkout(tmp_path)
    alone.run("--cores", "1")
    assert alone.made() == first


def test_the_report_is_one_page_without_addresses_to_load_from(checkout, first):
    for page, heading in ((first["index.html"].decode(), "Test {of} figures"), (provenance(checkout), r"Test {\u2060of} figures")):
        assert "A caption." in page
        assert heading in page
        assert 'src="http' not in page


def provenance(checkout: Checkout) -> str:
    """Snakemake's own report: rules, code, run times."""
    checkout.run("--report", "provenance.html")
    return (checkout.folder / "provenance.html").read_text()


def test_progress_counts_what_is_asked_for(checkout, first):
    (checkout.folder / "out/raw/tiny/ops.parquet").unlink()
    (checkout.folder / "out/figures/fig_new.svg").unlink()
    text = checkout.run("out/raw/tiny/ops.parquet")
    assert "To do: 1 jobs of simulations, 0 of figures; about " in text
    assert "[1/1] tiny/ops: " in text
    assert "[1/1] fig_new: " in checkout.run()
    assert checkout.made() == first


def test_a_new_scheme_runs_alone(checkout):
    before = checkout.raw()
    config = json.loads(json.dumps(CONFIG))
    config["experiments"]["tiny"]["schemes"].append("rsq")
    checkout.configure(config)
    text = checkout.run()
    assert "Simulating tiny: rsq" in text
    assert "Simulating tiny: ops" not in text
    assert "Drawing fig_new" in text
    assert {k: v for k, v in checkout.raw().items() if k != "rsq.parquet"} == before


def test_an_edit_reruns_what_depends_on_it(checkout):
    assert planned(checkout, "bounds.py") == {"runs": 2, "figures": 1, "pages": 1}
    assert planned(checkout, "palette.py") == {"runs": 0, "figures": 1, "pages": 1}
    assert planned(checkout, "page/page.js") == {"runs": 0, "figures": 0, "pages": 1}
    assert planned(checkout, "bench.py") == {"runs": 0, "figures": 0, "pages": 0}


def test_a_scheme_of_ones_own_beside_built_in_ones(tmp_path):
    """The README's own file and config; a change of the file makes its runs anew, and no others."""
    own = Checkout(tmp_path)
    text = (ROOT / "README.md").read_text()
    (scheme,) = re.findall(r'^```python\n("""my/scheme.py""".*?)^```', text, re.MULTILINE | re.DOTALL)
    (config,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "my").mkdir()
    (tmp_path / "my/scheme.py").write_text(f"{scheme}\ntitle = 'Mine in figures'\n")
    (tmp_path / "config.yaml").write_text(config)
    shutil.copy(ROOT / "notebooks/figures/fig_message_size.ipynb", tmp_path / "notebooks/figures")
    assert "Simulating message_size: mine" in own.run()
    results = tmp_path / yaml.safe_load(config)["results"]
    for file in ("figures/fig10_message_size.svg", "report/index.html"):
        assert "Mine in figures" in (results / file).read_text()
    assert "not in the title: Mine in figures" in (results / "figures/fig10_message_size.svg").read_text()
    numbers = json.loads((results / "numbers/fig10_message_size.json").read_text())
    assert set(numbers["8 KiB" if "8 KiB" in numbers else "32 KiB"]["inflation_percent"]) == {"ops", "ofan", "mine"}
    assert "Nothing to be done" in own.run()
    before = {path.name: path.read_bytes() for path in results.rglob("*.parquet")}
    (tmp_path / "my/scheme.py").write_text(scheme.replace("par = [2, 1]", "par = [5, 1]"))
    text = own.run()
    assert re.findall(r"Simulating (.*)", text) == ["message_size: mine"]
    assert "Drawing fig10_message_size" in text
    after = {path.name: path.read_bytes() for path in results.rglob("*.parquet")}
    assert [name for name in before if after[name] != before[name]] == ["mine.parquet"]
    (tmp_path / "my/scheme.py").write_text(scheme.replace("sw.reg[0] = (at", "sw.free[0] = (at"))
    text = own.run(fails=True)
    assert "it writes to sw.free, which can only be read" in text
    assert "Simulating" not in text


def test_runs_are_followed_packet_by_packet_for_the_figure_of_paths(tmp_path):
    """Beside their raw files, which are not touched; the figure names what it read."""
    there = Checkout(tmp_path)
    shutil.copy(ROOT / "notebooks/figures/fig_paths.ipynb", tmp_path / "notebooks/figures")
    config = json.loads(json.dumps(CONFIG)) | {"claims": {}}
    failures = [{}, {"cables": [{"cable": "edge:0:0-agg:0:0"}], "convergence_ns": 0.0}]
    scenario = {"fabric": {"radix": 4}, "workload": {"message_packets": 4}}
    config["experiments"] = {"paths": {"about": "a", "scenario": scenario, "sweep": {"failures": failures}, "schemes": ["ops", "ofan"]}}
    config["seeds"] = 1
    config["figures"] = {
        "paths": {"notebook": "fig_paths", "category": "a", "experiments": ["paths"], "more": ["_links.csv", "_pairs.csv"]}
    }
    there.configure(config)
    text = there.run()
    assert sorted(re.findall(r"Following the packets of paths: (\w+)", text)) == ["ofan", "ops"]
    assert "[5/5]" in text  # two groups, which are run and followed, and the figure
    made = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out/paths").rglob("*.parquet"))
    assert made == [f"paths/paths/{label}/{name}.parquet" for label in ("ofan", "ops") for name in ("flows", "links")]
    assert "Nothing to be done" in there.run()
    command = [sys.executable, "-m", "ofancore", "explain", "out/figures/paths.svg", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=there.environment, capture_output=True, text=True, check=True)
    assert set(made) <= set(json.loads(done.stdout)["inputs"])
    before = there.raw()
    for path in [*(tmp_path / "out/paths/paths/ops").glob("*.parquet"), tmp_path / "out/figures/paths.svg"]:
        path.unlink()
    assert re.findall(r"Following the packets of paths: (\w+)", there.run()) == ["ops"]
    assert there.raw() == before


def planned(checkout: Checkout, edited: str) -> dict[str, int]:
    """What would run if a file of the package had been edited."""
    file = checkout.folder / "ofancore" / edited
    text = file.read_text()
    try:
        file.write_text(text + "# edited\n")
        plan = checkout.run("--dry-run")
    finally:
        file.write_text(text)
    kinds = {"runs": ": Simulating tiny", "figures": ": Drawing fig_new", "pages": ": Building the report"}
    return {kind: plan.count(message) for kind, message in kinds.items()}


@pytest.mark.parametrize("after", [4.0, 9.0])
def test_a_kill_at_any_moment_changes_nothing(checkout, first, after):
    shutil.rmtree(checkout.folder / "out")
    process = subprocess.Popen(
        checkout.command(), cwd=checkout.folder, env=checkout.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    checkout.run()
    assert checkout.made() == first


def test_a_damaged_raw_file_stops_its_figure_with_a_clear_line(checkout, first):
    raw = checkout.folder / "out/raw/tiny/ops.parquet"
    whole = raw.read_bytes()
    raw.write_bytes(whole[: len(whole) // 2])
    checkout.run(fails=True)
    log = (checkout.folder / "out/notebooks/fig_new.log").read_text()
    assert "out/raw/tiny/ops.parquet: not readable" in log
    assert "delete it" in log
    assert "not readable" in (checkout.folder / "out/notebooks/fig_new.ipynb").read_text()
    assert "not readable" in (checkout.folder / "out/claims.log").read_text()
    raw.unlink()
    checkout.run()
    assert checkout.made() == first


def test_a_config_that_is_not_valid_stops_before_any_job(checkout):
    config = json.loads(json.dumps(CONFIG))
    config["experiments"]["tiny"]["sweep"]["workload.message_packets"] = [0]
    checkout.configure(config)
    text = checkout.run(fails=True)
    assert "experiments.tiny.workload.message_packets" in text
    assert "Simulating" not in text


def test_a_key_given_twice_stops_before_any_job(checkout):
    file = checkout.folder / "config.yaml"
    file.write_text(file.read_text() + "seeds: 3\n")
    text = checkout.run(fails=True)
    assert "seeds = 3: is given twice, on lines 2 and " in text
    assert "Simulating" not in text


def test_raw_files_of_another_version_stop_their_figure(checkout):
    """Also where nothing tells Snakemake that they are, as when a folder was copied."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in (checkout.folder / "out/raw/tiny").glob("*.parquet"):
        table = pq.read_table(path)
        i = table.column_names.index("source")
        pq.write_table(table.set_column(i, "source", pa.array(["0123456789abcdef"] * len(table))), path)
    checkout.run(fails=True)
    for log in ("notebooks/fig_new.log", "claims.log"):
        assert "made by another version of the simulator (0123456789abcdef, this is " in (checkout.folder / "out" / log).read_text()
