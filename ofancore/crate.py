"""Metadata for machines: `codemeta.json` of the software, and the Workflow Run RO-Crate of an archive with its results.

    python -m ofancore.crate > codemeta.json        from pyproject.toml and CITATION.cff; a test compares

The crate follows Workflow Run Crate 0.5 over RO-Crate 1.1: the Snakefile is the main entity, one CreateAction stands for the run as a
whole, one for the simulations and one for each figure, with the times that papermill wrote into the executed notebooks.
"""

from __future__ import annotations

import json
import mimetypes
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from ofancore.config import ROOT

AUTHORS, RUN, SIMULATIONS = "#authors", "#run", "#simulations"
LICENCE = "https://spdx.org/licenses/Apache-2.0"
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".ipynb": "application/x-ipynb+json",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
}


def project(root: Path = ROOT) -> tuple[dict, dict]:
    """`[project]` of pyproject.toml and all of CITATION.cff."""
    return (
        tomllib.loads((root / "pyproject.toml").read_text())["project"],
        yaml.safe_load((root / "CITATION.cff").read_text()),
    )


def codemeta(root: Path = ROOT) -> dict[str, Any]:
    """The software as CodeMeta 3.0 describes it."""
    package, citation = project(root)
    paper = citation["preferred-citation"]
    needed = [r.partition(";")[0].strip() for r in package["dependencies"]]
    names = [r.split(">")[0].split("<")[0].split("=")[0].strip() for r in needed]
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": citation["title"],
        "identifier": package["name"],
        "version": package["version"],
        "description": " ".join(citation["abstract"].split()),
        "license": f"https://spdx.org/licenses/{package['license']}",
        "author": [{"@type": "Organization", "name": author["name"]} for author in citation["authors"]],
        "keywords": citation["keywords"],
        "programmingLanguage": [{"@type": "ComputerLanguage", "name": "Python"}, {"@type": "ComputerLanguage", "name": "P4"}],
        "runtimePlatform": f"Python {package['requires-python']}",
        "operatingSystem": "Linux",
        "softwareRequirements": [
            {"@type": "SoftwareApplication", "name": name, "version": requirement[len(name) :].strip()}
            for name, requirement in zip(names, needed)
        ],
        "readme": "README.md",
        "buildInstructions": "ARTIFACT.md",
        "referencePublication": {
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "author": [
                {"@type": "Person", "givenName": person["given-names"], "familyName": person["family-names"]} for person in paper["authors"]
            ],
            "datePublished": str(paper["year"]),
            "identifier": paper["identifiers"][0]["value"],
        },
    }


def to(*ids: str) -> list[dict[str, str]] | dict[str, str]:
    """References; one of them alone, as RO-Crate wants it."""
    return {"@id": ids[0]} if len(ids) == 1 else [{"@id": i} for i in ids]


def file_entity(path: str, known: tuple[int, str], **more) -> dict[str, Any]:
    size, digest = known
    suffix = Path(path).suffix
    kind = TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "text/plain"
    return {
        "@id": path,
        "@type": "File",
        "name": Path(path).name,
        "contentSize": str(size),
        "sha256": digest,
        "encodingFormat": kind,
        **more,
    }


def times_of(notebook: bytes) -> dict[str, str]:
    """When papermill began and ended, as it wrote into an executed notebook."""
    kept = json.loads(notebook)["metadata"].get("papermill", {})
    return {name: kept[key] for name, key in (("startTime", "start_time"), ("endTime", "end_time")) if kept.get(key)}


