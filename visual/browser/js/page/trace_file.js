// A visitor's trace: read here and sent as text. The server keeps no file, and nothing is served back.

import { base64 } from '../widgets/base64.js';

export class TraceFile {
  constructor({ words, limits, say, trigger }) {
    Object.assign(this, { words, limits, say, trigger });
  }

  take(file) {
    if (file) this.read(file).catch(() => this.refuse(this.words.unread, file, 0));
  }

  async read(file) {
    const { words, limits } = this;
    this.say(words.reading.replace('{name}', file.name), 'waiting');
    if (file.size > limits.plain) return this.refuse(words.large, file, limits.plain);
    let packed = file;
    const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    if (start[0] !== 0x1f || start[1] !== 0x8b) {        // not packed yet
      packed = await new Response(file.stream().pipeThrough(new CompressionStream('gzip'))).blob();
    }
    if (packed.size > limits.packed) return this.refuse(words.large, file, limits.packed);
    this.trigger('read', { data: await base64.encode(packed) });
  }

  refuse(sentence, { name }, limit) {
    const size = `${(limit / 2 ** 20).toFixed(1)} MB`;
    this.say(sentence.replace('{name}', name).replace('{limit}', size), 'wrong');
  }
}
