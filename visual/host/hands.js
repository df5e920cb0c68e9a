// What a reader does: buttons, keys, the size of the window. It runs last and starts the viewer.

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
