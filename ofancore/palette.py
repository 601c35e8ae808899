"""How a scheme looks, everywhere: hue says the family, lightness, dash and marker tell its members apart.

Greys are flow granularity, blues host spraying, oranges switch spraying, greens destination rotation. Based on the
colour-blind-safe palette of Okabe and Ito; no two schemes differ in colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    name: str
    family: str
    colour: str
    dash: tuple[int, ...]
    marker: str

    @property
    def dasharray(self) -> str:
        """The dash as SVG has it; empty for a solid line."""
        return "" if self.dash == SOLID else " ".join(map(str, self.dash))


SOLID, DASHED, DOTTED, MIXED = DASHES = (1, 0), (6, 3), (2, 2), (8, 3, 2, 3)
# Okabe-Ito: blue #0072B2, sky #56B4E9, vermilion #D55E00, orange #E69F00, bluish green #009E73; the rest are their tints and shades.
STYLES = {
    "ecmp": Style("ECMP", "flow", "#4d4d4d", SOLID, "circle"),
    "subflow": Style("Subflow", "flow", "#7a7a7a", DASHED, "square"),
    "plb": Style("PLB (flowlet)", "flow", "#a3a3a3", DOTTED, "triangle-up"),
    "flowlet": Style("LetFlow", "flow", "#5f6670", MIXED, "diamond"),
    "ethereal": Style("Ethereal", "flow", "#8d8578", DASHED, "triangle-down"),
    "ops": Style("OPS (host random)", "host", "#0072B2", SOLID, "circle"),
    "ops_64": Style("OPS, 64 labels", "host", "#004C7A", DOTTED, "triangle-up"),
    "reps": Style("REPS", "host", "#56B4E9", DASHED, "square"),
    "reps_64": Style("REPS, 64 labels", "host", "#8FD0F5", MIXED, "diamond"),
    "host_rr": Style("Host RR", "host", "#3D7EBF", DOTTED, "square"),
    "strack": Style("STrack", "host", "#7FA8C9", MIXED, "triangle-down"),
    "uec_bitmap": Style("UEC bitmap", "host", "#1B3A6B", DASHED, "diamond"),
    "uec_mixed": Style("UEC mixed", "host", "#4B5FA5", MIXED, "circle"),
    "whack_a_mole": Style("Whack-a-Mole", "host", "#0097C4", SOLID, "triangle-right"),
    "prime": Style("PRIME", "host", "#6A7FDB", DOTTED, "cross"),
    "rails": Style("RailS", "host", "#2A2AA8", SOLID, "square"),
    "rsq": Style("RSQ (switch random)", "switch", "#F3C04B", DOTTED, "triangle-up"),
    "simple_rr": Style("Simple RR", "switch", "#8F3B00", MIXED, "diamond"),
    "simple_rr_bins": Style("Simple RR, ACKs apart", "switch", "#A85A2A", DOTTED, "cross"),
    "switch_rr": Style("RR, reshuffled", "switch", "#D55E00", SOLID, "circle"),
    "switch_rr_1": Style("RR, reshuffled each wrap", "switch", "#FF8A3D", DASHED, "diamond"),
    "jsq": Style("JSQ", "switch", "#B97A00", DASHED, "square"),
    "drill": Style("DRILL", "switch", "#C98A5A", MIXED, "cross"),
    "diffflow": Style("DiffFlow", "switch", "#6B4423", DASHED, "triangle-left"),
    "jsq_first": Style("JSQ, first of a tie", "switch", "#7A5200", DOTTED, "triangle-right"),
    "spectrum_ar": Style("Spectrum-X AR", "switch", "#E69F00", SOLID, "triangle-down"),
    "host_dr": Style("Host DR", "rotation", "#66C2A5", DASHED, "square"),
    "switch_dr": Style("Switch DR", "rotation", "#2FA37C", DOTTED, "triangle-up"),
    "ofan": Style("Ofan", "rotation", "#00664B", SOLID, "circle"),
    "pofan": Style("pOfan", "rotation", "#5E8C31", MIXED, "diamond"),
    "partial": Style("Ofan, partly deployed", "rotation", "#4C9A8A", DASHED, "circle"),
    "partial_rsq": Style("the rest: RSQ", "rotation", "#9BB53C", DASHED, "triangle-up"),
    "partial_ar": Style("the rest: Spectrum-X AR", "rotation", "#3D8B37", SOLID, "triangle-down"),
    "ofan_half": Style("Ofan on half, rest RSQ", "rotation", "#0F8F6B", DOTTED, "triangle-right"),
    "pofan1": Style("pOfan, 1 pipe", "rotation", "#3F6B1A", DASHED, "diamond"),
    "pofan2": Style("pOfan, 2 pipes", "rotation", "#5E8C31", DOTTED, "diamond"),
    "pofan4": Style("pOfan, 4 pipes", "rotation", "#7FB04E", MIXED, "diamond"),
    "pofan8": Style("pOfan, 8 pipes", "rotation", "#A5CF7C", DASHED, "triangle-down"),
}
# Schemes of one's own, in turn: purples and reds, none alike in lightness, nor in dash and marker together. After these the colours come
# again, each with its marker and the next dash: of twice as many no two differ in colour alone, of four times as many no two look the same;
# then looks come again.
RESERVE = (
    ("#882255", SOLID, "circle"),
    ("#CC79A7", DASHED, "square"),
    ("#43207E", DOTTED, "diamond"),
    ("#E03C7B", MIXED, "triangle-up"),
    ("#A98BD0", SOLID, "triangle-down"),
    ("#C2183B", DASHED, "cross"),
    ("#600CF2", DOTTED, "circle"),
    ("#590407", MIXED, "square"),
    ("#F29DA0", SOLID, "diamond"),
    ("#453A59", DASHED, "triangle-up"),
    ("#A60896", DOTTED, "triangle-down"),
    ("#AE55F2", MIXED, "cross"),
)
NAMES: dict[str, str] = {}  # label -> name of those that are known, in the order in which they take the looks of `RESERVE`
OTHER = ("#CC79A7", "#9C5C86", "#7B5EA7", "#B8A1CF")  # what else has a label, such as a variant of a program
FAMILIES = {
    "flow": "flow granularity",
    "host": "host spraying",
    "switch": "switch spraying",
    "rotation": "destination rotation",
    "other": "other",
}

READABLE = 4.5  # least contrast of text with its ground (WCAG 2, level AA)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2): 0 for black, 1 for white."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, ground: str = "#ffffff") -> float:
    """Contrast of two colours (WCAG 2): 1 for the same one, 21 for black on white."""
    dark, light = sorted((luminance(colour), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def lightened(colour: str, ground: str, least: float) -> str:
    """The colour, mixed with white until its contrast with a dark ground is enough. What was darker stays paler: members of a family
    do not fall together, as they would at one lightness and full saturation."""
    share, shade = 0.0, colour
    while contrast(shade, ground) < least:
        share += 0.01
        shade = "#" + "".join(f"{round((1 - share) * int(colour[i : i + 2], 16) + share * 255):02x}" for i in (1, 3, 5))
    return shade


def text_colour(colour: str) -> str:
    """The colour, darkened until words in it can be read on white."""
    share = 1.0
    shade = colour
    while contrast(shade) < READABLE:
        share -= 0.01
        shade = "#" + "".join(f"{round(share * int(colour[i : i + 2], 16)):02x}" for i in (1, 3, 5))
    return shade


def style(label: str) -> Style:
    if label in STYLES:
        return STYLES[label]
    if label in NAMES:
        again, place = divmod(list(NAMES).index(label), len(RESERVE))
        colour, dash, marker = RESERVE[place]
        return Style(NAMES[label], "other", colour, DASHES[(DASHES.index(dash) + again) % len(DASHES)], marker)
    colour = OTHER[sum(label.encode()) % len(OTHER)]
    return Style(label, "other", colour, DASHED, "cross")


def know(names: dict[str, str]) -> None:
    """Schemes without a style of their own (label -> name) get one of `RESERVE` each, in the order in which they become known.

    A name that another scheme has is told apart by the label, more than once if need be: marks and rows go by names.
    """
    for label, name in names.items():
        taken = {s.name for s in STYLES.values()} | {n for other, n in NAMES.items() if other != label}
        while name in taken:
            name += f" ({label})"
        if label not in STYLES:
            NAMES[label] = name


def name_of(label: str) -> str:
    return style(label).name


def order(labels) -> list[str]:
    """Labels in the palette's order, then those of `NAMES` in theirs, unknown ones last by label."""
    rank = {label: i for i, label in enumerate([*STYLES, *NAMES])}
    return sorted(set(labels), key=lambda label: (rank.get(label, len(rank)), label))
