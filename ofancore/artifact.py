"""The tables of ARTIFACT.md: claims with the commands that check them, and the values that these should give.

`python -m ofancore.readme` writes them in place, from `config/paper.yaml` and `data/expected/reference.json`; a test compares.
"""

from __future__ import annotations

import math

from ofancore.claims import band, measured, subject
from ofancore.compare import PAPER, experiments_behind, read_reference
from ofancore.config import Config, load_config
from ofancore.markdown import table
from ofancore.plan import expand, seconds


def paper() -> Config:
    return load_config(PAPER, scenarios=False)


def artifact_claims() -> str:
    """A row a claim: experiments, command, what the paper says, what to expect, minutes on two cores."""
    config, reference = paper(), {c["id"]: c for c in read_reference()["claims"]}
    rows = []
    for key, claim in config.claims.items():
        names = experiments_behind(config, [key])
        groups = config.groups(names)
        runs = sum(len(expand(g)) for g in groups)
        passed = sum(k["passed"] == "yes" for k in reference[key]["checks"])
        reports = ", compilers' reports" if claim.reports else ""
        rows.append(
            [
                f"**{key}** {claim.text}",
                ", ".join(f"`{name}`" for name in names) + f": {runs:,} runs{reports}",
                f"`make claim CLAIM={key}`",
                claim.paper,
                f"{reference[key]['verdict']} ({passed} of {len(reference[key]['checks'])} checks), `{claim.figure}`",
                math.ceil(sum(map(seconds, groups)) / 2 / 60),
            ]
        )
    return table(["claim", "experiments", "command", "paper", "expected", "minutes"], rows)


def artifact_values() -> str:
    """A row a criterion: its band, and the value of each scheme with its 95% interval."""
    config, rows = paper(), []
    for c in read_reference()["claims"]:
        experiments = {check.says: check.experiment for check in config.claims[c["id"]].checks}
        for says in dict.fromkeys(k["says"] for k in c["checks"]):
            checks = [k for k in c["checks"] if k["says"] == says]
            values = [f"{subject(k)} {measured(k)}" for k in checks]
            where = f"`{experiments[says]}`" if says in experiments else "`data/p4/reports`"
            rows.append([c["id"], says, where, band(checks[0]), "; ".join(values)])
    return table(["claim", "criterion", "experiment", "band", "expected values"], rows)


BLOCKS = {"artifact claims": artifact_claims, "artifact values": artifact_values}
