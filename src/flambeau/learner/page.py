"""Renders the state of a run as HTML, for notebooks and for a page, with curves as inline SVG."""

from collections.abc import Sequence
from html import escape
from math import isfinite

from . import text
from .advice import advice
from .curve import Points
from .plot import Drawn, bounds
from .run_view import RunState

WIDTH, HEIGHT, LEFT, BOTTOM = 320, 150, 44, 16  # size and margins of a picture, in SVG units
COLOURS = ("#d9622b", "#3b7dd8", "#2a9d5c", "#a04fc4", "#c9a227", "#17a2a2", "#d63384", "#7a7a7a")
LOG_LINES = 8
STYLE = """
.flambeau-run{font:13px/1.5 system-ui,sans-serif;max-width:1000px}
.flambeau-run .bar{background:#8883;border-radius:3px;height:8px;margin:2px 0 6px}
.flambeau-run .bar div{background:#d9622b;border-radius:3px;height:8px}
.flambeau-run .grid{display:flex;flex-wrap:wrap;gap:12px}
.flambeau-run svg{overflow:visible}.flambeau-run text{font-size:10px;fill:currentColor}
.flambeau-run table{font-size:inherit}
.flambeau-run td,.flambeau-run th{padding:0 8px;text-align:right;border:0}
.flambeau-run .key{display:inline-block;width:10px;height:3px;vertical-align:middle;margin:0 4px 0 10px}
.flambeau-run .advice{border-left:3px solid #d9622b;padding-left:8px;margin:6px 0}
"""


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def split_at_gaps(points: Points) -> list[Points]:
    """Split a curve at values that are not finite."""
    out: list[Points] = [[]]
    for p in points:
        if isfinite(p[1]):
            out[-1].append(p)
        elif out[-1]:
            out.append([])
    return [piece for piece in out if piece]


def svg(curves: Sequence[Drawn]) -> str:
    """Draw the curves of one metric as SVG, with the limits of the axes."""
    box = bounds(curves)
    if box is None:
        return "<p>nothing to draw yet</p>"
    x0, x1, y0, y1 = box
    across, down = WIDTH - LEFT, HEIGHT - BOTTOM

    def place(p: tuple[float, float]) -> str:
        # SVG's y grows downwards; a range of one value is drawn in the middle.
        x = (p[0] - x0) / (x1 - x0) if x1 > x0 else 0.5
        y = (p[1] - y0) / (y1 - y0) if y1 > y0 else 0.5
        return f"{LEFT + x * across:.1f},{4 + (1 - y) * (down - 4):.1f}"

    out = [f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">']
    out.append(f'<path d="M{LEFT} 4V{down}H{WIDTH}" fill="none" stroke="currentColor" opacity=".4"/>')
    for baseline, y in ((12, y1), (down, y0)):
        out.append(f'<text x="{LEFT - 4}" y="{baseline}" text-anchor="end">{y:.4g}</text>')
    out.append(f'<text x="{LEFT}" y="{HEIGHT - 2}">{x0:g}</text>')
    out.append(f'<text x="{WIDTH}" y="{HEIGHT - 2}" text-anchor="end">{x1:g}</text>')
    for curve in curves:
        for piece in split_at_gaps(curve.points):
            places = " ".join(map(place, piece))
            stroke = colour(curve.colour)
            # A line of one point is invisible.
            if len(piece) == 1:
                x, y = places.split(",")
                out.append(f'<circle cx="{x}" cy="{y}" r="2" fill="{stroke}"/>')
            else:
                out.append(f'<polyline points="{places}" fill="none" stroke="{stroke}" stroke-width="1.5"/>')
    return "".join([*out, "</svg>"])


def bar(part: float, label: str) -> str:
    return f'{escape(label)}<div class="bar"><div style="width:{part:.1%}"></div></div>'


def figure(states: Sequence[RunState], name: str) -> str:
    """Return the figure of one metric as HTML: its name, a legend and its curves."""
    curves = text.curves_of(states, name, states[0].splits)
    key = "".join(
        f'<span class="key" style="background:{colour(c.colour)}"></span>{escape(c.name)}'
        for c in text.key(curves)
    )
    return f"<div><b>{escape(name)}</b>{key}<br>{svg(curves)}</div>"


def table(state: RunState) -> str:
    """Return the newest values as an HTML table: a row per metric, a column per split."""
    head = "".join(f"<th>{split}</th>" for split in state.splits)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{text.value(state.last(name, split))}</td>" for split in state.splits)
        + "</tr>"
        for name in state.names
    )
    return f"<table><tr><th></th>{head}</tr>{rows}</table>" if rows else ""


def html(state: RunState, others: Sequence[RunState] = ()) -> str:
    """Render a run as self-contained HTML without scripts.

    state: the run. others: earlier runs, whose curves are drawn below its own.
    """
    facts = " · ".join(filter(None, [text.time_left(state), text.speed(state), text.memory(state)]))
    log = "\n".join(f"{level}: {line}" for _, level, line in list(state.log)[-LOG_LINES:])
    return "".join(
        [
            f'<div class="flambeau-run"><style>{STYLE}</style>',
            f"<b>{escape(text.heading(state))}</b><br>",
            bar(state.part, text.place(state)),
            bar(state.done, f"{state.done:.0%} of the run · {facts}"),
            f'<div class="advice">{escape(advice(state))}</div>',
            '<div class="grid">',
            *(figure([state, *others], name) for name in state.names),
            f"</div>{table(state)}",
            f"<pre>{escape(log)}</pre>" if log else "",
            "</div>",
        ]
    )


def render_page(state: RunState, refresh: float | None) -> str:
    """Render a run as a page. refresh: seconds until a browser reloads it; None for never."""
    head = '<!doctype html><html lang="en"><meta charset="utf-8">'
    reload = "" if refresh is None else f'<meta http-equiv="refresh" content="{refresh:g}">'
    name = escape(state.name or "run")
    return f"{head}{reload}<title>{name}</title><body>{html(state)}</body></html>\n"
