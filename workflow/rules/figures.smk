# Figures: papermill executes a notebook, which reads raw runs and writes the picture, its numbers and its table.
# One rule per figure of the config, because a report caption may not have wildcards.

for figure, block in CONFIG.figures.items():

    rule:
        name:
            f"figure_{figure}"
        input:
            notebook=f"notebooks/figures/{block.notebook}.ipynb",
            runs=raw_files(block.experiments),
            more=[*p4_reports_of(block.notebook), *path_tables_of(block)],
        output:
            svg=report(
                f"{RESULTS}/figures/{figure}.svg",
                caption=f"../report/{figure}.rst",
                category=heading(block.category),
                labels={"figure": figure, "form": "picture"},
            ),
            html=report(
                f"{RESULTS}/figures/{figure}.html",
                caption=f"../report/{figure}.rst",
                category=heading(block.category),
                labels={"figure": figure, "form": "interactive"},
            ),
            png=f"{RESULTS}/figures/{figure}.png",
            numbers=f"{RESULTS}/numbers/{figure}.json",
            table=f"{RESULTS}/tables/{figure}.csv",
            more=[f"{RESULTS}/tables/{figure}{end}" for end in block.more],
        log:
            f"{RESULTS}/notebooks/{figure}.log",
        group:
            lambda w: together("figures")
        resources:
            runtime=lambda w, attempt: 5 * attempt,
            mem_mb=lambda w, attempt: 2000 * attempt,
        params:
            figure=figure,
            # Not an output: an executed notebook is worth most when it failed. Not a log: those of failed jobs are printed.
            notebook=f"{RESULTS}/notebooks/{figure}.ipynb",
            source=plain(source_of(block.experiments)),
            parameters=plain(json_text(block.parameters)),
            category=plain(block.category),
            code=DRAWING,
        message:
            f"Drawing {figure}"
        shell:
            "{PYTHON:q} workflow/scripts/draw_figure.py {input.notebook:q} --figure {params.figure}"
            " --source {params.source:q} --parameters {params.parameters:q} --out {params.notebook:q}"
            " --category={params.category:q} --config {CONFIG_FILE:q} --inputs {input.more:q}"
            " --results {RESULTS:q} 2> {log:q}"
