// A slider with its number beside it.

export const dial = {
  fill(part, role, value) {
    const input = part(role);
    input.value = value;
    const share = (input.value - input.min) / (input.max - input.min || 1);
    input.style.setProperty('--value', `${share * 100}%`);
    input.ariaValueText = part(`${role}-value`).textContent = value;
  },

  offer(select, names, chosen) {             // [name, title] as the options of a list
    select.append(...names.map(([name, title]) => new Option(title, name, false, name === chosen)));
  },
};
