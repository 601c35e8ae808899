# The animation of queues building up on the tree: two runs of its own, drawn as a page that works offline.


rule animation:
    input:
        f"{RESULTS}/raw/.compiled",
    output:
        report(
            f"{RESULTS}/figures/queues_on_the_tree.html",
            caption="../report/queues_on_the_tree.rst",
            category="Queues",
            labels={"figure": "queues_on_the_tree", "form": "animation"},
        ),
    log:
        f"{RESULTS}/figures/queues_on_the_tree.log",
    params:
        source=SOURCE,
        code=digest("animate.py", "animation.html", "palette.py", "provenance.py", "timeline.py"),
    message:
        "Drawing queues_on_the_tree"
    shell:
        "{PYTHON:q} -m ofancore animate --out {output:q} 2> {log:q}"
