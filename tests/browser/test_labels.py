"""The labels of the tree: in every round the same, whether it was opened or paged to."""

import html
import shutil
from collections import Counter

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from visual.runtime import run_store
from visual.words import sentences

pytestmark = pytest.mark.browser

SIZES = {
    "laptop": ((1280, 720), ""),
    "projector": ((1280, 720), "&present=1"),
    "phone": ((390, 844), ""),
}
DRAWN = """async () => {                    // the labels of every round: paged to, drawn anew
  const root = document.querySelector('#viewer [data-role=root]'), { __rheo } = root.parentElement;
  const tree = root.querySelector('[data-role=tree]'), rounds = [];
  const fresh = document.createElement('div'), { answers } = __rheo.view, ask = answers.ask;
  answers.ask = function tree(what, ...where) {   // no panels: they take longer than the tree
    return what === 'walk' || what === 'panel' ? undefined : ask.call(this, what, ...where);
  };
  tree.before(fresh);
  const painted = (plot) => [...plot.querySelectorAll('.scatterlayer .trace text')]
    .map((label) => label.textContent).filter((word) => word.trim()).sort();
  const page = () => document.dispatchEvent(new KeyboardEvent('keydown', { key: ']' }));
  for (let at = 0; at < __rheo.view.rounds.length; at += 1) {
    delete root.dataset.drawn;
    if (at) page();
    else __rheo.show(0);
    while (root.dataset.drawn !== String(at)) await new Promise((go) => { setTimeout(go, 2); });
    await Plotly.newPlot(fresh, tree.data, tree.layout);
    rounds.push([painted(tree), painted(fresh)]);
    Plotly.purge(fresh);
  }
  fresh.remove();
  delete answers.ask;
  return rounds;
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app with the recorded runs that it ships."""
    traces = tmp_path_factory.mktemp("shipped") / "traces"
    shutil.copytree(run_store.TRACES, traces)
    with served(traces) as where:
        yield where


def wanted(run, round):
    """Labels of the nodes that the walk came to, with their verdicts' signs."""
    signs = {
        s.child: {"accept": " ✓", "reject": " ✕"}[s.verdict]
        for v in round.visits
        for s in v.steps
        if s.child is not None
    }
    came = {child for v in round.visits for child in round.rows_below(v.node)}
    return Counter(
        html.unescape(sentences.escape(sentences.name(run, round.nodes[i].token, 10)))
        + signs.get(i, "")
        for i in came
    )


def check(page, name):
    """Page through a run; every round must have the labels of one drawn anew."""
    run, drawn = io.load(run_store.TRACES / f"{name}.json.gz"), page.evaluate(DRAWN)
    assert len(drawn) == len(run.rounds)
    wrong = [k + 1 for k, (paged, opened) in enumerate(drawn) if paged != opened]
    assert not wrong, f"{name}: rounds {wrong} lose labels when they are paged to"
    return run, [paged for paged, _ in drawn]


def test_paging_loses_no_label(visit, address):
    page = visit(address)
    run, paged = check(page, "first")
    for round, labels in zip(run.rounds, paged, strict=True):
        assert not wanted(run, round) - Counter(labels)
    assert wanted(run, run.rounds[0]) - Counter(paged[1])  # the check itself can fail


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_no_recorded_run_loses_a_label_at_any_size(visit, address, size):
    (width, height), query = SIZES[size]
    page = visit(address, f"?__theme=light{query}", viewport={"width": width, "height": height})
    names = [path.name.removesuffix(".json.gz") for path in run_store.TRACES.glob("*.json.gz")]
    assert len(names) == 12
    for name in sorted(names):
        item = f"[data-role=items] [data-name={name}]"
        page.evaluate("(item) => document.querySelector(item).click()", item)
        page.wait_for_selector(f"{item}[aria-current]", state="attached")
        check(page, name)
