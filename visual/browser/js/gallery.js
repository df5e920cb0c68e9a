// The recorded runs, and a trace of one's own. A file is read here and sent as text: the server keeps
// no file, and nothing is ever served back.

const { words, items, limits, prefix } = JSON.parse(props.common);
const part = (name) => element.querySelector(`[data-role="${name}"]`);
const viewer = () => document.querySelector('#viewer [data-role=root]');
const say = (sentence, state) => viewer().parentElement.__rheo.say(sentence, state);

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

document.addEventListener('rheo:run', ({ detail }) => {   // of the viewer
  for (const button of part('items').querySelectorAll('button')) {
    const here = detail.key === prefix + button.dataset.name;
    if (here) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  }
});

// --- a file ---

async function read(file) {
  say(words.reading.replace('{name}', file.name), 'waiting');
  if (file.size > limits.plain) return refuse(words.large, file, limits.plain);
  let packed = file;
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) {           // not packed yet
    packed = await new Response(file.stream().pipeThrough(new CompressionStream('gzip'))).blob();
  }
  if (packed.size > limits.packed) return refuse(words.large, file, limits.packed);
  trigger('open', { data: await base64(packed) });
}

function refuse(sentence, { name }, limit) {
  const size = `${(limit / 2 ** 20).toFixed(1)} MB`;
  say(sentence.replace('{name}', name).replace('{limit}', size), 'wrong');
}

function take(file) {
  if (file) read(file).catch(() => refuse(words.unread, file, 0));
}

part('open').addEventListener('click', () => part('file').click());
part('file').addEventListener('change', ({ target }) => {
  take(target.files[0]);
  target.value = '';                       // the same file may be chosen again
});

// --- dropped anywhere on the page ---

const carries = (event) => element.isConnected && event.dataTransfer?.types.includes('Files');
let inside = 0;                            // elements that the file is over

function hover(event, by) {
  if (!carries(event)) return;
  event.preventDefault();
  inside = Math.max(inside + by, 0);
  part('drop').hidden = !inside;
}
document.addEventListener('dragenter', (event) => hover(event, 1));
document.addEventListener('dragleave', (event) => hover(event, -1));
document.addEventListener('dragover', (event) => hover(event, 0));
document.addEventListener('drop', (event) => {
  hover(event, -inside);
  if (carries(event)) take(event.dataTransfer.files[0]);
});
