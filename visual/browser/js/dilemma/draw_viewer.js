// One draw at the node, in a viewer of its own: a run of one round, and every answer with it.

import { Viewer } from '../viewer/viewer.js';
import { projected } from '../widgets/projected.js';
import { dial } from './dial.js';

const SLOTS = 1;                             // the step that fills the slots: a draw begins there
const REST = 250;                            // ms that dragged numbers must stay before their draw is drawn

export class DrawViewer {
  constructor(page) {
    const { part, view } = page, props = { common: JSON.stringify(page.drawing), reply: '' };
    this.viewer = new Viewer({ element: part('viewer'), props, trigger() {}, watch() {} });
    this.wanted = true;                      // the reader asked for a draw, not for other numbers
    this.timer = 0;
    const ask = () => { this.wanted = true; page.send(); };
    dial.offer(part('rule'), page.rules.node, 'rheo');
    part('rule').addEventListener('change', ({ target }) => { view.rule = target.value; ask(); });
    document.addEventListener('rheo:present', () => this.viewer.repaint());
    this.viewer.part('begin').addEventListener('click', () => {
      if (projected.has(this.viewer.element)) this.viewer.element.scrollIntoView();
    });
    part('again').addEventListener('click', () => { view.seed += 1; ask(); });
  }

  hold() {                                   // other numbers are on their way
    clearTimeout(this.timer);
  }

  show(draw) {
    this.hold();
    if (this.wanted) this.open(draw);
    else this.timer = setTimeout(() => this.open(draw), REST);
    this.wanted = false;
  }

  open(draw) {
    this.viewer.replace({ ...draw, frame: SLOTS });
    this.viewer.root.dataset.state = 'recorded';
  }
}
