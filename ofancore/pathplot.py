"""Chart form of link loads by scheme: a row a scheme, a panel a stage, from its least to its most loaded link."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ofancore.heatmap import STEP, rows
from ofancore.palette import name_of
from ofancore.theme import FAINT, Axis, faded, panel_title, pick, scales


def spread(table: pd.DataFrame, labels: list[str], axis: Axis, panel: list[str], width: int = 84) -> alt.LayerChart:
    """A row for each label, in that order; `table` (a row a label) has the columns of `paths.spread`, `links`, `used` and `finished`.

    Thin: all links; thick: without the tenth at either end; the mark is the most loaded one, hollow if the run did not finish. `axis` has
    limits, and the dashed rule is the mean.
    """
    data = table[["label", "low", "p10", "p90", "high", "links", "used", "finished"]].assign(scheme=table["label"].map(name_of))
    sc, y = scales(labels), rows(labels, False)
    x = axis.encode(alt.X, "low")
    tips = [
        alt.Tooltip("scheme:N"), alt.Tooltip("high:Q", title="most loaded, over the mean", format=".3f"),
        alt.Tooltip("p90:Q", title="at 90% of the links", format=".3f"), alt.Tooltip("p10:Q", title="at 10%", format=".3f"),
        alt.Tooltip("low:Q", title="least loaded", format=".3f"), alt.Tooltip("used:Q", title="links used"),
        alt.Tooltip("links:Q", title="of"), alt.Tooltip("finished:N"),
    ]  # fmt: skip
    base = alt.Chart(data).encode(y=y, color=sc["color"], opacity=faded)
    mean = alt.Chart(pd.DataFrame({"x": [1.0]})).mark_rule(color=FAINT, strokeDash=[3, 3], strokeWidth=1).encode(x=axis.encode(alt.X, "x"))
    end = axis.encode(alt.X, "high")
    layers = [
        mean,
        base.mark_rule(strokeWidth=1).encode(x=x, x2="high:Q"),
        base.mark_rule(strokeWidth=4).encode(x=axis.encode(alt.X, "p10"), x2="p90:Q"),
        base.mark_point(size=34, filled=True, opacity=1).encode(x=end, shape=sc["shape"], tooltip=tips).add_params(pick),
    ]
    if not data["finished"].all():
        hollow = base.transform_filter("!datum.finished").mark_point(size=34, filled=False, fill="white", strokeWidth=1.5, opacity=1)
        layers.append(hollow.encode(x=end, shape=sc["shape"], tooltip=tips))
    return alt.layer(*layers).properties(width=width, height=STEP * len(labels), title=panel_title(panel))
