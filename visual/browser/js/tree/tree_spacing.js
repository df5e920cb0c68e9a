// How large a tree is drawn and where its rows stand: plotly drawings in, sized drawings out.

import { treeLabels } from './tree_labels.js';

const ROW = { least: 9, full: 15, best: 22 };  // pixels of a row of the tree
const COLUMN = { least: 64, most: 190 };       // and of a column
const UNLABELLED = 6;                          // pixels of a mark without a label
const LEGIBLE = 9.5;                           // pixels of the lowest row that gets a label
const FREE = 5;                                // pixels between a mark, its label and the next line
// on a projector, in pixels of 1280 x 720; mark and line: times the usual size
const LARGE = {
  letters: 20, near: 30, far: 8, column: 100, most: 280, top: 34, row: 28, high: 58, mark: 1.8, line: 1.4, unlabelled: 5,
};

// An empty label is a space: plotly.js removes the element of an empty one and draws none there again
// when the next drawing has a word in its place (plotly.js issue 5360).
const NO_LABEL = ' ';

const span = ({ range: [start, end] }) => Math.abs(end - start);
const nth = (values, at) => (Array.isArray(values) ? values[at % values.length] : values);
const times = (values, by) => (Array.isArray(values) ? values.map((value) => value * by) : values * by);
const isInner = ({ textposition }, at) => nth(textposition, at) === 'top left';

// Labels only where the walk came, small marks elsewhere.
function sparse(trace, near, times, unlabelled) {
  const size = trace.y.map((_, at) => (near(trace, at) ? times * nth(trace.marker.size, at) : unlabelled));
  const text = trace.text.map((word, at) => (near(trace, at) ? word : NO_LABEL));
  return { ...trace, text, marker: { ...trace.marker, size } };
}

// `near` tells the places that the walk came to, `put` where a row stands, in pixels from the first.
function rowPlaces(data, scale = 1) {
  const came = new Map(), there = new Set();   // row -> whether the walk came there; the very places
  const key = ({ x, y }, at) => `${x[at]} ${y[at]}`;
  for (const trace of data.filter(({ text }) => text)) {
    const whole = trace.marker.opacity === 1;
    trace.y.forEach((row, at) => {
      came.set(row, came.get(row) || whole);
      if (whole) there.add(key(trace, at));
    });
  }
  const rows = [...came.keys()].sort((a, b) => a - b), places = [0], near = LARGE.near * scale;
  const half = (at) => (came.get(rows[at]) ? LARGE.near : LARGE.far) * scale / 2;
  for (let at = 1; at < rows.length; at += 1) places.push(places[at - 1] + half(at - 1) + half(at));
  const put = (row) => {
    const below = rows.findLastIndex((there) => there <= row);
    if (below < 0) return (row - rows[0]) * near;
    if (below === rows.length - 1) return places[below] + (row - rows[below]) * near;
    const share = (row - rows[below]) / (rows[below + 1] - rows[below]);
    return places[below] + share * (places[below + 1] - places[below]);
  };
  return { put, near: (trace, at) => there.has(key(trace, at)) };
}

// Room for the labels left of the first column, right of the last one, and between two columns; an
// inner node's label stands between its parent's bus and its mark and is cut to what fits there.
function columned({ data, layout }, frameWidth, { size, least, most, bus }) {
  const { family } = layout.font, levels = layout.xaxis.tickvals, [first, last] = [levels[0], levels.at(-1)];
  const labels = data.filter(({ text }) => text).flatMap((trace) => trace.text.map((word, at) => ({
    x: trace.x[at], inner: isInner(trace, at), mark: nth(trace.marker.size, at) / 2 + FREE,
    width: treeLabels.width(word, size, family),
  })));
  const longest = (some) => Math.max(0, ...labels.filter(some).map(({ width, mark }) => width + mark));
  const { l, r } = layout.margin, whole = frameWidth - l - r, columns = last - first;
  const left = Math.max(longest(({ x, inner }) => inner && x === first), 2 * size) + FREE;
  let right = Math.max(Math.min(longest(({ x, inner }) => !inner && x === last), 0.45 * whole), size);
  const wide = (room) => Math.min(Math.max(room / Math.max(columns, 1), least), most);
  const column = wide(whole - left - right);
  right = Math.max(right, longest(({ x, inner }) => !inner && x < last) - column * (columns > 0));
  const fitting = (trace, word, at) => {
    if (!isInner(trace, at) || trace.x[at] === first) return word;
    const room = column * (1 - bus) - nth(trace.marker.size, at) / 2 - FREE;
    return treeLabels.cut(word, room, size, family);
  };
  return {
    data: data.map((trace) => (trace.text
      ? { ...trace, text: trace.text.map((word, at) => fitting(trace, word, at)) } : trace)),
    layout: {
      ...layout,
      width: left + columns * column + right + l + r,
      font: { ...layout.font, size },
      xaxis: { ...layout.xaxis, range: [first - left / column, last + right / column] },
    },
  };
}

