// The tree for a projector: the rows that the walk came to get the height of large letters, and the
// others close up.

const LARGE = { letters: 20, near: 27, far: 8, column: 116, mark: 1.5, bare: 5 };  // pixels; mark: times

const presenting = () => Boolean(root.closest('.present'));

function projected(data, layout) {
  const { put, near } = spread(data), [bottom, top] = layout.yaxis.range.map(put);
  const spaced = data.map((trace) => {
    const y = trace.y.map((row) => (row === null ? null : put(row)));
    if (!trace.text) return { ...trace, y };
    const text = trace.text.map((word, at) => (near(trace.y[at]) ? word : ''));
    const usual = [trace.marker.size].flat();  // one for all, or one each
    const size = trace.y.map((row, at) => (near(row) ? LARGE.mark * usual[at % usual.length] : LARGE.bare));
    return { ...trace, y, text, marker: { ...trace.marker, size } };
  });
  const [left, right] = layout.xaxis.range;  // the root's label stands on the left
  const tickfont = { ...layout.xaxis.tickfont, size: LARGE.letters };
  const xaxis = { ...layout.xaxis, tickfont, range: [left * LARGE.letters / 12, right] };
  const width = across(span(xaxis), LARGE.column), height = bottom - top + 24;
  const yaxis = { ...layout.yaxis, range: [bottom, top] };
  const font = { ...layout.font, size: LARGE.letters };
  return { data: spaced, layout: { ...layout, width, height, font, xaxis, yaxis } };
}

function spread(data) {                      // -> where a row stands, in pixels from the first
  const came = new Map();                    // row -> whether the walk came there
  for (const trace of data) {
    for (const row of trace.text ? trace.y : []) came.set(row, came.get(row) || trace.marker.opacity === 1);
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
  return { put, near: (row) => came.get(row) };
}
