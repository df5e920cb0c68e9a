// The dilemma's part of the address: what a link says is set once, what is set goes into the link.

const DIALS = ['m', 'K', 'T', 'seed'], BARS = ['p', 'q'];

export class DilemmaLink {
  constructor(page, address) {               // the address: `AddressLink.handle`
    Object.assign(this, { page, address, linked: address.held.dilemma });
    this.own = this.dialled();               // of the situation itself
    const { root, view } = page;
    new MutationObserver((changes) => {
      if (changes.some(({ attributeName }) => attributeName === 'data-drawn')) this.own = this.dialled();
      this.apply();
      if (!this.linked) this.report();
    }).observe(root, { attributeFilter: ['data-drawn', 'data-answered', 'data-tab', 'data-world'] });
    if (this.linked.scenario && this.linked.scenario !== view.name) page.askPreset(this.linked.scenario);
    else this.apply();
  }

  dialled() {                                // the bars too, as a link spells them
    const { view, bars } = this.page, dials = DIALS.map((name) => [name, view[name]]);
    return Object.fromEntries([...dials, ...BARS.map((name) => [name, bars.percents(name)])]);
  }

  apply() {                                  // once the link's situation is there
    const { linked, page } = this, { view, root } = page;
    if (!linked || (linked.scenario || view.name) !== view.name) return;
    const { tab, rule = view.rule } = linked, wanted = { ...this.dialled(), ...linked };
    const K = Math.min(wanted.K, view.tokens.length), m = Math.min(wanted.m, K - 1);
    const changed = rule !== view.rule || [...DIALS, ...BARS].some((name) => linked[name] !== undefined);
    this.linked = null;
    page.tabs.choose(tab || root.dataset.tab);
    page.worlds.take(linked);
    for (const name of BARS) if (linked[name]) page.bars.take(name, linked[name]);
    if (!changed) return;
    Object.assign(view, { m, K, T: wanted.T, seed: wanted.seed, rule });
    page.dials();
    page.send();
  }

  report() {
    const { view, root, presets } = this.page, state = {}, now = this.dialled();
    if (view.name !== presets[0][0]) state.scenario = view.name;
    if (root.dataset.tab !== 'draw') state.tab = root.dataset.tab;
    if (view.rule !== 'rheo') state.rule = view.rule;
    for (const name of [...DIALS, ...BARS]) if (now[name] !== this.own[name]) state[name] = now[name];
    this.address.dilemma({ ...state, ...this.page.worlds.changed() });
  }
}
