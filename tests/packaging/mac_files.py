"""Small Mach-O files and a small bundle, written byte by byte: what the checks of the macOS bundle are tried on."""

from __future__ import annotations

import hashlib
import plistlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import macho
import metal_library
from mac_app.info_plist import info_plist
from mac_app.project import Project

ROOT = Path(__file__).resolve().parents[2]

ARM64, X86_64 = 0x0100000C, 0x01000007
PAGE = 4096
LIBRARY, EXECUTABLE = 6, 2
SYSTEM_LIBRARY = "/usr/lib/libSystem.B.dylib"


@dataclass(frozen=True)
class Mac:
    """One image: what its load commands say."""

    cpu: int = ARM64
    kind: int = LIBRARY
    macos: tuple[int, int] | None = (13, 0)
    name: str = ""
    libraries: Sequence[str] = (SYSTEM_LIBRARY,)
    rpaths: Sequence[str] = ()
    signed: bool = True

    def data(self) -> bytes:
        commands = [_named(macho.LC_LOAD_DYLIB, each, 24) for each in self.libraries]
        commands += [_named(macho.LC_RPATH, each, 12) for each in self.rpaths]
        if self.name:
            commands.append(_named(macho.LC_ID_DYLIB, self.name, 24))
        if self.macos:
            major, minor = self.macos
            commands.append(struct.pack("<6I", macho.LC_BUILD_VERSION, 24, 1, major << 16 | minor << 8, 0, 0))
        code_end = PAGE
        if self.signed:
            commands.append(struct.pack("<4I", macho.LC_CODE_SIGNATURE, 16, code_end, len(_signature(b"\0" * PAGE))))
        body = b"".join(commands)
        header = struct.pack("<8I", macho.IMAGE_64, self.cpu, 0, self.kind, len(commands), len(body), 0, 0)
        code = (header + body).ljust(code_end, b"\x90")
        assert len(code) == code_end
        return code + _signature(code) if self.signed else code


def _named(command: int, name: str, start: int) -> bytes:
    size = (start + len(name) + 8) // 8 * 8
    return struct.pack("<3I", command, size, start).ljust(start, b"\0") + name.encode().ljust(size - start, b"\0")


def _signature(code: bytes) -> bytes:
    """An ad hoc signature over pages of 4,096 bytes."""
    name = b"test\0"
    fixed = 44
    slots = [hashlib.sha256(code[at : at + PAGE]).digest() for at in range(0, len(code), PAGE)]
    hashes = fixed + len(name)
    directory = struct.pack(
        ">IIIIIIIIIBBBBI",
        *(macho.CODE_DIRECTORY, hashes + 32 * len(slots), 0x20000, macho.CS_ADHOC, hashes, fixed, 0, len(slots)),
        *(len(code), 32, 2, 0, 12, 0),
    )
    directory = directory + name + b"".join(slots)
    return struct.pack(">IIIII", macho.SIGNATURE, 20 + len(directory), 1, 0, 20) + directory


def universal(*images: Mac) -> bytes:
    parts, at = [], 1 << 14
    header = struct.pack(">II", macho.FAT, len(images))
    for image in images:
        data = image.data()
        header += struct.pack(">5I", image.cpu, 0, at, len(data), 14)
        parts.append((at, data))
        at += (len(data) + (1 << 14) - 1) >> 14 << 14
    whole = bytearray(header.ljust(at, b"\0"))
    for start, data in parts:
        whole[start : start + len(data)] = data
    return bytes(whole[: parts[-1][0] + len(parts[-1][1])])


def both(image: Mac) -> bytes:
    """The image for both processors."""
    return universal(replace(image, cpu=X86_64), image)


