// Single letters and signs as keys: whoever speaks to the page, or presses keys by chance, can switch
// them off. The page's element knows it for all scripts, the browser's storage for the next visit.

const REMEMBERED = 'rheo-letter-keys';

export const letterKeys = {
  get on() {
    const { dataset } = document.documentElement;
    try { dataset.letterKeys ??= localStorage.getItem(REMEMBERED) || 'on'; } catch { /* a page in a frame */ }
    return dataset.letterKeys !== 'off';
  },

  set on(wanted) {
    document.documentElement.dataset.letterKeys = wanted ? 'on' : 'off';
    try { localStorage.setItem(REMEMBERED, wanted ? 'on' : 'off'); } catch { /* for this visit alone */ }
  },

  refuse({ key }) {                          // the arrows, Space and Escape always act
    return key.length === 1 && key !== ' ' && !this.on;
  },
};
