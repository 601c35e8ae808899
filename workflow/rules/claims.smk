# Claims: the config's criteria on the raw runs. A claim that fails is a verdict; a missing run is an error.


rule claims:
    input:
        runs=raw_files(CONFIG.experiments_of_claims()),
        reports=p4_reports_of_claims(),
    output:
        json=f"{RESULTS}/claims.json",
        md=f"{RESULTS}/claims.md",
        html=report(
            f"{RESULTS}/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"figure": "claims", "form": "table"},
        ),
    log:
        f"{RESULTS}/claims.log",
    params:
        out=f"{RESULTS}/claims",
        source=plain(source_of(CONFIG.experiments_of_claims())),
        claims=plain(json_text({key: claim.model_dump(mode="json") for key, claim in CONFIG.claims.items()})),
        notice=plain([f"--notice={CONFIG.notice}"] if CONFIG.notice else []),
        code=JUDGING,
    message:
        "Checking the claims"
    shell:
        "{PYTHON:q} -m ofancore.claims --source {params.source:q} --claims {params.claims:q} --reports {input.reports:q}"
        " {params.notice:q} --out {params.out:q} 2> {log:q}"
