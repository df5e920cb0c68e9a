// The node's numbers: a bar and a field for each token's p and q, and the dials m, K and T.

import { dial } from './dial.js';

const WHOLE = 10_000;                        // a pulled bar stands at hundredths of a percent: a link can hold it

export class NodeBars {
  constructor(page) {
    Object.assign(this, { page, view: page.view, part: page.part });
    for (const name of ['m', 'K', 'T']) {
      this.part(name).addEventListener('input', ({ target }) => this.turn(name, Number(target.value)));
    }
  }

  turn(name, value) {
    const { view, page } = this;
    view[name] = value;
    view.m = Math.min(view.m, view.K - 1);
    page.dials();
    page.send();
  }

  fillRows() {
    this.part('rows').replaceChildren(...this.view.tokens.map((token, i) => {
      const row = document.createElement('tr'), name = document.createElement('th');
      name.scope = 'row';
      name.textContent = token;
      row.append(name, this.cell(token, 'p', i), this.cell(token, 'q', i));
      row.insertCell().className = 'dl-tilde';
      return row;
    }));
    this.fillNumbers();
  }

  mark(rows) {                               // what the views say of each token
    const { view } = this;
    rows.forEach(({ mark, tilde, tempered }, i) => {
      const row = this.part('rows').children[i];
      row.dataset.kind = mark;
      row.querySelector('.dl-tilde').textContent = tilde;
      row.querySelector('.dl-cold').style.left = `${Math.min(tempered / view.scale, 1) * 100}%`;
      row.querySelector('.dl-cold').hidden = view.T === 1;
    });
  }

  cell(token, which, i) {                    // which: the distribution, "p" or "q"
    const { words } = this.page;
    const td = document.createElement('td'), bar = document.createElement('input');
    const number = document.createElement('input'), hold = document.createElement('span');
    Object.assign(bar, { type: 'range', min: 0, step: 0.005 });
    Object.assign(number, { type: 'number', min: 0, max: 100, step: 1 });
    bar.setAttribute('aria-label', `${token}: ${words[which]}`);
    number.setAttribute('aria-label', `${token}: ${words[which]}, %`);
    bar.addEventListener('input', () => this.pull(which, i, Number(bar.value), bar));
    bar.addEventListener('change', () => this.fillNumbers());   // let go: all bars may be drawn anew
    number.addEventListener('change', () => this.pull(which, i, number.value / 100, null));
    hold.className = 'dl-hold';
    hold.append(bar);
    if (which === 'p') hold.append(Object.assign(document.createElement('i'), { className: 'dl-cold' }));
    td.className = `dl-${which}`;
    td.append(hold, number);
    return td;
  }

  pull(which, at, wanted, held) {            // the others make room in proportion
    const { view, page, part } = this, values = view[which];
    const x = Math.min(Math.max(Number.isFinite(wanted) ? wanted : 0, 0), 1);
    const rest = values.reduce((sum, y, i) => sum + (i === at ? 0 : y), 0);
    view[which] = this.rounded(values.map((y, i) => {
      if (i === at) return x;
      return rest > 0 ? (y / rest) * (1 - x) : (1 - x) / (values.length - 1);
    }));
    for (const button of part('presets').children) button.setAttribute('aria-pressed', 'false');
    this.fillNumbers(held);
    page.send();
  }

  rounded(shares) {                          // to parts of WHOLE; the largest remainders round up
    const parts = shares.map((share) => Math.floor(share * WHOLE + 1e-9));
    const left = WHOLE - parts.reduce((sum, part) => sum + part, 0);
    const order = shares.map((share, i) => [parts[i] - share * WHOLE, i]).sort(([a, i], [b, j]) => a - b || i - j);
    for (const [, i] of order.slice(0, left)) parts[i] += 1;
    return parts.map((part) => part / WHOLE);
  }

  percents(which) {                          // as a link spells them
    return this.view[which].map((share) => Number((share * 100).toFixed(2))).join(',');
  }

  take(which, percents) {                    // off a link
    this.view[which] = percents.map((percent) => Math.round(percent * 100) / WHOLE);
    this.fillNumbers();
  }

  fillNumbers(held) {                        // twice the scale where all is small, but not in a hand
    const { view } = this;
    if (!held) view.scale = Math.max(...view.p, ...view.q) < 0.48 ? 0.5 : 1;
    [...this.part('rows').children].forEach((row, i) => ['p', 'q'].forEach((which) => {
      const [bar, number] = row.querySelectorAll(`.dl-${which} input`);
      bar.max = view.scale;
      if (bar !== held) bar.value = view[which][i];
      const percent = (view[which][i] * 100).toFixed(1);
      bar.style.setProperty('--value', `${(view[which][i] / view.scale) * 100}%`);
      bar.ariaValueText = `${percent} %`;
      if (number !== document.activeElement || !held) number.value = percent;
    }));
  }

  fillDials() {
    const { view, part } = this;
    part('m').max = view.K - 1;
    part('K').max = view.tokens.length;
    for (const name of ['m', 'K', 'T']) dial.fill(part, name, view[name]);
    part('rule').value = view.rule;
  }
}
