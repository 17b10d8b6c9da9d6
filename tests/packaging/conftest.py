"""The packages of `packaging/` are no part of the installation: they are imported from where they lie."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))
