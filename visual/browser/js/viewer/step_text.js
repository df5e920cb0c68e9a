// The step in words: its sentence or its question, its card, and where it stands among the steps.

import { progress } from '../widgets/progress.js';

export class StepText {
  constructor(viewer) {
    this.viewer = viewer;
  }

  tell() {
    const { view, part } = this.viewer, { sentence, ask } = view.frames[view.frame], open = view.asking;
    part('headline').textContent = open ? `${ask.question} ${ask.hint}` : sentence;
    this.showCard();
    part('guess').hidden = !open;
    part('outcome').textContent = open ? '' : this.outcome(ask);
    this.showPlace();
  }

  showCard() {                               // a finished round has its node's card alone
    const { view, part } = this.viewer, { card, node } = view.frames[view.frame];
    part('card').innerHTML = view.isFinished && node !== view.node ? '' : card;  // escaped by `cards`
    part('card').toggleAttribute('data-concealed', view.asking);
  }

  outcome(ask) {                             // right or wrong, and the round's score
    const { view, words } = this.viewer;
    const all = view.guesses.size, right = [...view.guesses.values()].filter(Boolean).length;
    const likelier = [...view.guesses.keys()].reduce((sum, at) => sum + view.frames[at].ask.likelier, 0);
    const said = { right, all, likelier: likelier.toFixed(1) };
    const score = all ? words.score.replace(/\{(\w+)\}/g, (_, name) => said[name]) : '';
    if (!view.guesses.has(view.frame)) return view.isFinished ? score : '';
    const verdict = view.guesses.get(view.frame) ? words.right : words.wrong;
    return `${verdict.replace('{verdict}', words[ask.answer])} ${score}`;
  }

  showPlace() {
    const { view, part, words } = this.viewer, at = view.frame, last = view.lastFrame;
    progress.fill(part('moment'), at, last + 1, words.step);
    part('step').textContent = part('moment').ariaValueText;
    for (const name of ['first', 'back']) progress.end(part(name), at === 0);
    for (const name of ['ahead', 'last']) progress.end(part(name), at === last && !view.asking);
  }
}
