// The viewer: shows the rounds of a run and steps through them, all in the browser.
// gr.HTML runs this once per mount with `element`, `props`, `trigger` and `watch` in scope.
// It derives nothing: every drawing, number and sentence comes from a Python view.

const common = JSON.parse(props.common);
const { words, defaults, dark } = common;
const part = (name) => element.querySelector(`[data-role="${name}"]`);
const PLOT = { responsive: true, displayModeBar: false, doubleClick: 'reset', showTips: false };
const ROW = { least: 9, full: 15, best: 22 };  // pixels of a row of the tree
const LEGIBLE = 9.5;                       // pixels of the lowest row that gets a label
const COLUMN = { least: 64, most: 190 };    // and of a column
const FOOT = 52;                           // what stays visible under the tree
const root = part('root');

const view = {                             // all that changes
  key: '', rounds: [], at: -1, node: 0, ghosts: false, large: false, follow: true,
  answers: new Map(), asked: new Set(), drawing: false, again: false, timer: 0,
};
element.__rheo = { view, show, choose, step };

// --- what arrives ---

function receive() {
  if (!props.value) return;
  const message = JSON.parse(props.value);
  if (message.type === 'wait') return say(words.WAITING, 'waiting');
  if (message.type === 'begin') begin(message);
  if (message.type === 'run') replace(message);
  if (message.type === 'round') append(message);
  if (message.transcript !== undefined && message.type !== 'begin') tell(message);
  if (message.sentence !== undefined) say(message.sentence, message.state);
}

function begin(message) {
  Object.assign(view, { key: message.key, rounds: [], at: -1, node: 0, follow: true });
  view.answers.clear();
  view.asked.clear();
  part('headline').textContent = '';
  count();
  tell(message);
  say(words.DRAFTING, 'running');
}

function replace(message) {
  const same = message.key === view.key && view.at >= 0;  // the run just watched, now complete
  Object.assign(view, { key: message.key, rounds: message.rounds });
  if (same) return count();
  view.answers.clear();
  view.asked.clear();
  for (const [key, answer] of Object.entries(message.answers || {})) view.answers.set(key, answer);
  show(message.show < 0 ? view.rounds.length - 1 : message.show);
}

function append(message) {
  view.rounds.push(message.round);
  if (view.follow) show(view.rounds.length - 1);
  else count();
}

function tell(message) {
  part('prompt').textContent = message.prompt;
  part('transcript').innerHTML = message.transcript;      // escaped by visual.text
  const metrics = part('metrics');
  metrics.replaceChildren(...message.metrics.flatMap(pair));
  mark();
}

function pair([name, value]) {
  const cell = document.createElement('div');
  const dt = document.createElement('dt'), dd = document.createElement('dd');
  dt.textContent = name;
  dd.textContent = value;
  cell.append(dt, dd);
  return [cell];
}

function say(sentence, state) {
  part('state').textContent = sentence;
  if (state) root.dataset.state = state;
}

// --- rounds and nodes ---

function show(at) {
  const round = view.rounds[at];
  if (!round) return;
  view.at = at;
  view.node = round.node;
  view.follow = at === view.rounds.length - 1;
  count();
  part('headline').textContent = round.headline;
  part('tree').setAttribute('aria-label', round.label);
  mark();
  draw();
  inspect();
}

function count() {
  const total = view.rounds.length, scrub = part('scrub');
  root.dataset.rounds = total;
  root.dataset.round = view.at;
  part('at').textContent = total ? view.at + 1 : '–';
  part('of').textContent = words.of.replace('{count}', total);
  scrub.max = total;
  scrub.value = view.at + 1;
  scrub.style.setProperty('--filled', `${total > 1 ? (100 * view.at) / (total - 1) : 100}%`);
  part('previous').disabled = view.at <= 0;
  part('next').disabled = view.at >= total - 1;
}

function choose(node) {
  if (view.at < 0) return;                   // of a tree whose run has been replaced
  view.node = node;
  ring();
  mark();
  inspect();
}

function step(by) {                          // along the walk
  const walk = view.rounds[view.at].walk, at = walk.indexOf(view.node);
  const next = walk[at < 0 ? 0 : Math.min(Math.max(at + by, 0), walk.length - 1)];
  if (next !== undefined && next !== view.node) choose(next);
}

function mark() {                            // the tokens of this round, the chosen node's token
  for (const token of part('transcript').querySelectorAll('.token')) {
    const here = token.dataset.round === String(view.rounds[view.at]?.index);
    token.classList.toggle('active', here);
    token.classList.toggle('chosen', here && token.dataset.node === String(view.node));
  }
  const box = part('transcript'), first = box.querySelector('.active');
  if (first) box.scrollTop = first.offsetTop - 30;    // a line above it
}

// --- the tree ---

async function draw() {
  view.again = view.drawing;
  if (view.drawing) return;
  view.drawing = true;
  do {
    view.again = false;
    const drawing = (view.ghosts && ask('ghosts', 0)) || view.rounds[view.at].tree;
    await paint(part('tree'), full(drawing));
    reveal();
  } while (view.again);
  view.drawing = false;
  root.dataset.drawn = view.at;
}

