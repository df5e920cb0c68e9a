// A run saved as a page: unpacks what is in it and starts the viewer, which asks for nothing else.

import { RunMetrics } from '../panel/run_metrics.js';
import { Viewer } from '../viewer/viewer.js';
import { base64 } from '../widgets/base64.js';
import { bindIdeaDialog } from './idea_dialog.js';
import { SaveMenu } from './save_menu.js';

async function unpack(id) {
  const packed = new Blob([base64.decode(document.getElementById(id).textContent.trim())]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function followTheme() {                     // of the reader's system
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.body.classList.toggle('dark', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}

// What gr.HTML gives to a component's script, answered from the page itself.
function component(element, { common, message, answers, shared }) {
  const watchers = [];
  const props = { common: JSON.stringify(common), value: JSON.stringify(message), reply: '', offline: true };
  const watch = (name, act) => watchers.push([name, act]);
  const trigger = (event, { key, what }) => {
    if (event !== 'ask') return;
    const answer = answers[key] || shared[what] || null;
    props.reply = JSON.stringify({ key, answer });
    setTimeout(() => watchers.forEach(([name, act]) => { if (name === 'reply') act(); }));
  };
  return { element, props, trigger, watch };
}

async function open(element) {
  followTheme();
  bindIdeaDialog();
  const library = document.createElement('script');
  library.textContent = await unpack('library');         // its hash is in the head: nothing else runs
  document.head.append(library);
  const viewer = new Viewer(component(element, JSON.parse(await unpack('run'))));
  for (const Part of [RunMetrics, SaveMenu]) new Part(viewer);
  viewer.start();
}

export function startSavedPage() {
  const home = document.getElementById('viewer');
  open(home).catch((error) => {
    home.textContent = home.dataset.old;
    throw error;
  });
}
