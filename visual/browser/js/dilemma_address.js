// The dilemma's part of the address: what a link says is set once, what is set goes into the link.
// It runs in the scope of dilemma.js, behind it; `address.js` owns the address.

(() => {
  const DIALS = ['m', 'K', 'T', 'seed'];
  const dialled = () => Object.fromEntries(DIALS.map((name) => [name, view[name]]));
  let told = window.rheoscope.held.dilemma, own = dialled();   // of the link; of the situation itself

  function apply() {                          // once the link's situation is there
    if (!told || (told.scenario || view.name) !== view.name) return;
    const { tab, rule = view.rule } = told, wanted = { ...dialled(), ...told };
    const K = Math.min(wanted.K, view.tokens.length), m = Math.min(wanted.m, K - 1);
    const changed = rule !== view.rule || DIALS.some((name) => told[name] !== undefined);
    told = null;
    choose(tab || root.dataset.tab);
    if (!changed) return;
    Object.assign(view, { m, K, T: wanted.T, seed: wanted.seed, rule });
    dials();
    send();
  }

  function report() {
    const state = {}, now = dialled();
    if (view.name !== presets[0][0]) state.scenario = view.name;
    if (root.dataset.tab !== 'draw') state.tab = root.dataset.tab;
    if (view.rule !== 'rheo') state.rule = view.rule;
    for (const name of DIALS) if (now[name] !== own[name]) state[name] = now[name];
    window.rheoscope.dilemma(state);
  }

  new MutationObserver((changes) => {
    if (changes.some(({ attributeName }) => attributeName === 'data-drawn')) own = dialled();
    apply();
    if (!told) report();
  }).observe(root, { attributeFilter: ['data-drawn', 'data-answered', 'data-tab'] });
  if (told.scenario && told.scenario !== view.name) {
    trigger('ask', { what: 'preset', name: told.scenario, n: 0 });
  } else apply();
})();
