// The Save menu: files of the run, the round, the tree. The server answers with bytes in JSON, so
// that no user's file ever gets an address; the browser makes the file.

import { pictureFile } from '../tree/picture_file.js';
import { pictureFrame } from '../tree/picture_frame.js';
import { base64 } from '../widgets/base64.js';

const TYPES = { json: 'application/gzip', html: 'text/html', csv: 'text/csv', svg: 'image/svg+xml', png: 'image/png' };
const ENDINGS = { json: 'json.gz' };
const WAIT = 60_000;                         // ms until a file that has not come is given up

export class SaveMenu {
  constructor(viewer) {
    this.viewer = viewer;
    this.menu = viewer.part('save');
    this.n = 0;                              // of the last file asked for
    this.what = this.stem = '';
    this.timer = 0;
    this.bind();
    viewer.watch('saved', () => this.hear().catch(() => this.lose()));
  }

  bind() {
    const { menu } = this;
    menu.addEventListener('click', ({ target }) => {
      const chosen = target.closest('[data-save]');
      if (chosen) this.save(chosen.dataset.save);
    });
    menu.addEventListener('toggle', () => { if (menu.open) this.tell(''); });
    menu.addEventListener('keydown', (event) => this.press(event));
    document.addEventListener('pointerdown', ({ target }) => { if (!menu.contains(target)) menu.open = false; });
  }

  press(event) {
    const { menu } = this;
    const items = [...menu.querySelectorAll('[data-save]')], at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Escape: -1 }[event.key];
    if (to === undefined || !menu.open) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== 'Escape') return items[to % items.length].focus();
    menu.open = false;
    menu.querySelector('summary').focus();
  }

  tell(sentence) {
    this.viewer.part('saved').textContent = sentence;
  }

  save(what) {
    const { view, words, trigger } = this.viewer;
    if (view.at < 0) return;
    const round = what === 'json' || what === 'html' ? '' : `-round-${view.at + 1}`;
    clearTimeout(this.timer);
    this.n += 1;
    this.what = what;
    this.stem = `rheoscope-${view.key.replace(/\W+/g, '-')}${round}`;
    this.tell(words.making);
    if (what === 'svg' || what === 'png') return this.image(what).catch(() => this.lose());
    this.timer = setTimeout(() => this.lose(), WAIT);
    trigger('save', { n: this.n, what, run: view.key, round: view.at });
  }

  async image(format) {                      // of the frame shown, on the page's own ground
    const { root, view, tree, painter, common, words, part } = this.viewer, { plot } = tree;
    const paper = getComputedStyle(root).getPropertyValue('--paper').trim();
    const { width, height } = plot._fullLayout, at = tree.place(view.node);
    const title = words.picture.replace('{at}', view.at + 1).replace('{count}', view.rounds.length);
    const said = { title, prompt: part('prompt').textContent, about: view.about };
    const ring = at ? [{ ...common.defaults.chosen, x: [at[0]], y: [at[1]] }] : [];
    const data = [...plot.data, ...(painter.isDark ? painter.darkened(ring) : ring)];
    const own = { ...plot.layout, width, height, paper_bgcolor: paper };
    const figure = { data, layout: pictureFrame.around(own, root, said) };
    this.download(await pictureFile.of(figure, format, paper));
  }

  async hear() {                             // what the server answers
    const { n, what, data } = JSON.parse(this.viewer.props.saved || '{}');
    if (n !== this.n) return;                // of an earlier press
    clearTimeout(this.timer);
    if (!data) return this.lose();
    this.download(what === 'html' ? await this.page(data) : base64.decode(data));
  }

  async page([head, tail]) {                 // plotly.js is here already: it need not travel again
    const source = document.querySelector('script[src*="plotly.min.js"]').src;
    const packed = (await fetch(source)).body.pipeThrough(new CompressionStream('gzip'));
    return head + await base64.encode(await new Response(packed).blob()) + tail;
  }

  download(content) {
    const { what, stem } = this, name = `${stem}.${ENDINGS[what] || what}`;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([content], { type: TYPES[what] }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    this.tell(this.viewer.words.saved.replace('{name}', name));
  }

  lose() {
    this.tell(this.viewer.words.lost);
  }
}
