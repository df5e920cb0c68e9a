// What a reader does: buttons, keys, the size of the window. It runs last and starts the viewer.

const acts = {                               // a button's name here is its data-role
  previous: () => show(view.at - 1), next: () => show(view.at + 1),
  begin: () => {
    if (unseen() && view.frame < lastFrame()) ahead();
    else go(0);
    part('frame').focus({ preventScroll: true });
  },
  first: () => go(0), back: () => go(view.frame - 1), ahead, last: () => go(lastFrame()), play,
  accept: () => guess('accept'), reject: () => guess('reject'),
  help: () => part('keys').showModal(),
};
const keys = {
  ArrowLeft: acts.back, ArrowRight: acts.ahead, Home: acts.first, End: acts.last, ' ': acts.play,
  '[': acts.previous, ']': acts.next, a: acts.accept, r: acts.reject, '?': acts.help,
};
const TYPING = 'input:not([type=checkbox], [type=range]), textarea, select, [contenteditable], '
  + '[role=listbox], dialog';

for (const [name, act] of Object.entries(acts)) {
  part(name).addEventListener('click', (event) => {
    if (event.currentTarget.ariaDisabled !== 'true') act();
  });
}
part('scrub').addEventListener('input', (event) => show(Number(event.target.value) - 1));
part('moment').addEventListener('input', (event) => go(Number(event.target.value) - 1));
part('guessing').addEventListener('change', (event) => guessing(event.target.checked));
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
  const nth = [...part('transcript').querySelectorAll(`[data-round="${token.dataset.round}"]`)].indexOf(token);
  if (at !== view.at) show(at);
  const told = frames().findIndex((frame) => frame.emitted > nth);   // its verdict
  go(told < 0 ? lastFrame() : told);
  if (token.dataset.node !== undefined) choose(Number(token.dataset.node));
});
part('table').addEventListener('click', ({ target }) => {
  const node = target.closest('tbody tr')?.rheo.cells[common.keyed[1]];
  if (Number.isInteger(node)) choose(node);
});

function key(event) {
  if (!element.isConnected) return document.removeEventListener('keydown', key);
  const { target } = event, act = keys[event.key.length > 1 ? event.key : event.key.toLowerCase()];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || view.at < 0) return;
  if (target.closest?.(TYPING) || !root.checkVisibility()) return;
  if (event.key === ' ' && target.closest?.('button, summary, a, [type=checkbox]')) return;
  if (event.key.length > 1 && target.matches?.('[type=range]')) return;   // its own arrows
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
