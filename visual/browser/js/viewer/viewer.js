// The viewer: shows the rounds of a run and steps through them, all in the browser.
// It derives nothing: every drawing, number and sentence comes from a Python view. All that changes
// hangs on the instance, so that a page can have several.

import { NodePanel } from '../panel/node_panel.js';
import { TableBox } from '../panel/table_box.js';
import { Answers } from '../state/answers.js';
import { MissingRounds } from '../state/missing_rounds.js';
import { ViewState } from '../state/view_state.js';
import { TreeKeyboard } from '../tree/tree_keyboard.js';
import { TreePlot } from '../tree/tree_plot.js';
import { PlotPainter } from '../widgets/plot_painter.js';
import { progress } from '../widgets/progress.js';
import { Playback } from './playback.js';
import { PrintSheet } from './print_sheet.js';
import { StepText } from './step_text.js';
import { Transcript } from './transcript.js';
import { ViewerControls } from './viewer_controls.js';

export class Viewer {
  // The arguments are those that gr.HTML gives to a component's script.
  constructor({ element, props, trigger, watch }) {
    Object.assign(this, { element, props, trigger, watch });
    this.common = JSON.parse(props.common);
    this.words = this.common.words;
    this.part = (name) => element.querySelector(`[data-role="${name}"]`);
    this.root = this.part('root');
    this.view = new ViewState();
    this.answers = this.view.answers = new Answers(this.view, trigger);
    this.missing = new MissingRounds(this);
    this.painter = new PlotPainter(this.common.dark);
    this.tree = new TreePlot(this);
    this.keyboard = new TreeKeyboard(this);
    this.transcript = new Transcript(this);
    this.panel = new NodePanel(this);
    this.table = new TableBox(this);
    this.text = new StepText(this);
    this.playback = new Playback(this);
    this.controls = new ViewerControls(this);
    this.sheet = new PrintSheet(this);
    element.__rheo = this.handle();
  }

  handle() {                                 // for other scripts; they listen to `announce`
    return {
      view: this.view,
      show: (at, frame) => this.show(at, frame),
      seek: (frame) => this.seek(frame),
      choose: (node) => this.choose(node),
      say: (sentence, state) => this.say(sentence, state),
    };
  }

  start() {                                  // once everything else on the page listens
    this.watch('value', () => this.receive());
    this.watch('reply', () => this.hear());
    this.receive();
  }

  // --- what arrives ---

  receive() {
    if (!this.props.value) return;
    const message = JSON.parse(this.props.value), [epoch = 0] = [message.n].flat();
    if (epoch < this.view.epoch) return;     // of a run that the reader has left
    if (message.type === 'say' && message.state === 'running' && epoch === this.view.over) return;
    this.view.epoch = epoch;
    if (['done', 'wrong', 'recorded'].includes(message.state)) this.view.over = epoch;
    if (message.type === 'wait') return this.say(this.words.WAITING, 'waiting');
    if (message.type === 'begin') this.begin(message);
    if (message.type === 'run') this.replace(message);
    if (message.type === 'round') this.append(message);
    if (message.transcript !== undefined && message.type !== 'begin') this.transcript.tell(message);
    if (message.sentence !== undefined) this.say(message.sentence, message.state);
  }

  begin(message) {
    Object.assign(this.view, { key: message.key, rounds: [], at: -1, node: 0, follow: true, made: undefined });
    this.answers.start();
    this.missing.start({});
    this.part('headline').textContent = '';
    this.count();
    this.transcript.tell(message);
    this.say(this.words.DRAFTING, 'running');
    this.announce('run');
  }

