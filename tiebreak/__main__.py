"""`python -m tiebreak` is the command `tiebreak`."""

import sys

from tiebreak.cli import main

sys.exit(main())
