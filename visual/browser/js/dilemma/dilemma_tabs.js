// The page's own tabs.

import { projected } from '../widgets/projected.js';

export class DilemmaTabs {
  constructor({ element, root }) {
    Object.assign(this, { element, root });
    const tabs = [...element.querySelectorAll('[role=tab]')];
    tabs.forEach((button, i) => {
      button.addEventListener('click', () => {
        this.choose(button.dataset.tab);
        if (projected.has(element)) button.scrollIntoView();   // what it shows stands below the node's numbers
      });
      button.addEventListener('keydown', (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        event.stopPropagation();
        const next = tabs[(i + by + tabs.length) % tabs.length];
        this.choose(next.dataset.tab);
        next.focus();
      });
    });
  }

  choose(tab) {
    this.root.dataset.tab = tab;
    for (const button of this.element.querySelectorAll('[role=tab]')) {
      const here = button.dataset.tab === tab;
      button.setAttribute('aria-selected', here);
      button.tabIndex = here ? 0 : -1;
    }
    for (const panel of this.element.querySelectorAll('[data-panel]')) {
      panel.hidden = panel.dataset.panel !== tab;
    }
  }
}
