// The prompt, the text so far and the run's figures; the tokens of the round shown are marked.

import { factCell } from '../widgets/fact_cell.js';

export class Transcript {
  constructor(viewer) {
    this.viewer = viewer;
    this.box = viewer.part('transcript');
  }

  tell(message) {
    const { part, view } = this.viewer;
    part('prompt').textContent = message.prompt;
    part('about').textContent = message.note || '';
    view.params = message.params ?? view.params;
    view.about = message.about || '';
    this.box.innerHTML = message.transcript;   // escaped by `sentences.transcript`
    part('metrics').replaceChildren(...message.metrics.map(([name, value]) => factCell(name, value)));
    this.mark();
    this.scroll();
  }

  mark() {                                   // the tokens of this round, the chosen node's token
    const { view } = this.viewer, index = view.round?.index, upto = view.at < 0 ? 0 : view.emitted;
    let nth = 0;
    for (const token of this.box.querySelectorAll('.token')) {
      const here = token.dataset.round === String(index);
      const later = here ? nth++ >= upto : Number(token.dataset.round) > index;
      token.classList.toggle('active', here);
      token.classList.toggle('chosen', here && token.dataset.node === String(view.node));
      token.classList.toggle('pending', later && (here || view.isStepping));
    }
  }

  scroll() {                                 // the round's text into view, a line above it
    const first = this.box.querySelector('.active');
    if (first) this.box.scrollTop = first.offsetTop - 30;
  }
}
