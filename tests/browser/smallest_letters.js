// The smallest letters that are painted, and whose they are.
() => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), element = walk.currentNode.parentElement;
    if (!text || element.closest('script, style, .rheo-hidden, #rail-head, option')) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || box.bottom < 0 || box.top > innerHeight) continue;
    const zoom = element.currentCSSZoom || 1;
    found.push([parseFloat(getComputedStyle(element).fontSize) * zoom, text.slice(0, 30)]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 5);
}
