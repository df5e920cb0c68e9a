// The run's box: the timeline, its figures, where the time went, and what a GPU would make of it.

(() => {
  const box = part('timeline-box'), plot = part('timeline'), figures = part('figures-of-run');
  const costs = {};                            // the reader's own, kept from round to round
  let shown = null;

  function refresh() {
    if (!box.open || !view.rounds.length) return;
    const last = view.rounds.length - 1, key = `${view.key}/${last}/0/metrics`;
    const known = view.answers.get(key);
    if (known) return known === shown ? undefined : render(known);
    if (view.asked.has(key)) return;
    view.asked.add(key);
    trigger('ask', { key, run: view.key, round: last, node: 0, what: 'metrics' });
  }

  async function render(answer) {
    shown = answer;
    part('timeline-legend').innerHTML = answer.legend;     // escaped by visual.timeline
    part('timeline-hint').textContent = answer.hint;
    plot.setAttribute('aria-label', answer.label);
    figures.replaceChildren(...answer.figures.flatMap(figure));
    part('shares').innerHTML = answer.shares;              // escaped by visual.metrics
    part('speed').textContent = answer.speed;
    project(answer.projection);
    await paint(plot, answer.timeline);
    if (plot.dataset.bound) return;
    plot.dataset.bound = '1';
    plot.on('plotly_click', ({ points }) => show(points[0].x - 1));
  }

  function figure([label, value, hint]) {
    const [cell] = pair([label, value]);
    if (hint) cell.append(Object.assign(document.createElement('dd'), { className: 'rm-hint', textContent: hint }));
    return cell;
  }

  function project(model) {
    const holder = part('projection');
    holder.hidden = !model;
    if (!model) return;
    const title = Object.assign(document.createElement('h3'), { textContent: model.title });
    const value = Object.assign(document.createElement('b'), { className: 'rm-ratio' });
    const formula = Object.assign(document.createElement('p'), { className: 'rm-formula' });
    formula.setAttribute('role', 'status');
    const why = Object.assign(document.createElement('p'), { className: 'rm-hint', textContent: model.why });
    const tell = () => {
      const draft = costs.draft ?? model.draft, overhead = costs.overhead ?? model.overhead;
      const ratio = model.tau / (1 + overhead + model.depth * draft);
      value.textContent = `${ratio.toFixed(2)}×`;
      const said = { tau: model.tau.toFixed(2), depth: model.depth, ratio: ratio.toFixed(2), draft, overhead };
      formula.textContent = model.formula.replace(/\{(\w+)\}/g, (_, name) => said[name]);
    };
    title.append(' ', value);
    const inputs = Object.entries(model.names).map(([name, word]) => input(name, word, model[name], tell));
    holder.replaceChildren(title, ...inputs, formula, why);
    tell();
  }

  function input(name, word, usual, tell) {
    const label = document.createElement('label'), field = document.createElement('input');
    Object.assign(field, { type: 'number', min: 0, max: 10, step: 0.01, value: costs[name] ?? usual });
    field.dataset.role = `cost-${name}`;
    field.addEventListener('input', () => {
      const typed = field.valueAsNumber;       // what is no cost leaves the formula as it was
      if (Number.isFinite(typed) && typed >= 0) costs[name] = typed;
      field.setAttribute('aria-invalid', !(typed >= 0));
      tell();
    });
    label.append(word, field);
    return label;
  }

  box.addEventListener('toggle', () => {
    view.answers.delete(`${view.key}/${view.rounds.length - 1}/0/metrics`);   // a reference may be new
    refresh();
  });
  for (const what of ['run', 'round']) root.addEventListener(`rheo:${what}`, refresh);
  watch('reply', () => queueMicrotask(refresh));   // once panel.js has put the answer away
  new MutationObserver(() => shown && box.open && paint(plot, shown.timeline))
    .observe(document.body, { attributeFilter: ['class'] });
})();
