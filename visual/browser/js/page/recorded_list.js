// The recorded runs, and a trace of one's own: a list, a button, and the whole page to drop a file on.

import { FileDrop } from './file_drop.js';
import { TraceFile } from './trace_file.js';

export function startRecordedList({ element, props, trigger }) {
  const { words, items, limits, prefix } = JSON.parse(props.common);
  const part = (name) => element.querySelector(`[data-role="${name}"]`);
  const viewer = () => document.querySelector('#viewer [data-role=root]').parentElement.__rheo;
  const file = new TraceFile({ words, limits, say: (...said) => viewer().say(...said), trigger });

  for (const { name, title, sentence } of items) {
    const button = Object.assign(document.createElement('button'), { type: 'button' });
    const lines = [['b', title], ['span', sentence]].map(([tag, text]) =>
      Object.assign(document.createElement(tag), { textContent: text }));
    button.dataset.name = name;
    button.append(...lines);
    button.addEventListener('click', () => trigger('open', { key: prefix + name }));
    const item = document.createElement('li');
    item.append(button);
    part('items').append(item);
  }
  part('gallery').hidden = !items.length;

  document.addEventListener('rheo:run', ({ target, detail }) => {
    if (!target.closest('#viewer')) return;  // another viewer's run
    for (const button of part('items').querySelectorAll('button')) {
      const here = detail.key === prefix + button.dataset.name;
      if (here) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    }
  });

  part('open').addEventListener('click', () => part('file').click());
  part('file').addEventListener('change', ({ target }) => {
    file.take(target.files[0]);
    target.value = '';                       // the same file may be chosen again
  });
  new FileDrop(element, part('drop'), (dropped) => file.take(dropped));
}
