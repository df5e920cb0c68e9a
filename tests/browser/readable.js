// Text that is hard to read: () => [contrast, text, colour, ground] of what is shown below 4.5
// (3 for large text). Colours may lie over each other and be see-through.
(scope) => {
  const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {                   // any CSS colour, color-mix included
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((x, i) => x * a + under[i] * (1 - a));
  const linear = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => rgb.reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(x), 0);
  const lineage = (node) => (node ? [...lineage(node.parentElement), node] : []);

  function under(label) {                      // the drawn shape that a label of a figure lies on
    const { x, y, width, height } = label.getBoundingClientRect();
    const at = [x + width / 2, y + height / 2];
    const shapes = [...label.ownerSVGElement.parentElement.querySelectorAll('.point path, .shapelayer path')];
    const found = shapes.filter((shape) => {
      const box = shape.getBoundingClientRect();
      return box.left <= at[0] && at[0] <= box.right && box.top <= at[1] && at[1] <= box.bottom;
    }).at(-1);
    const { fill, fillOpacity, opacity } = found ? getComputedStyle(found) : { fill: 'url' };
    if (fill.startsWith('url')) return [0, 0, 0, 0];
    const [r, g, b, a] = rgba(fill);
    return [r, g, b, a * Number(fillOpacity) * Number(opacity)];
  }

  function measure(text) {
    const holder = text.parentElement, style = getComputedStyle(holder);
    const svg = holder instanceof SVGElement;
    let ground = [255, 255, 255], opacity = 1;
    for (const node of lineage(holder)) {
      const own = getComputedStyle(node);
      opacity *= Number(own.opacity);
      if (!(node instanceof SVGElement)) ground = over(rgba(own.backgroundColor), ground);
    }
    if (svg) ground = over(under(holder), ground);
    const [r, g, b, a] = rgba(svg ? style.fill : style.color);
    const alpha = a * opacity * (svg ? Number(style.fillOpacity) : 1);
    const [one, two] = [light(over([r, g, b, alpha], ground)), light(ground)];
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    return [contrast, least, alpha];
  }

  const bad = [];
  const walker = document.createTreeWalker(document.querySelector(scope), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, holder = text.parentElement, said = text.textContent.trim();
    if (!said || !holder.checkVisibility({ visibilityProperty: true })) continue;
    if (holder.closest('style, script, title, noscript, :disabled, [aria-disabled=true]')) continue;
    const box = holder.getBoundingClientRect();
    const [contrast, least, alpha] = measure(text);
    if (!box.width || !box.height || alpha === 0 || contrast >= least) continue;
    bad.push([contrast.toFixed(2), said.slice(0, 40), holder.tagName, String(holder.className?.baseVal ?? holder.className)]);
  }
  return bad;
}
