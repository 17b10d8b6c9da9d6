"""Info.plist: what macOS knows of Leggio before it runs.

Every file name ending that `uocr.sources` takes from a folder belongs to one document type here. Endings of which
the system has a type are claimed by that type; the others by ending. Leggio is an alternate viewer of all: it never
becomes the program that opens pictures by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mac_app.project import IDENTIFIER, MINIMUM_MACOS, NAME, Project
from mac_app.qt import LANGUAGES


@dataclass(frozen=True)
class DocumentType:
    """`types`: uniform type identifiers, all declared by macOS 13; empty where it has none. `endings`: file names."""

    name: str
    endings: tuple[str, ...]
    types: tuple[str, ...] = ()


DOCUMENT_TYPES = (
    DocumentType("PDF document", ("pdf",), ("com.adobe.pdf",)),
    DocumentType("PNG picture", ("png",), ("public.png",)),
    DocumentType("JPEG picture", ("jpg", "jpeg", "jpe"), ("public.jpeg",)),
    DocumentType("TIFF picture", ("tif", "tiff"), ("public.tiff",)),
    DocumentType(
        "HEIF picture", ("heic", "heics", "heif", "hif"), ("public.heic", "public.heics", "public.heif")
    ),
    DocumentType("WebP picture", ("webp",), ("org.webmproject.webp",)),
    DocumentType("AVIF picture", ("avif",), ("public.avif",)),
    DocumentType("GIF picture", ("gif",), ("com.compuserve.gif",)),
    DocumentType("BMP picture", ("bmp", "dib"), ("com.microsoft.bmp",)),
    DocumentType("Icon", ("ico",), ("com.microsoft.ico",)),
    DocumentType("JPEG 2000 picture", ("jp2", "j2k", "jpf", "jpx"), ("public.jpeg-2000",)),
    DocumentType("Photoshop document", ("psd",), ("com.adobe.photoshop-image",)),
    DocumentType("Silicon Graphics picture", ("sgi",), ("com.sgi.sgi-image",)),
    DocumentType("Targa picture", ("tga",), ("com.truevision.tga-image",)),
    DocumentType("Picture", ("apng", "jfif", "mpo", "pbm", "pcx", "pgm", "pnm", "ppm", "qoi")),
)
FOLDER = "public.folder"
"""Dropped on the Dock, a folder is read with all that is in it."""

_FILES = "Leggio reads documents that you opened from here."
USAGE = {
    # Files chosen in a panel or dropped need no permission. A job that is taken up again after a restart opens its
    # files by name, and then macOS asks for these places, with these words.
    "NSDesktopFolderUsageDescription": _FILES,
    "NSDocumentsFolderUsageDescription": _FILES,
    "NSDownloadsFolderUsageDescription": _FILES,
    "NSNetworkVolumesUsageDescription": _FILES,
    "NSRemovableVolumesUsageDescription": _FILES,
}


def document_types() -> list[dict[str, Any]]:
    """The value of CFBundleDocumentTypes."""
    entries: list[dict[str, Any]] = []
    for each in DOCUMENT_TYPES:
        entry: dict[str, Any] = {
            "CFBundleTypeName": each.name,
            "CFBundleTypeRole": "Viewer",
            "LSHandlerRank": "Alternate",
        }
        if each.types:  # then macOS looks at nothing else
            entry["LSItemContentTypes"] = list(each.types)
        else:
            entry["CFBundleTypeExtensions"] = list(each.endings)
        entries.append(entry)
    entries.append(
        {
            "CFBundleTypeName": "Folder",
            "CFBundleTypeRole": "Viewer",
            "LSHandlerRank": "Alternate",
            "LSItemContentTypes": [FOLDER],
        }
    )
    return entries


def info_plist(project: Project) -> dict[str, Any]:
    """All of Info.plist that py2app does not write by itself."""
    return {
        "CFBundleName": NAME,
        "CFBundleDisplayName": NAME,
        "CFBundleExecutable": NAME,
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleIconFile": f"{NAME}.icns",
        "CFBundleVersion": project.version,
        "CFBundleShortVersionString": project.version,
        "CFBundleDevelopmentRegion": "en",
        "CFBundleLocalizations": ["en", *LANGUAGES],
        "CFBundleDocumentTypes": document_types(),
        "LSMinimumSystemVersion": ".".join(map(str, MINIMUM_MACOS)),
        "LSApplicationCategoryType": "public.app-category.productivity",
        "NSHighResolutionCapable": True,
        "NSPrincipalClass": "NSApplication",
        "NSMainNibFile": "",  # py2app's default names one that is not there
        # A page takes minutes: macOS must not end the program because its window is hidden.
        "NSSupportsAutomaticTermination": False,
        "NSSupportsSuddenTermination": False,
        "NSRequiresAquaSystemAppearance": False,
        "NSHumanReadableCopyright": "Leggio's authors. AGPL-3.0-or-later; the engine and its kernels Apache-2.0.",
        **USAGE,
    }
