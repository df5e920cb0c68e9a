// A run saved as a page: unpacks what is in it and starts the viewer, which asks for nothing else.

async function inflate(id) {
  const packed = new Blob([bytes(document.getElementById(id).textContent.trim())]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function theme() {                           // of the reader's system
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.body.classList.toggle('dark', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}

async function open(element) {
  theme();
  const library = document.createElement('script');
  library.textContent = await inflate('library');        // its hash is in the head: nothing else runs
  document.head.append(library);
  const { common, message, answers, shared, absent } = JSON.parse(await inflate('run'));
  const watchers = [];
  const props = { common: JSON.stringify(common), value: JSON.stringify(message), reply: '', offline: true };
  const watch = (name, act) => watchers.push([name, act]);
  const trigger = (event, { key, what }) => {
    if (event !== 'ask') return;
    const answer = answers[key] || shared[what] || (what === 'panel' ? absent : null);
    props.reply = JSON.stringify({ key, answer });
    setTimeout(() => watchers.forEach(([name, act]) => { if (name === 'reply') act(); }));
  };
  viewer(element, props, trigger, watch);
}

const home = document.getElementById('viewer');
open(home).catch((error) => {
  home.textContent = home.dataset.old;
  throw error;
});
