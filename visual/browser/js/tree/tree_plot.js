// The tree of the round shown: plotly at the page's size, the frame's opacities, the chosen node's ring.

import { projected } from '../widgets/projected.js';
import { treeSpacing } from './tree_spacing.js';

const FOOT = 52;                             // pixels that stay visible under the tree

export class TreePlot {
  constructor(viewer) {
    this.viewer = viewer;
    this.plot = viewer.part('tree');
    this.frame = viewer.part('frame');
    this.drawing = this.again = this.bound = false;
    this.shown = null;                       // and its drawing, as it came
    this.drawn = -1;                         // the round that the plot holds
  }

  redraw() {                                 // another round
    this.drawn = -1;
    this.draw();
  }

  async draw() {
    this.again = this.drawing;
    if (this.drawing) return;
    const { view, root, painter } = this.viewer;
    this.drawing = true;
    do {
      this.again = false;
      const shown = this.wanted(), at = view.at;
      await painter.paint(this.plot, this.complete(shown));
      this.listen();
      this.drawn = at;
      this.shown = shown.tree;
    } while (this.again || this.drawn !== view.at);
    this.drawing = false;
    this.disclose();
    this.ring();
    this.follow(view.isFinished ? view.round.walk.at(-1) : view.node, this.asked);
    root.dataset.drawn = view.at;
  }

  wanted() {                                 // the drawing for the frame shown, and how it is sized
    const { view, answers } = this.viewer, whole = view.round.tree;
    const ghosts = view.ghosts && answers.ask('ghosts', 0);
    if (!this.isProjected) return { tree: ghosts || whole, way: 'fitted' };
    const parts = view.ghosts || view.large ? null : answers.ask('closeup', 0)?.parts;
    if (!parts) return { tree: ghosts || whole, way: 'projected' };
    const { from, tree } = parts.findLast((part) => part.from <= this.moment);
    return tree ? { tree, way: 'closeup', from } : { tree: whole, way: 'overview' };
  }

  get isProjected() {
    return projected.has(this.viewer.root);
  }

  get scale() {
    return this.isProjected ? projected.scale : 1;
  }

  get moment() {                             // the frame shown; half a frame before a verdict that is asked
    const { frame, asking } = this.viewer.view;
    return frame - (asking ? 0.5 : 0);
  }

  listen() {                                 // once: plotly has made of the element what it needs
    if (this.bound) return;
    this.bound = true;
    for (const moved of ['plotly_relayout', 'plotly_relayouting']) this.plot.on(moved, () => this.ring());
    this.plot.on('plotly_click', ({ points }) => {
      const node = points[0].customdata?.[0], { viewer } = this;
      if (node === 'emit') viewer.choose(viewer.view.round.walk.at(-1));
      else if (node !== undefined) viewer.choose(node);   // a pruned child has a name
    });
  }

  complete({ tree, way, from = 0 }) {        // put back what every drawing shares, then size it
    const { viewer, frame, scale } = this, { common, view, part, root } = viewer;
    const layout = { ...common.layout, ...tree.layout };
    layout.uirevision += ` ${way} ${from}`;
    const top = frame.getBoundingClientRect().top + window.scrollY;
    const foot = this.isProjected ? root.querySelector('.rheo-foot').offsetHeight + 8 : FOOT;
    const room = Math.max(window.innerHeight - top - foot, 300);
    const data = tree.data.map((trace) => {
      const known = { ...(common.defaults[trace.name] || common.defaults['']), ...trace };
      return { ...known, ...this.seen(known) };
    });
    const options = { room: room - (this.isProjected ? 0 : 24), scale, ...common, roomy: view.large || view.ghosts };
    const sized = treeSpacing[way]({ data, layout }, frame.clientWidth, options);
    const { width, height } = sized.layout;
    Object.assign(this.plot.style, { height: `${height}px`, width: `${width}px` });
    frame.style.maxHeight = part('side').style.maxHeight = `${room}px`;
    return sized;
  }

  seen({ meta, hovertemplate }) {            // a trace in the frame shown; what is hidden is not hovered
    const [from, until] = meta || [0, null], at = this.moment;
    const there = from <= at && (until === null || at < until);
    return { opacity: there ? 1 : 0, hoverinfo: there && hovertemplate ? 'all' : 'skip' };
  }

  disclose() {                               // restyles only what changes: no trace is drawn again
    if (this.drawing || this.drawn < 0 || this.drawn !== this.viewer.view.at) return;   // it will be drawn as it should be
    if (this.wanted().tree !== this.shown) return this.draw();
    const changes = [], opacity = [], hoverinfo = [];
    this.plot.data.forEach((trace, at) => {
      const to = this.seen(trace);
      if (to.opacity === trace.opacity) return;
      changes.push(at);
      opacity.push(to.opacity);
      hoverinfo.push(to.hoverinfo);
    });
    if (changes.length) Plotly.restyle(this.plot, { opacity, hoverinfo }, changes);
  }

  ring(glide = false) {                      // around the chosen node and the one asked about, over the plot
    const { view } = this.viewer;
    this.mark('ring', view.node, glide);
    this.mark('asked', this.asked, false);
    if (glide) this.follow(view.node, this.asked);
  }

  get asked() {                              // the node whose verdict this step is; none when all is decided
    const { view } = this.viewer;
    return view.isFinished && !view.asking ? null : view.frames[view.frame]?.child ?? null;
  }

  mark(name, node, glide) {
    const mark = this.viewer.part(name), there = this.pixels(node);
    mark.hidden = !there;
    if (!there) return;
    mark.classList.toggle('glide', glide);
    mark.style.transform = `translate(${there.x}px, ${there.y}px)`;
  }

  follow(...nodes) {                         // where the frame scrolls: a mark and its label into sight, the last one surely
    const { frame, scale } = this, [wide, high] = [150 * scale, 24 * scale];
    const within = (at, from, size, rim) => (at < from + rim || at > from + size - rim ? at - size / 2 : from);
    for (const there of nodes.map((node) => this.pixels(node)).filter(Boolean)) {
      if (frame.scrollHeight > frame.clientHeight + 1) {
        frame.scrollTop = within(there.y, frame.scrollTop, frame.clientHeight, high);
      }
      if (frame.scrollWidth > frame.clientWidth + 1) {
        frame.scrollLeft = within(there.x, frame.scrollLeft, frame.clientWidth, wide);
      }
    }
  }

  pixels(node) {                             // where it stands in the plot
    const at = this.place(node);
    if (!at) return undefined;
    const share = ({ range: [start, end] }, value) => (value - start) / (end - start);
    const { xaxis, yaxis } = this.plot._fullLayout;
    return {
      x: xaxis._offset + xaxis._length * share(xaxis, at[0]),
      y: yaxis._offset + yaxis._length * (1 - share(yaxis, at[1])),
    };
  }

  place(node) {                              // in the axes' own units
    for (const trace of this.plot.data || []) {
      const at = (trace.customdata || []).findIndex((row) => row[0] === node);
      if (at >= 0) return [trace.x[at], trace.y[at]];
    }
    return undefined;
  }
}
