# The checked config and what the rules share. A config that is not valid stops here, before any job.

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from ofancore import config as grid
from ofancore import nodes
from ofancore.errors import OfanError
from ofancore.jit import CACHE
from ofancore.plan import json_text, seconds
from ofancore.reading import read_yaml
from ofancore.result import source_digest

try:
    for path in workflow.configfiles:
        read_yaml(path, "config")  # Snakemake, which has read it already, lets keys be given twice
    CONFIG = grid.load_config(config, scenarios=not workflow.remote_exec)  # a node does not check once more what is checked
except OfanError as refusal:
    raise WorkflowError(str(refusal))

RESULTS = CONFIG.results
NAMES = list(CONFIG.names().items())  # of schemes of one's own; their order says how they look
# What figures name as their origin, relative to the checkout if it is in it. Not among the params: it makes no figure stale.
CONFIG_FILE = os.path.relpath(workflow.configfiles[-1]) if workflow.configfiles else ""
PYTHON = sys.executable
SOURCE = source_digest()  # of all that a raw run depends on
NOTEBOOK_SECONDS = 8.0

if workflow.remote_exec and (folder := nodes.cache_folder(CACHE)):  # a node of a cluster
    os.environ["OFAN_CACHE_DIR"] = folder


PEERS = [f"../data/peers/{path.name}" for path in sorted(Path("data/peers").glob("*.csv"))]


def digest(*names):
    """Digest of package files, for what depends on them but not on the simulator."""
    h = hashlib.sha256()
    for name in names:
        h.update(Path("ofancore", name).read_bytes())
    return h.hexdigest()[:16]


DRAWING = digest(
    "charts.py", "constants.py", "docstrings.py", "figures.py", "heatmap.py", "ladder.py", "league.py", "linkmap.py", "metrics.py",
    "notebook.py", "palette.py", "path_files.py", "paths.py", "pathplot.py", "plan.py", "saving.py", "theme.py", "theory.py", "p4/resources.py", *PEERS, "provenance.py",
)
JUDGING = digest("claims.py", "figures.py", "metrics.py", "plan.py", "p4/resources.py")


def plain(text):
    """A text of the config as a param: as it is, though it may have braces, which Snakemake would take for wildcards."""
    return lambda wildcards: text


def heading(text):
    """A text of the config as a category of Snakemake's report, which has no way to write a brace that begins no wildcard: with an
    invisible character behind it (a word joiner) it does not.
    """
    return text.replace("{", "{\u2060")


def raw_files(experiments):
    return [str(group.raw_path(RESULTS)) for group in CONFIG.groups(experiments)]


def source_of(experiments):
    """What a notebook or the claims must find under `results`, as JSON (see ofancore.figures.Source)."""
    names = {"names": NAMES} if NAMES else {}
    return json_text({"results": RESULTS, "groups": [json.loads(g.to_json()) for g in CONFIG.groups(experiments)], **names})


def begin_progress():
    """Once Snakemake knows what it is going to make, and before it does."""
    from ofancore.progress import begin, duration

    made = {Path(path) for job in workflow.dag.needrun_jobs() for path in job.output}
    runs = {group.name: seconds(group) for group in CONFIG.groups() if group.raw_path(RESULTS) in made}
    runs |= watch_jobs(made)
    figures = {figure: NOTEBOOK_SECONDS for figure in CONFIG.figures if Path(RESULTS, "figures", f"{figure}.svg") in made}
    try:
        begin(RESULTS, runs | figures, workflow.cores or 1)
    except OSError as error:
        raise WorkflowError(f"The results folder cannot be written: {error}")
    expected = duration(sum((runs | figures).values()))
    print(f"To do: {len(runs)} jobs of simulations, {len(figures)} of figures; about {expected} of one core", file=sys.stderr, flush=True)


def together(group):
    """A job's group of jobs, if the profile says how many of them make a job of a scheduler."""
    return group if workflow.group_settings.group_components else None


localrules:  # of a cluster's jobs: seconds, and compilers of P4 that are on this machine
    p4_reports,
    claims,
    page,


wildcard_constraints:
    experiment="[a-z][a-z0-9_]*",
    label="[a-z][a-z0-9_]*",
