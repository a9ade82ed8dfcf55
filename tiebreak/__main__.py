"""Run the command `tiebreak` as `python -m tiebreak`."""

import sys

from tiebreak.cli import main

sys.exit(main())
