// A name and its value, as one cell of a description list.

export function factCell(name, value) {
  const cell = document.createElement('div');
  const dt = document.createElement('dt'), dd = document.createElement('dd');
  dt.textContent = name;
  dd.textContent = value;
  cell.append(dt, dd);
  return cell;
}
