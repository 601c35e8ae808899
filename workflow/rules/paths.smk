# Who was on which link, flow by flow: for the figure that shows it. Raw runs have a row a run; these are simulated again, and watched.

from ofancore import path_files

WATCHING = digest("path_files.py", "paths.py", "watch.py", *sorted(f"reference/{path.name}" for path in Path("ofancore/reference").glob("*.py")))


def watched(figure):
    """The groups that the figure's notebook wants watched."""
    return CONFIG.groups(figure.experiments) if figure.notebook in path_files.NOTEBOOKS else []


def path_tables_of(figure):
    return [str(path) for group in watched(figure) for path in path_files.files(group, RESULTS)]


def watch_jobs(made):
    """Name -> expected seconds of those that make one of these files."""
    groups = [group for figure in CONFIG.figures.values() for group in watched(figure)]
    return {path_files.job(group): path_files.seconds(group) for group in groups if path_files.files(group, RESULTS)[-1] in made}


rule watch:
    input:
        f"{RESULTS}/raw/{{experiment}}/{{label}}.parquet",
    output:
        [f"{RESULTS}/paths/{{experiment}}/{{label}}/{name}.parquet" for name in path_files.TABLES],
    log:
        f"{RESULTS}/paths/{{experiment}}/{{label}}/watch.log",
    group:
        lambda w: together("runs")
    resources:
        runtime=lambda w, attempt: 10 * attempt,
        mem_mb=lambda w, attempt: 2000 * attempt,
    params:
        group=lambda w: CONFIG.group(w.experiment, w.label).to_json(),
        job=lambda w: path_files.job(CONFIG.group(w.experiment, w.label)),
        source=SOURCE,
        code=WATCHING,
    message:
        "Following the packets of {wildcards.experiment}: {wildcards.label}"
    shell:
        "{PYTHON:q} workflow/scripts/watch_group.py --group {params.group:q} --results {RESULTS:q}"
        " --job {params.job:q} 2> {log:q}"
