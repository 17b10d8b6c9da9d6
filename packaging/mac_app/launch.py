"""The bundle's first script."""

import sys

from leggio.main import main

sys.exit(main())