  replace(message) {
    const { view } = this;
    const known = message.key === view.key && view.at >= 0;  // the run just watched, now complete
    const same = known && message.frame === undefined;       // a frame is where to begin anew
    const { rounds } = message, had = message.key === view.key ? view.rounds : [];
    for (const at of rounds.keys()) rounds[at] ||= had[at] || null;
    Object.assign(view, { key: message.key, rounds, made: message.settings });
    this.missing.start(message);
    if (!same) {
      this.answers.start(message.answers);
      const at = message.show < 0 ? view.rounds.length - 1 : message.show, there = rounds.findIndex(Boolean);
      if (there >= 0 && rounds.length && !rounds[at]) this.enter(there);  // until the other comes
      this.show(at, message.frame);
    }
    this.count();
    this.announce('run');
  }

  append(message) {
    this.view.rounds.push(message.round);
    if (this.view.follow) this.show(this.view.rounds.length - 1);
    else this.count();
  }

  hear() {                                   // a view that was asked for
    const { key, answer } = JSON.parse(this.props.reply || '{}'), { view, answers } = this;
    answers.receive(key, answer);
    this.missing.hear(key, answer);
    if (!answer) return;
    const panel = answers.get(answers.name('panel', view.node));
    if (panel && panel !== view.sheet) this.panel.fill(panel);
    if (key === answers.name('ghosts', 0) || key === answers.name('closeup', 0)) this.tree.disclose();
    this.table.unfold();
  }

  say(sentence, state) {
    this.part('state').textContent = sentence;
    this.part('state').classList.toggle('is-remark', !state);    // not of the run: it gives nothing away
    if (state) this.root.dataset.state = state;
  }

  announce(what) {                           // "rheo:run", "rheo:round", "rheo:frame", "rheo:node"
    const { key, at, frame, node } = this.view, detail = { key, at, frame, node };
    this.root.dispatchEvent(new CustomEvent(`rheo:${what}`, { bubbles: true, detail }));
  }

  // --- rounds, steps and nodes ---

  show(at, frame) {                          // a round, finished unless a frame is named
    this.missing.need(at, () => this.enter(at, frame));
  }

  enter(at, frame) {
    this.playback.pause();
    this.view.enter(at);
    if (frame !== undefined) {               // from its start: before it is drawn, so that it is drawn once
      this.view.seek(0);
      this.view.seek(frame);
    }
    this.count();
    this.tree.redraw();
    this.present();
    this.transcript.scroll();
    this.announce('round');
  }

  seek(frame) {
    if (this.view.at < 0) return;
    this.view.seek(frame);
    this.present();
  }

  present() {                                // the frame, everywhere; what moves most goes first
    const { view, root } = this;
    root.dataset.frame = view.frame;
    root.toggleAttribute('data-asking', view.asking);
    root.toggleAttribute('data-unseen', view.isStepping);
    root.toggleAttribute('data-guessing', view.guessing);
    this.part('tree').setAttribute('aria-label', view.round.label + (view.isStepping ? '' : view.round.outcome));
    this.tree.disclose();
    this.tree.ring(true);
    this.text.tell();
    this.transcript.mark();
    this.panel.inspect();
    this.announce('frame');
  }

  choose(node) {
    if (this.view.at < 0) return;            // of a tree whose run has been replaced
    this.view.node = node;
    this.tree.ring(true);
    this.text.showCard();
    this.transcript.mark();
    this.panel.inspect();
    this.announce('node');
  }

  count() {
    const { view, root, part } = this, total = view.rounds.length;
    root.dataset.rounds = total;
    root.dataset.round = view.at;
    part('at').textContent = total ? view.at + 1 : '–';
    part('of').textContent = this.words.of.replace('{count}', total);
    progress.fill(part('scrub'), view.at, total, this.words.round);
    progress.end(part('previous'), view.at <= 0);
    progress.end(part('next'), view.at >= total - 1);
  }

  repaint() {                                // in other colours, at another size
    if (this.view.at < 0) return;
    this.tree.draw();
    this.view.sheet = null;
    const panel = this.answers.get(this.answers.name('panel', this.view.node));
    if (panel) this.panel.fill(panel);
  }
}
