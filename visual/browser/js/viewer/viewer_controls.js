// The viewer's buttons, sliders and keys, and the size of the window.

import { isTyping } from '../widgets/is_typing.js';
import { letterKeys } from '../widgets/letter_keys.js';

export class ViewerControls {
  constructor(viewer) {
    this.viewer = viewer;
    this.acts = this.buttons();
    this.bindButtons();
    this.bindInputs();
    this.bindTranscript();
    this.bindKeys();
    this.bindSurroundings();
  }

  buttons() {                                // a button's name here is its data-role
    const { viewer } = this, { view, playback, part } = viewer;
    return {
      previous: () => viewer.show(view.at - 1),
      next: () => viewer.show(view.at + 1),
      begin: () => playback.begin(),
      first: () => playback.go(0),
      back: () => playback.go(view.frame - 1),
      ahead: () => playback.ahead(),
      last: () => playback.go(view.lastFrame),
      play: () => playback.play(),
      accept: () => playback.guess('accept'),
      reject: () => playback.guess('reject'),
      help: () => {
        part('letters').checked = letterKeys.on;
        part('keys').showModal();
      },
    };
  }

  bindButtons() {
    for (const [name, act] of Object.entries(this.acts)) {
      this.viewer.part(name).addEventListener('click', (event) => {
        if (event.currentTarget.ariaDisabled !== 'true') act();
      });
    }
  }

  bindInputs() {
    const { viewer } = this, { part, playback, view } = viewer;
    part('scrub').addEventListener('input', ({ target }) => viewer.show(Number(target.value) - 1));
    part('moment').addEventListener('input', ({ target }) => playback.go(Number(target.value) - 1));
    part('letters').addEventListener('change', ({ target }) => { letterKeys.on = target.checked; });
    part('guessing').addEventListener('change', ({ target }) => playback.guessFirst(target.checked));
    for (const option of ['ghosts', 'large']) {
      part(option).addEventListener('change', ({ target }) => {
        view[option] = target.checked;
        viewer.tree.draw();
      });
    }
  }

  bindTranscript() {                         // a token leads to its verdict and its node
    const { viewer } = this, { view, part } = viewer;
    part('transcript').addEventListener('click', ({ target }) => {
      const token = target.closest('.token'), round = token?.dataset.round;
      if (round === undefined) return;
      const nth = [...part('transcript').querySelectorAll(`[data-round="${round}"]`)].indexOf(token);
      viewer.missing.need(Number(round), () => {
        if (Number(round) !== view.at) viewer.show(Number(round));
        const found = view.frames.findIndex((frame) => frame.emitted > nth);
        viewer.playback.go(found < 0 ? view.lastFrame : found);
        if (token.dataset.node !== undefined) viewer.choose(Number(token.dataset.node));
      });
    });
  }

  bindKeys() {
    const { acts } = this, { element, root, view } = this.viewer;
    const keys = {
      ArrowLeft: acts.back, ArrowRight: acts.ahead, Home: acts.first, End: acts.last, ' ': acts.play,
      '[': acts.previous, ']': acts.next, a: acts.accept, r: acts.reject, '?': acts.help,
    };
    function press(event) {
      if (!element.isConnected) return document.removeEventListener('keydown', press);
      const { target } = event, act = keys[event.key.length > 1 ? event.key : event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || view.at < 0) return;
      if (letterKeys.refuse(event) || isTyping(target) || !root.checkVisibility()) return;
      if (event.key === ' ' && target.closest?.('button, summary, a, [type=checkbox]')) return;
      if (event.key.length > 1 && target.matches?.('[type=range]')) return;   // its own arrows
      event.preventDefault();
      act();
    }
    document.addEventListener('keydown', press);
  }

  bindSurroundings() {
    const { viewer } = this;
    new MutationObserver(() => viewer.repaint()).observe(document.body, { attributeFilter: ['class'] });
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 2) return;
      width = entry.contentRect.width;
      viewer.repaint();
    }).observe(viewer.part('stage'));
    let timer = 0;
    const resize = () => {                   // a projector's letters grow with the window's height too
      if (!viewer.element.isConnected) return window.removeEventListener('resize', resize);
      clearTimeout(timer);
      timer = setTimeout(() => { if (viewer.tree.isProjected) viewer.repaint(); }, 100);
    };
    window.addEventListener('resize', resize);
  }
}
