// The chosen node, and the boxes under the tree: views that the server makes when asked.

function inspect() {
  clearTimeout(view.timer);
  const answer = view.answers.get(name('panel', view.node));
  if (answer) return fill(answer);
  part('panel').classList.add('late');
  view.timer = setTimeout(() => ask('panel', view.node), 60);   // not while scrubbing past
}

function name(what, node) {
  return `${view.key}/${view.at}/${node}/${what}`;
}

function ask(what, node) {
  const key = name(what, node), known = view.answers.get(key);
  if (known || view.asked.has(key)) return known;
  view.asked.add(key);
  trigger('ask', { key, run: view.key, round: view.at, node, what });
  return undefined;
}

function reply() {
  const { key, answer } = JSON.parse(props.reply || '{}');
  view.asked.delete(key);
  if (!answer) return;
  view.answers.set(key, answer);
  if (key === name('panel', view.node)) fill(answer);
  if (key === name('ghosts', 0) && view.ghosts) draw();
  unfold();
}

function fill(panel) {
  part('panel').classList.remove('late');
  part('panel').dataset.node = view.node;
  part('badge').dataset.kind = panel.kind;
  part('badge').textContent = panel.kind;
  part('title').textContent = panel.title;
  part('note').textContent = panel.note;
  part('facts').replaceChildren(...panel.facts.flatMap(pair));
  part('steps').replaceChildren(...panel.steps.map((sentence) => {
    const item = document.createElement('li');
    item.textContent = sentence;
    return item;
  }));
  const holder = part('figures');
  while (holder.children.length < panel.figures.length) {
    holder.append(document.createElement('div'));
  }
  [...holder.children].forEach((plot, at) => {
    plot.hidden = at >= panel.figures.length;
    if (!plot.hidden) paint(plot, panel.figures[at]);
  });
  unfold();
}

const boxes = { table: tabulate, timeline: (figure) => paint(part('timeline'), figure) };

function unfold() {                          // the boxes that are open, for the round shown
  for (const [what, render] of Object.entries(boxes)) {
    const known = part(`${what}-box`).open && ask(what, 0);
    if (known) render(known);
  }
}

function tabulate({ head, rows }) {
  const made = document.createElement('table');
  const line = (cells, kind) => {
    const tr = made.insertRow();
    for (const cell of cells) {
      tr.append(Object.assign(document.createElement(kind), { textContent: cell ?? '' }));
    }
  };
  line(head, 'th');
  for (const row of rows) line(row, 'td');
  part('table').replaceChildren(made);
}
