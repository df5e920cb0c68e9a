// One draw at the node, step by step, with a guess before each verdict.

import { dial } from './dial.js';

const PACE = 2200;                           // milliseconds a step stays while playing

export class DrawStepper {
  constructor(page) {
    Object.assign(this, { page, view: page.view, part: page.part, root: page.root, words: page.words });
    this.timer = 0;
    this.bind();
  }

  bind() {
    const { page, view, part } = this;
    dial.offer(part('rule'), page.rules.node, 'rheo');
    part('rule').addEventListener('change', ({ target }) => { view.rule = target.value; page.send(); });
    part('again').addEventListener('click', () => { view.seed += 1; page.send(); });
    part('previous').addEventListener('click', () => this.go(view.at - 1));
    part('next').addEventListener('click', () => this.go(view.at + 1));
    part('play').addEventListener('click', () => this.play());
    part('guess').addEventListener('change', () => this.go(view.at));
    part('guesses').addEventListener('click', ({ target }) => this.guess(target.dataset.guess));
    page.element.addEventListener('keydown', (event) => this.press(event));
  }

  get isAsking() {
    const { view, part } = this;
    return Boolean(part('guess').checked && view.steps[view.at]?.ask && !view.told.has(view.at));
  }

  get isLast() {
    return this.view.at === this.view.steps.length - 1;
  }

  go(at) {
    const { view, part, root, words } = this;
    view.at = Math.min(Math.max(at, 0), view.steps.length - 1);
    const step = view.steps[view.at], hidden = this.isAsking;
    root.dataset.step = view.at;
    root.toggleAttribute('data-covered', hidden);
    part('title').innerHTML = step.title;    // titles quote tokens, escaped
    part('ask').textContent = step.ask;
    part('guesses').hidden = !hidden;
    part('say').innerHTML = hidden ? '' : step.say;
    const guess = view.told.get(view.at);
    part('told').textContent = guess ? words[guess === step.verdict ? 'right' : 'wrong'] : '';
    part('told').dataset.right = guess === step.verdict;
    part('picture').innerHTML = step.html;
    part('picture').dataset.verdict = hidden ? '' : step.verdict;
    part('previous').disabled = view.at === 0;
    part('next').disabled = hidden || this.isLast;
    this.dots(hidden);
  }

  dots(hidden) {
    const { view, part } = this;
    part('dots').replaceChildren(...view.steps.map((one, i) => {
      const dot = document.createElement('i');
      dot.textContent = i < view.at || (i === view.at && !hidden)
        ? { accept: '✓', reject: '✕' }[one.verdict] || '●' : '○';
      dot.toggleAttribute('data-here', i === view.at);
      return dot;
    }));
  }

  guess(said) {
    if (!this.isAsking) return;
    this.view.told.set(this.view.at, said);
    this.go(this.view.at);
    this.part('next').focus();
  }

  play() {
    if (this.timer) return this.pause();
    if (this.isLast) this.go(0);
    this.part('play').textContent = this.words.pause;
    this.timer = setInterval(() => {
      if (this.isAsking) return;             // it waits for the guess
      if (this.isLast || !this.page.element.isConnected) return this.pause();
      this.go(this.view.at + 1);
    }, PACE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.part('play').textContent = this.words.play;
  }

  press(event) {
    const { view, part, root } = this;
    event.stopPropagation();                 // these keys are not another page's
    if (root.dataset.tab !== 'draw' || event.target.closest('.dl-main, .dl-tabs, select, label')) return;
    const act = {
      ArrowLeft: () => this.go(view.at - 1),
      ArrowRight: () => this.isAsking || this.go(view.at + 1),
      Home: () => this.go(0),
      End: () => part('guess').checked || this.go(view.steps.length - 1),
      a: () => this.guess('accept'),
      r: () => this.guess('reject'),
      ' ': () => this.play(),
    }[event.key];
    if (!act || (event.key === ' ' && event.target.closest('button'))) return;
    event.preventDefault();
    act();
  }
}
