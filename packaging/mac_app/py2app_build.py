"""What setup_app.py tells py2app, and the places where py2app needs to be held back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import py2app.build_app
from setuptools import Distribution

from mac_app.icon import write_icns
from mac_app.info_plist import info_plist
from mac_app.modules import EXCLUDES, INCLUDES, PACKAGES
from mac_app.project import ARCH, NAME, Project

DEEPEST_SOURCE = 10_000
"""Calls within calls while py2app walks a source's syntax tree; Python's own limit is too low for generated ones."""


class AppDistribution(Distribution):
    """Reads no pyproject.toml: all that a bundle needs is in `arguments`, py2app stops at dependencies, and the
    setuptools that py2app gets on with knows no licence expressions."""

    def parse_config_files(self, *arguments: Any, **keywords: Any) -> None:
        pass


class LeggioApp(py2app.build_app.py2app):
    """py2app, with links kept as links: a framework is nothing without them."""

    def copy_tree(
        self,
        infile: str,
        outfile: str,
        preserve_mode: int = 1,
        preserve_times: int = 1,
        preserve_symlinks: int = 1,
        level: int = 1,
        condition: Any = None,
    ) -> Any:
        return super().copy_tree(infile, outfile, preserve_mode, preserve_times, 1, level, condition)


def _unsigned(bundle: str) -> None:
    """Signing comes last (`mac.py sign`), inside out; py2app's order is the folder's, with up to five tries."""
    print(f"not signed yet: {bundle}")


py2app.build_app.codesign_adhoc = _unsigned


def source_paths(project: Project, alias: bool) -> list[Path]:
    """Where imports are looked for before anything else: the staged wheels, or the sources for an alias."""
    return [project.root / "app", project.root / "engine"] if alias else [project.site]


def options(project: Project) -> dict[str, Any]:
    """Options of the command py2app."""
    return {
        "plist": info_plist(project),
        "iconfile": str(write_icns(project.icon)),
        "packages": list(PACKAGES),
        "includes": list(INCLUDES),
        "excludes": list(EXCLUDES),
        "arch": ARCH,
        "dist_dir": str(project.app.parent),
        "bdist_base": str(project.build / "py2app"),
        "argv_emulation": False,  # files from Finder come as QFileOpenEvent
        "no_chdir": True,  # relative names on a command line mean what they say
        "strip": False,  # wheels come stripped
        "site_packages": False,
    }


def arguments(project: Project, alias: bool = False) -> dict[str, Any]:
    """What setup() is called with. Puts `source_paths` first on sys.path, which py2app's search follows."""
    sys.path[:0] = [str(path) for path in source_paths(project, alias)]
    sys.setrecursionlimit(DEEPEST_SOURCE)
    return {
        "name": NAME,
        "version": project.version,
        "distclass": AppDistribution,
        "cmdclass": {"py2app": LeggioApp},
        "app": [str(project.root / "packaging" / "mac_app" / "launch.py")],
        "options": {"py2app": options(project)},
        "packages": [],
        "py_modules": [],
    }
