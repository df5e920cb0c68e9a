// Views that the server makes when asked, each asked for once and kept while its run is shown.

export class Answers {
  constructor(view, trigger) {
    this.view = view;
    this.trigger = trigger;
    this.known = new Map();
    this.asked = new Set();
  }

  name(what, node, at = this.view.at) {      // Python's `answer_key` makes the same
    return `${this.view.key}/${at}/${node}/${what}`;
  }

  has(key) {
    return this.known.has(key);
  }

  get(key) {
    return this.known.get(key);
  }

  forget(key) {
    this.known.delete(key);
  }

  start(answers = {}) {                      // another run, and what came with it
    this.known = new Map(Object.entries(answers));
    this.asked.clear();
  }

  ask(what, node, at = this.view.at) {       // the answer, if it is there already
    const key = this.name(what, node, at), known = this.known.get(key);
    if (known || this.asked.has(key)) return known;
    this.asked.add(key);
    this.trigger('ask', { key, run: this.view.key, round: at, node, what });
    return undefined;
  }

  receive(key, answer) {
    this.asked.delete(key);
    if (!answer) return;
    this.known.set(key, answer);
    if (key.endsWith('/walk')) this.keepPanels(key, answer);
  }

  keepPanels(key, panels) {                  // of one round, as if each had been asked for
    for (const [node, panel] of Object.entries(panels)) {
      const one = key.replace(/[^/]+\/walk$/, `${node}/panel`);
      if (!this.known.has(one)) this.known.set(one, panel);
    }
  }
}
