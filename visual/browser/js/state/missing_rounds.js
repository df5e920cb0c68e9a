// Rounds that did not come with their run's message: read from the run's file, or asked for one by one.

export class MissingRounds {
  constructor({ view, answers }) {
    Object.assign(this, { view, answers });
    this.wanted = null;                      // the round waited for, and what to do with it
    this.reading = '';                       // the key of the run whose file is on its way
  }

  start({ key = '', file, rounds = [] }) {   // another run
    this.wanted = null;
    this.reading = '';
    if (file && rounds.includes(null)) this.read(key, file);
  }

  async read(key, file) {
    this.reading = key;
    let rounds = [];
    try {
      const answer = await fetch(file);
      if (answer.ok) rounds = await answer.json();
    } catch { /* they can be asked for */ }
    if (this.view.key !== key || this.reading !== key) return;   // the reader has left that run
    this.reading = '';
    rounds.forEach((round, at) => this.put(at, round));
    if (this.wanted) this.answers.ask('round', 0, this.wanted.at);
  }

  need(at, act) {                            // now if the round is there, else when it comes
    const { view } = this;
    if (!(at in view.rounds)) return;
    this.wanted = null;
    if (view.rounds[at]) {
      act();
      this.ask(at + 1);                      // likely the next
    } else {
      this.wanted = { at, act };
      this.ask(at);
    }
  }

  ask(at) {
    if (!this.reading && this.view.rounds[at] === null) this.answers.ask('round', 0, at);
  }

  hear(key, round) {                         // an answer of the server
    const { answers } = this, at = Number(key.match(/\/(\d+)\/0\/round$/)?.[1] ?? -1);
    if (at < 0 || key !== answers.name('round', 0, at)) return;
    answers.forget(key);
    if (round) this.put(at, round);
    else if (this.wanted?.at === at) this.wanted = null;         // the server has forgotten the run
  }

  put(at, round) {
    const { view, wanted } = this;
    if (at in view.rounds) view.rounds[at] ||= round;
    if (wanted?.at === at) this.need(at, wanted.act);
  }
}
