// Whether a key pressed there is meant for a field, a list or a dialog, not for the viewer.

const FIELDS = 'input:not([type=checkbox], [type=range]), textarea, select, [contenteditable], '
  + '[role=listbox], dialog';

export function isTyping(target) {
  return Boolean(target.closest?.(FIELDS));
}
