// The chosen node: its numbers, its figures and its verdicts, views that the server makes when asked.

import { ViewState } from '../state/view_state.js';
import { factCell } from '../widgets/fact_cell.js';
import { SortableTable } from '../widgets/sortable_table.js';
import { largeFigure } from './large_figure.js';

const REST = 60;                             // ms a node must stay chosen before it is asked for

export class NodePanel {
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = 0;
    this.waiting = new Map();                // box -> its figure, until it is drawn
    this.ranking = new SortableTable(viewer.part('ranking'), viewer.common.spoilers);
  }

  inspect() {
    const { view, answers, part, table } = this.viewer;
    clearTimeout(this.timer);
    const known = answers.get(answers.name('panel', view.node));
    if (known) this.fill(known);
    else part('panel').classList.add('late');
    table.highlight();
    this.timer = setTimeout(() => this.want(), REST);   // not while scrubbing past
  }

  want() {                                   // the whole walk in one ask: then no step waits
    const { view, answers, root } = this.viewer;
    if (view.at < 0) return;
    const known = answers.has(answers.name('panel', view.node));
    const visited = view.round.walk.includes(view.node);
    if (root.dataset.state !== 'running' && (known || visited)) answers.ask('walk', 0);
    else if (!known) answers.ask('panel', view.node);
  }

  fill(panel) {
    const { view, part, table } = this.viewer;
    part('panel').classList.remove('late');
    if (part('panel').dataset.node !== String(view.node)) part('panel').scrollTop = 0;
    part('panel').dataset.node = view.node;
    if (panel === view.sheet) return this.conceal();
    view.sheet = panel;
    this.waiting = new Map();
    part('badge').dataset.kind = panel.kind;
    part('badge').textContent = panel.kind;
    part('title').textContent = panel.title;
    part('facts').replaceChildren(...panel.facts.map(([name, value]) => factCell(name, value)));
    part('steps').replaceChildren(...panel.steps.map((sentence) => (
      Object.assign(document.createElement('li'), { textContent: sentence }))));
    part('transport').innerHTML = panel.transport || '';
    this.rank(panel.ranking);
    this.conceal();
    requestAnimationFrame(() => setTimeout(() => this.sketch(panel)));  // the step itself is painted first
    table.unfold();
  }

  async sketch(panel) {                      // a figure at a time: a key press can come between
    const { view, part } = this.viewer, holder = part('figures');
    while (holder.children.length < panel.figures.length) {
      holder.appendChild(document.createElement('div')).append(document.createElement('div'));
    }
    const boxes = [...holder.children];
    if (view.sheet !== panel) return;
    const strip = view.round.walk.includes(view.node) ? panel.figures.length - 1 : -1;
    boxes.forEach((box, at) => {
      box.hidden = at >= panel.figures.length;
      box.classList.toggle('strip', at === strip && at > 0);
    });
    this.waiting = new Map(panel.figures.map((figure, at) => [boxes[at], figure]));
    this.conceal();
    await this.paint();
  }

  async paint() {                            // what is concealed need not be drawn before it is shown
    const { painter } = this.viewer, { waiting } = this;
    for (const [box, figure] of waiting) {
      const concealed = box.style.maxHeight === '0px';
      box.firstChild.style.visibility = concealed ? 'hidden' : '';   // it is another node's still
      if (concealed) continue;
      waiting.delete(box);
      await painter.paint(box.firstChild, this.sized(figure, box));
      await new Promise((go) => { setTimeout(go); });
      if (this.waiting !== waiting) return;  // another node's by now
    }
  }

  paintAll() {                               // at once, for what cannot wait
    const { view, painter, part } = this.viewer, boxes = part('figures').children;
    view.sheet?.figures.forEach((figure, at) => {
      if (boxes[at]) painter.paint(boxes[at].firstChild, this.sized(figure, boxes[at]));
    });
  }

  sized(figure, box) {
    const { tree } = this.viewer;
    return tree.isProjected ? largeFigure.of(figure, box.clientWidth, tree.scale) : figure;
  }

  rank(ranking) {                            // why the children stand in this order, for who asks
    const { part } = this.viewer;
    part('ranking-box').hidden = !ranking;
    if (!ranking) return;
    this.ranking.fill(ranking);
    part('ranking-note').textContent = ranking.note;
  }

  conceal() {                                // what the frame does not show of the node yet
    this.limit();
    if (this.waiting.size) requestAnimationFrame(() => setTimeout(() => this.paint()));
  }

  limit() {
    const { view, part, common, words, tree } = this.viewer, { node, sheet } = view;
    const over = view.revealed === view.lastFrame;
    part('note').textContent = over || view.decided >= sheet.decided ? sheet.note : words.undecided;
    const mine = (frame) => ViewState.isVerdict(frame) && frame.node === node;
    const shown = view.frames.slice(0, view.revealed + 1).filter(mine);
    [...part('steps').children].forEach((item, step) => { item.hidden = !over && step >= shown.length; });
    part('transport').hidden = !over && !shown.length;
    const boxes = [...part('figures').children].filter((box) => !box.hidden);
    for (const box of boxes) box.style.maxHeight = '';
    if (over || boxes.length < 2 || !view.round.walk.includes(node)) return;
    const [target, strip] = boxes.slice(-2);   // target against draft, and what becomes of it
    if (!shown.length && !mine(view.frames[view.frame])) target.style.maxHeight = 0;
    const pitch = common.pitch * (tree.isProjected ? largeFigure.times(tree.scale) : 1);
    strip.style.maxHeight = `${shown.length ? shown.at(-1).rows * pitch : 0}px`;
  }
}
