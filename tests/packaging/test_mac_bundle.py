"""Trimming, links, thinning, names and the last look, on a bundle made for the purpose."""

from __future__ import annotations

import os
import plistlib
from dataclasses import replace
from pathlib import Path

import macho
import pytest
from mac_app import build, frameworks, names, qt, thin, verify
from mac_app.commands import Runner, StepFailed
from mac_app.project import ARCH
from mac_files import ARM64, ROOT, X86_64, Mac, Project, both, bundle, pyside, universal, write

PACKAGES = Path("Contents/Resources/lib/python3.12")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return bundle(tmp_path)


def told(app: Path, signing: verify.Signing | None = None) -> list[str]:
    return [str(finding) for finding in verify.check_bundle(app, signing)]


# -- PySide6 -----------------------------------------------------------------------------------------------------


def test_trimming_leaves_what_leggio_loads(tmp_path: Path) -> None:
    package = pyside(tmp_path)
    assert qt.trim(tmp_path) > 100_000
    left = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {path for path in left if path.endswith(".so")} == {f"{module}.abi3.so" for module in qt.MODULES}
    assert {path.name for path in (package / "Qt" / "lib").iterdir()} == {f"{m}.framework" for m in qt.MODULES}
    assert "libpyside6.abi3.6.9.dylib" in left and "libpyside6qml.abi3.6.9.dylib" not in left
    assert {path.name for path in (package / "Qt").iterdir()} == {"lib", "plugins", "translations"}
    assert {path.name for path in (package / "Qt" / "translations").iterdir()} == {"qtbase_it.qm"}
    plugins = {path.removeprefix("Qt/plugins/") for path in left if path.startswith("Qt/plugins/")}
    assert plugins == {f"{folder}/libq{name}.dylib" for folder, names in qt.PLUGINS.items() for name in names}
    assert not [path for path in left if "qml" in path.lower() or "Designer" in path or path.endswith(".pyi")]
    assert {"__init__.py", "support/__init__.py"} <= left


def test_what_leggio_imports_of_qt_is_what_stays() -> None:
    import re

    sources = "".join(path.read_text("utf-8") for path in (ROOT / "app").rglob("*.py"))
    assert set(re.findall(r"(?:from|import) PySide6\.(\w+)", sources)) == set(qt.MODULES)


def test_a_qt_without_a_part_that_is_needed_is_one_clear_error(tmp_path: Path) -> None:
    (pyside(tmp_path) / "QtSvg.abi3.so").unlink()
    with pytest.raises(StepFailed, match=r"PySide6/QtSvg\.abi3\.so is not in this PySide6"):
        qt.trim(tmp_path)


def test_a_plugin_that_py2app_copied_and_its_qt_conf_go(app: Path) -> None:
    conf = write(app / "Contents" / "Resources" / "qt.conf", "[Paths]")
    write(app / "Contents" / "Resources" / "qt_plugins" / "platforms" / "libqcocoa.dylib", Mac().data())
    assert told(app) == ["Contents/Resources/qt.conf: points Qt away from the plugins beside it"]
    assert qt.remove_qt_conf(app) == [conf]
    assert told(app) == []


# -- frameworks --------------------------------------------------------------------------------------------------


def test_a_framework_from_a_wheel_gets_its_links(tmp_path: Path) -> None:
    framework = pyside(tmp_path) / "Qt" / "lib" / "QtCore.framework"
    assert frameworks.repair(framework)
    assert os.readlink(framework / "Versions" / "Current") == "A"
    assert os.readlink(framework / "QtCore") == "Versions/Current/QtCore"
    assert os.readlink(framework / "Resources") == "Versions/Current/Resources"
    assert (framework / "QtCore").is_file() and (framework / "Resources" / "Info.plist").is_file()
    assert not frameworks.repair(framework), "a second time there is nothing to do"


def test_a_framework_copied_with_its_links_followed_gets_them_back(tmp_path: Path) -> None:
    import shutil

    framework = pyside(tmp_path) / "Qt" / "lib" / "QtCore.framework"
    frameworks.repair(framework)
    copy = tmp_path / "QtCore.framework"
    shutil.copytree(framework, copy)  # follows links
    assert (copy / "Versions" / "Current").is_dir() and not (copy / "Versions" / "Current").is_symlink()
    assert frameworks.repair(copy)
    assert sorted(p.name for p in copy.rglob("*") if p.is_file() and not p.is_symlink()) == ["Info.plist", "QtCore"]


def test_a_framework_of_two_versions_is_refused(tmp_path: Path) -> None:
    framework = pyside(tmp_path) / "Qt" / "lib" / "QtCore.framework"
    (framework / "Versions" / "B").mkdir()
    with pytest.raises(StepFailed, match=r"has 2 versions \(A, B\); one is expected"):
        frameworks.repair(framework)


