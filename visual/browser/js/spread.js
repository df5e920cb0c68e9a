// The tree for a projector: the rows that the walk came to get the height of large letters, and the
// others close up.

const LARGE = { letters: 20, near: 27, far: 8, column: 116, mark: 1.5, bare: 5 };  // pixels; mark: times

const presenting = () => Boolean(root.closest('.present'));

function projected(data, layout) {
  const { put, near } = spread(data), [bottom, top] = layout.yaxis.range.map(put);
  const spaced = data.map((trace) => {
    const y = trace.y.map((row) => (row === null ? null : put(row)));
    return { ...(trace.text ? sparing(trace, near, LARGE.mark, LARGE.bare) : trace), y };
  });
  const [left, right] = layout.xaxis.range;  // the root's label stands on the left
  const tickfont = { ...layout.xaxis.tickfont, size: LARGE.letters };
  const xaxis = { ...layout.xaxis, tickfont, range: [left * LARGE.letters / 12, right] };
  const width = across(span(xaxis), LARGE.column), height = bottom - top + 24;
  const yaxis = { ...layout.yaxis, range: [bottom, top] };
  const font = { ...layout.font, size: LARGE.letters };
  return { data: spaced, layout: { ...layout, width, height, font, xaxis, yaxis } };
}

function sparing(trace, near, times, bare) { // labels only where the walk came, small marks elsewhere
  const usual = [trace.marker.size].flat();  // one for all, or one each
  const size = trace.y.map((_, at) => (near(trace, at) ? times * usual[at % usual.length] : bare));
  const text = trace.text.map((word, at) => (near(trace, at) ? word : ''));
  return { ...trace, text, marker: { ...trace.marker, size } };
}

function spread(data) {                      // -> where a row stands, in pixels from the first
  const came = new Map(), there = new Set(); // row -> whether the walk came there; the very places
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
