// A table that a reader sorts: a click or Enter on a head, once up, once down.

export class SortableTable {
  constructor(holder, spoilers) {
    this.holder = holder;
    this.spoilers = spoilers;                // heads of the columns that give a verdict away
    this.rows = null;
  }

  fill({ head, rows }) {
    if (this.rows === rows) return;          // as it stands, with the reader's order
    this.rows = rows;
    const table = document.createElement('table'), body = document.createElement('tbody');
    table.createTHead().insertRow().append(...head.map((word, column) => this.headCell(table, word, column)));
    const hides = head.map((word) => this.spoilers.includes(word));
    body.append(...rows.map((cells, at) => this.row(cells, hides, at)));
    table.append(body);
    this.holder.replaceChildren(table);
  }

  headCell(table, word, column) {
    const th = document.createElement('th'), button = document.createElement('button');
    th.scope = 'col';
    button.type = 'button';
    button.textContent = word;
    button.addEventListener('click', () => this.sort(table, column));
    th.append(button);
    return th;
  }

  row(cells, hides, at) {
    const tr = document.createElement('tr');
    tr.rheo = { cells, at };
    cells.forEach((cell, column) => {
      const td = tr.insertCell();
      td.textContent = cell ?? '';
      if (typeof cell === 'number' || Number.isFinite(parseFloat(cell))) td.className = 'number';
      if (hides[column]) td.classList.add('spoiler');
    });
    return tr;
  }

  sort(table, column) {                      // up, down, and back to the trace's order
    const th = table.tHead.rows[0].cells[column], body = table.tBodies[0];
    const order = { ascending: 'descending', descending: 'none' }[th.ariaSort] || 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    if (order !== 'none') th.setAttribute('aria-sort', order);
    const sign = order === 'descending' ? -1 : 1;
    const rows = [...body.rows].sort(({ rheo: a }, { rheo: b }) => (
      (order === 'none' ? 0 : this.compare(a.cells[column], b.cells[column], sign)) || a.at - b.at));
    body.append(...rows);
  }

  compare(a, b, sign) {                      // what is empty stands last, either way
    const none = (cell) => cell === null || cell === undefined || cell === '';
    if (none(a) || none(b)) return none(a) - none(b);
    const [x, y] = [Number(a), Number(b)], both = Number.isFinite(x) && Number.isFinite(y);
    return sign * (both ? x - y : String(a).localeCompare(String(b)));
  }
}
