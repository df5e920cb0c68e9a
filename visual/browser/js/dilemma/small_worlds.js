// Small worlds: who cheats there, and what a simulation shows of it.

import { dial } from './dial.js';

const PLAYED = { left: 'rheo', right: 'naive' };      // strategies, if nobody chooses others
const BOXES = { survey: 'verdicts', play: 'bands' };  // a task's result

export class SmallWorlds {
  constructor(page) {
    Object.assign(this, { page, view: page.view, part: page.part });
    const { part, view } = this;
    for (const [role, chosen] of Object.entries(PLAYED)) {
      dial.offer(part(role), page.rules.world, chosen);
      part(role).addEventListener('change', () => this.tell());
    }
    for (const name of ['m', 'T', 'R']) {
      const role = `world-${name}`;
      part(role).addEventListener('input', ({ target }) => dial.fill(part, role, target.value));
      part(role).addEventListener('change', ({ target }) => this.change({ [name]: Number(target.value) }));
    }
    part('other').addEventListener('click', () => this.change({ seed: (view.world.seed ?? 0) + 1 }));
    part('shipped').addEventListener('click', () => this.change({ seed: null, ...page.world }));
    part('simulate').addEventListener('click', () => this.work('play'));
    part('stop').addEventListener('click', () => page.trigger('halt', {}));
    part('sweep').addEventListener('click', () => this.work('sweep'));
  }

  work(what) {
    const { view, part, page } = this;
    view.work += 1;
    view.mine[what] = view.work;
    part(`${what}-state`).textContent = page.words.working;
    if (what === 'play') part('stop').disabled = false;
    const { seed, m, T, R } = view.world;
    const [left, right] = [part('left').value, part('right').value];
    page.trigger('work', { what, seed, m, T, R, left, right, n: view.work });
  }

  open({ curves, ...boxes }) {               // results that were computed before
    for (const [box, made] of Object.entries(boxes)) this.part(box).innerHTML = made;
    this.page.curves.show(curves);
  }

  progress({ what, n, state, html, figures, over }) {
    const { view, part, page } = this;
    if (view.mine[what] !== n) return;
    if (figures) page.curves.show({ html, figures });
    else if (html) part(BOXES[what]).innerHTML = html;
    part(`${what}-state`).textContent = state;
    if (!over) return;
    page.root.dataset[`${what}Over`] = n;
    if (what === 'play') part('stop').disabled = true;
  }

  tell() {                                   // the address, which watches this
    this.page.root.dataset.world = JSON.stringify(this.changed());
  }

  changed() {                                // what a link holds of the world and of who plays in it
    const { view: { world }, page, part } = this, state = {};
    if (world.seed !== null) state.world = world.seed;
    for (const name of ['m', 'T', 'R']) if (world[name] !== page.world[name]) state[`world_${name}`] = world[name];
    for (const [role, usual] of Object.entries(PLAYED)) if (part(role).value !== usual) state[role] = part(role).value;
    return state;
  }

  take({ world, world_m: m, world_T: T, world_R: R, left, right }) {   // off a link
    const known = Object.entries({ seed: world, m, T, R }).filter(([, value]) => value !== undefined);
    if (left) this.part('left').value = left;
    if (right) this.part('right').value = right;
    if (known.length) this.change(Object.fromEntries(known));
    else this.tell();
  }

  change(changes) {
    Object.assign(this.view.world, changes);
    this.tell();
    this.page.dials();
    this.part('bands').replaceChildren();    // they were another world's
    this.part('play-state').textContent = '';
    this.work('survey');
  }

  fillDials() {
    for (const name of ['m', 'T', 'R']) dial.fill(this.part, `world-${name}`, this.view.world[name]);
  }
}
