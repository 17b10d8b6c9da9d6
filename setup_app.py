"""Leggio.app by py2app. `python packaging/mac.py build` calls this; for a bundle that points at the sources:

    python setup_app.py py2app --alias

It is no way to install Leggio: pyproject.toml is.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "packaging"))

from mac_app.project import Project
from mac_app.py2app_build import arguments
from setuptools import setup

setup(**arguments(Project.from_environment(), alias=not {"-A", "--alias"}.isdisjoint(sys.argv)))