# -- processors --------------------------------------------------------------------------------------------------


def test_thinning_takes_the_image_out_as_it_is(tmp_path: Path) -> None:
    image = Mac(name="@rpath/liba.dylib")
    path = write(tmp_path / "liba.dylib", both(image))
    path.chmod(0o755)
    whole = path.stat().st_size
    assert thin.thin(path, ARCH) == whole - path.stat().st_size > 0
    assert path.read_bytes() == image.data()
    assert path.stat().st_mode & 0o777 == 0o755
    assert macho.read(path)[0].signature.bad_pages == 0
    assert thin.thin(path, ARCH) == 0, "a thin file stays"


def test_a_library_for_other_macs_alone_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "liba.dylib", universal(Mac(cpu=X86_64)))
    with pytest.raises(StepFailed, match="is for x86_64, not for arm64"):
        thin.thin(path, ARCH)


def test_links_and_other_files_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "text")
    write(tmp_path / "Empty.dylib")
    library = write(tmp_path / "liba.dylib", Mac().data())
    (tmp_path / "link.dylib").symlink_to(library)
    assert thin.binaries(tmp_path) == [library]


# -- names of build machines -------------------------------------------------------------------------------------


def test_names_of_build_machines_are_replaced_in_place(tmp_path: Path) -> None:
    rpaths = ["/opt/local/lib", "@loader_path/x", "/usr/lib/swift"]
    image = Mac(name="/Users/somebody/build/liba.1.dylib", rpaths=rpaths)
    path = write(tmp_path / "liba.dylib", image.data())
    size = path.stat().st_size
    assert names.rename(path) == ["/opt/local/lib", "/Users/somebody/build/liba.1.dylib"]
    (read,) = macho.read(path)
    assert read.install_name == "@rpath/liba.1.dylib"
    assert read.rpaths == ["@loader_path", "@loader_path/x", "/usr/lib/swift"]
    assert read.libraries == list(image.libraries) and path.stat().st_size == size
    assert names.rename(path) == []


def test_a_name_without_room_is_one_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path / "liba.dylib", Mac(rpaths=["/a"]).data())
    with pytest.raises(StepFailed, match="there is no room to turn /a into @loader_path"):
        names.rename(path)


# -- the last look -----------------------------------------------------------------------------------------------


def test_a_sound_bundle_has_no_findings(app: Path) -> None:
    assert told(app, verify.Signing()) == []


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (Mac(cpu=X86_64), "for x86_64; arm64 alone is wanted"),
        (Mac(macos=(14, 0)), "needs macOS 14.0; Leggio promises 13.0"),
        (Mac(macos=(13, 3)), "needs macOS 13.3; Leggio promises 13.0"),
        (Mac(macos=None), "does not say which macOS it needs"),
        (Mac(name="/Users/me/libx.dylib"), "its install name /Users/me/libx.dylib is a place on the machine"),
        (Mac(rpaths=["/opt/homebrew/lib"]), "its search path /opt/homebrew/lib is a place on the machine"),
        (Mac(libraries=["/opt/homebrew/lib/libssl.dylib"]), "loads /opt/homebrew/lib/libssl.dylib, which is not"),
        (Mac(libraries=["@rpath/libgone.dylib"]), "loads @rpath/libgone.dylib, which is not in the bundle"),
        (Mac(libraries=["@rpath/libheif.dylib"], rpaths=["@loader_path"]), "loads @rpath/libheif.dylib, which is not"),
        (Mac(libraries=["@loader_path/../../../../../../../outside.dylib"]), "which is not in the bundle"),
        (Mac(signed=False), "is not signed; macOS runs no unsigned arm64 code"),
    ],
)
def test_each_fault_of_a_library_is_found(app: Path, image: Mac, words: str) -> None:
    write(app.parent / "outside.dylib", Mac().data())
    write(app / PACKAGES / "lib" / "x.so", image.data())
    (finding,) = told(app, verify.Signing())
    assert finding.startswith("Contents/Resources/lib/python3.12/lib/x.so: ") and words in finding


def test_libraries_found_from_loader_rpath_and_executable_are_right(app: Path) -> None:
    good = Mac(
        libraries=["@rpath/.dylibs/libheif.dylib", "@loader_path/.dylibs/libheif.dylib",
                   "@executable_path/../Frameworks/Python.framework/Versions/3.12/Python"],
        rpaths=["@loader_path/nowhere", "@loader_path/"],
    )
    write(app / PACKAGES / "pi_heif" / "x.so", good.data())
    assert told(app) == []


