// The tree: plotly in the page's colours and at the page's size.

const PLOT = { responsive: true, displayModeBar: false, doubleClick: 'reset', showTips: false };
const ROW = { least: 9, full: 15, best: 22 };  // pixels of a row of the tree
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
    await paint(part('tree'), full(drawing));
    reveal();
  } while (view.again);
  view.drawing = false;
  root.dataset.drawn = view.at;
}

function full(drawing) {                     // put back what `wire.slim` left out, then size it
  const layout = { ...common.layout, ...drawing.layout };
  const rows = layout.yaxis.range[0] - layout.yaxis.range[1];
  const columns = layout.xaxis.range[1] - layout.xaxis.range[0];
  const frame = part('frame'), top = frame.getBoundingClientRect().top + window.scrollY;
  const room = Math.max(window.innerHeight - top - FOOT, 300);
  const least = view.large || view.ghosts ? ROW.full / common.close : ROW.least;
  const height = Math.max(Math.min(rows * ROW.best, room - 24), rows * least) + 24;
  const width = Math.max(Math.min(frame.clientWidth, columns * COLUMN.most), columns * COLUMN.least);
  Object.assign(part('tree').style, { height: `${height}px`, width: `${width}px` });
  frame.style.maxHeight = part('panel').style.maxHeight = `${room}px`;
  const pitch = (height - 24) / rows;
  const size = Math.min(Math.max(pitch * 0.8, 9), width / columns > 88 ? 12.5 : 11.5);
  const data = drawing.data.map((trace) => {
    const whole = { ...(defaults[trace.name] || defaults['']), ...trace };
    const cramped = trace.customdata && trace.marker.opacity < 1 && pitch * common.close < LEGIBLE;
    return cramped ? { ...whole, mode: 'markers', marker: { ...trace.marker, size: 6 } } : whole;
  });
  Object.assign(data.at(-1), place(data));    // the ring
  return { data, layout: { ...layout, width, height, font: { ...layout.font, size } } };
}

function place(data) {                       // of the chosen node
  for (const trace of data) {
    const at = (trace.customdata || []).findIndex((row) => row[0] === view.node);
    if (at >= 0) return { x: [trace.x[at]], y: [trace.y[at]] };
  }
  return {};
}

function ring() {
  const tree = part('tree'), { x, y } = place(tree.data || []);
  if (x) Plotly.restyle(tree, { x: [x], y: [y] }, [tree.data.length - 1]);
}

function reveal() {                          // where the frame scrolls
  const frame = part('frame'), tree = part('tree'), { y } = place(tree.data);
  if (!y || frame.scrollHeight <= frame.clientHeight + 1) return;
  frame.scrollTop = tree._fullLayout.yaxis.d2p(y[0]) - frame.clientHeight / 2;
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
  const panel = view.answers.get(name('panel', view.node));
  if (panel) fill(panel);
}
