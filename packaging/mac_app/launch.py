"""The bundle's first script."""

import os
import sys
import tempfile

from leggio.main import main

if os.getcwd() == "/":  # as Finder starts programs: the self-test would have nowhere to put its picture
    os.chdir(tempfile.gettempdir())
sys.exit(main())
