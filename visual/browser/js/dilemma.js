// The one-hot dilemma: bars that can be pulled, a draw that can be stepped through, small worlds.
// gr.HTML runs this once per mount with `element`, `props`, `trigger` and `watch` in scope.
// It moves the learner's own numbers and shows what Python's views made of them; it derives nothing.

const { words, presets, rules, world: first } = JSON.parse(props.common);
const part = (name) => element.querySelector(`[data-role="${name}"]`);
const root = part('root');
const PACE = 2200;                            // milliseconds a step stays while playing
const PATIENCE = 4000;                        // until a question that got no answer is asked again

const view = {                                // all that changes
  name: '', tokens: [], p: [], q: [], m: 1, K: 3, T: 1, seed: 0, rule: 'rheo', steps: [], at: 0, scale: 1,
  told: new Map(), sent: 0, asked: 0, again: false, timer: 0, latency: [],
  world: { seed: null, ...first }, work: 0, mine: {},
};
element.__dilemma = view;

// --- what arrives ---

function receive(text) {
  if (!text) return;
  const message = JSON.parse(text);
  if (message.type === 'preset') open(message);
  if (message.type === 'node') answered(message);
  if (message.type === 'work') progress(message);
}

function open(message) {
  const { name, tokens, p, q, m, K, T, seed } = message;
  Object.assign(view, { name, tokens, p: [...p], q: [...q], m, K, T, seed, asked: 0, again: false });
  for (const button of part('presets').children) {
    button.setAttribute('aria-pressed', button.dataset.name === name);
  }
  part('note').textContent = message.note;
  fillRows();
  show(message.views);
  for (const [box, made] of Object.entries(message.boxes || {})) part(box).innerHTML = made;
  root.dataset.drawn = name;
}

function answered(message) {
  if (message.n !== view.sent) return;
  view.latency.push(performance.now() - view.asked);
  view.asked = 0;
  if (message.error) part('sentence').textContent = message.error;
  else show(message.views);
  root.dataset.answered = message.n;
  if (view.again) send();
}

function show(views) {                        // all of it is escaped by the views
  part('sentence').textContent = views.sentence;
  part('stacks').innerHTML = views.stacks;
  part('plans').innerHTML = views.plans;
  views.rows.forEach(({ mark, tilde, tempered }, i) => {
    const row = part('rows').children[i];
    row.dataset.kind = mark;
    row.querySelector('.dl-tilde').textContent = tilde;
    row.querySelector('.dl-cold').style.left = `${Math.min(tempered / view.scale, 1) * 100}%`;
    row.querySelector('.dl-cold').hidden = view.T === 1;
  });
  part('cold').hidden = view.T === 1;
  view.steps = views.steps;
  view.told.clear();
  part('seed').textContent = view.seed;
  go(0);
  dials();
}

// --- the node's numbers ---

function fillRows() {
  part('rows').replaceChildren(...view.tokens.map((token, i) => {
    const row = document.createElement('tr'), name = document.createElement('th');
    name.textContent = token;
    row.append(name, cell(token, 'p', i), cell(token, 'q', i));
    const tilde = row.insertCell();
    tilde.className = 'dl-tilde';
    return row;
  }));
  numbers();
}

function cell(token, law, i) {
  const td = document.createElement('td'), bar = document.createElement('input');
  const number = document.createElement('input'), hold = document.createElement('span');
  Object.assign(bar, { type: 'range', min: 0, step: 0.005 });
  Object.assign(number, { type: 'number', min: 0, max: 100, step: 1 });
  bar.setAttribute('aria-label', `${token}: ${words[law]}`);
  number.setAttribute('aria-label', `${token}: ${words[law]}, %`);
  bar.addEventListener('input', () => pull(law, i, Number(bar.value), bar));
  bar.addEventListener('change', () => numbers());    // let go: all bars may be drawn anew
  number.addEventListener('change', () => pull(law, i, number.value / 100, null));
  hold.className = 'dl-hold';
  hold.append(bar);
  if (law === 'p') hold.append(Object.assign(document.createElement('i'), { className: 'dl-cold' }));
  td.className = `dl-${law}`;
  td.append(hold, number);
  return td;
}

