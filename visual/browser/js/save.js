// The Save menu: files of the run, the round, the tree. The server answers with bytes in JSON, so
// that no user's file ever gets an address; the browser makes the file.

const SCALE = 2;                           // pixels of a PNG for one of the page
const TYPES = { json: 'application/gzip', html: 'text/html', csv: 'text/csv', svg: 'image/svg+xml', png: 'image/png' };
const ENDINGS = { json: 'json.gz' };
const WAIT = 60_000;                        // ms until a file that has not come is given up
const saving = { n: 0, what: '', stem: '', timer: 0 };

function save(what) {
  if (view.at < 0) return;
  const round = what === 'json' || what === 'html' ? '' : `-round-${view.at + 1}`;
  clearTimeout(saving.timer);
  const stem = `rheoscope-${view.key.replace(/\W+/g, '-')}${round}`;
  Object.assign(saving, { n: saving.n + 1, what, stem });
  part('saved').textContent = words.making;
  if (what === 'svg' || what === 'png') return image(what).catch(lost);
  saving.timer = setTimeout(lost, WAIT);
  trigger('save', { n: saving.n, what, run: view.key, round: view.at });
}

async function image(format) {             // of the frame shown, on the page's own ground
  const tree = part('tree'), paper = getComputedStyle(root).getPropertyValue('--paper').trim();
  const { width, height } = tree._fullLayout, at = place(tree.data, view.node);
  const ring = at ? [{ ...defaults.chosen, x: [at[0]], y: [at[1]] }] : [];
  const data = [...tree.data, ...(isDark() ? themed(ring) : ring)];
  const figure = { data, layout: { ...tree.layout, paper_bgcolor: paper } };
  const scale = format === 'png' ? SCALE : 1;
  const address = await Plotly.toImage(figure, { format, width, height, scale });
  const text = address.slice(address.indexOf(',') + 1);
  download(format === 'svg' ? decodeURIComponent(text) : bytes(text));
}

async function saved() {                   // what the server answers
  const { n, what, data } = JSON.parse(props.saved || '{}');
  if (n !== saving.n) return;              // of an earlier press
  clearTimeout(saving.timer);
  if (!data) return lost();
  download(what === 'html' ? await bound(data) : bytes(data));
}

async function bound([head, tail]) {       // plotly.js is here already: it need not travel again
  const source = document.querySelector('script[src*="plotly.min.js"]').src;
  const packed = (await fetch(source)).body.pipeThrough(new CompressionStream('gzip'));
  return head + await base64(await new Response(packed).blob()) + tail;
}

function download(content) {
  const { what, stem } = saving, name = `${stem}.${ENDINGS[what] || what}`;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: TYPES[what] }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  part('saved').textContent = words.saved.replace('{name}', name);
}

function lost() {
  part('saved').textContent = words.lost;
}

const menu = part('save');
menu.addEventListener('click', ({ target }) => {
  const chosen = target.closest('[data-save]');
  if (chosen) save(chosen.dataset.save);
});
menu.addEventListener('toggle', () => { if (menu.open) part('saved').textContent = ''; });
menu.addEventListener('keydown', (event) => {
  const items = [...menu.querySelectorAll('[data-save]')], at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Escape: -1 }[event.key];
  if (to === undefined || !menu.open) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key !== 'Escape') return items[to % items.length].focus();
  menu.open = false;
  menu.querySelector('summary').focus();
});
document.addEventListener('pointerdown', ({ target }) => { if (!menu.contains(target)) menu.open = false; });

watch('saved', () => saved().catch(lost));
