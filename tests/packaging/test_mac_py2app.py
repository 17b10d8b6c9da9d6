"""py2app from the real root, as far as it goes on other systems than macOS."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import plistlib
import subprocess
import sys
from pathlib import Path

import macho
import pytest
from mac_app.modules import EXCLUDES, INCLUDES, LEFT_OUT, PACKAGES
from mac_app.project import BUILD_VARIABLE
from mac_files import ROOT

needs_py2app = pytest.mark.skipif(
    importlib.util.find_spec("py2app") is None,
    reason="py2app is not installed: pip install -e '.[dev]'",
)
COMMAND_LINE = ("uocr.cli", "uocr.demo", "uocr.bench", "uocr.golden")
"""Parts of the package that the window does not use: their libraries may be left out."""
BUILT_IN_LATER = ("shibokensupport", "PySide6.support", "signature_bootstrap", "__feature__")
"""Packed inside Shiboken's library, which brings them to life itself."""
MADE_BY_LIBRARIES = ("cython_runtime", "_cython_", "swig_runtime_data")


def sources() -> list[tuple[str, Path]]:
    """Module name and file of the engine's package and the window."""
    found = []
    for folder in (ROOT / "engine", ROOT / "app"):
        for path in sorted(folder.glob("uocr/**/*.py")) + sorted(folder.glob("leggio/**/*.py")):
            found.append((".".join(path.relative_to(folder).with_suffix("").parts), path))
    return found


def imported(path: Path) -> set[str]:
    """Top-level names of every import statement, those inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_every_library_that_is_imported_goes_into_the_bundle_by_name() -> None:
    bundled = {*PACKAGES, *INCLUDES, *sys.stdlib_module_names}
    for module, path in sources():
        missing = imported(path) - bundled
        if module.startswith(COMMAND_LINE):
            missing -= set(LEFT_OUT)
        assert not missing, f"{module} imports {', '.join(missing)}; add it to mac_app/modules.py with the reason"


def test_what_the_window_needs_imports_nothing_that_is_left_out() -> None:
    for module, path in sources():
        if not module.startswith(COMMAND_LINE):
            assert not imported(path) & set(LEFT_OUT), module


def test_no_module_is_both_in_and_out() -> None:
    assert not {*PACKAGES, *INCLUDES} & {*EXCLUDES}


@needs_py2app
def test_an_alias_bundle_is_built_from_the_real_root(tmp_path: Path) -> None:
    """With whatever setuptools is there; at dependencies py2app would stop at once."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", BUILD_VARIABLE: str(tmp_path)}
    done = subprocess.run(
        [sys.executable, ROOT / "setup_app.py", "-q", "py2app", "--alias"],
        cwd=ROOT, capture_output=True, text=True, env=environment, check=False,
    )
    if "does not have a shared library or framework" in done.stderr:
        pytest.skip("py2app wants a Python with a shared library; this one has none")
    assert done.returncode == 0, done.stderr
    contents = tmp_path / "dist" / "Leggio.app" / "Contents"
    plist = plistlib.loads((contents / "Info.plist").read_bytes())
    assert plist["CFBundleIdentifier"] == "app.leggio.Leggio"
    assert plist["PyOptions"]["argv_emulation"] is False and plist["PyOptions"]["no_chdir"] is True
    assert len(plist["CFBundleDocumentTypes"]) > 10
    (launcher,) = macho.read(contents / "MacOS" / "Leggio")
    assert launcher.arch == "arm64" and launcher.minimum_macos <= (13, 0)
    assert (contents / "Resources" / plist["CFBundleIconFile"]).stat().st_size > 10_000
    boot = (contents / "Resources" / "__boot__.py").read_text("utf-8")
    assert str(ROOT / "packaging" / "mac_app" / "launch.py") in boot
    assert "argv_emulation" not in boot and "chdir" not in boot


@pytest.mark.slow
@needs_py2app
def test_the_module_graph_holds_all_that_the_self_test_imports(tmp_path: Path) -> None:
    """py2app's own search, against what is in memory when a page has been read."""
    pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded here")
    run = (
        "import json, sys; from leggio.main import main; code = main(['--self-test']);"
        "import uocr.export.docx_file, uocr.export.pdf_file, uocr.export.html_file, uocr.sources.heif, ziamath;"
        "json.dump(sorted(sys.modules), open('modules.json', 'w')); sys.exit(code)"
    )
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([sys.executable, "-c", run], cwd=tmp_path, env=environment, check=True, capture_output=True)
    imported_names = json.loads((tmp_path / "modules.json").read_text())
    graph = subprocess.run(
        [sys.executable, Path(__file__).with_name("module_graph.py"), tmp_path / "build"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    ).stdout
    found = set(json.loads(graph.splitlines()[-1]))
    ours = (name for name in imported_names if not name.startswith((*BUILT_IN_LATER, *MADE_BY_LIBRARIES)))
    inner = {"__main__", "_frozen_importlib", "_frozen_importlib_external", "os.path", "typing.io", "typing.re",
             "pyexpat.errors", "pyexpat.model", "site"}  # of other modules; py2app brings a site of its own
    tooling = {"_distutils_hack", "_editable_skbc_leggio"}  # of this environment, not of the program
    assert [name for name in ours if name not in found | inner | tooling] == []


@pytest.mark.slow
@needs_py2app
@pytest.mark.skipif(sys.platform == "darwin", reason="on a Mac `mac.py build` does it in earnest")
def test_the_whole_bundle_of_real_wheels_is_sound(tmp_path: Path) -> None:
    """Downloads 200 MB: every pinned wheel for macOS, through staging, py2app, finishing and the last look."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("whole_build.py"), tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )
    if "-m pip" in (done.stderr.splitlines() or [""])[-1]:
        pytest.skip(f"the wheels could not be fetched: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["findings"] == []
    signed = answer["signed"]
    assert signed[-1] == "." and len(signed) == len(set(signed)) > 90
    assert sum(name.endswith(".framework/Versions/A") for name in signed) == 6
    app = tmp_path / "dist" / "Leggio.app"
    packages = next((app / "Contents" / "Resources" / "lib").glob("python*.*/"))
    for module in ("uocr/__pycache__", "leggio/window", "numpy", "lib-dynload/_pi_heif.so", "pi_heif/.dylibs"):
        assert (packages / module).exists(), module
    for name in ("typer", "hf_xet", "torch", "PySide6/Qt/qml"):
        assert not (packages / name).exists(), name
    size = sum(path.lstat().st_size for path in app.rglob("*") if not path.is_dir())
    assert size < 300e6
