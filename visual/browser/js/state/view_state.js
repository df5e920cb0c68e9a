// What a reader looks at: the run, the round, the step and the node, and what follows from them.

export class ViewState {
  constructor() {
    this.epoch = 0;                          // of the visitor's runs: what an older one sends is late
    this.over = -1;                          // the epoch whose run has said how it ended
    this.key = '';                           // names the run
    this.rounds = [];
    this.at = -1;                            // the round shown
    this.node = 0;                           // the node chosen: its index, or a pruned child's name
    this.frame = 0;                          // the step of the round
    this.reached = 0;                        // the last step whose verdict is shown
    this.guesses = new Map();                // step -> whether the guess was right
    this.guessing = true;                    // guess first
    this.follow = true;                      // a new round is shown as it comes
    this.ghosts = false;                     // pruned candidates are drawn
    this.large = false;                      // every row gets its label
    this.sheet = null;                       // the node's panel as it is filled in
    this.about = '';                         // the run's settings in a line
    this.params = undefined;                 // m, T and K of the run
    this.made = undefined;                   // all that the run was made with, once it is whole
  }

  static isVerdict({ phase }) {
    return phase === 'verdict' || phase === 'end';
  }

  get round() {
    return this.rounds[this.at];
  }

  get frames() {
    return this.round?.frames || [];
  }

  get lastFrame() {
    return this.frames.length - 1;
  }

  get isFinished() {
    return this.frame === this.lastFrame;
  }

  get isStepping() {                         // the round's end is not known yet
    return this.reached < this.lastFrame;
  }

  get asking() {                             // a guess is waited for
    return this.guessing && this.frame > this.reached && Boolean(this.frames[this.frame]?.ask);
  }

  get revealed() {                           // the frame that tree and text show
    return this.frame - (this.asking ? 1 : 0);
  }

  get emitted() {                            // tokens of the round that are shown
    return this.frames[this.revealed].emitted;
  }

  get decided() {                            // verdicts that are shown
    return this.frames.slice(0, this.revealed + 1).filter(ViewState.isVerdict).length;
  }

  enter(at) {                                // a round, finished
    Object.assign(this, { at, guesses: new Map() });
    this.reached = this.frame = this.lastFrame;
    this.follow = at === this.rounds.length - 1;
    this.node = this.round.node;
  }

  seek(frame) {                              // a step; the first one starts the round anew
    this.frame = Math.min(Math.max(frame, 0), this.lastFrame);
    if (this.frame === 0) Object.assign(this, { reached: 0, guesses: new Map() });
    this.reached = Math.max(this.reached, this.revealed);
    this.node = this.frames[this.frame].node;
    this.follow = this.at === this.rounds.length - 1 && this.isFinished;
  }
}
