"""Charts written to files: SVG, PNG and a page that works offline."""

from __future__ import annotations

import contextlib
import html
import json
from pathlib import Path
from string import Template

from ofancore.files import write_file
from ofancore.jit import CACHE
from ofancore.theme import FONT, SANS

BASE = "https://vega.github.io/vega-datasets/"  # the renderer puts it before every relative link

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
#vis.vega-embed { width: 100%; display: flex }
#vis.vega-embed :is(details, summary) { position: relative }
</style>
<script>
$scripts
</script>
</head>
<body>
<div id="vis"></div>
<script>
const spec = $spec;
const told = $told;
vegaEmbed("#vis", spec, $options).then(({ view }) => {
  const container = view.container(), picture = container.querySelector("svg");
  for (const name of ["role", "aria-roledescription", "aria-label"]) container.removeAttribute(name);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", told);
  for (const part of [picture.firstElementChild, document.querySelector("summary svg")]) part.setAttribute("aria-hidden", "true");
}).catch(console.error);
</script>
</body>
</html>
""")


def page(spec: dict, name: str) -> str:
    """A chart's interactive page, self-contained: its title is the name and the first line of the chart's."""
    title = spec.get("title", "")
    lines = title.get("text", "") if isinstance(title, dict) else title
    lines = [lines] if isinstance(lines, str) else lines
    actions = {"export": True, "source": False, "compiled": False, "editor": False}
    options = {"actions": actions, "mode": "vega-lite", "renderer": "svg", "config": {"aria": False, "mark": {"aria": False}}}

    def script(value) -> str:
        return json.dumps(value).replace("</", "<\\/")  # nothing in it may end the script

    return PAGE.substitute(
        title=html.escape(": ".join(filter(None, [name, lines[0]]))),
        scripts=scripts().replace("</script", "<\\/script"),
        spec=script(spec),
        told=script(f"Chart: {' '.join(filter(None, lines)) or name}"),
        options=script(options),
    )


def save(chart, name: str, out_dir: str | Path, record=None) -> list[Path]:
    """`name`.svg, .png (two pixels a point) and .html (interactive, self-contained, works offline), each written whole.

    `record(drawings)`: what every file is to say of itself (see provenance.py), given the drawings (suffix -> bytes) without it.
    """
    import vl_convert as vlc

    from ofancore.provenance import embedded

    spec = chart.to_dict()
    svg = vlc.vegalite_to_svg(json.dumps(spec, sort_keys=True))  # the order of keys is that of attributes
    svg = svg.replace(f'xlink:href="{BASE}', 'xlink:href="')  # links to files of the checkout are relative
    out = Path(out_dir)
    shown = svg.replace(f'font-family="{FONT}"', f'font-family="{SANS}"')
    files = {"svg": shown.encode(), "png": vlc.svg_to_png(svg, scale=2), "html": page(spec, name).encode()}
    if record is not None:
        about = record(files)
        files = {suffix: embedded(data, suffix, about) for suffix, data in files.items()}
    for suffix, data in files.items():
        write_file(out / f"{name}.{suffix}", data)
    return [out / f"{name}.{suffix}" for suffix in files]


def scripts() -> str:
    """The JavaScript of an interactive page. Bundling it takes seconds, so it is kept beside the compiled kernels."""
    import vl_convert as vlc

    kept = CACHE and CACHE / f"vega-{vlc.__version__}.js"
    with contextlib.suppress(OSError):
        if kept and kept.exists():
            return kept.read_text()
    bundle = vlc.javascript_bundle()
    if kept:
        with contextlib.suppress(OSError):
            write_file(kept, bundle)
    return bundle
