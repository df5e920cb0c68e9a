// The rheostat's curves: charts that are drawn once they can be seen, in the page's colours.

import { largeFigure } from '../panel/large_figure.js';
import { projected } from '../widgets/projected.js';

export class CurveCharts {
  constructor(holder, painter) {
    Object.assign(this, { holder, painter, figures: [] });
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 2) return;
      width = entry.contentRect.width;
      this.paint();
    }).observe(holder);
    new MutationObserver(() => this.paint()).observe(document.body, { attributeFilter: ['class'] });
    document.addEventListener('rheo:present', () => this.paint());
    window.addEventListener('resize', () => { if (projected.has(holder)) this.paint(); });
  }

  show({ html, figures }) {
    this.figures = figures;
    this.holder.innerHTML = html;            // escaped by the views
    this.paint();
  }

  paint() {
    if (!this.holder.checkVisibility()) return;
    const plots = this.holder.querySelectorAll('[role=img]');
    const large = projected.has(this.holder);
    this.figures.forEach((figure, i) => this.painter.paint(
      plots[i], large ? largeFigure.of(figure, plots[i].clientWidth, projected.scale) : figure));
  }
}
