// How large a tree is drawn and where its rows stand: plotly drawings in, sized drawings out.

const ROW = { least: 9, full: 15, best: 22 };  // pixels of a row of the tree
const COLUMN = { least: 64, most: 190 };       // and of a column
const UNLABELLED = 6;                          // pixels of a mark without a label
const LEGIBLE = 9.5;                           // pixels of the lowest row that gets a label
// on a projector, in pixels; mark: times the usual size
const LARGE = { letters: 20, near: 27, far: 8, column: 116, mark: 1.5, unlabelled: 5 };

const span = ({ range: [start, end] }) => Math.abs(end - start);

function across(columns, least, width) {
  return Math.max(Math.min(width, columns * COLUMN.most), columns * least);
}

// Labels only where the walk came, small marks elsewhere.
function sparse(trace, near, times, unlabelled) {
  const usual = [trace.marker.size].flat();    // one for all, or one each
  const size = trace.y.map((_, at) => (near(trace, at) ? times * usual[at % usual.length] : unlabelled));
  const text = trace.text.map((word, at) => (near(trace, at) ? word : ''));
  return { ...trace, text, marker: { ...trace.marker, size } };
}

// `near` tells the places that the walk came to, `put` where a row stands, in pixels from the first.
function rowPlaces(data) {
  const came = new Map(), there = new Set();   // row -> whether the walk came there; the very places
  const key = ({ x, y }, at) => `${x[at]} ${y[at]}`;
  for (const trace of data.filter(({ text }) => text)) {
    const whole = trace.marker.opacity === 1;
    trace.y.forEach((row, at) => {
      came.set(row, came.get(row) || whole);
      if (whole) there.add(key(trace, at));
    });
  }
  const rows = [...came.keys()].sort((a, b) => a - b), places = [0];
  const half = (at) => (came.get(rows[at]) ? LARGE.near : LARGE.far) / 2;
  for (let at = 1; at < rows.length; at += 1) places.push(places[at - 1] + half(at - 1) + half(at));
  const put = (row) => {
    const below = rows.findLastIndex((there) => there <= row);
    if (below < 0) return (row - rows[0]) * LARGE.near;
    if (below === rows.length - 1) return places[below] + (row - rows[below]) * LARGE.near;
    const share = (row - rows[below]) / (rows[below + 1] - rows[below]);
    return places[below] + share * (places[below + 1] - places[below]);
  };
  return { put, near: (trace, at) => there.has(key(trace, at)) };
}

export const treeSpacing = {
  // For a projector: rows that the walk came to get the height of large letters, others close up.
  projected({ data, layout }, frameWidth) {
    const { put, near } = rowPlaces(data), [bottom, top] = layout.yaxis.range.map(put);
    const spaced = data.map((trace) => {
      const y = trace.y.map((row) => (row === null ? null : put(row)));
      return { ...(trace.text ? sparse(trace, near, LARGE.mark, LARGE.unlabelled) : trace), y };
    });
    const [left, right] = layout.xaxis.range;  // the root's label stands on the left
    const tickfont = { ...layout.xaxis.tickfont, size: LARGE.letters };
    const xaxis = { ...layout.xaxis, tickfont, range: [left * LARGE.letters / 12, right] };
    const width = across(span(xaxis), LARGE.column, frameWidth), height = bottom - top + 24;
    const yaxis = { ...layout.yaxis, range: [bottom, top] };
    const font = { ...layout.font, size: LARGE.letters };
    return { data: spaced, layout: { ...layout, width, height, font, xaxis, yaxis } };
  },

  // On one screen, if the rows are not too thin for that; `roomy` where each row gets its label.
  fitted({ data, layout }, frameWidth, { room, close, roomy }) {
    const rows = span(layout.yaxis), columns = span(layout.xaxis);
    const least = roomy ? ROW.full / close : ROW.least;
    const height = Math.max(Math.min(rows * ROW.best, room), rows * least) + 24;
    const width = across(columns, COLUMN.least, frameWidth), pitch = (height - 24) / rows;
    const size = Math.min(Math.max(pitch * 0.8, 9), width / columns > 88 ? 12.5 : 11.5);
    const { near } = rowPlaces(data), cramped = pitch * close < LEGIBLE;
    const isPale = ({ text, marker }) => text && marker.opacity < 1;
    return {
      data: data.map((trace) => (cramped && isPale(trace) ? sparse(trace, near, 1, UNLABELLED) : trace)),
      layout: { ...layout, width, height, font: { ...layout.font, size } },
    };
  },
};
