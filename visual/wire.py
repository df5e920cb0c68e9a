"""What the browser gets of a run: small JSON made of views, a round at a time.

The browser draws and steps; it derives nothing. A panel or a tree with ghosts is made when asked.
"""

import json
from typing import Any

from rheo.trace import Emission, Round, Run
from visual import bars, palette, residual, strings, table, text, tree
