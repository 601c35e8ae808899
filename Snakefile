# From the config to the report: raw runs -> figure notebooks -> figures and numbers -> claims.
#
#   snakemake --cores 2                                        the paper's grid (config/paper.yaml)
#   snakemake --cores 2 --configfile config/smoke.yaml         a grid of minutes
#   snakemake --report provenance.html                         rules, code and run times of what was made, afterwards

from snakemake.utils import min_version

min_version("9.20")

# Not merged with another config file: a figure that config/smoke.yaml leaves out is not wanted.
if "experiments" not in config:
    configfile: "config/paper.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/paths.smk"
include: "workflow/rules/p4.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/animation.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"


onstart:
    begin_progress()


rule all:
    default_target: True
    input:
        expand(f"{RESULTS}/figures/{{figure}}.{{form}}", figure=CONFIG.figures, form=["svg", "png", "html"]),
        [f"{RESULTS}/figures/queues_on_the_tree.html"] if CONFIG.animation else [],
        expand(f"{RESULTS}/numbers/{{figure}}.json", figure=CONFIG.figures),
        [f"{RESULTS}/claims.{form}" for form in ("json", "md", "html")] if CONFIG.claims else [],
        f"{RESULTS}/report/index.html",
    message:
        f"All figures{' and the claims' if CONFIG.claims else ''} are in {RESULTS}"
