// The projector's mode: large letters, the settings in a drawer.

import { letterKeys } from '../widgets/letter_keys.js';

const TYPING = 'input:not([type=range], [type=checkbox]), textarea, select';

export class Projector {
  constructor(link) {
    const { tool, viewer } = link, { element } = viewer;
    Object.assign(this, { link, viewer, tool });
    // Gradio gives the page's style a second time, prefixed, for what stands inside its frame
    this.frame = document.getElementById('head').parentElement.classList;
    tool('present').addEventListener('click', () => this.toggle());
    tool('settings').addEventListener('click', () => this.pull(!this.frame.contains('drawn')));
    const press = (event) => {
      if (!element.isConnected) return document.removeEventListener('keydown', press);
      this.press(event);
    };
    document.addEventListener('keydown', press);
    if (new URLSearchParams(location.search).get('present') === '1') this.toggle(true);
  }

  toggle(on = !this.frame.contains('present')) {
    this.frame.toggle('present', on);
    this.tool('present').setAttribute('aria-pressed', on);
    this.pull(false);
    this.viewer.repaint();
    document.dispatchEvent(new CustomEvent('rheo:present'));   // the other page's drawings
    this.link.touch();
  }

  pull(open) {                               // the settings out of their drawer
    this.frame.toggle('drawn', open);
    this.tool('settings').setAttribute('aria-expanded', open);
    if (open) document.querySelector('#rail textarea, #rail input, #rail button')?.focus();
  }

  press(event) {
    if (event.key === 'Escape' && this.frame.contains('drawn')) {
      this.pull(false);
      this.tool('settings').focus();
    }
    if (event.key !== 'p' || letterKeys.refuse(event) || event.target.closest?.(TYPING)) return;
    if (!event.ctrlKey && !event.metaKey && !event.altKey) this.toggle();
  }
}
