// Where a link leads: its run, its round and its step, gone to once they are there.

export class LinkedPlace {
  constructor(link) {
    const { viewer } = link, { root, watch } = viewer;
    Object.assign(this, { link, viewer, held: link.held });
    for (const what of ['round', 'frame', 'run']) root.addEventListener(`rheo:${what}`, () => this.move());
    watch('opened', () => this.open());
    queueMicrotask(() => this.open());       // the answer may have come before the viewer
  }

  open() {
    const { held, link } = this, { opened } = this.viewer.props;
    if (!opened || held.open) return;
    const { values, said } = JSON.parse(opened);
    if (!this.isThere(values)) return;
    held.lock = values.lock || [];
    link.tool('said').textContent = said;
    if (values.page === 'dilemma') {
      held.dilemma = values;
      document.querySelector('#pages [role=tab][data-tab-id=dilemma-page]')?.click();
    } else this.openPlayground(values);
    held.open = true;
    link.touch();
  }

  isThere({ page, trace }) {                 // a recorded run comes by itself, before or after
    const shipped = page !== 'dilemma' && trace && trace !== 'live' && trace !== 'recorded';
    return !shipped || this.viewer.view.key === `gallery/${trace}`;
  }

  openPlayground(values) {
    const { held, link } = this, { view, part } = this.viewer;
    const base = values.trace === 'live' ? link.usual : { ...held.settings, ...view.made };
    for (const name of Object.keys(link.usual)) held.settings[name] = values[name] ?? base[name];
    if (values.guess !== undefined) {        // for this visit; the browser's own choice stays
      view.guessing = part('guessing').checked = values.guess;
    }
    if (values.trace === 'live') held.wanted = values.round ? values : null;
    else if (values.round || values.step) this.go(values);
  }

  go({ round = this.viewer.view.at + 1, step }) {   // as near as there is
    const { viewer } = this, at = Math.min(round, viewer.view.rounds.length) - 1;
    viewer.missing.need(at, () => this.stand(at, round, step));
  }

  stand(at, round, step) {
    const { viewer, link } = this, { view } = viewer;
    this.going = true;
    viewer.show(at, step && 0);              // from the start, so that verdicts can be guessed
    if (step) viewer.seek(step - 1);
    this.going = false;
    if (at + 1 === round && (step || 0) <= view.lastFrame + 1) return;
    const said = link.words.elsewhere.replace('{round}', round);
    viewer.say(said.replace('{step}', step || view.lastFrame + 1));
  }

  move() {                                   // by the reader, or by a run
    const { held, link } = this;
    if (link.trace() === 'recorded') held.opening ??= this.viewer.view.at;
    if (this.going) return link.touch();     // by the link itself
    if (held.open) {
      held.moved = true;
      link.tool('said').textContent = '';
    } else queueMicrotask(() => this.open());              // perhaps it is the run that the link names
    if (held.wanted) queueMicrotask(() => this.arrive());  // a round is shown whole before another is
    link.touch();
  }

  arrive() {                                 // at the run that the link leads to
    const { held, link } = this, { view, root } = this.viewer;
    const over = root.dataset.state === 'done' || root.dataset.state === 'wrong';
    if (!held.wanted || link.trace() !== 'live') return;
    if (!over && view.rounds.length < held.wanted.round) return;
    const { wanted } = held;
    held.wanted = null;
    this.go(wanted);
    view.follow = false;
  }
}