def crate(
    files: dict[str, tuple[int, str]], results: str, config: str, records: dict[str, dict], times: dict[str, dict], commit: str, date: str,
    root: Path = ROOT,
) -> str:  # fmt: skip
    """The text of `ro-crate-metadata.json`.

    `files`: path in the archive -> size, SHA-256; `results`, `config`: where in it; `records`: figure -> its record (provenance.py);
    `times`: figure -> `startTime`, `endTime`; `commit`: in words; `date`: ISO, of the version.
    """
    package, citation = project(root)
    made = sorted(path for path in files if path.startswith(f"{results}/") and not Path(path).name.startswith("."))
    raw = [path for path in made if path.startswith(f"{results}/raw/")]
    code = sorted(path for path in files if path not in made)
    folders = sorted({path.split("/")[0] + "/" for path in code if "/" in path} | {f"{results}/"})
    notebooks = sorted({str(r["notebook"]) for r in records.values()} & set(files))
    top = sorted({path for path in code if "/" not in path} | {config} & set(files))
    actions = [RUN, SIMULATIONS, *(f"#draw-{name}" for name in records)]
    last = max((t["endTime"] for t in times.values() if "endTime" in t), default=None)
    in_time = {"endTime": last} if last else {}
    common = {"agent": {"@id": AUTHORS}, "actionStatus": "http://schema.org/CompletedActionStatus"}
    parts = {"raw": "Raw runs: a row a simulation", "figures": "Figures", "numbers": "Numbers that figures state", "tables": "Tables drawn"}
    outputs = {name: f"{results}/{name}/" for name in parts if any(p.startswith(f"{results}/{name}/") for p in made)}

    def dataset(path: str, inside: list[str], **more) -> dict:
        return {"@id": path, "@type": "Dataset", "name": path.rstrip("/"), **({"hasPart": to(*inside)} if inside else {}), **more}

    graph: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": to("https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"{citation['title']} {package['version']}, with results",
            "description": " ".join(citation["abstract"].split()),
            "version": f"{package['version']} ({commit})",
            "datePublished": date,
            "license": {"@id": LICENCE},
            "author": to(AUTHORS),
            "publisher": to(AUTHORS),
            "keywords": ", ".join(citation["keywords"]),
            "conformsTo": to(*PROFILES),
            "mainEntity": {"@id": "Snakefile"},
            "mentions": to(*actions),
            "hasPart": to(*top, *notebooks, *folders, *made),
        },
        *({"@id": i, "@type": "CreativeWork", "name": name, "version": v} for i, (name, v) in PROFILES.items()),
        {"@id": LICENCE, "@type": "CreativeWork", "name": "Apache License 2.0", "identifier": "Apache-2.0"},
        {"@id": AUTHORS, "@type": "Organization", "name": citation["authors"][0]["name"]},
        {
            "@id": SNAKEMAKE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": {"@id": "https://snakemake.github.io"},
            "url": {"@id": "https://snakemake.github.io"},
            "version": version("snakemake"),
        },
        {
            "@id": "#ofancore",
            "@type": "SoftwareApplication",
            "name": package["name"],
            "description": package["description"],
            "softwareVersion": package["version"],
            "softwareRequirements": {"@id": "requirements.lock"},
        },
        {
            **file_entity("Snakefile", files["Snakefile"]),
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "From the config to the report",
            "conformsTo": to("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
            "programmingLanguage": {"@id": SNAKEMAKE},
            "license": {"@id": LICENCE},
            "creator": to(AUTHORS),
            "version": package["version"],
            "input": to("#config"),
            "output": to(*(f"#out-{name}" for name in outputs)),
        },
        {"@id": "#config", "@type": "FormalParameter", "name": "configfile", "additionalType": "File", "workExample": {"@id": config}},
        *(
            {"@id": f"#out-{name}", "@type": "FormalParameter", "name": name, "additionalType": "Dataset", "workExample": {"@id": path}}
            for name, path in outputs.items()
        ),
        {
            "@id": RUN,
            "@type": "CreateAction",
            "name": f"Run of the pipeline on {config}",
            "description": f"make figures CONFIG={config}",
            "instrument": {"@id": "Snakefile"},
            "object": to(config, "requirements.lock"),
            "result": to(*outputs.values(), *(path for path in made if not any(path.startswith(o) for o in outputs.values()))),
            **in_time,
            **common,
        },
        {
            "@id": SIMULATIONS,
            "@type": "CreateAction",
            "name": "Simulations",
            "description": "One process and one file for each scheme of an experiment",
            "instrument": {"@id": "#ofancore"},
            "object": to(config),
            "result": to(*raw),
            **common,
        },
    ]
    for name, record in records.items():
        own = [f"{results}/{path}" for path in record["files"] if f"{results}/{path}" in files]
        executed = f"{results}/notebooks/{name}.ipynb"
        graph.append(
            {
                "@id": f"#draw-{name}",
                "@type": "CreateAction",
                "name": f"Drawing {name}",
                "description": f"parameters: {json.dumps(record['parameters'], sort_keys=True, ensure_ascii=False)}",
                "instrument": {"@id": record["notebook"]},
                "object": to(*(f"{results}/{path}" for path in (*record["runs"], *record["inputs"]))),
                "result": to(*own, *([executed] if executed in files else [])),
                **times.get(name, {}),
                **common,
            }
        )
    for path in folders:
        graph.append(dataset(path, list(outputs.values()) if path == f"{results}/" else []))
    for name, path in outputs.items():
        inside = [p for p in made if p.startswith(path)]
        graph.append(dataset(path, inside, description=parts[name], exampleOfWork={"@id": f"#out-{name}"}))
    for path in top:
        if path != "Snakefile":
            more = {config: {"exampleOfWork": {"@id": "#config"}}, "README.md": {"about": {"@id": "./"}}}
            graph.append(file_entity(path, files[path], **more.get(path, {})))
    for path in notebooks:
        graph.append({**file_entity(path, files[path]), "@type": ["File", "SoftwareSourceCode"], "version": package["version"]})
    graph += [file_entity(path, files[path]) for path in made]
    return json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(codemeta(), indent=2, ensure_ascii=False) + "\n")