def test_empty_damaged_and_universal_libraries_are_found(app: Path) -> None:
    write(app / PACKAGES / "empty.dylib")
    write(app / PACKAGES / "cut.so", Mac().data()[:60])
    write(app / PACKAGES / "fat.so", universal(Mac(), replace(Mac(), cpu=X86_64)))
    found = told(app)
    assert len(found) == 3
    assert "empty.dylib: no Mach-O file (0 bytes)" in "\n".join(found)
    assert any("cut.so" in line and "load commands end" in line for line in found)
    assert any("fat.so: for arm64, x86_64; arm64 alone is wanted" in line for line in found)


def test_a_change_after_signing_is_found(app: Path) -> None:
    library = app / PACKAGES / "uocr" / "libuocr.dylib"
    data = bytearray(library.read_bytes())
    data[2000] ^= 1
    library.write_bytes(data)
    assert told(app) == []
    assert [line for line in told(app, verify.Signing()) if "changed after it was signed (1 pages)" in line]


def test_a_release_wants_certificates_and_the_hardened_runtime(app: Path) -> None:
    found = told(app, verify.Signing(certificate=True))
    binaries = len(thin.binaries(app))
    assert sum("signed ad hoc" in line for line in found) == binaries
    assert sum("without the hardened runtime" in line for line in found) == binaries


@pytest.mark.parametrize("part", verify.PARTS)
def test_each_part_that_must_be_there_is_missed(app: Path, part: str) -> None:
    import shutil

    path = app / PACKAGES / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert told(app) == [f"{part}: is missing"]


def test_links_out_of_the_bundle_and_into_nothing_are_found(app: Path) -> None:
    (app / "Contents" / "Resources" / "out").symlink_to(app.parent)
    (app / "Contents" / "Resources" / "gone").symlink_to("nothing")
    assert len([line for line in told(app) if "which is not in the bundle" in line]) == 2


def test_a_framework_without_links_is_found(app: Path) -> None:
    (app / "Contents" / "Frameworks" / "Python.framework" / "Versions" / "Current").unlink()
    assert any("has no Versions/Current; codesign refuses it" in line for line in told(app))


def test_the_plist_says_nothing_of_the_machine_that_built(app: Path) -> None:
    path = app / "Contents" / "Info.plist"
    plist = plistlib.loads(path.read_bytes())
    plist |= {
        "PythonInfoDict": {"PythonExecutable": "/Users/me/venv/bin/python", "PythonShortVersion": "3.12"},
        "PyRuntimeLocations": ["@executable_path/../Frameworks/Python", "/Library/Frameworks/Python"],
        "NSMainNibFile": "MainMenu",
    }
    path.write_bytes(plistlib.dumps(plist))
    assert any("PythonInfoDict.PythonExecutable is a place on the machine that built it" in line for line in told(app))
    build.clean_plist(path)
    assert told(app) == []
    cleaned = plistlib.loads(path.read_bytes())
    assert "NSMainNibFile" not in cleaned and cleaned["PythonInfoDict"] == {"PythonShortVersion": "3.12"}
    assert cleaned["PyRuntimeLocations"] == ["@executable_path/../Frameworks/Python"]


# -- the stage ---------------------------------------------------------------------------------------------------


def test_the_stage_ends_thin_and_linked_with_signatures_that_hold(tmp_path: Path) -> None:
    project = Project(build=tmp_path)
    pyside(project.site)
    write(project.site / "typer" / "__init__.py")
    write(project.site / "bin" / "tool")
    foreign = Mac(name="/DLC/numpy/.dylibs/libgfortran.5.dylib")
    write(project.site / "numpy" / ".dylibs" / "libgfortran.5.dylib", both(foreign))
    build.trim_stage(project, Runner())
    assert {path.name for path in project.site.iterdir()} == {"PySide6", "numpy"}
    (finding,) = verify.check_binaries(project.site, signing=verify.Signing())
    assert "its install name /DLC/" in finding.words, "replaced in the bundle: py2app imports from the stage"
    assert names.rename_all(project.site) == 1
    assert list(verify.check_binaries(project.site)) == []
    assert (project.site / "PySide6" / "Qt" / "lib" / "QtGui.framework" / "Versions" / "Current").is_symlink()
    assert all(image.arch == "arm64" for path in thin.binaries(project.site) for image in macho.read(path))


def test_a_package_that_no_table_names_stops_the_build(tmp_path: Path) -> None:
    project = Project(build=tmp_path)
    pyside(project.site)
    write(project.site / "surprise" / "__init__.py")
    with pytest.raises(StepFailed, match=r"surprise in .*: add each to a table of mac_app/modules\.py"):
        build.trim_stage(project, Runner())


def test_arm64_is_the_processor_of_the_engine_too() -> None:
    assert macho.CPU[ARM64] == ARCH
