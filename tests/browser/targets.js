// Controls that a finger misses: () => "name width x height" of those below 24 pixels either way. A
// check box counts with its label, which acts for it.
() => {
  const CONTROLS = 'button, input, select, textarea, summary, a[href], [role=tab], [tabindex="0"]';
  const size = (node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const boxes = [[left, right, top, bottom], ...[...(node.labels || [])].map((label) => {
      const box = label.getBoundingClientRect();
      return [box.left, box.right, box.top, box.bottom];
    })];
    const most = (at) => Math.max(...boxes.map((box) => box[at]));
    const least = (at) => Math.min(...boxes.map((box) => box[at]));
    return [most(1) - least(0), most(3) - least(2)];
  };
  return [...document.querySelectorAll(CONTROLS)]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }) && node.tabIndex >= 0)
    .map((node) => [node, ...size(node)])
    .filter(([, width, height]) => width && height && (width < 23.9 || height < 23.9))
    .map(([node, width, height]) => (
      `${node.dataset.role || node.id || node.textContent.slice(0, 20) || node.ariaLabel} ${width} x ${height}`));
}
