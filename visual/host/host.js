// The viewer: shows the rounds of a run and steps through them, all in the browser.
// gr.HTML runs this once per mount with `element`, `props`, `trigger` and `watch` in scope.
// It derives nothing: every drawing, number and sentence comes from a Python view.
// The files of this folder's SCRIPTS (`__init__.py`) run one after the other in one scope.

const common = JSON.parse(props.common);
const { words, defaults, dark } = common;
const part = (name) => element.querySelector(`[data-role="${name}"]`);
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
