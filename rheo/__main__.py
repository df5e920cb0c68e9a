"""Run a command: python -m rheo fetch | generate | audit | bench | corpus | train | gallery"""

import sys

from rheo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
