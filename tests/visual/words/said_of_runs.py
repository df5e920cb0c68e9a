"""Every sentence and caption that the views make of a run, and which part of the trace it is of."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rheo.trace.schema import Ghost, Round, Run, Visit
from visual.browser import messages
from visual.round import bars, fates, residual, transport_card, what_if_view
from visual.run import metrics, speedup, timeline
from visual.words import sentences


@dataclass(frozen=True)
class Said:
    """A text, where it stands, and what it is about."""

    where: str
    text: str
    run: Run
    round: Round | None = None
    node: int = 0
    visit: Visit | None = None
    at: int = 0  # the step of the visit; of a frame of growth its level
    ghost: Ghost | None = None


def paragraphs(made: str) -> list[str]:
    """The texts of HTML, its tokens left out: of paragraphs, of ticks, of labels."""
    made = re.sub(r"<code>.*?</code>", "", made, flags=re.DOTALL)
    labelled = re.findall(r'(?:aria-label|title)="([^"]*)"', made)
    blocks = re.findall(r"<p[^>]*>(.*?)</p>|<s>(.*?)</s>", made, re.DOTALL)
    texts = [re.sub(r"<[^>]+>", "", a or b) for a, b in blocks]
    return [html.unescape(text) for text in (*texts, *labelled) if text]


def of_run(run: Run) -> Iterator[Said]:
    """Everything said of a run."""
    for name, value in sentences.summary(run):
        yield Said(f"summary {name}", value, run)
    for name, value, hint in metrics.figures(run):
        yield Said(f"figure {name}", value, run)
        yield Said("hint", hint, run)
    yield Said("timeline", metrics.label(run), run)
    yield Said("speed", speedup.speed(run, speedup.ELSEWHERE), run)
    for text in paragraphs(metrics.shares(run)):
        yield Said("shares", text, run)
    drawn = timeline.tau(run) or {"data": [], "layout": {"annotations": []}}
    for note in drawn["layout"]["annotations"]:
        yield Said("timeline note", note["text"], run)
    for trace in drawn["data"]:
        for i, text in enumerate(trace.get("hovertext", ())):
            about = next(r for r in run.rounds if r.index + 1 == trace["x"][i])
            yield Said("timeline hover", text, run, about)
    for round in run.rounds:
        yield from of_round(run, round)


def of_round(run: Run, round: Round) -> Iterator[Said]:
    """Everything said of a round: its frames, the panels of the walk, what became of each node."""
    made = messages.a_round(run, round)
    yield Said("headline", made["headline"], run, round)
    yield Said("tree", made["label"] + made["outcome"], run, round)
    walked = [(visit, at) for visit in round.visits for at in range(len(visit.steps))]
    growth = len(made["frames"]) - len(walked)
    for level, frame in enumerate(made["frames"][:growth]):
        yield Said("growth", frame["sentence"], run, round, at=level)
    for frame, (visit, at) in zip(made["frames"][growth:], walked, strict=True):
        step = (run, round, visit.node, visit, at)
        where = "headline" if frame["phase"] == "end" else "step"
        yield Said(where, frame["sentence"], *step)
        for text in paragraphs(frame["card"]):
            tick = text.removeprefix("u₁ ").removeprefix("u₂ ").replace(".", "").isdigit()
            yield Said("tick" if tick else "card", text, *step)
        for text in (frame["ask"] or {}).get("question", ""), (frame["ask"] or {}).get("hint", ""):
            yield Said("ask", text, *step)
    for node in range(len(round.nodes)):
        yield Said("fate", fates.of(run, round, node).sentence, run, round, node)
    for parent, there in enumerate(round.nodes):
        for ghost in there.ghosts[:1]:
            text = fates.of_pruned(round, parent, ghost).sentence
            yield Said("fate", text, run, round, parent, ghost=ghost)
    for visit in round.visits:
        yield from of_visit(run, round, visit)


def of_visit(run: Run, round: Round, visit: Visit) -> Iterator[Said]:
    """Everything that a visited node's panel says."""
    about = (run, round, visit.node, visit)
    panel = messages.panel(run, round, visit.node)
    for name, value in panel["facts"]:
        yield Said(f"fact {name}", value, *about)
    yield Said("ranking", panel["ranking"]["note"], *about)
    for row in panel["ranking"]["rows"]:
        yield Said("ranking row", " | ".join((row[0], row[1], *row[4:])), *about, at=int(row[1]))
    for at, text in enumerate(panel["steps"]):
        yield Said("step", text, *about, at=at)
    for text in paragraphs(transport_card.card(run, round, visit.node)):
        yield Said("plan", text, *about)
    strip = residual.strip(run, round, visit.node)
    for note in strip["layout"]["annotations"] if strip else ():
        if (note["y"] - residual.TITLE_HEIGHT) % residual.PITCH == 0:
            yield Said("strip", note["text"], *about)
    drawn = bars.target_draft(run, round, visit.node)
    for note in drawn["layout"]["annotations"] if drawn else ():
        for part in re.findall(r"▬ overlap[^▬▨<]*", note["text"]):
            yield Said("overlap", part.strip(), *about)


def of_what_if(run: Run, round: Round, visit: Visit) -> Iterator[Said]:
    """What the sliders say at a node under the run's own settings."""
    own = what_if_view.own(run)
    made = what_if_view.block(run, round, visit.node, own)["html"]
    for text in paragraphs(made):
        yield Said("what if", text, run, round, visit.node, visit)
