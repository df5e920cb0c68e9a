// The one-hot dilemma: bars that can be pulled, a draw to step through, small worlds.
// It moves the learner's own numbers and shows what Python's views made of them; it derives nothing.

import { PlotPainter } from '../widgets/plot_painter.js';
import { CurveCharts } from './curve_charts.js';
import { DilemmaLink } from './dilemma_link.js';
import { DilemmaTabs } from './dilemma_tabs.js';
import { DrawViewer } from './draw_viewer.js';
import { NodeBars } from './node_bars.js';
import { SmallWorlds } from './small_worlds.js';

const PATIENCE = 4000;                       // ms until a question that got no answer is asked again
const FIRST_STATE = {                        // all that changes
  name: '', tokens: [], p: [], q: [], m: 1, K: 3, T: 1, seed: 0, rule: 'rheo', scale: 1,
  sent: 0, asked: 0, again: false, work: 0,
};

class DilemmaPage {
  constructor({ element, props, trigger, watch }) {
    Object.assign(this, { element, props, trigger, watch, ...JSON.parse(props.common) });
    this.part = (name) => element.querySelector(`[data-role="${name}"]`);
    this.root = this.part('root');
    this.view = { ...FIRST_STATE, latency: [], world: { seed: null, ...this.world }, mine: {} };
    element.__dilemma = this.view;
    this.bars = new NodeBars(this);
    this.draw = new DrawViewer(this);
    this.curves = new CurveCharts(this.part('curves'), new PlotPainter(this.drawing.dark));
    this.worlds = new SmallWorlds(this);
    this.tabs = new DilemmaTabs(this);
    this.offerPresets();
  }

  start() {
    this.tabs.choose('draw');
    this.watch('value', () => this.receive(this.props.value));
    this.watch('reply', () => this.receive(this.props.reply));
    this.watch('stream', () => this.receive(this.props.stream));
    this.receive(this.props.value);
    this.trigger('ask', { what: 'warm' });   // the engine is imported while the learner reads
    new DilemmaLink(this, window.rheoscope);
  }

  offerPresets() {
    this.part('presets').append(...this.presets.map(([name, title]) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: title });
      button.dataset.name = name;
      button.addEventListener('click', () => this.askPreset(name));
      return button;
    }));
  }

  askPreset(name) {
    this.trigger('ask', { what: 'preset', name, n: 0 });
  }

  receive(text) {
    if (!text) return;
    const message = JSON.parse(text);
    if (message.type === 'preset') this.open(message);
    if (message.type === 'node') this.hear(message);
    if (message.type === 'work') this.worlds.progress(message);
  }

  open(message) {
    const { part, view } = this, { name, tokens, p, q, m, K, T, seed } = message;
    Object.assign(view, { name, tokens, p: [...p], q: [...q], m, K, T, seed, asked: 0, again: false });
    for (const button of part('presets').children) {
      button.setAttribute('aria-pressed', button.dataset.name === name);
    }
    part('note').textContent = message.note;
    this.bars.fillRows();
    this.draw.wanted = true;
    this.show(message.views);
    if (message.boxes) this.worlds.open(message.boxes);
    this.root.dataset.drawn = name;
  }

  hear(message) {
    const { view } = this;
    if (message.n !== view.sent) return;
    view.latency.push(performance.now() - view.asked);
    view.asked = 0;
    if (message.error) this.part('sentence').textContent = message.error;
    else this.show(message.views);
    this.root.dataset.answered = message.n;
    if (view.again) this.send();
  }

  show(views) {                              // all of it is escaped by the views
    const { part, view } = this;
    part('sentence').textContent = views.sentence;
    part('stacks').innerHTML = views.stacks;
    part('plans').innerHTML = views.plans;
    this.bars.mark(views.rows);
    part('cold').hidden = view.T === 1;
    part('seed').textContent = view.seed;
    if (!view.again) this.draw.show(views.draw);   // else newer numbers wait
    this.dials();
  }

  dials() {
    this.bars.fillDials();
    this.worlds.fillDials();
  }

  send() {                                   // one question at a time, the newest wins
    const { view } = this;
    this.draw.hold();
    view.again = view.asked > 0 && performance.now() - view.asked < PATIENCE;
    if (view.again) return;
    view.asked = performance.now();
    view.sent += 1;
    const { name, p, q, m, K, T, seed, rule, sent } = view;
    this.trigger('ask', { what: 'node', name, p, q, m, K, T, seed, rule, n: sent });
  }
}

export function startDilemmaPage(component) {
  new DilemmaPage(component).start();
}
