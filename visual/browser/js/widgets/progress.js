// Where a reader stands in a row of things: the slider's filled part, the buttons at either end.

export const progress = {
  fill(range, at, total, said) {             // said: the place in words
    range.max = total;
    range.value = at + 1;
    range.ariaValueText = said.replace('{at}', at + 1).replace('{count}', total);
    range.style.setProperty('--filled', `${total > 1 ? (100 * at) / (total - 1) : 100}%`);
  },

  end(button, over) {                        // it can still be reached by Tab
    button.setAttribute('aria-disabled', over);
  },
};
