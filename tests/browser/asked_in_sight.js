// Every verdict on a node, guessed or told: how many there are, and what of them cannot be seen.
async () => {
  const root = document.querySelector('#viewer [data-role=root]'), { __rheo } = root.parentElement;
  const part = (name) => root.querySelector(`[data-role=${name}]`), { view } = __rheo, wrong = [];
  const still = () => new Promise((go) => { setTimeout(go, 10); });
  let asked = 0;
  const whole = (box, frame) => box.width > 0 && box.left >= frame.left - 1
    && box.right <= frame.right + 1 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  for (let at = 0; at < view.rounds.length; at += 1) {
    delete root.dataset.drawn;
    __rheo.show(at, 0);
    while (root.dataset.drawn !== String(at) || !view.answers.has(view.answers.name('closeup', 0))) await still();
    for (let frame = 0; frame <= view.lastFrame; frame += 1) {
      __rheo.seek(frame);
      if (view.frames[frame].child === null || frame === view.lastFrame) continue;
      asked += 1;
      const plot = part('tree'), { child } = view.frames[frame], where = `round ${at + 1} step ${frame + 1}`;
      const drawn = () => plot.data.some((t) => (t.customdata || []).some(([node]) => node === child));
      for (let tries = 0; tries < 200 && (!drawn() || part('asked').hidden); tries += 1) await still();
      await still();
      const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
      const frameBox = part('frame').getBoundingClientRect();
      const mark = part('asked').getBoundingClientRect();
      if (!whole(mark, frameBox) || !whole(mark, screen)) wrong.push(`${where}: the node`);
      const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2], [x, y] = middle(mark);
      const label = [...plot.querySelectorAll('.scatterlayer .trace')]
        .filter((trace) => getComputedStyle(trace).opacity > 0).flatMap((trace) => [...trace.querySelectorAll('text')])
        .map((text) => text.getBoundingClientRect())
        .filter((box) => Math.abs(middle(box)[1] - y) < 40 * innerHeight / 720)
        .sort((a, b) => Math.abs(middle(a)[0] - x) - Math.abs(middle(b)[0] - x))[0];
      if (!label || !whole(label, frameBox)) wrong.push(`${where}: its token`);
      for (const number of part('card').querySelectorAll('.rs-pair, .rs-formula, .rs-head')) {
        const side = part('side').getBoundingClientRect();
        if (!whole(number.getBoundingClientRect(), side) || !whole(side, screen)) wrong.push(`${where}: its numbers`);
      }
      view.reached = frame;
    }
  }
  return { asked, wrong };
}
