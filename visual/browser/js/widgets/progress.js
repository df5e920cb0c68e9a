// Where a reader stands in a row of things: the slider's filled part, the buttons at either end.

export const progress = {
  fill(range, at, total) {
    range.max = total;
    range.value = at + 1;
    range.style.setProperty('--filled', `${total > 1 ? (100 * at) / (total - 1) : 100}%`);
  },

  end(button, over) {                        // it can still be reached by Tab
    button.setAttribute('aria-disabled', over);
  },
};
