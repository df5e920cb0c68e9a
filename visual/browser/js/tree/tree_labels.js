// How wide a label of the tree is, and what of it fits: plotly's text, with its few entities.

const SIGN = / [✓✕]$/;                       // of the verdict: it stays where the token is cut
const ENTITIES = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };
const ESCAPES = { '<': '&lt;', '>': '&gt;', '&': '&amp;' };
const pen = document.createElement('canvas').getContext('2d');

function width(word, size, family) {         // in pixels
  const font = `${size}px ${family}`;
  if (pen.font !== font) pen.font = font;
  return pen.measureText(word.replace(/&(lt|gt|amp);/g, (entity) => ENTITIES[entity])).width;
}

export const treeLabels = {
  width,

  cut(word, room, size, family) {            // the label in `room` pixels, the last glyph then "…"
    if (width(word, size, family) <= room) return word;
    const [sign = ''] = word.match(SIGN) || [];
    const plain = word.slice(0, word.length - sign.length).replace(/…$/, '')
      .replace(/&(lt|gt|amp);/g, (entity) => ENTITIES[entity]);
    const glyphs = Array.from(plain);
    const shown = () => `${glyphs.join('').replace(/[<>&]/g, (glyph) => ESCAPES[glyph])}…${sign}`;
    do glyphs.pop(); while (glyphs.length > 1 && width(shown(), size, family) > room);
    return shown();
  },
};
