"""Frameworks as macOS wants them: one version, and links to it.

A wheel cannot hold symbolic links, so Qt's frameworks come out of one without `Versions/Current`, and codesign then
refuses them with "bundle format unrecognized".
"""

from __future__ import annotations

import shutil
from pathlib import Path

from mac_app.commands import StepFailed

CURRENT = "Current"


def frameworks(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.framework") if p.is_dir() and not p.is_symlink())


def repair(framework: Path) -> bool:
    """Makes `Versions/Current` and a link at the top for each part of the version. Whether anything was changed.

    Copies that stand where a link belongs are replaced: what they hold is in the version already.
    """
    versions = framework / "Versions"
    real = sorted(p.name for p in versions.iterdir() if p.name != CURRENT) if versions.is_dir() else []
    if len(real) != 1:
        raise StepFailed(f"{framework} has {len(real)} versions ({', '.join(real) or 'none'}); one is expected.")
    changed = _link(versions / CURRENT, real[0])
    for part in sorted((versions / real[0]).iterdir()):
        if part.name != "_CodeSignature":
            changed |= _link(framework / part.name, f"Versions/{CURRENT}/{part.name}")
    return changed


def _link(place: Path, target: str) -> bool:
    if place.is_symlink():
        if place.readlink() == Path(target):
            return False
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)
    elif place.exists():
        place.unlink()
    place.symlink_to(target)
    return True
