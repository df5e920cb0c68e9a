// The Playground's viewer, with all that needs a server; gr.HTML runs it once a mount.

import { RunComparison } from '../panel/run_comparison.js';
import { RunMetrics } from '../panel/run_metrics.js';
import { WhatIfPanel } from '../panel/what_if_panel.js';
import { Viewer } from '../viewer/viewer.js';
import { bindAddressBar } from './address_bar.js';
import { bindIdeaDialog } from './idea_dialog.js';
import { SaveMenu } from './save_menu.js';

export function startPlaygroundPage(component) {
  const viewer = new Viewer(component);
  bindAddressBar(viewer);
  bindIdeaDialog();
  for (const Part of [RunMetrics, WhatIfPanel, RunComparison, SaveMenu]) new Part(viewer);
  viewer.start();
}
