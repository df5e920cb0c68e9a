// The viewer: shows the rounds of a run and steps through them, all in the browser.
// gr.HTML runs this once per mount with `element`, `props`, `trigger` and `watch` in scope.
// It derives nothing: every drawing, number and sentence comes from a Python view.
// The files of this folder's SCRIPTS (`__init__.py`) run one after the other in one scope.

const common = JSON.parse(props.common);
const { words, defaults, dark } = common;
const part = (name) => element.querySelector(`[data-role="${name}"]`);
const root = part('root');

const view = {                             // all that changes
  epoch: 0, key: '', rounds: [], at: -1, node: 0, ghosts: false, large: false, follow: true,
  answers: new Map(), asked: new Set(), drawing: false, again: false, drawn: -1, timer: 0,
  frame: 0, reached: 0, guesses: new Map(), guessing: true, clock: 0,   // steps.js
  sheet: null,                             // panel.js: the panel whose figures are drawn
};
element.__rheo = { view, show, seek, choose, say };  // of other scripts; they listen to `announce`

// --- what arrives ---

function receive() {
  if (!props.value) return;
  const message = JSON.parse(props.value), [epoch = 0] = [message.n].flat();
  if (epoch < view.epoch) return;            // of a run that the reader has left
  view.epoch = epoch;
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
  announce('run');
}

function replace(message) {
  const same = message.key === view.key && view.at >= 0;  // the run just watched, now complete
  Object.assign(view, { key: message.key, rounds: message.rounds });
  if (!same) {
    view.answers.clear();
    view.asked.clear();
    for (const [key, answer] of Object.entries(message.answers || {})) view.answers.set(key, answer);
    show(message.show < 0 ? view.rounds.length - 1 : message.show);
  }
  count();
  announce('run');
}

function append(message) {
  view.rounds.push(message.round);
  if (view.follow) show(view.rounds.length - 1);
  else count();
}

function tell(message) {
  part('prompt').textContent = message.prompt;
  part('about').textContent = message.note || '';
  view.params = message.params ?? view.params;   // m, T and K of the run
  part('transcript').innerHTML = message.transcript;      // escaped by visual.text
  const metrics = part('metrics');
  metrics.replaceChildren(...message.metrics.flatMap(pair));
  mark();
  scroll();
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

function announce(what) {                    // "rheo:run", "rheo:round", "rheo:frame", "rheo:node"
  const { key, at, frame, node } = view;
  root.dispatchEvent(new CustomEvent(`rheo:${what}`, { bubbles: true, detail: { key, at, frame, node } }));
}

// --- rounds and nodes ---

function show(at, frame) {                   // a round, finished unless a frame is named
  const round = view.rounds[at];
  if (!round) return;
  pause();
  Object.assign(view, { at, drawn: -1, guesses: new Map() });
  view.reached = view.frame = lastFrame();
  view.follow = at === view.rounds.length - 1;
  view.node = round.node;
  part('tree').setAttribute('aria-label', round.label);
  count();
  draw();
  if (frame === undefined) present();
  else seek(frame);
  scroll();
  announce('round');
}

function count() {
  const total = view.rounds.length, scrub = part('scrub');
  root.dataset.rounds = total;
  root.dataset.round = view.at;
  part('at').textContent = total ? view.at + 1 : '–';
  part('of').textContent = words.of.replace('{count}', total);
  gauge(scrub, view.at, total);
  ended(part('previous'), view.at <= 0);
  ended(part('next'), view.at >= total - 1);
}

function gauge(range, at, total) {
  range.max = total;
  range.value = at + 1;
  range.style.setProperty('--filled', `${total > 1 ? (100 * at) / (total - 1) : 100}%`);
}

function ended(button, over) {               // it can still be reached by Tab
  button.setAttribute('aria-disabled', over);
}

function choose(node) {
  if (view.at < 0) return;                   // of a tree whose run has been replaced
  view.node = node;
  ring(true);
  deal();
  mark();
  inspect();
  announce('node');
}

function mark() {                            // the tokens of this round, the chosen node's token
  const index = view.rounds[view.at]?.index, upto = view.at < 0 ? 0 : emitted();
  let nth = 0;
  for (const token of part('transcript').querySelectorAll('.token')) {
    const here = token.dataset.round === String(index);
    const later = here ? nth++ >= upto : Number(token.dataset.round) > index;
    token.classList.toggle('active', here);
    token.classList.toggle('chosen', here && token.dataset.node === String(view.node));
    token.classList.toggle('pending', later && (here || unseen()));
  }
}

function scroll() {                          // the round's text into view, a line above it
  const box = part('transcript'), first = box.querySelector('.active');
  if (first) box.scrollTop = first.offsetTop - 30;
}
