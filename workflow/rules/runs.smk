# Raw runs: one job and one file per scheme of an experiment.


rule warmup:
    """Compile the simulator once, so that the jobs find it in numba's cache."""
    output:
        touch(f"{RESULTS}/raw/.compiled"),
    log:
        f"{RESULTS}/raw/.compiled.log",
    resources:
        runtime=lambda w, attempt: 10 * attempt,  # minutes; these are for clusters
        mem_mb=lambda w, attempt: 2000 * attempt,
    params:
        source=SOURCE,
    message:
        "Compiling the simulator (a minute, once)"
    shell:
        "{PYTHON:q} -m ofancore warmup > {log:q} 2>&1"


rule run:
    """A run group; `params` are all that its runs depend on, so that an edit reruns exactly what it changes."""
    input:
        # Not ancient(): Snakemake would then overlook changed params of a run while the warm-up is to be redone.
        f"{RESULTS}/raw/.compiled",
    output:
        f"{RESULTS}/raw/{{experiment}}/{{label}}.parquet",
    log:
        f"{RESULTS}/raw/{{experiment}}/{{label}}.log",
    group:
        lambda w: together(nodes.group_of(CONFIG.group(w.experiment, w.label)))
    resources:
        runtime=lambda w, attempt: nodes.minutes(CONFIG.group(w.experiment, w.label), attempt),
        mem_mb=lambda w, attempt: nodes.memory_mb(CONFIG.group(w.experiment, w.label), attempt),
    params:
        group=lambda w: CONFIG.group(w.experiment, w.label).to_json(),
        source=SOURCE,
    message:
        "Simulating {wildcards.experiment}: {wildcards.label}"
    shell:
        "{PYTHON:q} workflow/scripts/run_group.py --group {params.group:q} --out {output:q}"
        " --results {RESULTS:q} 2> {log:q}"
