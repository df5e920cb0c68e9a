// Draws plotly figures in the page's colours.

const PLOT = { responsive: true, displayModeBar: false, doubleClick: 'reset', showTips: false };

export class PlotPainter {
  constructor(darkColours) {                 // light colour -> the one in the dark theme
    this.darkColours = darkColours;
  }

  get isDark() {                             // forced colours are the reader's system's
    if (matchMedia('(forced-colors: active)').matches) return matchMedia('(prefers-color-scheme: dark)').matches;
    return document.body.classList.contains('dark');
  }

  async paint(plot, figure) {
    const { data, layout } = this.isDark ? this.darkened(figure) : figure;
    await Plotly.react(plot, data, { ...layout, autosize: true }, PLOT);
  }

  darkened(value) {
    const dark = this.darkColours;
    if (typeof value === 'string') {
      return dark[value] || value.replace(/#[0-9a-f]{6}/g, (colour) => dark[colour] || colour);
    }
    if (Array.isArray(value)) return value.map((item) => this.darkened(item));
    if (value && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.darkened(item)]));
    }
    return value;
  }
}
