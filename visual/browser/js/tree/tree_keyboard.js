// The tree by keyboard: while its frame has the focus, arrows walk from node to node, row by row.

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
    const { view, part } = this.viewer, by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.target !== part('frame') || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter') {
      event.preventDefault();
      part('panel').focus();
    }
    if (!by || view.at < 0) return;
    event.preventDefault();                  // the frame does not scroll by itself
    const all = this.standing(), here = all.find(({ node }) => node === view.node);
    const nodes = event.shiftKey && here ? all.filter(({ x }) => x === here.x) : all;
    const next = nodes[nodes.indexOf(here) + by];
    if (!next) return;
    this.viewer.choose(next.node);
    part('here').textContent = this.inWords(next);
  }

  inWords({ token, kind, x, verdict }) {
    const text = new DOMParser().parseFromString(token, 'text/html').body.textContent;
    return this.viewer.words.here.replace('{token}', () => text).replace('{kind}', kind)
      .replace('{depth}', x).replace('{verdict}', verdict && `, ${verdict}`);
  }
}
