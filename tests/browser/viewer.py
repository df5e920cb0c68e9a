"""What the viewer shows, asked of the page itself; and a page that stays on its machine."""

import html
import os
import re

from visual.words import sentences

OUTSIDE = re.compile(r"^(https?|wss?)://(?!127\.0\.0\.1[:/])")
PATIENCE = 1000 * int(os.environ.get("RHEO_PATIENCE", "30"))  # ms until a page is given up
MARKS = """() => document.querySelector('[data-role=tree]').data.flatMap((trace) =>
  (trace.customdata || []).map((row, i) => [trace.name, trace.x[i], trace.y[i], ...row]))"""
VIEW = "(() => { const { view } = document.querySelector('#viewer [data-role=root]')"
VIEW += ".parentElement.__rheo; return %s })()"


def state(page, name):
    return page.get_attribute("#viewer [data-role=root]", f"data-{name}")


def at_round(page, k):
    page.wait_for_selector(f"[data-role=root][data-drawn='{k}']")


def at_state(page, name):
    page.wait_for_selector(f"[data-role=root][data-state={name}]")


def same_tree(run, round, marks):
    """Nodes of the trace that the page does not show as they are."""
    shown = {m[3]: m for m in marks if isinstance(m[3], int)}
    places = {i: (m[1], m[2]) for i, m in shown.items()}
    wrong = [i for i in range(len(round.nodes)) if i not in shown]
    verdicts = {s.child: s.verdict for v in round.visits for s in v.steps if s.child is not None}
    for i, node in enumerate(round.nodes):
        if i not in shown:
            continue
        kind, x, _, _, token, verdict, proxy, true = shown[i][:8]
        right = kind == node.kind and html.unescape(token) == sentences.name(run, node.token)
        right &= abs(proxy - node.proxy) <= 1e-3 * node.proxy
        right &= abs(true - node.true) <= 1e-3 * node.true
        right &= verdict == verdicts.get(i, verdict) and (i in verdicts) == (
            verdict in ("accept", "reject")
        )
        right &= x == (places[node.parent][0] + 1 if node.parent >= 0 else 0)
        wrong += [] if right else [i]
    return wrong + sorted(set(shown) - set(range(len(round.nodes))))


def stay_inside(context, wrong: list[str]) -> None:
    """Note in `wrong`, and refuse, every request to another machine."""

    def block(route):
        wrong.append(f"request to {route.request.url}")
        route.abort()

    context.route(OUTSIDE, block)
