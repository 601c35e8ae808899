"""Who is on which link: tables of a run's links, and of flows on links where these are known.

Two tables go in. `links` (`link_table`) has a row a directed link, in order of link number. `use` (`watch.flow_use`) has a row for every
flow and link that the flow sent packets into, with the columns of `glossary.USE`; ACKs count for the flow that they acknowledge. All else
are functions of these two. A stage is a link class; loads are bytes of data and ACKs handed to a link, as in `Result.link`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ofancore.errors import OfanError
from ofancore.fabric import LINK_CLASSES, Fabric
from ofancore.failures import Damage
from ofancore.prepare import traffic_and_damage
from ofancore.result import Result

BETWEEN_SWITCHES = (1, 2, 3, 4)  # classes of links that a balancer decides about
STAGES = LINK_CLASSES[1:5]  # their names
HALF = 0.5 - 1e-9  # of a path; sums of shares are not exact
MOST_PAIRS = 2_000_000  # pairs of flows that are looked at one by one


class TooManyPairs(OfanError):
    """More pairs of flows have a link in common than can be compared."""


def capacities(fabric: Fabric, damage: Damage) -> np.ndarray:
    """float64[n_links]: share of the rate that a link has after the failure; 0: dead."""
    out = np.ones(fabric.n_links)
    for cable in np.flatnonzero(damage.share < 1):
        out[list(fabric.cable_links(int(cable)))] = damage.share[cable]
    return out


def link_table(result: Result) -> pd.DataFrame:
    """The links of a run: `Result.links` with `link` (number), `stage`, `cable`, `direction`, `capacity` and `over_mean`.

    `cable` is named as in `failures.cables` (a host's own: `host:5-edge:0:1`), `direction` is up or down, `over_mean` bytes over the mean
    of the stage, all its links counted (NaN in a stage without traffic).
    """
    scenario = result.scenario
    fabric = scenario.shape
    *_, damage = traffic_and_damage(scenario)
    links = result.links
    names = np.array([fabric.node_name(node) for node in range(fabric.n_nodes)], object)
    up = (links["class"] < 3).to_numpy()
    low, high = np.where(up, links["tail"], links["head"]), np.where(up, links["head"], links["tail"])
    mean = links.groupby("class")["bytes"].transform("mean")
    described = {
        "link": np.arange(len(links)),
        "stage": np.array(LINK_CLASSES, object)[links["class"]],
        "cable": names[low] + "-" + names[high],
        "direction": np.where(up, "up", "down"),
        "capacity": capacities(fabric, damage),
        "over_mean": links["bytes"] / mean.where(mean > 0),
    }
    return pd.DataFrame({**described, **{name: links[name] for name in links}})


def tiers(links: pd.DataFrame) -> pd.DataFrame:
    """A row a stage that the fabric has, in order from host to host, with the columns of `glossary.TIERS`.

    `overload` is that of `Result.link_overload`. Dead and idle links count in the mean, for they would have a share of the traffic.
    """
    rows = []
    for number, name in enumerate(LINK_CLASSES):
        stage = links[links["class"] == number]
        if stage.empty:
            continue
        load = stage["bytes"].to_numpy(float)
        mean = load.mean()
        rows.append(
            {
                "stage": name,
                "links": len(stage),
                "used": int((load > 0).sum()),
                "dead": int((stage["capacity"] == 0).sum()),
                "degraded": int(stage["capacity"].between(0, 1, inclusive="neither").sum()),
                "mean_bytes": mean,
                "max_bytes": load.max(),
                "overload": load.max() / mean if mean else np.nan,
                "cv": load.std() / mean if mean else np.nan,
            }
        )
    return pd.DataFrame(rows)


def spread(links: pd.DataFrame) -> pd.DataFrame:
    """A row a stage between switches: `over_mean` of its least loaded link (`low`), at 10% (`p10`) and 90% (`p90`) of its links, and of the
    most loaded one (`high`). Quantiles are values of links."""
    inner = links[links["class"].isin(BETWEEN_SWITCHES)].groupby("class", sort=True)
    rows = [{"stage": LINK_CLASSES[n], **_quantiles(stage["over_mean"])} for n, stage in inner]
    return pd.DataFrame(rows)


def _quantiles(values: pd.Series) -> dict[str, float]:
    return dict(zip(("low", "p10", "p90", "high"), np.quantile(values, [0, 0.1, 0.9, 1], method="nearest").tolist(), strict=True))


def per_link(use: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """`links` with `flows`, how many flows sent data packets into a link, and `largest`, the largest one's share of them (NaN: none)."""
    data = use[use["data"] > 0].groupby("link")["data"].agg(["size", "max", "sum"]).reindex(links["link"])
    return links.assign(flows=data["size"].fillna(0).astype(int).to_numpy(), largest=(data["max"] / data["sum"]).to_numpy())


def busiest(links: pd.DataFrame, top: int) -> pd.DataFrame:
    """The links between switches that are farthest above the mean of their stage, at most `top`, the worst first; idle ones are left out.

    Among equals the lower link number comes first.
    """
    loaded = links[links["class"].isin(BETWEEN_SWITCHES) & (links["bytes"] > 0)]
    return loaded.sort_values(["over_mean", "link"], ascending=[False, True]).head(top)


def sharers(use: pd.DataFrame, link: int) -> pd.DataFrame:
    """The flows on a link with their `share` of its bytes, the largest first: those that collide there, if their times overlap."""
    there = use[use["link"] == link]
    return there.assign(share=there["bytes"] / there["bytes"].sum()).sort_values(["bytes", "flow"], ascending=[False, True])


def per_stage(use: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """Data packets that each flow handed to each stage: a row a flow, a column a class of `LINK_CLASSES` (0 where it sent none)."""
    stage = use["link"].map(links.set_index("link")["stage"])
    counts = use.groupby([use["flow"], stage])["data"].sum().unstack(fill_value=0)
    return counts.reindex(columns=list(LINK_CLASSES), fill_value=0)


def pairs(use: pd.DataFrame, links: pd.DataFrame, most: int = MOST_PAIRS) -> pd.DataFrame:
    """Pairs of flows, at the same time under way, that share half of their paths between switches or more: columns `a`, `b`, `overlap`.

    Let p(l) be the share of a flow's data packets, of those it sent into a stage, that took link l. The sum over l of p_a(l) p_b(l) is the
    chance that a packet of a and one of b, drawn at random, took the same link there. `overlap` is its mean over the stages of the
    longer of the two paths (4 between pods, 2 within one): 1 for flows that took one and the same path, 1/n for flows that are spread
    evenly over the same n links of every stage. The largest come first. TooManyPairs if more than `most` had to be looked at.
    """
    rows = use.merge(links.loc[links["class"].isin(BETWEEN_SWITCHES), ["link", "class"]], on="link")
    rows = rows[rows["data"] > 0]
    rows = rows.assign(p=rows["data"] / rows.groupby(["flow", "class"])["data"].transform("sum"))
    # A mean of 1/2 needs a stage with a sum of 1/2, so a link of both that takes half or more of one flow's packets.
    main = rows[rows["p"] >= HALF]
    if (main.groupby("link").size() * rows.groupby("link").size()).sum() > 2 * most:  # every pair comes twice
        raise TooManyPairs(f"more than {most:,} pairs of flows have a link in common")
    both = main[["link", "flow"]].merge(rows[["link", "flow"]], on="link", suffixes=("_x", "_y"))
    ends = np.sort(both.loc[both["flow_x"] != both["flow_y"], ["flow_x", "flow_y"]].to_numpy(), axis=1)
    found = pd.DataFrame(np.unique(ends, axis=0), columns=["a", "b"])
    life = rows.groupby("flow").agg(first=("first_ns", "min"), last=("last_ns", "max"), stages=("class", "nunique"))
    a, b = life.loc[found["a"]].reset_index(drop=True), life.loc[found["b"]].reset_index(drop=True)
    together = (a["first"] <= b["last"]) & (b["first"] <= a["last"])
    found = found.assign(stages=np.maximum(a["stages"], b["stages"]))[together].reset_index(drop=True)
    chances = found.assign(pair=found.index).merge(rows[["flow", "link", "p"]], left_on="a", right_on="flow")
    chances = chances.merge(rows[["flow", "link", "p"]], left_on=["b", "link"], right_on=["flow", "link"], suffixes=("_a", "_b"))
    sums = (chances["p_a"] * chances["p_b"]).groupby(chances["pair"]).sum().reindex(found.index, fill_value=0.0)
    found = found.assign(overlap=sums / found["stages"])
    found = found[found["overlap"] >= HALF].sort_values(["overlap", "a", "b"], ascending=[False, True, True])
    return found[["a", "b", "overlap"]].reset_index(drop=True)


def named(use: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """`use` with the name and the state of each link, for files: a row a flow and link."""
    return use.merge(links[["link", "stage", "cable", "direction", "capacity"]], on="link", how="left")
