// The page's address, kept true to the page: the controls, the place in a run, the other page's own.
// Python reads and checks a link (`url_state`).

import { copyText } from './clipboard.js';

const PAUSE = 250;                           // milliseconds until the address is written
const ROOM = 12_000;                         // characters of a prompt as an address spells it

export class AddressLink {
  constructor(viewer, tools) {
    const { defaults, standing, limit, words } = viewer.common.address;
    Object.assign(this, { viewer, usual: defaults, standing, longest: limit, words });
    this.tool = (name) => tools.querySelector(`[data-role="${name}"]`);
    this.held = {
      open: false,                           // nothing is written before the link was read
      settings: { ...standing }, lock: [], opening: null, wanted: null, moved: false, dilemma: {},
    };
    this.timer = 0;
    this.tool('copy').addEventListener('click', () => this.copy());
  }

  handle() {                                 // for the other components of the page
    return {
      held: this.held,
      settings: (values) => {                // of the controls, in the order of `usual`
        Object.keys(this.usual).forEach((name, i) => { this.held.settings[name] = values[i]; });
        document.dispatchEvent(new CustomEvent('rheo:settings'));
        this.touch();
        return [];
      },
      dilemma: (state) => {
        this.held.dilemma = state;
        this.touch();
      },
    };
  }

  get isPresenting() {
    return Boolean(document.querySelector('#head').parentElement.classList.contains('present'));
  }

  page() {
    const tab = document.querySelector('#pages [role=tab][aria-selected=true]');
    return tab?.dataset.tabId === 'dilemma-page' ? 'dilemma' : 'playground';
  }

  base() {                                   // what a reader of the link starts from
    const { usual, standing, viewer } = this, run = this.trace();
    if (run === 'live') return usual;
    return run === 'recorded' ? standing : { ...usual, ...viewer.view.made };
  }

  settings() {
    const { held } = this, base = this.base();
    const kept = Object.entries(held.settings)
      .filter(([name, value]) => value !== null && value !== undefined && value !== base[name])
      .map(([name, value]) => [name, name === 'prompt' ? this.linked(value) : value]);
    return Object.fromEntries(kept);
  }

  linked(prompt) {                           // its end, which the model reads last, as far as there is room
    let text = prompt.slice(-this.longest).replace(/^[\udc00-\udfff]/, '');
    const spelled = () => new URLSearchParams({ text }).toString().length;
    while (spelled() > ROOM) text = text.slice(Math.ceil(text.length / 10)).replace(/^[\udc00-\udfff]/, '');
    return text;
  }

  get isMoved() {                            // the controls no longer stand at what the run was made with
    const { made } = this.viewer.view, { settings } = this.held;
    return Object.entries(made || {}).some(([name, value]) => (
      name === 'prompt' ? !settings.prompt?.endsWith(value) : String(settings[name]) !== String(value)));
  }

  trace() {
    const { key } = this.viewer.view;
    return key === 'recorded' ? key : key.split('gallery/')[1] || 'live';
  }

  place(kept) {                              // which run, round and step the reader looks at
    const { held } = this, { view, root } = this.viewer;
    if (!view.guessing) kept.guess = 0;
    if (held.wanted && !held.moved) return this.put(kept, held.wanted);
    if (view.at < 0 || root.dataset.state === 'running') return;
    const run = this.trace(), inside = view.frame < view.lastFrame;
    if (run === 'live' && this.isMoved) return this.put(kept, { trace: run });   // another run to come
    const first = { recorded: held.opening, live: view.rounds.length - 1 }[run];
    const round = view.at !== first || inside ? view.at + 1 : undefined;
    this.put(kept, { trace: run, round, step: inside ? view.frame + 1 : undefined });
  }

  put(kept, { trace: run, round, step }) {   // what a reader of the link would assume is left out
    const assumed = Object.keys(this.usual).some((name) => name in kept) ? 'live' : 'recorded';
    if (run !== assumed) kept.trace = run;
    if (round) kept.round = round;
    if (step) kept.step = step;
  }

  query() {
    const { held } = this, here = this.page();
    const kept = here === 'dilemma' ? { page: here, ...held.dilemma } : this.settings();
    if (here === 'playground') this.place(kept);
    if (this.isPresenting) kept.present = 1;
    if (held.lock.length) kept.lock = held.lock.join(',');
    const hosts = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith('__'));
    const text = new URLSearchParams([...Object.entries(kept), ...hosts]).toString();
    return text.replaceAll('%2C', ',');
  }

  write() {
    clearTimeout(this.timer);
    const text = this.query();
    if (!this.held.open || text === location.search.slice(1)) return;
    history.replaceState(history.state, '', text ? `?${text}` : location.pathname);
  }

  touch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), PAUSE);
  }

  async copy() {
    this.write();
    const { words } = this, prompt = this.held.settings.prompt || '';
    const length = this.linked(prompt).length, cut = length < prompt.length;
    const done = await copyText(location.href);
    const said = cut ? words.long.replace('{limit}', length) : words.copied;
    this.tool('copied').textContent = done ? said : words.by_hand;
    setTimeout(() => { this.tool('copied').textContent = ''; }, done && !cut ? 2500 : 9000);
  }
}
