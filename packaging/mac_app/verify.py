"""Looks over a finished bundle, on any system: would macOS load it, on other Macs than the one that built it?"""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import macho
import metal_library

from mac_app.frameworks import frameworks
from mac_app.names import SYSTEM, is_foreign
from mac_app.project import ARCH, MINIMUM_MACOS

PARTS = (
    "uocr/libuocr.dylib",
    f"uocr/{metal_library.SOURCES}",
    "uocr/resources/models/built-in.uocr",
    "uocr/resources/samples/scan.jpg",
    "leggio/translations/leggio_it.qm",
    "PySide6/Qt/plugins/platforms/libqcocoa.dylib",
    "PySide6/Qt/plugins/platforms/libqoffscreen.dylib",
    "PySide6/Qt/plugins/styles/libqmacstyle.dylib",
    "PySide6/Qt/translations/qtbase_it.qm",
)
"""Must be there, below the folder of Python packages. Kernel sources stay beside the compiled library: macOS may
refuse a library that another version of Xcode made."""
PACKAGES = "Contents/Resources/lib/python*"


@dataclass(frozen=True)
class Finding:
    """Something wrong. `path` is relative to what was looked at."""

    path: str
    words: str

    def __str__(self) -> str:
        return f"{self.path}: {self.words}"


@dataclass(frozen=True)
class Signing:
    """What is asked of every signature. Without a certificate it is enough that there is a whole one."""

    certificate: bool = False


def check_bundle(app: Path, signing: Signing | None = None) -> list[Finding]:
    """Everything that is wrong with the bundle; signatures are looked at when `signing` says how."""
    return [*_parts(app), *_links(app), *_frameworks(app), *check_binaries(app, app / "Contents" / "MacOS", signing)]


def check_binaries(
    folder: Path, executables: Path | None = None, signing: Signing | None = None
) -> Iterator[Finding]:
    """Every Mach-O file below the folder, and every file that should be one."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if not macho.is_macho(path):
            if path.suffix in (".so", ".dylib"):
                yield Finding(name, f"no Mach-O file ({path.stat().st_size} bytes)")
            continue
        try:
            images = macho.read(path)
        except macho.MachOError as error:
            yield Finding(name, str(error))
            continue
        if [image.arch for image in images] != [ARCH]:
            yield Finding(name, f"for {', '.join(image.arch for image in images)}; {ARCH} alone is wanted")
        for image in images:
            for words in _image(image, path, folder, executables, signing):
                yield Finding(name, words)


def _image(
    image: macho.Image, path: Path, folder: Path, executables: Path | None, signing: Signing | None
) -> Iterator[str]:
    wanted = ".".join(map(str, MINIMUM_MACOS))
    if image.minimum_macos is None:
        yield "does not say which macOS it needs"
    elif image.minimum_macos > MINIMUM_MACOS:
        yield f"needs macOS {'.'.join(map(str, image.minimum_macos))}; Leggio promises {wanted}"
    if image.install_name and is_foreign(image.install_name):
        yield f"its install name {image.install_name} is a place on the machine that built it"
    for rpath in image.rpaths:
        if is_foreign(rpath):
            yield f"its search path {rpath} is a place on the machine that built it"
    for library in image.libraries:
        if not library.startswith(SYSTEM) and not _resolves(library, image, path, folder, executables):
            yield f"loads {library}, which is not in the bundle"
    if signing is not None:
        yield from _signature(image.signature, signing)


def _resolves(library: str, image: macho.Image, path: Path, folder: Path, executables: Path | None) -> bool:
    """Whether dyld would find it inside `folder`."""
    prefix, _, rest = library.partition("/")
    if prefix != "@rpath":
        return _inside(_expanded(library, path, executables), folder)
    return any(_inside(_expanded(f"{rpath.rstrip('/')}/{rest}", path, executables), folder) for rpath in image.rpaths)


def _expanded(name: str, path: Path, executables: Path | None) -> Path | None:
    prefix, _, rest = name.partition("/")
    if prefix == "@loader_path":
        return path.parent / rest
    if prefix == "@executable_path" and executables is not None:
        return executables / rest
    return None


def _inside(place: Path | None, folder: Path) -> bool:
    if place is None or not place.is_file():
        return False
    return place.resolve().is_relative_to(folder.resolve())


def _signature(signature: macho.Signature | None, signing: Signing) -> Iterator[str]:
    if signature is None:
        yield "is not signed; macOS runs no unsigned arm64 code"
        return
    if signature.bad_pages:
        yield f"was changed after it was signed ({signature.bad_pages} pages)"
    if signing.certificate and (signature.ad_hoc or not signature.has_certificate):
        yield "is signed ad hoc; other Macs want a Developer ID"
    if signing.certificate and not signature.hardened:
        yield "is signed without the hardened runtime, which notarisation asks for"


def _parts(app: Path) -> Iterator[Finding]:
    packages = sorted(app.glob(PACKAGES))
    folders = [path for path in packages if path.is_dir()]
    if len(folders) != 1:
        yield Finding("Contents/Resources/lib", f"{len(folders)} folders of Python packages; one is expected")
    else:
        for part in PARTS:
            if not (folders[0] / part).exists():
                yield Finding(part, "is missing")
    for path in app.rglob("qt.conf"):
        yield Finding(path.relative_to(app).as_posix(), "points Qt away from the plugins beside it")
    try:
        plist = plistlib.loads((app / "Contents" / "Info.plist").read_bytes())
    except (OSError, plistlib.InvalidFileException) as error:
        yield Finding("Contents/Info.plist", str(error))
        return
    if not (app / "Contents" / "MacOS" / plist.get("CFBundleExecutable", "?")).is_file():
        yield Finding("Contents/Info.plist", f"names no program: {plist.get('CFBundleExecutable')}")
    if not (app / "Contents" / "Resources" / plist.get("CFBundleIconFile", "?")).is_file():
        yield Finding("Contents/Info.plist", f"names no icon: {plist.get('CFBundleIconFile')}")
    for key, value in _strings(plist):
        if PurePosixPath(value).is_absolute() and not value.startswith(SYSTEM):
            yield Finding("Contents/Info.plist", f"{key} is a place on the machine that built it: {value}")


def _strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key)


def _links(app: Path) -> Iterator[Finding]:
    for path in sorted(app.rglob("*")):
        if path.is_symlink() and not (path.exists() and path.resolve().is_relative_to(app.resolve())):
            yield Finding(path.relative_to(app).as_posix(), f"a link to {path.readlink()}, which is not in the bundle")


def _frameworks(app: Path) -> Iterator[Finding]:
    for framework in frameworks(app):
        if not (framework / "Versions" / "Current").is_symlink():
            yield Finding(framework.relative_to(app).as_posix(), "has no Versions/Current; codesign refuses it")
