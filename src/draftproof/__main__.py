"""``python -m draftproof``: the command line."""

import sys

from draftproof.cli import main

sys.exit(main())
