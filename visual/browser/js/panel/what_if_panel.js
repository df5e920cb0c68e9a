// Sliders that teach: the chosen node under the rail's m, T, K and strategy, as Python sees it at once.

const DIALS = ['m', 'T', 'K'], NAMES = [...DIALS, 'strategy'];
const REST = 80;                             // ms that a node must stay chosen before it is asked for
const PATIENCE = 4000;                       // ms until a question without an answer is asked again

export class WhatIfPanel {
  constructor(viewer) {
    const { element, part, root, watch } = viewer;
    this.viewer = viewer;
    this.holder = part('whatif');
    this.wanted = this.sent = '';            // what is to be shown, what was asked for
    this.asked = 0;                          // when
    this.again = false;
    this.timer = 0;
    this.latency = [];                       // ms of each answer
    element.__rheo.whatif = this;
    const moved = ({ target }) => {
      if (!element.isConnected) return document.removeEventListener('input', moved);
      if (target.closest?.('#m, #T, #K')) requestAnimationFrame(() => this.update());   // both inputs agree by then
    };
    document.addEventListener('input', moved);
    document.addEventListener('change', moved);
    document.addEventListener('rheo:settings', () => this.later());
    for (const what of ['run', 'round', 'frame', 'node']) root.addEventListener(`rheo:${what}`, () => this.later());
    watch('reply', () => this.hear());
  }

  rail() {                                   // null where the page has no rail
    const { params } = this.viewer.view;
    // the number: a range stands at its steps alone
    const fields = DIALS.map((name) => document.querySelector(`#${name} input[type=number]`));
    if (!fields[0] || !params) return null;
    const value = (name, field) => (field ? Number(field.value) : params[name]);  // still folded
    const { strategy } = window.rheoscope.held.settings;
    return { ...Object.fromEntries(DIALS.map((name, i) => [name, value(name, fields[i])])), strategy };
  }

  update() {
    const { view, answers, common } = this.viewer, { holder } = this;
    const now = this.rail(), own = view.params;
    const here = now && own && view.round?.walk.includes(view.node);
    const moved = here && NAMES.some((name) => now[name] !== own[name]);
    if (!moved) this.wanted = '';
    holder.hidden = !here;
    if (here && !moved) {
      if (holder.dataset.of !== '') holder.innerHTML = '';
      holder.dataset.of = '';
      holder.textContent = common.whatif;
    }
    if (!moved) return;
    this.wanted = `${answers.name('whatif', view.node)}/${NAMES.map((name) => now[name])}`;
    this.scrollTo();
    if (this.wanted !== holder.dataset.of) this.send(now);
  }

  scrollTo() {                               // where the panel has been scrolled down
    const panel = this.viewer.part('panel');
    const above = panel.getBoundingClientRect().top - this.holder.getBoundingClientRect().top;
    if (above > 0) panel.scrollTop -= above;
  }

  send(now) {                                // one question at a time, the newest wins
    const { view, trigger } = this.viewer;
    this.again = this.asked > 0 && performance.now() - this.asked < PATIENCE;
    if (this.again) return;
    this.asked = performance.now();
    this.sent = this.wanted;
    trigger('ask', { run: view.key, round: view.at, node: view.node, what: 'whatif', ...now });
  }

  hear() {
    const { key, answer } = JSON.parse(this.viewer.props.reply || '{}');
    if (!key?.endsWith('/whatif')) return;
    this.latency.push(performance.now() - this.asked);
    this.asked = 0;
    const of = answer && `${key}/${NAMES.map((name) => answer[name])}`;
    if (of && of === this.wanted) {
      this.holder.innerHTML = answer.html;   // escaped by `what_if_view`
      this.holder.dataset.of = of;
    }
    if (this.again) this.update();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), REST);
  }
}
