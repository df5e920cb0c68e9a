// Sliders that teach: the chosen node under the rail's m, T and K, as Python sees it at once.

(() => {
  const NAMES = ['m', 'T', 'K'], REST = 80;    // ms that a node must stay chosen before it is asked for
  const PATIENCE = 4000;                       // until a question without an answer is asked again
  const holder = part('whatif');
  const state = { asked: 0, wanted: '', sent: '', again: false, timer: 0, latency: [] };
  element.__rheo.whatif = state;

  function rail() {                            // null where the page has no rail
    const fields = NAMES.map((name) => document.querySelector(`#${name} input[type=range]`));
    if (!fields[0] || !view.params) return null;
    const value = (name, field) => (field ? Number(field.value) : view.params[name]);  // still folded
    return Object.fromEntries(NAMES.map((name, i) => [name, value(name, fields[i])]));
  }

  function ponder() {
    const now = rail(), own = view.params, round = view.rounds[view.at];
    const here = now && own && round?.walk.includes(view.node);
    const moved = here && NAMES.some((name) => now[name] !== own[name]);
    if (!moved) state.wanted = '';
    holder.hidden = !here;
    if (here && !moved) {
      if (holder.dataset.of !== '') holder.innerHTML = '';
      holder.dataset.of = '';
      holder.textContent = common.whatif;
    }
    if (!moved) return;
    state.wanted = `${view.key}/${view.at}/${view.node}/whatif/${NAMES.map((name) => now[name])}`;
    reveal();
    if (state.wanted !== holder.dataset.of) send(now);
  }

  function reveal() {                          // the answer, where the panel has been scrolled down
    const panel = part('panel'), above = panel.getBoundingClientRect().top - holder.getBoundingClientRect().top;
    if (above > 0) panel.scrollTop -= above;
  }

  function send(now) {                         // one question at a time, the newest wins
    state.again = state.asked > 0 && performance.now() - state.asked < PATIENCE;
    if (state.again) return;
    state.asked = performance.now();
    state.sent = state.wanted;
    trigger('ask', { run: view.key, round: view.at, node: view.node, what: 'whatif', ...now });
  }

  function hear() {
    const { key, answer } = JSON.parse(props.reply || '{}');
    if (!key?.endsWith('/whatif')) return;
    state.latency.push(performance.now() - state.asked);
    state.asked = 0;
    const of = answer && `${key}/${NAMES.map((name) => answer[name])}`;
    if (of && of === state.wanted) {
      holder.innerHTML = answer.html;          // escaped by visual.whatif
      holder.dataset.of = of;
    }
    if (state.again) ponder();
  }

  function later() {
    clearTimeout(state.timer);
    state.timer = setTimeout(ponder, REST);
  }

  function moved({ target }) {
    if (!element.isConnected) return document.removeEventListener('input', moved);
    if (target.closest?.('#m, #T, #K')) requestAnimationFrame(ponder);   // both inputs agree by then
  }

  document.addEventListener('input', moved);
  document.addEventListener('change', moved);
  for (const what of ['run', 'round', 'frame', 'node']) root.addEventListener(`rheo:${what}`, later);
  watch('reply', hear);
})();