function pull(law, at, wanted, held) {        // the others make room in proportion
  const x = Math.min(Math.max(Number.isFinite(wanted) ? wanted : 0, 0), 1), values = view[law];
  const rest = values.reduce((sum, y, i) => sum + (i === at ? 0 : y), 0);
  view[law] = values.map((y, i) => {
    if (i === at) return x;
    return rest > 0 ? (y / rest) * (1 - x) : (1 - x) / (values.length - 1);
  });
  for (const button of part('presets').children) button.setAttribute('aria-pressed', 'false');
  numbers(held);
  send();
}

function numbers(held) {                      // small laws get twice the scale, but not in a hand
  if (!held) view.scale = Math.max(...view.p, ...view.q) < 0.48 ? 0.5 : 1;
  [...part('rows').children].forEach((row, i) => ['p', 'q'].forEach((law) => {
    const [bar, number] = row.querySelectorAll(`.dl-${law} input`);
    bar.max = view.scale;
    if (bar !== held) bar.value = view[law][i];
    bar.style.setProperty('--value', `${(view[law][i] / view.scale) * 100}%`);
    if (number !== document.activeElement || !held) number.value = (view[law][i] * 100).toFixed(1);
  }));
}

function dials() {
  part('m').max = view.K - 1;
  part('K').max = view.tokens.length;
  for (const name of ['m', 'K', 'T']) filled(part(name), view[name]);
  for (const name of ['m', 'T', 'R']) filled(part(`world-${name}`), view.world[name]);
  part('rule').value = view.rule;
}

function filled(input, value) {
  input.value = value;
  const share = (input.value - input.min) / (input.max - input.min || 1);
  input.style.setProperty('--value', `${share * 100}%`);
  part(`${input.dataset.role}-value`).textContent = value;
}

function send() {                             // one question at a time, the newest wins
  view.again = view.asked > 0 && performance.now() - view.asked < PATIENCE;
  if (view.again) return;
  view.asked = performance.now();
  view.sent += 1;
  const { name, p, q, m, K, T, seed, rule, sent } = view;
  trigger('ask', { what: 'node', name, p, q, m, K, T, seed, rule, n: sent });
}

// --- one draw, step by step ---

const covered = () => Boolean(
  part('guess').checked && view.steps[view.at]?.ask && !view.told.has(view.at));

function go(at) {
  view.at = Math.min(Math.max(at, 0), view.steps.length - 1);
  const step = view.steps[view.at], hidden = covered();
  root.dataset.step = view.at;
  root.toggleAttribute('data-covered', hidden);
  part('title').innerHTML = step.title;       // titles quote tokens, escaped
  part('ask').textContent = step.ask;
  part('guesses').hidden = !hidden;
  part('say').innerHTML = hidden ? '' : step.say;
  const guess = view.told.get(view.at);
  part('told').textContent = guess ? words[guess === step.verdict ? 'right' : 'wrong'] : '';
  part('told').dataset.right = guess === step.verdict;
  part('picture').innerHTML = step.html;
  part('picture').dataset.verdict = hidden ? '' : step.verdict;
  part('previous').disabled = view.at === 0;
  part('next').disabled = hidden || view.at === view.steps.length - 1;
  part('dots').replaceChildren(...view.steps.map((one, i) => {
    const dot = document.createElement('i');
    dot.textContent = i < view.at || (i === view.at && !hidden)
      ? { accept: '✓', reject: '✕' }[one.verdict] || '●' : '○';
    dot.toggleAttribute('data-here', i === view.at);
    return dot;
  }));
}

function say(guess) {
  if (!covered()) return;
  view.told.set(view.at, guess);
  go(view.at);
  part('next').focus();
}

function play() {
  if (view.timer) return rest();
  if (view.at === view.steps.length - 1) go(0);
  part('play').textContent = words.pause;
  view.timer = setInterval(() => {
    if (covered()) return;                    // it waits for the guess
    if (view.at === view.steps.length - 1 || !element.isConnected) return rest();
    go(view.at + 1);
  }, PACE);
}

function rest() {
  clearInterval(view.timer);
  view.timer = 0;
  part('play').textContent = words.play;
}

// --- small worlds ---

