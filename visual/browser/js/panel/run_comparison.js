// Run again under other settings, then flip between the old and the new run at one round.

import { isTyping } from '../widgets/is_typing.js';
import { letterKeys } from '../widgets/letter_keys.js';

const KEPT = 4;                              // whole runs, as the messages that brought them
const NAMES = ['old', 'new'];

export class RunComparison {
  constructor(viewer) {
    const { root, part, watch } = viewer;
    this.viewer = viewer;
    this.seen = new Map();                   // key -> message
    this.old = '';                           // the run to compare with
    this.both = [];                          // the old run's key and the new one's
    this.place = 0;                          // the round looked at
    this.bindPage();
    NAMES.forEach((name, i) => part(name).addEventListener('click', () => this.turn(i)));
    root.addEventListener('rheo:run', () => this.point());
    watch('value', () => this.keep());
    watch('reply', () => this.hear());
    this.keep();
  }

  bindPage() {
    const { element, view, root, trigger } = this.viewer;
    const click = ({ target }) => {
      if (!element.isConnected) return document.removeEventListener('click', click);
      if (!target.closest?.('#again') || !view.key || root.dataset.state === 'running') return;
      [this.old, this.place] = [view.key, view.at];
      trigger('again', { run: view.key });
    };
    const press = (event) => {
      if (!element.isConnected) return document.removeEventListener('keydown', press);
      if (event.key.toLowerCase() !== 'x' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (letterKeys.refuse(event) || isTyping(event.target) || !root.checkVisibility()) return;
      this.turn(1 - this.both.indexOf(view.key));
    };
    document.addEventListener('click', click);
    document.addEventListener('keydown', press);
  }

  keep() {
    const { props, trigger, view } = this.viewer, { seen, old } = this;
    if (!props.value?.slice(0, 90).includes('"type":"run"')) return;
    const message = JSON.parse(props.value), { rounds } = message;
    if (message.key === view.key) for (const at of rounds.keys()) rounds[at] ||= view.rounds[at] || null;
    seen.delete(message.key);
    seen.set(message.key, message);
    while (seen.size > KEPT) seen.delete(seen.keys().next().value);
    if (!old || message.key === old || !seen.has(old)) return;
    trigger('ask', { run: message.key, round: 0, node: 0, what: 'compare', other: old });
  }

  hear() {
    const { viewer } = this, { props, part, view } = viewer;
    const { key, answer } = JSON.parse(props.reply || '{}');
    if (!answer || !key.endsWith('/compare')) return;
    this.both = [this.old, key.split('/').slice(0, -3).join('/')];
    this.old = '';
    part('flip').setAttribute('aria-label', answer.label);
    part('compared').textContent = answer.sentence;
    for (const name of NAMES) {
      part(name).textContent = answer[name];
      part(name).title = answer.hint;
    }
    if (view.key === this.both[1] && view.follow) viewer.show(Math.min(this.place, view.rounds.length - 1));
    this.point();
  }

  point() {                                  // which of the two is shown; none of them: no flip
    const { part, view } = this.viewer, at = this.both.indexOf(view.key);
    part('flip').hidden = at < 0;
    NAMES.forEach((name, i) => part(name).setAttribute('aria-pressed', i === at));
  }

  turn(to) {
    const { viewer, both } = this, { view } = viewer;
    const message = this.seen.get(both[to]), here = both.indexOf(view.key);
    if (!message || here < 0 || here === to) return;
    const last = message.rounds.length - 1;
    viewer.replace({ ...message, show: Math.min(Math.max(view.at, 0), last), answers: {} });
    viewer.transcript.tell(message);
    viewer.say(message.sentence, message.state);
    viewer.trigger('turned', { run: message.key });   // the controls follow
    this.point();
  }
}
