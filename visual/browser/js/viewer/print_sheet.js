// Paper is light and cannot be scrolled: before a page is printed the dark theme goes, the tree is made
// as narrow as a sheet, and the round's sentences are written out as far as they are known.

const WIDTH = 700;                           // pixels between the margins of an upright sheet

export class PrintSheet {
  constructor(viewer) {
    this.viewer = viewer;
    this.wasDark = false;
    const { element } = viewer;
    const follow = (name, act) => window.addEventListener(name, function hear() {
      if (element.isConnected) act();
      else window.removeEventListener(name, hear);
    });
    follow('beforeprint', () => this.prepare());
    follow('afterprint', () => { if (this.wasDark) document.body.classList.add('dark'); });
  }

  prepare() {
    const { viewer } = this, { view, part } = viewer, { classList } = document.body;
    this.wasDark = classList.contains('dark');
    classList.remove('dark');
    if (view.at < 0) return;
    viewer.panel.paintAll();
    const { width } = part('tree').style;
    part('frame').firstElementChild.style.setProperty('--sheet', Math.min(1, WIDTH / parseFloat(width)));
    part('sentences').replaceChildren(...this.sentences().map((sentence) => (
      Object.assign(document.createElement('li'), { textContent: sentence }))));
    part('address').textContent = location.protocol.startsWith('http') ? location.href : '';
  }

  sentences() {                              // the last frame shows the round's headline instead of its own
    const { view } = this.viewer, known = view.frames.slice(0, view.revealed + 1);
    return known.map(({ sentence, own }) => own ?? sentence);
  }
}