function full(drawing) {                     // put back what `wire.slim` left out, then size it
  const layout = { ...common.layout, ...drawing.layout };
  const rows = layout.yaxis.range[0] - layout.yaxis.range[1];
  const columns = layout.xaxis.range[1] - layout.xaxis.range[0];
  const frame = part('frame'), top = frame.getBoundingClientRect().top + window.scrollY;
  const room = Math.max(window.innerHeight - top - FOOT, 300);
  const least = view.large || view.ghosts ? ROW.full / common.close : ROW.least;
  const height = Math.max(Math.min(rows * ROW.best, room - 24), rows * least) + 24;
  const width = Math.max(Math.min(frame.clientWidth, columns * COLUMN.most), columns * COLUMN.least);
  Object.assign(part('tree').style, { height: `${height}px`, width: `${width}px` });
  frame.style.maxHeight = part('panel').style.maxHeight = `${room}px`;
  const pitch = (height - 24) / rows;
  const size = Math.min(Math.max(pitch * 0.8, 9), width / columns > 88 ? 12.5 : 11.5);
  const data = drawing.data.map((trace) => {
    const whole = { ...(defaults[trace.name] || defaults['']), ...trace };
    const cramped = trace.customdata && trace.marker.opacity < 1 && pitch * common.close < LEGIBLE;
    return cramped ? { ...whole, mode: 'markers', marker: { ...trace.marker, size: 6 } } : whole;
  });
  Object.assign(data.at(-1), place(data));    // the ring
  return { data, layout: { ...layout, width, height, font: { ...layout.font, size } } };
}

function place(data) {                       // of the chosen node
  for (const trace of data) {
    const at = (trace.customdata || []).findIndex((row) => row[0] === view.node);
    if (at >= 0) return { x: [trace.x[at]], y: [trace.y[at]] };
  }
  return {};
}

function ring() {
  const tree = part('tree'), { x, y } = place(tree.data || []);
  if (x) Plotly.restyle(tree, { x: [x], y: [y] }, [tree.data.length - 1]);
}

function reveal() {                          // where the frame scrolls
  const frame = part('frame'), tree = part('tree'), { y } = place(tree.data);
  if (!y || frame.scrollHeight <= frame.clientHeight + 1) return;
  frame.scrollTop = tree._fullLayout.yaxis.d2p(y[0]) - frame.clientHeight / 2;
}

// --- the chosen node ---

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

// --- plotly in the page's colours ---

const isDark = () => document.body.classList.contains('dark');

function themed(value) {
  if (typeof value === 'string') {
    return dark[value] || value.replace(/#[0-9a-f]{6}/g, (colour) => dark[colour] || colour);
  }
  if (Array.isArray(value)) return value.map(themed);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, themed(item)]));
  }
  return value;
}

async function paint(plot, figure) {
  const drawn = isDark() ? { data: themed(figure.data), layout: themed(figure.layout) } : figure;
  await Plotly.react(plot, drawn.data, { ...drawn.layout, autosize: true }, PLOT);
  if (plot === part('tree') && !plot.dataset.bound) {
    plot.dataset.bound = '1';
    plot.on('plotly_click', ({ points }) => {
      const node = points[0].customdata?.[0];
      if (Number.isInteger(node)) choose(node);
      else if (node === 'emit') choose(view.rounds[view.at].walk.at(-1));
    });
  }
}

function repaint() {
  if (view.at < 0) return;
  draw();
  const panel = view.answers.get(name('panel', view.node));
  if (panel) fill(panel);
}

// --- hands ---

part('previous').addEventListener('click', () => show(view.at - 1));
part('next').addEventListener('click', () => show(view.at + 1));
part('scrub').addEventListener('input', (event) => show(Number(event.target.value) - 1));
for (const what of Object.keys(boxes)) part(`${what}-box`).addEventListener('toggle', unfold);
for (const option of ['ghosts', 'large']) {
  part(option).addEventListener('change', (event) => {
    view[option] = event.target.checked;
    draw();
  });
}
part('transcript').addEventListener('click', ({ target }) => {
  const token = target.closest('.token');
  if (!token || token.dataset.round === undefined) return;
  const at = view.rounds.findIndex((round) => String(round.index) === token.dataset.round);
  if (at !== view.at) show(at);
  if (token.dataset.node !== undefined) choose(Number(token.dataset.node));
});

function key(event) {
  if (!element.isConnected) return document.removeEventListener('keydown', key);
  const typing = event.target.closest?.('input, textarea, select, [contenteditable], [role=listbox]');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || view.at < 0) return;
  const act = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    '[': () => show(view.at - 1), ']': () => show(view.at + 1),
    Home: () => show(0), End: () => show(view.rounds.length - 1),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
document.addEventListener('keydown', key);

new MutationObserver(repaint).observe(document.body, { attributeFilter: ['class'] });
let width = 0;
new ResizeObserver(([entry]) => {
  if (Math.abs(entry.contentRect.width - width) < 2) return;
  width = entry.contentRect.width;
  repaint();
}).observe(part('stage'));

watch('value', receive);
watch('reply', reply);
receive();
