"""`python -m mflno` is the command line."""

import sys

from mflno.cli import main

sys.exit(main())
