"""What Info.plist promises is what the program does."""

from __future__ import annotations

import plistlib
import re

from mac_app import icon
from mac_app.info_plist import DOCUMENT_TYPES
from mac_files import ROOT, Project, info_plist
from uocr.sources.expand import SUFFIXES


def test_every_ending_that_is_opened_is_declared_and_none_more() -> None:
    declared = [ending for each in DOCUMENT_TYPES for ending in each.endings]
    assert sorted(f".{ending}" for ending in declared) == sorted(SUFFIXES)


def test_document_types_are_viewers_that_push_nobody_aside() -> None:
    entries = info_plist(Project())["CFBundleDocumentTypes"]
    assert {entry["CFBundleTypeRole"] for entry in entries} == {"Viewer"}
    assert {entry["LSHandlerRank"] for entry in entries} == {"Alternate"}
    types = [name for entry in entries for name in entry.get("LSItemContentTypes", [])]
    assert len(types) == len(set(types))
    assert {"com.adobe.pdf", "public.png", "public.jpeg", "public.tiff", "public.heic", "org.webmproject.webp",
            "com.compuserve.gif", "com.microsoft.bmp", "public.folder"} <= set(types)
    assert "public.image" not in types, "it would claim camera raw files, which are not read"
    for entry in entries:  # macOS looks at endings only where there are no types
        assert ("LSItemContentTypes" in entry) != ("CFBundleTypeExtensions" in entry)


def test_the_plist_says_version_system_and_category() -> None:
    plist = plistlib.loads(plistlib.dumps(info_plist(Project())))
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert version and plist["CFBundleVersion"] == plist["CFBundleShortVersionString"] == version[1]
    assert plist["LSMinimumSystemVersion"] == "13.0"
    assert plist["CFBundleIdentifier"] == "app.leggio.Leggio"
    assert plist["NSHighResolutionCapable"] is True
    assert plist["LSApplicationCategoryType"] == "public.app-category.productivity"
    assert plist["NSSupportsAutomaticTermination"] is plist["NSSupportsSuddenTermination"] is False
    assert "AGPL" in plist["NSHumanReadableCopyright"]


def test_it_speaks_the_languages_that_the_window_has() -> None:
    translations = (ROOT / "app" / "leggio" / "translations").glob("leggio_*.qm")
    languages = {path.stem.removeprefix("leggio_") for path in translations}
    assert set(info_plist(Project())["CFBundleLocalizations"]) == {"en", *languages}


def test_only_permissions_that_are_needed_are_asked_for() -> None:
    asked = {key for key in info_plist(Project()) if key.endswith("UsageDescription")}
    assert asked == {f"NS{place}UsageDescription" for place in
                     ("DesktopFolder", "DocumentsFolder", "DownloadsFolder", "NetworkVolumes", "RemovableVolumes")}


def test_the_icon_has_every_size_and_clear_corners(tmp_path) -> None:
    from PIL import Image

    with Image.open(icon.write_icns(tmp_path / "Leggio.icns")) as image:
        pixels = {width * scale for width, _, scale in image.info["sizes"]}
        assert {32, 64, 256, 512, 1024} <= pixels
        assert image.size == (1024, 1024)
        assert image.getpixel((10, 10))[3] == 0 and image.getpixel((512, 130))[3] == 255
    assert list(tmp_path.iterdir()) == [tmp_path / "Leggio.icns"]
