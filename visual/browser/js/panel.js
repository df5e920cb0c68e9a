// The chosen node, and the boxes under the tree: views that the server makes when asked.

function inspect() {
  clearTimeout(view.timer);
  const known = view.answers.get(name('panel', view.node));
  if (known) fill(known);
  else part('panel').classList.add('late');
  light();
  view.timer = setTimeout(want, 60);         // not while scrubbing past
}

function want() {                            // the whole walk in one ask: then no step waits
  if (view.at < 0) return;
  const known = view.answers.has(name('panel', view.node));
  const visited = view.rounds[view.at].walk.includes(view.node);
  if (root.dataset.state !== 'running' && (known || visited)) ask('walk', 0);
  else if (!known) ask('panel', view.node);
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
  if (key.endsWith('/walk')) keep(key, answer);
  const panel = view.answers.get(name('panel', view.node));
  if (panel && panel !== view.sheet) fill(panel);
  if (key === name('ghosts', 0) && view.ghosts) draw();
  unfold();
}

function keep(key, panels) {                 // of one round, as if each had been asked for
  for (const [node, panel] of Object.entries(panels)) {
    const one = key.replace(/[^/]+\/walk$/, `${node}/panel`);
    if (!view.answers.has(one)) view.answers.set(one, panel);
  }
}

function fill(panel) {
  part('panel').classList.remove('late');
  part('panel').dataset.node = view.node;
  if (panel === view.sheet) return curtain();
  view.sheet = panel;
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
  rank(panel.ranking);
  curtain();
  requestAnimationFrame(() => setTimeout(sketch, 0, panel));  // the step itself is painted first
  unfold();
}

async function sketch(panel) {               // a figure at a time: a key press can come between
  const holder = part('figures');
  while (holder.children.length < panel.figures.length) {
    holder.append(document.createElement('div'));
  }
  const plots = [...holder.children];
  if (view.sheet !== panel) return;
  plots.forEach((plot, at) => { plot.hidden = at >= panel.figures.length; });
  curtain();
  for (const [at, figure] of panel.figures.entries()) {
    if (view.sheet !== panel) return;
    await paint(plots[at], figure);
    await new Promise((go) => { setTimeout(go); });
  }
}

function rank(ranking) {                     // why the children stand in this order, for who asks
  part('ranking-box').hidden = !ranking;
  if (!ranking) return;
  tabulate(part('ranking'), ranking);
  part('ranking-note').textContent = ranking.note;
}

function curtain() {                         // over what the frame has not told of the node yet
  const { at, node } = view, over = revealed() === lastFrame(), here = frames()[view.frame];
  const mine = (frame) => isVerdict(frame) && frame.node === node;
  const told = frames().slice(0, revealed() + 1).filter(mine);
  [...part('steps').children].forEach((item, step) => { item.hidden = !over && step >= told.length; });
  const plots = [...part('figures').children].filter((plot) => !plot.hidden);
  for (const plot of plots) plot.style.maxHeight = '';
  if (over || plots.length < 2 || !view.rounds[at].walk.includes(node)) return;
  const [target, strip] = plots.slice(-2);   // what the target says, and what becomes of it
  if (!told.length && !mine(here)) target.style.maxHeight = 0;
  strip.style.maxHeight = `${told.length ? told.at(-1).rows * common.pitch : 0}px`;
}

const boxes = {
  table: (rows) => { tabulate(part('table'), rows); light(); },
};

function unfold() {                          // the boxes that are open, for the round shown
  for (const [what, render] of Object.entries(boxes)) {
    const known = part(`${what}-box`).open && ask(what, 0);
    if (known) render(known);
  }
}
