// The stepper: which frame of the round is shown, play, and guess first.
// A step restyles opacities alone; the panel's figures follow once the step has been painted.

const PACE = { draft: 600, prune: 600, verdict: 1400, end: 1400 };  // ms a frame stands in play
const REMEMBERED = 'rheo-guess-first';

const frames = () => view.rounds[view.at]?.frames || [];
const lastFrame = () => frames().length - 1;
const unseen = () => view.reached < lastFrame();   // stepping: the round's end is not known yet
const asking = () => view.guessing && view.frame > view.reached && Boolean(frames()[view.frame].ask);
const revealed = () => view.frame - (asking() ? 1 : 0);  // the frame that tree and text show
const emitted = () => frames()[revealed()].emitted;
const isVerdict = ({ phase }) => phase === 'verdict' || phase === 'end';
const decided = () => frames().slice(0, revealed() + 1).filter(isVerdict).length;

function seek(frame) {                       // to a frame; the first one starts the round anew
  if (view.at < 0) return;
  view.frame = Math.min(Math.max(frame, 0), lastFrame());
  if (view.frame === 0) Object.assign(view, { reached: 0, guesses: new Map() });
  view.reached = Math.max(view.reached, revealed());
  view.node = frames()[view.frame].node;
  view.follow = view.at === view.rounds.length - 1 && view.frame === lastFrame();
  present();
}

function present() {                         // the frame, everywhere; what moves most goes first
  root.dataset.frame = view.frame;
  root.toggleAttribute('data-asking', asking());
  root.toggleAttribute('data-unseen', unseen());
  disclose();
  ring(true);
  narrate();
  measure();
  mark();
  inspect();
  announce('frame');
}

function narrate() {
  const { sentence, ask } = frames()[view.frame], open = asking();
  part('headline').textContent = open ? `${ask.question} ${ask.hint}` : sentence;
  deal();
  part('guess').hidden = !open;
  part('outcome').textContent = open ? '' : outcome(ask);
}

function deal() {                            // the step's card; a finished round has its node alone
  const { card, node } = frames()[view.frame], other = view.frame === lastFrame() && node !== view.node;
  part('card').innerHTML = other ? '' : card;  // escaped by visual.cards
  part('card').toggleAttribute('data-veiled', asking());
}

function outcome(ask) {                      // right or wrong, and the round's score
  const all = view.guesses.size, right = [...view.guesses.values()].filter(Boolean).length;
  const score = all ? words.score.replace('{right}', right).replace('{all}', all) : '';
  if (!view.guesses.has(view.frame)) return view.frame === lastFrame() ? score : '';
  const said = view.guesses.get(view.frame) ? words.right : words.wrong;
  return `${said.replace('{verdict}', words[ask.answer])} ${score}`;
}

function measure() {                         // where the reader stands among the frames
  const at = view.frame, last = lastFrame();
  part('step').textContent = words.step.replace('{at}', at + 1).replace('{count}', last + 1);
  gauge(part('moment'), at, last + 1);
  for (const name of ['first', 'back']) ended(part(name), at === 0);
  for (const name of ['ahead', 'last']) ended(part(name), at === last && !asking());
}

// --- what the reader does ---

function go(frame) {
  pause();
  seek(frame);
}

function ahead() {                           // a guess that is waited for is passed over, unscored
  pause();
  if (asking()) lift();
  else if (view.frame < lastFrame()) seek(view.frame + 1);
}

function lift() {                            // the veil
  view.reached = view.frame;
  present();
}

function guess(said) {
  if (view.at < 0 || !asking()) return;
  view.guesses.set(view.frame, said === frames()[view.frame].ask.answer);
  lift();
}

function play() {
  if (view.clock) return pause();
  if (asking()) lift();
  else if (view.frame === lastFrame()) seek(0);
  later();
}

function later() {                           // play goes on, to the end or to a question
  if (view.frame === lastFrame() || asking()) return pause();
  view.clock = setTimeout(() => { seek(view.frame + 1); later(); }, PACE[frames()[view.frame].phase]);
  playing(true);
}

function pause() {
  clearTimeout(view.clock);
  view.clock = 0;
  playing(false);
}

function playing(on) {
  root.toggleAttribute('data-playing', on);
  part('play').setAttribute('aria-label', on ? words.pause : words.play);
}

function guessing(on) {                      // remembered where the browser lets us
  view.guessing = on;
  try { localStorage.setItem(REMEMBERED, on ? 'on' : 'off'); } catch { /* a page in a frame */ }
  if (view.at >= 0) seek(view.frame);
}

try { view.guessing = localStorage.getItem(REMEMBERED) !== 'off'; } catch { /* the same */ }
part('guessing').checked = view.guessing;
