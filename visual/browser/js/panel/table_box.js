// The box under the tree that holds the round as a table.

import { SortableTable } from '../widgets/sortable_table.js';

export class TableBox {
  constructor(viewer) {
    const { part, common } = viewer;
    this.viewer = viewer;
    [this.step, this.node] = common.keyed;   // columns of the table
    this.table = new SortableTable(part('table'), common.spoilers);
    part('table-box').addEventListener('toggle', () => this.unfold());
    part('table').addEventListener('click', ({ target }) => {
      const node = target.closest('tbody tr')?.rheo.cells[this.node];
      if (Number.isInteger(node)) viewer.choose(node);
    });
  }

  unfold() {                                 // if it is open, for the round shown
    const { part, answers } = this.viewer, known = part('table-box').open && answers.ask('table', 0);
    if (!known) return;
    this.table.fill(known);
    this.highlight();
  }

  highlight() {                              // the chosen node's row; no verdict before its frame
    const { view, part } = this.viewer, { decided } = view;
    for (const tr of part('table').querySelectorAll('tbody tr')) {
      const { cells } = tr.rheo;
      tr.classList.toggle('here', cells[this.node] === view.node);
      tr.toggleAttribute('data-concealed', cells[this.step] > decided);
    }
  }
}
