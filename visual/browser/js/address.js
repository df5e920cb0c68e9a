// The address carries the state: it is kept true to the page, and a link's place is gone to.
// Python reads and checks a link (`visual.address`); what can be used of it arrives as props.opened.

(() => {
  const { defaults: usual, limit: longest, words: linked } = common.address;
  const tools = document.getElementById('share');   // stands in the page's head
  const tool = (name) => tools.querySelector(`[data-role="${name}"]`);
  // Gradio gives the page's style a second time, prefixed, for what stands inside its frame
  const frame = document.getElementById('head').parentElement.classList;
  const PAUSE = 250;                                // milliseconds until the address is written

  const held = {
    open: false,                                    // nothing is written before the link was read
    settings: { ...usual }, lock: [], opening: null, wanted: null, moved: false, dilemma: {}, timer: 0,
  };
  window.rheoscope = {                              // for the other components of the page
    held,
    settings(values) {                              // of the controls, in the order of `usual`
      Object.keys(usual).forEach((name, i) => { held.settings[name] = values[i]; });
      touch();
      return [];
    },
    dilemma(state) {
      held.dilemma = state;
      touch();
    },
  };

  // --- writing ---

  function page() {
    const tab = document.querySelector('#pages [role=tab][aria-selected=true]');
    return tab?.dataset.tabId === 'dilemma-page' ? 'dilemma' : 'playground';
  }

  function settings() {
    const kept = Object.entries(held.settings)
      .filter(([name, value]) => value !== null && value !== undefined && value !== usual[name])
      .map(([name, value]) => [name, name === 'prompt' ? value.slice(0, longest) : value]);
    return Object.fromEntries(kept);
  }

  function trace() {
    if (view.key === 'recorded') return view.key;
    return view.key.split('gallery/')[1] || 'live';
  }

  function place(kept) {                            // which run, round and step the reader looks at
    if (!view.guessing) kept.guess = 0;
    if (held.wanted && !held.moved) return put(kept, held.wanted);
    if (view.at < 0 || root.dataset.state === 'running') return;
    const run = trace(), inside = view.frame < lastFrame();
    const first = { recorded: held.opening, live: view.rounds.length - 1 }[run];
    const round = view.at !== first || inside ? view.at + 1 : undefined;
    put(kept, { trace: run, round, step: inside ? view.frame + 1 : undefined });
  }

  function put(kept, { trace: run, round, step }) { // what a reader of the link would assume is left out
    const assumed = Object.keys(usual).some((name) => name in kept) ? 'live' : 'recorded';
    if (run !== assumed) kept.trace = run;
    if (round) kept.round = round;
    if (step) kept.step = step;
  }

  function query() {
    const here = page(), kept = here === 'dilemma' ? { page: here, ...held.dilemma } : settings();
    if (here === 'playground') place(kept);
    if (frame.contains('present')) kept.present = 1;
    if (held.lock.length) kept.lock = held.lock.join(',');
    const hosts = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith('__'));
    const text = new URLSearchParams([...Object.entries(kept), ...hosts]).toString();
    return text.replaceAll('%2C', ',');
  }

  function write() {
    clearTimeout(held.timer);
    const text = query();
    if (!held.open || text === location.search.slice(1)) return;
    history.replaceState(history.state, '', text ? `?${text}` : location.pathname);
  }

  function touch() {
    clearTimeout(held.timer);
    held.timer = setTimeout(write, PAUSE);
  }

  async function copy() {
    write();
    const done = await copied(location.href), cut = (held.settings.prompt || '').length > longest;
    const said = cut ? linked.long.replace('{limit}', longest) : linked.copied;
    tool('copied').textContent = done ? said : linked.by_hand;
    setTimeout(() => { tool('copied').textContent = ''; }, done && !cut ? 2500 : 9000);
  }

  async function copied(text) {                     // the old way where the page is not served securely
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const box = Object.assign(document.createElement('textarea'), { value: text });
      document.body.append(box);
      box.select();
      const done = document.execCommand('copy');
      box.remove();
      return done;
    }
  }

  // --- reading ---

  function restore() {
    if (!props.opened || held.open) return;
    const { values, said } = JSON.parse(props.opened);
    if (!came(values)) return;
    held.lock = values.lock || [];
    tool('said').textContent = said;
    if (values.page === 'dilemma') {
      held.dilemma = values;
      document.querySelector('#pages [role=tab][data-tab-id=dilemma-page]')?.click();
    } else playground(values);
    held.open = true;
    touch();
  }

  function came({ page: at, trace: name }) {        // a recorded run comes by itself, before or after
    const shipped = at !== 'dilemma' && name && name !== 'live' && name !== 'recorded';
    return !shipped || view.key === `gallery/${name}`;
  }

  function playground(values) {
    for (const name of Object.keys(usual)) held.settings[name] = values[name] ?? held.settings[name];
    if (values.guess !== undefined) {               // for this visit; the browser's own choice stays
      view.guessing = part('guessing').checked = values.guess;
    }
    if (values.trace === 'live') held.wanted = values.round ? values : null;
    else if (values.round || values.step) there(values);
  }

  function there({ round = view.at + 1, step }) {   // as near as there is
    const at = Math.min(round, view.rounds.length) - 1;
    show(at, step && 0);                            // from the start, so that verdicts can be guessed
    if (step) seek(step - 1);
    if (at + 1 === round && (step || 0) <= lastFrame() + 1) return;
    say(linked.elsewhere.replace('{round}', round).replace('{step}', step || lastFrame() + 1));
  }

  function moved() {                                // by the reader, or by a run
    held.moved = true;
    tool('said').textContent = '';
  }

  function arrived() {                              // the run that the link leads to
    const over = root.dataset.state === 'done' || root.dataset.state === 'wrong';
    if (!held.wanted || trace() !== 'live') return;
    if (!over && view.rounds.length < held.wanted.round) return;
    const wanted = held.wanted;
    held.wanted = null;
    there(wanted);
    view.follow = false;
  }

  // --- the projector ---

  function project(on) {
    frame.toggle('present', on);
    tool('present').setAttribute('aria-pressed', on);
    pull(false);
    repaint();
    touch();
  }

  function pull(open) {                             // the settings out of their drawer
    frame.toggle('drawn', open);
    tool('settings').setAttribute('aria-expanded', open);
    if (open) document.querySelector('#rail textarea, #rail input, #rail button')?.focus();
  }

  function hotkey(event) {
    if (!element.isConnected) return document.removeEventListener('keydown', hotkey);
    if (event.key === 'Escape' && frame.contains('drawn')) {
      pull(false);
      tool('settings').focus();
    }
    const typing = event.target.closest?.('input:not([type=range], [type=checkbox]), textarea, select');
    if (event.key !== 'p' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    project(!frame.contains('present'));
  }

  tool('copy').addEventListener('click', copy);
  tool('present').addEventListener('click', () => project(!frame.contains('present')));
  tool('settings').addEventListener('click', () => pull(!frame.contains('drawn')));
  document.addEventListener('keydown', hotkey);
  document.getElementById('pages').addEventListener('click', touch);
  part('guessing').addEventListener('change', touch);
  for (const what of ['round', 'frame', 'run']) {
    root.addEventListener(`rheo:${what}`, () => {
      if (trace() === 'recorded') held.opening ??= view.at;
      if (held.open) moved();
      else queueMicrotask(restore);                 // perhaps it is the run that the link names
      if (held.wanted) queueMicrotask(arrived);     // a round is shown whole before another is
      touch();
    });
  }
  if (new URLSearchParams(location.search).get('present') === '1') project(true);
  watch('opened', restore);
  queueMicrotask(restore);                          // the answer may have come before the viewer
})();
