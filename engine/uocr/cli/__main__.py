"""`python -m uocr.cli` is the program `uocr`."""

import sys

from uocr.cli import main

sys.exit(main())
