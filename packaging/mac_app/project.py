"""What the bundle is called, what it is made of and where it is built."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

NAME = "Leggio"
IDENTIFIER = "app.leggio.Leggio"
MINIMUM_MACOS = (13, 0)
ARCH = "arm64"
"""One processor. numpy, Pillow, PyMuPDF and others publish a wheel for each, so a universal bundle would have to be
sewn together from two; and Macs without Apple's own GPU gain nothing from the kernels."""
PYTHON = (3, 12)
"""The interpreter that goes in: the newest for which every pinned wheel starts on macOS 13."""
ROOT = Path(__file__).resolve().parents[2]
BUILD_VARIABLE = "LEGGIO_MAC_BUILD"
"""Tells setup_app.py, which has no options of ours, where everything is made."""


@dataclass(frozen=True)
class Project:
    """Places and pins; `root` is the source tree, `build` takes everything that is made."""

    root: Path = ROOT
    build: Path = ROOT / "build" / "mac"

    @classmethod
    def from_environment(cls) -> Project:
        named = os.environ.get(BUILD_VARIABLE)
        return cls(build=Path(named)) if named else cls()

    @property
    def site(self) -> Path:
        """The Python packages of the bundle, as wheels for macOS lay them out."""
        return self.build / "site"

    @property
    def app(self) -> Path:
        return self.build / "dist" / f"{NAME}.app"

    @property
    def icon(self) -> Path:
        return self.build / f"{NAME}.icns"

    @property
    def entitlements(self) -> Path:
        return self.root / "packaging" / "mac_app" / "entitlements.plist"

    @property
    def disk_image(self) -> Path:
        return self.build / "dist" / f"{NAME}-{self.version}-{ARCH}.dmg"

    @cached_property
    def _table(self) -> dict[str, Any]:
        return tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))["project"]

    @property
    def version(self) -> str:
        return str(self._table["version"])

    @property
    def requirements(self) -> list[str]:
        """Pinned requirements of the engine's package and of the window."""
        return [*self._table["dependencies"], *self._table["optional-dependencies"]["app"]]
