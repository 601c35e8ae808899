# The report: one page with the claims and every figure. It reads what the figures and the claims wrote.

import json

from ofancore.report_page import contents

PAGE = contents(CONFIG)
PARTS = sorted(str(path.relative_to("ofancore")) for path in Path("ofancore/page").iterdir() if not path.name.startswith("."))


rule page:
    input:
        charts=expand(f"{RESULTS}/figures/{{figure}}.html", figure=CONFIG.figures),
        tables=expand(f"{RESULTS}/tables/{{figure}}.csv", figure=CONFIG.figures),
        claims=f"{RESULTS}/claims.json" if CONFIG.claims else [],
        runs=raw_files(PAGE["experiments"]),
        captions=expand("workflow/report/{name}.rst", name=["workflow", *["claims"] * bool(CONFIG.claims), *CONFIG.figures]),
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/report/index.log",
    params:
        contents=plain(json.dumps(PAGE, ensure_ascii=False)),  # in the config's order, as the page shows figures
        code=digest("charts.py", "claims.py", "docstrings.py", "palette.py", "provenance.py", "report_charts.py", "report_html.py", "report_page.py", "report_table.py", "theme.py", *PARTS),
    message:
        "Building the report"
    shell:
        "{PYTHON:q} -m ofancore.report_page --contents {params.contents:q} 2> {log:q}"
