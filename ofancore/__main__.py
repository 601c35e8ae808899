"""`python -m ofancore` is the command line."""

import sys

from ofancore.cli import main

sys.exit(main())
