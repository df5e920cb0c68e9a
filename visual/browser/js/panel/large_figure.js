// A panel's figure in a projector's letters: sizes, margins and shifts grow, what is too wide is cut.

import { treeLabels } from '../tree/tree_labels.js';

const LETTERS = 11;                          // pixels that the views draw in
const WANTED = 20;                           // pixels on a projector of 1280 x 720
const LEAST = 3;                             // glyphs of a label that is worth its place
const TICKS = 4;                             // of an axis: of more, every other one

const times = (value, by) => (Array.isArray(value) ? value.map((one) => one * by) : value * by);

function grown(item, by) {                   // a trace's mark, a shape, an annotation
  const changed = { ...item };
  for (const key of ['size', 'xshift', 'yshift', 'standoff']) if (key in item) changed[key] = times(item[key], by);
  for (const key of ['marker', 'font', 'line', 'tickfont', 'textfont', 'pattern', 'title']) if (item[key]) changed[key] = grown(item[key], by);
  if ('width' in item && !('type' in item)) changed.width = times(item.width, by);
  return changed;
}

function axis(item, by) {
  const { tickvals = [], ticktext = [] } = item, every = tickvals.length > TICKS ? 2 : 1;
  const kept = (all) => all.filter((_, at) => at % every === 0);
  return tickvals.length ? { ...grown(item, by), tickvals: kept(tickvals), ticktext: kept(ticktext) } : item;
}

// Pixels that a text may take: up to the plot's end, or in the segment of a bar in which it stands.
function room({ x, y, xanchor, xref, xshift = 0 }, { data, layout }, wide) {
  if (xref === 'paper') return xanchor === 'left' ? wide + layout.margin.r - xshift : Infinity;
  const [from, to] = layout.xaxis.range, pixels = wide / Math.abs(to - from);
  if (xanchor !== 'center') return (to - x) * pixels;
  for (const { type, base, x: widths, y: rows } of data) {
    const at = type === 'bar' && base ? rows.findIndex((row, i) => row === y && base[i] <= x && x <= base[i] + widths[i]) : -1;
    if (at >= 0) return 2 * Math.min(x - base[at], base[at] + widths[at] - x) * pixels;
  }
  return Infinity;
}

function fitting(note, figure, wide) {       // a title too wide goes without its numbers: the card has them;
  // a legend's names without what they mean
  const { size, family = figure.layout.font.family } = note.font, most = room(note, figure, wide) - size / 2;
  const fits = (text) => treeLabels.width(text, size, family) <= most;
  if (fits(note.text)) return note;
  const names = note.text.split('  ').map((name) => name.split(',')[0]).join('  ');
  if (note.xref === 'paper' && fits(names)) return { ...note, text: names };
  const head = note.text.split('  ')[0];
  if (fits(head)) return { ...note, text: head };
  return most < LEAST * 0.6 * size ? null : { ...note, text: treeLabels.cut(head, most, size, family) };
}

export const largeFigure = {
  times: (scale) => scale * WANTED / LETTERS,

  of(figure, width, scale) {
    const by = this.times(scale), { layout } = figure;
    const margin = Object.fromEntries(Object.entries(layout.margin).map(([side, size]) => [side, size * by]));
    const large = {
      data: figure.data.map((trace) => grown(trace, by)),
      layout: {
        ...layout,
        margin,
        height: layout.height * by,
        font: grown(layout.font, by),
        xaxis: axis(layout.xaxis, by),
        yaxis: axis(layout.yaxis, by),
        shapes: (layout.shapes || []).map((shape) => ({ ...shape, line: grown(shape.line, by) })),
      },
    };
    const notes = (layout.annotations || []).map((note) => fitting(grown(note, by), large, width - margin.l - margin.r));
    large.layout.annotations = notes.filter(Boolean);
    return large;
  },
};
