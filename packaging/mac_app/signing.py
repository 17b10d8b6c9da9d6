"""Signing inside out: what is inside is signed before what holds it, and nothing is touched afterwards.

`codesign --deep` is left alone: it signs every part with the outermost one's entitlements, and passes over code that
lies in Resources, where py2app puts Python's packages.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mac_app.commands import Runner, StepFailed
from mac_app.thin import binaries

BUNDLES = (".framework", ".app", ".bundle", ".xpc")
AD_HOC = "-"
IDENTITY_VARIABLE = "LEGGIO_SIGNING_IDENTITY"


@dataclass(frozen=True)
class Identity:
    """Who signs: a name in the keychain such as "Developer ID Application: Name (TEAM)", or "-" for nobody."""

    name: str = AD_HOC

    @classmethod
    def from_environment(cls) -> Identity:
        return cls(os.environ.get(IDENTITY_VARIABLE, "") or AD_HOC)

    @property
    def is_ad_hoc(self) -> bool:
        return self.name == AD_HOC

    @property
    def flags(self) -> list[str]:
        """The hardened runtime refuses libraries of another team, and ad hoc signatures have none: without a
        certificate it is left off, or nothing would load."""
        return ["--timestamp=none"] if self.is_ad_hoc else ["--timestamp", "--options", "runtime"]


def signing_order(app: Path) -> list[Path]:
    """What is signed, in this order: deepest first, a bundle after all it holds, the app last.

    A framework is signed as its version's folder, which covers the binary in it.
    """
    nested: set[Path] = set()
    for path in app.rglob("*"):
        if path.suffix in BUNDLES and path.is_dir() and not path.is_symlink():
            nested |= _units(path)
    covered = {_main_binary(unit) for unit in nested} | {_main_binary(app)}
    units = nested | {path for path in binaries(app) if path not in covered}
    return [*sorted(units, key=lambda p: (-len(p.parts), p)), app]


def _units(bundle: Path) -> set[Path]:
    if bundle.suffix != ".framework":
        return {bundle}
    versions = bundle / "Versions"
    found = {p for p in versions.iterdir() if p.is_dir() and not p.is_symlink()} if versions.is_dir() else set()
    if not found:
        raise StepFailed(f"{bundle} has no version that could be signed.")
    return found


def _main_binary(unit: Path) -> Path:
    if unit.parent.name == "Versions":
        return unit / unit.parent.parent.stem
    return unit / "Contents" / "MacOS" / unit.stem


def sign(app: Path, identity: Identity, entitlements: Path, runner: Runner) -> None:
    """Signs every part of the bundle and asks codesign whether it agrees."""
    for unit in signing_order(app):
        command: list[str | Path] = ["codesign", "--force", "--sign", identity.name, *identity.flags]
        if unit == app:
            command += ["--entitlements", entitlements]
        runner.run([*command, unit])
    runner.run(["codesign", "--verify", "--strict", "--deep", "--verbose=2", app])