def write(path: Path, data: bytes | str = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


QT_MODULES = ("QtCore", "QtDBus", "QtGui", "QtNetwork", "QtSvg", "QtWidgets")


def pyside(site: Path) -> Path:
    """A PySide6 as a wheel unpacks it: universal, without links, with what nobody needs."""
    package = site / "PySide6"
    for module in (*QT_MODULES, "QtQml", "QtDesigner"):
        binding = Mac(
            libraries=["@rpath/libpyside6.abi3.6.9.dylib", f"@rpath/{module}.framework/Versions/A/{module}"],
            rpaths=["@loader_path/", "@loader_path/Qt/lib"],
        )
        write(package / f"{module}.abi3.so", both(binding))
        needed = [f"@rpath/{QT_MODULES[0]}.framework/Versions/A/{QT_MODULES[0]}"] if module != "QtCore" else []
        framework = Mac(
            name=f"@rpath/{module}.framework/Versions/A/{module}",
            libraries=[*needed, SYSTEM_LIBRARY],
            rpaths=["@loader_path/../../../"],
        )
        folder = package / "Qt" / "lib" / f"{module}.framework"
        write(folder / "Versions" / "A" / module, both(framework))
        for place in (folder / "Versions" / "A" / "Resources", folder / "Resources"):
            write(place / "Info.plist", plistlib.dumps({"CFBundleExecutable": module}))
    write(package / "libpyside6.abi3.6.9.dylib", both(Mac(name="@rpath/libpyside6.abi3.6.9.dylib")))
    write(package / "libpyside6qml.abi3.6.9.dylib", both(Mac(name="@rpath/libpyside6qml.abi3.6.9.dylib")))
    plugin = both(
        Mac(libraries=["@rpath/QtGui.framework/Versions/A/QtGui"], rpaths=["@loader_path/../../lib"], macos=(12, 0))
    )
    for name in (
        "platforms/libqcocoa", "platforms/libqoffscreen", "platforms/libqminimal", "styles/libqmacstyle",
        "iconengines/libqsvgicon", "imageformats/libqgif", "imageformats/libqjpeg", "imageformats/libqsvg",
        "imageformats/libqtiff", "imageformats/libqwebp", "imageformats/libqpdf", "sqldrivers/libqsqlite",
    ):
        write(package / "Qt" / "plugins" / f"{name}.dylib", plugin)
    for name in ("__init__.py", "_config.py", "_git_pyside_version.py", "support/__init__.py", "QtCore.pyi",
                 "Qt/qml/QtQuick/qmldir", "Qt/translations/qtbase_it.qm", "Qt/translations/qtbase_de.qm",
                 "Qt/libexec/uic", "typesystems/core.xml",
                 "Designer.app/Contents/Info.plist"):
        write(package / name, "x")
    return package


def bundle(folder: Path) -> Path:
    """A whole, thin, signed Leggio.app in which nothing is wrong."""
    app = folder / "Leggio.app"
    packages = app / "Contents" / "Resources" / "lib" / "python3.12"
    plist = {**info_plist(Project()), "PyRuntimeLocations": ["@executable_path/../Frameworks/Python"]}
    write(app / "Contents" / "Info.plist", plistlib.dumps(plist))
    write(app / "Contents" / "Resources" / "Leggio.icns", "icns")
    runtime = "@executable_path/../Frameworks/Python.framework/Versions/3.12/Python"
    write(app / "Contents" / "MacOS" / "Leggio", Mac(kind=EXECUTABLE).data())
    write(app / "Contents" / "MacOS" / "python", Mac(kind=EXECUTABLE, libraries=[runtime]).data())
    python = app / "Contents" / "Frameworks" / "Python.framework"
    write(python / "Versions" / "3.12" / "Python", Mac(name=runtime).data())
    (python / "Versions" / "Current").symlink_to("3.12")
    (python / "Python").symlink_to("Versions/Current/Python")
    write(packages / "uocr" / "libuocr.dylib", Mac(name="@rpath/libuocr.dylib").data())
    for name in (f"uocr/{metal_library.SOURCES}/gemm.metal", "uocr/resources/models/built-in.uocr",
                 "uocr/resources/samples/scan.jpg", "leggio/translations/leggio_it.qm", "leggio/main.py",
                 "PySide6/Qt/translations/qtbase_it.qm"):
        write(packages / name, "x")
    for name in ("platforms/libqcocoa", "platforms/libqoffscreen", "styles/libqmacstyle"):
        write(packages / "PySide6" / "Qt" / "plugins" / f"{name}.dylib", Mac().data())
    heif = Mac(libraries=["@loader_path/pi_heif/.dylibs/libheif.dylib"])
    write(packages / "_pi_heif.so", heif.data())
    write(packages / "pi_heif" / ".dylibs" / "libheif.dylib", Mac(name="@loader_path/libheif.dylib").data())
    return app
