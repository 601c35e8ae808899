# What compilers say of the P4 programs: made here with the compiler that is on the PATH, else as recorded in data/p4/reports.

P4_REPORTS = f"{RESULTS}/p4/reports.json"


def p4_reports_of(notebook):
    """The collected reports, for the figure that reads them."""
    return [P4_REPORTS] if notebook == "fig_p4_resources" else []


def p4_reports_of_claims():
    """The same, for claims with criteria on them."""
    return [P4_REPORTS] if any(claim.reports for claim in CONFIG.claims.values()) else []


rule p4_reports:
    input:
        sources=sorted(map(str, Path("p4").rglob("*.p4"))),
        recorded=sorted(map(str, Path("data/p4/reports").rglob("report.json"))),
    output:
        P4_REPORTS,
    log:
        f"{RESULTS}/p4/reports.log",
    params:
        compilers=[shutil.which(name) for name in ("p4c-barefoot", "bfas")],
        code=digest("p4/reports.py", "p4/resources.py", "p4/sources.py"),
    message:
        "Collecting the resource reports on the P4 programs"
    shell:
        "{PYTHON:q} -m ofancore p4-collect {output:q} > {log:q} 2>&1"
