// The run's box: the timeline, its figures, where the time went, and what a GPU would make of it.

import { factCell } from '../widgets/fact_cell.js';

const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

export class RunMetrics {
  constructor(viewer) {
    const { part, root, answers, view } = viewer;
    this.viewer = viewer;
    this.box = part('timeline-box');
    this.plot = part('timeline');
    this.costs = {};                         // the reader's own, kept from round to round
    this.shown = null;
    this.bound = false;
    this.box.addEventListener('toggle', () => {
      answers.forget(answers.name('metrics', 0, view.rounds.length - 1));   // a reference may be new
      this.refresh();
    });
    for (const what of ['run', 'round']) root.addEventListener(`rheo:${what}`, () => this.refresh());
    viewer.watch('reply', () => queueMicrotask(() => this.refresh()));   // once the answer is put away
    new MutationObserver(() => this.repaint()).observe(document.body, { attributeFilter: ['class'] });
  }

  refresh() {
    const { view, answers } = this.viewer;
    if (!this.box.open || !view.rounds.length) return;
    const known = answers.ask('metrics', 0, view.rounds.length - 1);
    if (known && known !== this.shown) this.render(known);
  }

  repaint() {                                // in other colours
    if (this.shown && this.box.open) this.viewer.painter.paint(this.plot, this.shown.timeline);
  }

  async render(answer) {
    const { viewer } = this, { part, painter } = viewer;
    this.shown = answer;
    part('timeline-legend').innerHTML = answer.legend;     // escaped by `timeline`
    part('timeline-hint').textContent = answer.hint;
    this.plot.setAttribute('aria-label', answer.label);
    part('figures-of-run').replaceChildren(...answer.figures.map(([label, value, hint]) => {
      const cell = factCell(label, value);
      if (hint) cell.append(element('dd', { className: 'rm-hint', textContent: hint }));
      return cell;
    }));
    part('shares').innerHTML = answer.shares;              // escaped by `metrics`
    part('speed').textContent = answer.speed;
    this.project(answer.projection);
    await painter.paint(this.plot, answer.timeline);
    if (this.bound) return;
    this.bound = true;
    this.plot.on('plotly_click', ({ points }) => viewer.show(points[0].x - 1));
  }

  project(model) {                           // what a GPU's costs would make of the run
    const holder = this.viewer.part('projection');
    holder.hidden = !model;
    if (!model) return;
    const title = element('h3', { textContent: model.title }), value = element('b', { className: 'rm-ratio' });
    const formula = element('p', { className: 'rm-formula' });
    formula.setAttribute('role', 'status');
    const why = element('p', { className: 'rm-hint', textContent: model.why });
    const tell = () => {
      const draft = this.costs.draft ?? model.draft, overhead = this.costs.overhead ?? model.overhead;
      const ratio = model.tau / (1 + overhead + model.depth * draft);
      value.textContent = `${ratio.toFixed(2)}×`;
      const said = { tau: model.tau.toFixed(2), depth: model.depth, ratio: ratio.toFixed(2), draft, overhead };
      formula.textContent = model.formula.replace(/\{(\w+)\}/g, (_, name) => said[name]);
    };
    title.append(' ', value);
    const inputs = Object.entries(model.names).map(([name, word]) => this.cost(name, word, model[name], tell));
    holder.replaceChildren(title, ...inputs, formula, why);
    tell();
  }

  cost(name, word, usual, tell) {
    const label = element('label', {});
    const field = element('input', { type: 'number', min: 0, max: 10, step: 0.01, value: this.costs[name] ?? usual });
    field.dataset.role = `cost-${name}`;
    field.addEventListener('input', () => {
      const typed = field.valueAsNumber;     // what is no cost leaves the formula as it was
      if (Number.isFinite(typed) && typed >= 0) this.costs[name] = typed;
      field.setAttribute('aria-invalid', !(typed >= 0));
      tell();
    });
    label.append(word, field);
    return label;
  }
}
