// Run again under other settings, then flip between the old and the new run at one round.

(() => {
  const KEPT = 4;                              // whole runs, as the messages that brought them
  const seen = new Map(), flip = part('flip');
  let old = '', both = [], place = 0;          // the run to compare with, then both; the round looked at

  function keep() {
    if (!props.value?.slice(0, 90).includes('"type":"run"')) return;
    const message = JSON.parse(props.value);
    seen.delete(message.key);
    seen.set(message.key, message);
    while (seen.size > KEPT) seen.delete(seen.keys().next().value);
    if (!old || message.key === old || !seen.has(old)) return;
    trigger('ask', { run: message.key, round: 0, node: 0, what: 'compare', other: old });
  }

  function hear() {
    const { key, answer } = JSON.parse(props.reply || '{}');
    if (!answer || !key.endsWith('/compare')) return;
    both = [old, key.split('/').slice(0, -3).join('/')];
    old = '';
    part('flip').setAttribute('aria-label', answer.label);
    part('compared').textContent = answer.sentence;
    ['old', 'new'].forEach((name) => {
      part(name).textContent = answer[name];
      part(name).title = answer.hint;
    });
    if (view.key === both[1] && view.follow) show(Math.min(place, view.rounds.length - 1));
    point();
  }

  function point() {                           // which of the two is shown; none of them: no flip
    const at = both.indexOf(view.key);
    flip.hidden = at < 0;
    ['old', 'new'].forEach((name, i) => part(name).setAttribute('aria-pressed', i === at));
  }

  function turn(to) {
    const message = seen.get(both[to]), here = both.indexOf(view.key);
    if (!message || here < 0 || here === to) return;
    const last = message.rounds.length - 1;
    replace({ ...message, show: Math.min(Math.max(view.at, 0), last), answers: {} });
    tell(message);
    say(message.sentence, message.state);
    point();
  }

  function click({ target }) {
    if (!element.isConnected) return document.removeEventListener('click', click);
    if (!target.closest?.('#again') || !view.key || root.dataset.state === 'running') return;
    [old, place] = [view.key, view.at];
    trigger('again', { run: view.key });
  }

  function press(event) {
    if (!element.isConnected) return document.removeEventListener('keydown', press);
    if (event.key.toLowerCase() !== 'x' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(TYPING) || !root.checkVisibility()) return;
    turn(1 - both.indexOf(view.key));
  }

  document.addEventListener('click', click);
  document.addEventListener('keydown', press);
  part('old').addEventListener('click', () => turn(0));
  part('new').addEventListener('click', () => turn(1));
  root.addEventListener('rheo:run', point);
  watch('value', keep);
  watch('reply', hear);
  keep();
})();
