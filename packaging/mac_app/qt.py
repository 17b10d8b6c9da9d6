"""PySide6 as the bundle needs it: the wheel's other three quarters are left out.

What stays is named here; the Qt frameworks are those that the named parts load, found in their load commands. Runs
on the wheel's own layout, before py2app and before anything is signed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import macho

from mac_app.commands import StepFailed

MODULES = ("QtCore", "QtDBus", "QtGui", "QtNetwork", "QtSvg", "QtWidgets")
"""Imported by `leggio`."""
PLUGINS = {
    "platforms": ("cocoa", "offscreen"),  # the screen; `leggio --self-test`
    "styles": ("macstyle",),
    "iconengines": ("svgicon",),  # symbols and formulas
    "imageformats": ("gif", "jpeg", "svg", "tiff", "webp"),  # pictures that other programs put on the clipboard
}
LANGUAGES = ("it",)
"""Besides English; Qt's own words in dialogs and menus."""
FILES = (
    "__init__.py",
    "_config.py",
    "_git_pyside_version.py",
    "support",
    *(f"Qt/translations/qtbase_{language}.qm" for language in LANGUAGES),
)


def trim(site: Path) -> int:
    """Takes out of `site/PySide6` what Leggio never loads; the number of bytes that went."""
    package = site / "PySide6"
    if not package.is_dir():
        raise StepFailed(f"{package} does not exist; PySide6 is not among the wheels in {site}.")
    before = _size(package)
    kept = [package / f"{module}.abi3.so" for module in MODULES] + [
        package / "Qt" / "plugins" / folder / f"libq{name}.dylib" for folder, names in PLUGINS.items() for name in names
    ]
    others = [package / name for name in FILES]
    for path in [*kept, *others]:
        if not path.exists():
            raise StepFailed(f"{path.relative_to(site)} is not in this PySide6; mend the table in mac_app/qt.py.")
    _keep(package, [*kept, *_loaded_by(kept, package), *others])
    return before - _size(package)


def _loaded_by(files: list[Path], package: Path) -> list[Path]:
    """Every file of the package that these load, and those load in turn; frameworks as their folder."""
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        for image in macho.read(waiting.pop()):
            for name in image.libraries:
                if not name.startswith("@rpath/"):
                    continue
                inner = Path(name.removeprefix("@rpath/"))
                place = package / inner if len(inner.parts) == 1 else package / "Qt" / "lib" / inner
                if place.is_file() and place not in found:  # shiboken6 is a package of its own
                    found.add(place)
                    waiting.append(place)
    return [next((p for p in place.parents if p.suffix == ".framework"), place) for place in found]


def _keep(package: Path, kept: list[Path]) -> None:
    """Removes every file that is neither kept nor below something kept, then folders that are empty."""
    wanted = set(kept)
    for path in sorted(package.rglob("*"), reverse=True):
        if path in wanted or any(parent in wanted for parent in path.parents):
            continue
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def remove_qt_conf(app: Path) -> list[Path]:
    """py2app writes a qt.conf that points Qt at a folder of copied plugins, which find no Qt from there."""
    found = list(app.rglob("qt.conf"))
    for path in found:
        path.unlink()
    shutil.rmtree(app / "Contents" / "Resources" / "qt_plugins", ignore_errors=True)
    return found