// Marks and lines `times` as large, ticks in letters of this size.
function enlarged({ data, layout }, scale) {
  const grown = (trace) => (trace.text
    ? { ...trace, marker: { ...trace.marker, size: times(trace.marker.size, LARGE.mark * scale) } }
    : { ...trace, line: trace.line && { ...trace.line, width: trace.line.width * LARGE.line * scale } });
  const tickfont = { ...layout.xaxis.tickfont, size: LARGE.letters * scale };
  const margin = { ...layout.margin, t: LARGE.top * scale };
  return { data: data.map(grown), layout: { ...layout, margin, xaxis: { ...layout.xaxis, tickfont } } };
}

const inLetters = (scale, bus) => ({
  size: LARGE.letters * scale, least: LARGE.column * scale, most: LARGE.most * scale, bus,
});

export const treeSpacing = {
  // For a projector, the part that the walk looks at: a few rows, as high as the frame allows.
  closeup({ data, layout }, frameWidth, { room, scale, bus }) {
    const rows = span(layout.yaxis), head = LARGE.top * scale + layout.margin.b;
    const pitch = Math.min(Math.max((room - head) / rows, LARGE.row * scale), LARGE.high * scale);
    const sized = columned(enlarged({ data, layout }, scale), frameWidth, inLetters(scale, bus));
    return { ...sized, layout: { ...sized.layout, height: rows * pitch + head } };
  },

  // For a projector, how the whole tree grows: marks and lines alone.
  overview({ data, layout }, frameWidth, { room, scale, bus }) {
    const bare = data.map((trace) => (trace.text ? { ...trace, text: trace.text.map(() => NO_LABEL) } : trace));
    const sized = columned(enlarged({ data: bare, layout }, scale / 1.4), frameWidth, {
      ...inLetters(scale, bus), least: 1,
    });
    const tickfont = { ...sized.layout.xaxis.tickfont, size: LARGE.letters * scale };
    const xaxis = { ...sized.layout.xaxis, tickfont }, margin = { ...sized.layout.margin, t: LARGE.top * scale };
    return { ...sized, layout: { ...sized.layout, height: room, xaxis, margin } };
  },

  // For a projector, the whole tree: rows that the walk came to get the height of large letters.
  projected({ data, layout }, frameWidth, { scale, bus }) {
    const { put, near } = rowPlaces(data, scale), range = layout.yaxis.range.map(put);
    const spaced = data.map((trace) => {
      const y = trace.y.map((row) => (row === null ? null : put(row)));
      return { ...(trace.text ? sparse(trace, near, 1, LARGE.unlabelled / LARGE.mark) : trace), y };
    });
    const large = enlarged({ data: spaced, layout: { ...layout, yaxis: { ...layout.yaxis, range } } }, scale);
    const sized = columned(large, frameWidth, inLetters(scale, bus));
    const height = span({ range }) + LARGE.top * scale + layout.margin.b;
    return { ...sized, layout: { ...sized.layout, height } };
  },

  // On one screen, if the rows are not too thin for that; `roomy` where each row gets its label.
  fitted({ data, layout }, frameWidth, { room, close, roomy, bus }) {
    const rows = span(layout.yaxis), columns = span(layout.xaxis);
    const least = roomy ? ROW.full / close : ROW.least;
    const height = Math.max(Math.min(rows * ROW.best, room), rows * least) + 24, pitch = (height - 24) / rows;
    const size = Math.min(Math.max(pitch * 0.8, 9), frameWidth / columns > 88 ? 12.5 : 11.5);
    const { near } = rowPlaces(data), cramped = pitch * close < LEGIBLE;
    const isPale = ({ text, marker }) => text && marker.opacity < 1;
    const shown = data.map((trace) => (cramped && isPale(trace) ? sparse(trace, near, 1, UNLABELLED) : trace));
    const sized = columned({ data: shown, layout }, frameWidth, { size, ...COLUMN, bus });
    return { ...sized, layout: { ...sized.layout, height } };
  },
};
