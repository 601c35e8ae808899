"""Charts written to files: SVG, PNG and a page that works offline."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import altair as alt
from altair.utils.html import INLINE_HTML_TEMPLATE

from ofancore.files import write_file
from ofancore.jit import CACHE
from ofancore.theme import FONT, SANS

BASE = "https://vega.github.io/vega-datasets/"  # the renderer puts it before every relative link


def save(chart, name: str, out_dir: str | Path, record=None) -> list[Path]:
    """`name`.svg, .png (two pixels a point) and .html (interactive, self-contained, works offline), each written whole.

    `record(drawings)`: what every file is to say of itself (see provenance.py), given the drawings (suffix -> bytes) without it.
    """
    import vl_convert as vlc

    from ofancore.provenance import embedded

    spec = chart.to_dict()
    svg = vlc.vegalite_to_svg(json.dumps(spec, sort_keys=True))  # the order of keys is that of attributes
    svg = svg.replace(f'xlink:href="{BASE}', 'xlink:href="')  # links to files of the checkout are relative
    options = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}, "mode": "vega-lite"}
    # What `chart.to_html(inline=True)` gives, with scripts that are not bundled anew for every page.
    html = INLINE_HTML_TEMPLATE.render(
        spec=json.dumps(spec),
        embed_options=json.dumps(options),
        output_div="vis",
        vegalite_version=alt.VEGALITE_VERSION,
        vegaembed_script=scripts(),
    )
    out = Path(out_dir)
    shown = svg.replace(f'font-family="{FONT}"', f'font-family="{SANS}"')
    files = {"svg": shown.encode(), "png": vlc.svg_to_png(svg, scale=2), "html": html.encode()}
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
