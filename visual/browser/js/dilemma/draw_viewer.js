// One draw at the node, in a viewer of its own: a run of one round, and every answer with it.

import { Viewer } from '../viewer/viewer.js';
import { dial } from './dial.js';

const SLOTS = 1;                             // the step that fills the slots: a draw begins there

export class DrawViewer {
  constructor(page) {
    const { part, view } = page, props = { common: JSON.stringify(page.drawing), reply: '' };
    this.viewer = new Viewer({ element: part('viewer'), props, trigger() {}, watch() {} });
    dial.offer(part('rule'), page.rules.node, 'rheo');
    part('rule').addEventListener('change', ({ target }) => { view.rule = target.value; page.send(); });
    part('again').addEventListener('click', () => { view.seed += 1; page.send(); });
  }

  show(draw) {
    this.viewer.replace({ ...draw, frame: 0 });
    this.viewer.seek(SLOTS);
    this.viewer.root.dataset.state = 'recorded';
  }
}