function work(what) {
  view.work += 1;
  view.mine[what] = view.work;
  part(`${what}-state`).textContent = words.working;
  if (what === 'play') part('stop').disabled = false;
  const { seed, m, T, R } = view.world;
  const [left, right] = [part('left').value, part('right').value];
  trigger('work', { what, seed, m, T, R, left, right, n: view.work });
}

function progress({ what, n, state, html, over }) {
  if (view.mine[what] !== n) return;
  const box = { survey: 'verdicts', sweep: 'curves', play: 'bands' }[what];
  if (html) part(box).innerHTML = html;
  part(`${what}-state`).textContent = state;
  if (!over) return;
  root.dataset[`${what}Over`] = n;
  if (what === 'play') part('stop').disabled = true;
}

function change(changes) {
  Object.assign(view.world, changes);
  dials();
  part('bands').replaceChildren();            // they were another world's
  part('play-state').textContent = '';
  work('survey');
}

// --- hands ---

function choose(tab) {
  root.dataset.tab = tab;
  for (const button of element.querySelectorAll('[role=tab]')) {
    const here = button.dataset.tab === tab;
    button.setAttribute('aria-selected', here);
    button.tabIndex = here ? 0 : -1;
  }
  for (const panel of element.querySelectorAll('[data-panel]')) {
    panel.hidden = panel.dataset.panel !== tab;
  }
}

const tabs = [...element.querySelectorAll('[role=tab]')];
tabs.forEach((button, i) => {
  button.addEventListener('click', () => choose(button.dataset.tab));
  button.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.stopPropagation();
    const next = tabs[(i + by + tabs.length) % tabs.length];
    choose(next.dataset.tab);
    next.focus();
  });
});

part('presets').append(...presets.map(([name, title]) => {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: title });
  button.dataset.name = name;
  button.addEventListener('click', () => trigger('ask', { what: 'preset', name, n: 0 }));
  return button;
}));
for (const [role, names, chosen] of [['rule', rules.node, 'rheo'], ['left', rules.world, 'rheo'],
  ['right', rules.world, 'naive']]) {
  part(role).append(...names.map(([name, title]) => new Option(title, name, false, name === chosen)));
}
for (const name of ['m', 'K', 'T']) {
  part(name).addEventListener('input', ({ target }) => {
    view[name] = Number(target.value);
    view.m = Math.min(view.m, view.K - 1);
    dials();
    send();
  });
}
for (const name of ['m', 'T', 'R']) {
  part(`world-${name}`).addEventListener('change', ({ target }) => change({ [name]: Number(target.value) }));
}
part('other').addEventListener('click', () => change({ seed: (view.world.seed ?? 0) + 1 }));
part('shipped').addEventListener('click', () => change({ seed: null, ...first }));
part('simulate').addEventListener('click', () => work('play'));
part('stop').addEventListener('click', () => trigger('halt', {}));
part('sweep').addEventListener('click', () => work('sweep'));
part('rule').addEventListener('change', ({ target }) => { view.rule = target.value; send(); });
part('again').addEventListener('click', () => { view.seed += 1; send(); });
part('previous').addEventListener('click', () => go(view.at - 1));
part('next').addEventListener('click', () => go(view.at + 1));
part('play').addEventListener('click', play);
part('guess').addEventListener('change', () => go(view.at));
part('guesses').addEventListener('click', ({ target }) => say(target.dataset.guess));

element.addEventListener('keydown', (event) => {
  event.stopPropagation();                    // these keys are not another page's
  if (root.dataset.tab !== 'draw' || event.target.closest('.dl-main, .dl-tabs, select, label')) return;
  const act = {
    ArrowLeft: () => go(view.at - 1), ArrowRight: () => covered() || go(view.at + 1),
    Home: () => go(0), End: () => part('guess').checked || go(view.steps.length - 1),
    a: () => say('accept'), r: () => say('reject'),
    ' ': () => event.target.closest('button') ? null : play(),
  }[event.key];
  if (!act || (event.key === ' ' && event.target.closest('button'))) return;
  event.preventDefault();
  act();
});

choose('draw');
watch('value', () => receive(props.value));
watch('reply', () => receive(props.reply));
watch('stream', () => receive(props.stream));
receive(props.value);
trigger('ask', { what: 'warm' });             // the engine is imported while the learner reads
