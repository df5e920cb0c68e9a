// What a saved picture of the tree says by itself: its prompt, its round, the run's settings, the marks.

import { treeLabels } from './tree_labels.js';

const LINE = 16;                             // pixels
const SIZE = 11;
const WIDEST = 620;                          // pixels that a picture has at least, for its lines

const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]);

function broken(pieces, gap, width, family) {  // pieces in lines of this width
  const lines = [];
  let used = Infinity;
  for (const [text, markup] of pieces) {
    const wide = treeLabels.width(text + gap, SIZE, family);
    if (used + wide > width) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1).push(markup);
    used += wide;
  }
  return lines.map((line) => line.join(gap));
}

function marks(root) {                       // the legend under the tree, in its own colours
  return [...root.querySelectorAll('.rheo-legend .rheo-entry')].map((entry) => {
    const sign = entry.querySelector('i'), name = escaped(entry.lastChild.textContent);
    const { color } = getComputedStyle(sign);
    return [entry.textContent, `<span style="color:${color}">${escaped(sign.textContent)}</span> ${name}`];
  });
}

export const pictureFrame = {
  around(layout, root, said) {
    const { width, height, margin, font } = layout, whole = Math.max(width, WIDEST);
    const words = (text, gap) => text.split(gap).map((word) => [word, escaped(word)]);
    const room = whole - 16;
    const head = [
      `<b>${escaped(said.title)}</b>`,
      ...broken(words(said.prompt, ' '), ' ', room, font.family).slice(0, 2),
      ...broken(words(said.about, ' '), ' ', room, font.family),
    ];
    const foot = broken(marks(root), '   ', room, font.family), color = getComputedStyle(root).color;
    const [above, below] = [head, foot].map((lines) => lines.length * LINE + 10);
    const note = (lines, place) => ({
      text: lines.join('<br>'), showarrow: false, align: 'left', xref: 'paper', x: 0, xanchor: 'left',
      xshift: 8 - margin.l, yref: 'paper', font: { ...font, size: SIZE, color }, ...place,
    });
    return {
      ...layout,
      width: whole,
      height: height + above + below,
      margin: { ...margin, t: margin.t + above, b: margin.b + below, r: margin.r + whole - width },
      annotations: [
        note(head, { y: 1, yanchor: 'bottom', yshift: margin.t }),
        note(foot, { y: 0, yanchor: 'top', yshift: -margin.b - 4 }),
      ],
    };
  },
};
