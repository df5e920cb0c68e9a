// What a reader does with the steps of a round: step, play, guess first.

const PACE = { draft: 600, prune: 600, verdict: 1400, end: 1400 };  // ms a frame stands in play
const REMEMBERED = 'rheo-guess-first';       // in the browser's storage
const SWITCHED = 'rheo:guessing';            // to the page's other viewers

export class Playback {
  constructor(viewer) {
    this.viewer = viewer;
    this.view = viewer.view;
    this.clock = 0;
    this.waits = false;                      // play stands at a question and goes on behind it
    try { this.view.guessing = localStorage.getItem(REMEMBERED) !== 'off'; } catch { /* a page in a frame */ }
    viewer.part('guessing').checked = this.view.guessing;
    const hear = ({ detail: { from, on } }) => {
      if (!viewer.element.isConnected) return document.removeEventListener(SWITCHED, hear);
      if (from !== this) this.turn(on);
    };
    document.addEventListener(SWITCHED, hear);
  }

  go(frame) {
    this.pause();
    this.viewer.seek(frame);
  }

  begin() {                                  // the round from its start, or its next step
    const { view } = this;
    if (view.isStepping && view.frame < view.lastFrame) this.ahead();
    else this.go(0);
    this.viewer.part('frame').focus({ preventScroll: true });
  }

  ahead() {                                  // a guess that is waited for is passed over, unscored
    this.pause();
    if (this.view.asking) this.reveal();
    else if (this.view.frame < this.view.lastFrame) this.viewer.seek(this.view.frame + 1);
  }

  reveal() {                                 // the verdict that was asked for
    this.view.reached = this.view.frame;
    this.viewer.present();
  }

  guess(said) {
    const { view } = this;
    if (view.at < 0 || !view.asking) return;
    const { waits } = this;
    view.guesses.set(view.frame, said === view.frames[view.frame].ask.answer);
    this.reveal();
    if (waits) this.later();
  }

  play() {
    const { view } = this;
    if (this.clock) return this.pause();
    if (view.asking) this.reveal();
    else if (view.isFinished) this.viewer.seek(0);
    this.later();
  }

  later() {                                  // play goes on, to the end or to a question
    const { view } = this;
    if (view.isFinished || view.asking) {
      this.pause();
      this.waits = view.asking;
      return;
    }
    const next = () => { this.viewer.seek(view.frame + 1); this.later(); };
    this.clock = setTimeout(next, PACE[view.frames[view.frame].phase]);
    this.showPlaying(true);
  }

  pause() {
    clearTimeout(this.clock);
    this.clock = 0;
    this.waits = false;
    this.showPlaying(false);
  }

  showPlaying(on) {
    const { root, part, words } = this.viewer;
    root.toggleAttribute('data-playing', on);
    part('play').setAttribute('aria-label', on ? words.pause : words.play);
  }

  guessFirst(on) {                           // remembered where the browser lets us
    this.view.guessing = on;
    try { localStorage.setItem(REMEMBERED, on ? 'on' : 'off'); } catch { /* a page in a frame */ }
    document.dispatchEvent(new CustomEvent(SWITCHED, { detail: { from: this, on } }));
    if (this.view.at >= 0) this.viewer.seek(this.view.frame);
  }

  turn(on) {                                 // as another viewer's switch; a waiting question is answered
    const { view, viewer } = this, waited = view.asking;
    view.guessing = viewer.part('guessing').checked = on;
    if (waited) viewer.seek(view.frame);
  }
}
