"""py2app's normal build over the real wheels for macOS, on a system that is none: whole_build.py BUILD_FOLDER.

Two things stand in for what only a Mac has: this system's own Python, whose native modules are no Mach-O files, and
libuocr.dylib. Prints, as the last line, what is wrong with the bundle, less what comes of the first.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import macholib.MachO
import macholib.MachOGraph
import macholib.MachOStandalone
import metal_library
import py2app.build_app
from mac_app import build, signing, verify
from mac_app.commands import Runner
from mac_app.project import Project
from mac_app.py2app_build import arguments
from mac_files import ROOT, write
from setuptools import setup

ELF = b"\x7fELF"
RealMachO = macholib.MachO.MachO


class ElfToo(RealMachO):
    """Reads a library of this system as one that loads nothing."""

    def __init__(self, filename: str, *more: Any, **named: Any) -> None:
        with open(filename, "rb") as file:
            if file.read(4) != ELF:
                super().__init__(filename, *more, **named)
                return
        self.graphident = self.filename = filename
        self.loader_path = os.path.dirname(filename)
        self.fat = None
        self.headers: list[Any] = []


def find_mac_modules() -> None:
    """Native modules for macOS are found by name, as on a Mac; nothing imports them here."""
    machinery = importlib.machinery
    machinery.EXTENSION_SUFFIXES.insert(0, f".cpython-{sys.version_info[0]}{sys.version_info[1]}-darwin.so")
    finder = machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )
    sys.path_hooks[:] = [finder if "FileFinder" in repr(hook) else hook for hook in sys.path_hooks]
    sys.path_importer_cache.clear()


def library(target: Path) -> Path:
    """A small library for arm64 Macs, linked by ziglang."""
    source = write(target.with_suffix(".c"), "int answer(void) { return 42; }\n")
    name = f"-Wl,-install_name,@rpath/{target.name}"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos.13.0", "-shared", "-O1"]
    subprocess.run([*command, source, "-o", target, name], check=True)
    source.unlink()
    return target


def own_packages(site: Path) -> None:
    """Ours as their wheel lays them out on a Mac."""
    shutil.copytree(ROOT / "app" / "leggio", site / "leggio")
    shutil.copytree(ROOT / "engine" / "uocr", site / "uocr")
    declarations = importlib.util.find_spec("uocr._declarations")
    assert declarations is not None and declarations.origin is not None
    shutil.copy(declarations.origin, site / "uocr")
    shutil.copytree(ROOT / "resources", site / "uocr" / "resources")
    metal_library.write_sources(site / "uocr" / metal_library.SOURCES)
    library(site / "uocr" / "libuocr.dylib")


def bundle(project: Project) -> None:
    find_mac_modules()
    for module in (macholib.MachO, macholib.MachOGraph, macholib.MachOStandalone):
        module.MachO = ElfToo
    py2app.build_app.macholib.MachO.MachO = ElfToo
    runtime = library(project.build / "libpython.dylib")
    py2app.build_app.py2app.get_runtime = lambda self, prefix=None, version=None: (runtime.name, str(runtime))
    sys.argv = ["setup_app.py", "-q", "py2app"]
    setup(**arguments(project))


def main(folder: Path) -> None:
    build.PYTHON = sys.version_info[:2]
    build.VERSION = ".".join(map(str, build.PYTHON))
    project, runner = Project(build=folder), Runner()
    build.stage_wheels(project, sys.executable, runner, engine=False)
    own_packages(project.site)
    build.trim_stage(project, runner)
    bundle(project)
    build.finish(project.app, sys.executable, runner)
    findings = [
        str(finding)
        for finding in verify.check_bundle(project.app)
        if not is_elf(project.app / finding.path)
    ]
    order = [path.relative_to(project.app).as_posix() for path in signing.signing_order(project.app)]
    print(json.dumps({"findings": findings, "signed": order}))


def is_elf(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:4] == ELF


if __name__ == "__main__":
    main(Path(sys.argv[1]))
