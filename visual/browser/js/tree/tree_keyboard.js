// The tree by keyboard, while its frame has the focus: up and down within a level, with Shift left to
// the parent and right to the first child. Plain left and right stay the round's steps.

const LEVEL = { ArrowUp: -1, ArrowDown: 1 };
const FAMILY = ['ArrowLeft', 'ArrowRight'];  // with Shift

export class TreeKeyboard {
  constructor(viewer) {
    this.viewer = viewer;
    viewer.part('frame').addEventListener('keydown', (event) => this.walk(event));
  }

  standing() {                               // the nodes that are shown now, row by row
    const traces = this.viewer.part('tree').data || [], shown = ({ opacity = 1 }) => opacity > 0;
    const undecided = new Set(traces.filter((t) => t.name === 'waiting' && shown(t))
      .flatMap(({ x, y }) => x.map((level, i) => `${level}/${y[i]}`)));
    const found = [];
    for (const trace of traces) {
      (trace.customdata || []).forEach((row, i) => {
        const at = { node: row[0], x: trace.x[i], y: trace.y[i], token: row[1], kind: trace.name };
        const verdict = shown(trace) ? row[2] : '';  // nothing is given away
        if (!Number.isInteger(at.node)) return;
        if (shown(trace) || undecided.has(`${at.x}/${at.y}`)) found.push({ ...at, verdict });
      });
    }
    return found.sort((a, b) => a.y - b.y || a.x - b.x);
  }

  walk(event) {
    const { viewer } = this, { view, part } = viewer, { key, shiftKey } = event;
    if (event.target !== part('frame') || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === 'Enter') {
      event.preventDefault();
      part('panel').focus();
    }
    if (view.at < 0 || !(key in LEVEL || (shiftKey && FAMILY.includes(key)))) return;
    event.preventDefault();                  // the frame does not scroll by itself
    event.stopPropagation();                 // and the round does not step
    const all = this.standing(), here = all.find(({ node }) => node === view.node);
    const next = here ? this.neighbour(all, here, key) : all[0];
    if (!next) part('here').textContent = this.atTheEdge(all, here);
    else {
      viewer.choose(next.node);
      part('here').textContent = this.inWords(next);
    }
  }

  neighbour(all, here, key) {
    const { parents } = this.viewer.view.round;
    if (key === 'ArrowLeft') return all.find(({ node }) => node === parents[here.node]);
    if (key === 'ArrowRight') return all.find(({ node }) => parents[node] === here.node);
    const level = all.filter(({ x }) => x === here.x);
    return level[level.indexOf(here) + LEVEL[key]];
  }

  atTheEdge(all, here) {                     // the root has nobody beside it: how to go on
    const beside = all.filter(({ x }) => x === here?.x).length;
    return beside === 1 && all.length > 1 ? this.viewer.words.alone : '';
  }

  inWords({ token, kind, x, verdict }) {
    const text = new DOMParser().parseFromString(token, 'text/html').body.textContent;
    return this.viewer.words.here.replace('{token}', () => text).replace('{kind}', kind)
      .replace('{depth}', x).replace('{verdict}', verdict && `, ${verdict}`);
  }
}
