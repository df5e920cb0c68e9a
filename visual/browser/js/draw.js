// The tree: plotly in the page's colours and at the page's size.

const PLOT = { responsive: true, displayModeBar: false, doubleClick: 'reset', showTips: false };
const ROW = { least: 9, full: 15, best: 22 };  // pixels of a row of the tree
const BARE = 6;                            // pixels of a mark without a label
const LEGIBLE = 9.5;                       // pixels of the lowest row that gets a label
const COLUMN = { least: 64, most: 190 };    // and of a column
const FOOT = 52;                           // what stays visible under the tree

async function draw() {
  view.again = view.drawing;
  if (view.drawing) return;
  view.drawing = true;
  do {
    view.again = false;
    const drawing = (view.ghosts && ask('ghosts', 0)) || view.rounds[view.at].tree;
    const at = view.at;
    await paint(part('tree'), full(drawing));
    view.drawn = at;
  } while (view.again || view.drawn !== view.at);
  view.drawing = false;
  disclose();
  ring();
  follow(pixels(view.frame === lastFrame() ? view.rounds[view.at].walk.at(-1) : view.node));
  root.dataset.drawn = view.at;
}

function full(drawing) {                     // put back what `wire.slim` left out, then size it
  const layout = { ...common.layout, ...drawing.layout };
  const frame = part('frame'), top = frame.getBoundingClientRect().top + window.scrollY;
  const room = Math.max(window.innerHeight - top - FOOT, 300);
  const data = drawing.data.map((trace) => {
    const known = { ...(defaults[trace.name] || defaults['']), ...trace };
    return { ...known, ...seen(known) };
  });
  const sized = presenting() ? projected(data, layout) : fitted(data, layout, room - 24);
  const { width, height } = sized.layout;
  Object.assign(part('tree').style, { height: `${height}px`, width: `${width}px` });
  frame.style.maxHeight = part('side').style.maxHeight = `${room}px`;
  return sized;
}

function fitted(data, layout, room) {        // on one screen, if the rows are not too thin for that
  const rows = span(layout.yaxis), columns = span(layout.xaxis);
  const least = view.large || view.ghosts ? ROW.full / common.close : ROW.least;
  const height = Math.max(Math.min(rows * ROW.best, room), rows * least) + 24;
  const width = across(columns, COLUMN.least), pitch = (height - 24) / rows;
  const size = Math.min(Math.max(pitch * 0.8, 9), width / columns > 88 ? 12.5 : 11.5);
  const { near } = spread(data), cramped = pitch * common.close < LEGIBLE;
  const isPale = ({ text, marker }) => text && marker.opacity < 1;
  return {
    data: data.map((trace) => (cramped && isPale(trace) ? sparing(trace, near, 1, BARE) : trace)),
    layout: { ...layout, width, height, font: { ...layout.font, size } },
  };
}

const span = ({ range: [start, end] }) => Math.abs(end - start);
const across = (columns, least) => Math.max(Math.min(part('frame').clientWidth, columns * COLUMN.most), columns * least);

function seen({ meta, hovertemplate }) {     // a trace in the frame shown; what is hidden is not hovered
  const [from, until] = meta || [0, null], at = view.frame - (asking() ? 0.5 : 0);
  const there = from <= at && (until === null || at < until);
  return { opacity: there ? 1 : 0, hoverinfo: there && hovertemplate ? 'all' : 'skip' };
}

function disclose() {                        // restyles only what changes: no trace is drawn again
  const tree = part('tree');
  if (view.drawn !== view.at) return;        // it will be drawn as it should be
  const changes = [], opacity = [], hoverinfo = [];
  tree.data.forEach((trace, at) => {
    const to = seen(trace);
    if (to.opacity === trace.opacity) return;
    changes.push(at);
    opacity.push(to.opacity);
    hoverinfo.push(to.hoverinfo);
  });
  if (changes.length) Plotly.restyle(tree, { opacity, hoverinfo }, changes);
}

function ring(glide = false) {               // around the chosen node, over the plot
  const mark = part('ring'), there = pixels(view.node);
  mark.hidden = !there;
  if (!there) return;
  mark.classList.toggle('glide', glide);
  mark.style.transform = `translate(${there.x}px, ${there.y}px)`;
  if (glide) follow(there);
}

function follow(there) {                     // where the frame scrolls
  const frame = part('frame');
  if (!there || frame.scrollHeight <= frame.clientHeight + 1) return;
  if (there.y < frame.scrollTop + 20 || there.y > frame.scrollTop + frame.clientHeight - 20) {
    frame.scrollTop = there.y - frame.clientHeight / 2;
  }
}

function pixels(node) {                      // where it stands in the plot
  const { data, _fullLayout } = part('tree'), at = place(data || [], node);
  if (!at) return undefined;
  const share = ({ range: [start, end] }, value) => (value - start) / (end - start);
  const { xaxis, yaxis } = _fullLayout;
  return {
    x: xaxis._offset + xaxis._length * share(xaxis, at[0]),
    y: yaxis._offset + yaxis._length * (1 - share(yaxis, at[1])),
  };
}

function place(data, node) {
  for (const trace of data) {
    const at = (trace.customdata || []).findIndex((row) => row[0] === node);
    if (at >= 0) return [trace.x[at], trace.y[at]];
  }
  return undefined;
}

const isDark = () => document.body.classList.contains('dark');

function themed(value) {
  if (typeof value === 'string') {
    return dark[value] || value.replace(/#[0-9a-f]{6}/g, (colour) => dark[colour] || colour);
  }
  if (Array.isArray(value)) return value.map(themed);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, themed(item)]));
  }
  return value;
}

async function paint(plot, figure) {
  const drawn = isDark() ? { data: themed(figure.data), layout: themed(figure.layout) } : figure;
  await Plotly.react(plot, drawn.data, { ...drawn.layout, autosize: true }, PLOT);
  if (plot === part('tree') && !plot.dataset.bound) {
    plot.dataset.bound = '1';
    for (const moved of ['plotly_relayout', 'plotly_relayouting']) plot.on(moved, () => ring());
    plot.on('plotly_click', ({ points }) => {
      const node = points[0].customdata?.[0];
      if (Number.isInteger(node)) choose(node);
      else if (node === 'emit') choose(view.rounds[view.at].walk.at(-1));
    });
  }
}

function repaint() {
  if (view.at < 0) return;
  draw();
  view.sheet = null;
  const panel = view.answers.get(name('panel', view.node));
  if (panel) fill(panel);
}
