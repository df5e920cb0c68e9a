// The tree of the round shown: plotly at the page's size, the frame's opacities, the chosen node's ring.

import { treeSpacing } from './tree_spacing.js';

const FOOT = 52;                             // pixels that stay visible under the tree

export class TreePlot {
  constructor(viewer) {
    this.viewer = viewer;
    this.plot = viewer.part('tree');
    this.frame = viewer.part('frame');
    this.drawing = this.again = this.bound = false;
    this.drawn = -1;                         // the round that the plot holds
  }

  redraw() {                                 // another round
    this.drawn = -1;
    this.draw();
  }

  async draw() {
    this.again = this.drawing;
    if (this.drawing) return;
    const { view, root, answers, painter } = this.viewer;
    this.drawing = true;
    do {
      this.again = false;
      const drawing = (view.ghosts && answers.ask('ghosts', 0)) || view.round.tree, at = view.at;
      await painter.paint(this.plot, this.complete(drawing));
      this.listen();
      this.drawn = at;
    } while (this.again || this.drawn !== view.at);
    this.drawing = false;
    this.disclose();
    this.ring();
    this.follow(this.pixels(view.isFinished ? view.round.walk.at(-1) : view.node));
    root.dataset.drawn = view.at;
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

  complete(drawing) {                        // put back what every drawing shares, then size it
    const { viewer, frame } = this, { common, view, part } = viewer;
    const layout = { ...common.layout, ...drawing.layout };
    const top = frame.getBoundingClientRect().top + window.scrollY;
    const room = Math.max(window.innerHeight - top - FOOT, 300);
    const data = drawing.data.map((trace) => {
      const known = { ...(common.defaults[trace.name] || common.defaults['']), ...trace };
      return { ...known, ...this.seen(known) };
    });
    const options = { room: room - 24, close: common.close, roomy: view.large || view.ghosts };
    const sized = viewer.root.closest('.present')
      ? treeSpacing.projected({ data, layout }, frame.clientWidth)
      : treeSpacing.fitted({ data, layout }, frame.clientWidth, options);
    const { width, height } = sized.layout;
    Object.assign(this.plot.style, { height: `${height}px`, width: `${width}px` });
    frame.style.maxHeight = part('side').style.maxHeight = `${room}px`;
    return sized;
  }

  seen({ meta, hovertemplate }) {            // a trace in the frame shown; what is hidden is not hovered
    const { view } = this.viewer;
    const [from, until] = meta || [0, null], at = view.frame - (view.asking ? 0.5 : 0);
    const there = from <= at && (until === null || at < until);
    return { opacity: there ? 1 : 0, hoverinfo: there && hovertemplate ? 'all' : 'skip' };
  }

  disclose() {                               // restyles only what changes: no trace is drawn again
    if (this.drawn !== this.viewer.view.at) return;   // it will be drawn as it should be
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

  ring(glide = false) {                      // around the chosen node, over the plot
    const mark = this.viewer.part('ring'), there = this.pixels(this.viewer.view.node);
    mark.hidden = !there;
    if (!there) return;
    mark.classList.toggle('glide', glide);
    mark.style.transform = `translate(${there.x}px, ${there.y}px)`;
    if (glide) this.follow(there);
  }

  follow(there) {                            // where the frame scrolls
    const { frame } = this;
    if (!there || frame.scrollHeight <= frame.clientHeight + 1) return;
    if (there.y < frame.scrollTop + 20 || there.y > frame.scrollTop + frame.clientHeight - 20) {
      frame.scrollTop = there.y - frame.clientHeight / 2;
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
