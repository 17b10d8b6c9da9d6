"""Makes what the engine's Metal device loads: joined kernel sources, and on a Mac with Xcode one compiled library.

    python3 packaging/metal_library.py FOLDER [--sources-only]

FOLDER gets ``uocr-kernels/NAME.metal``, each with its local includes inside, and ``uocr.metallib`` where `xcrun metal`
is there. Both belong beside libuocr.dylib: the device takes the library, and without one compiles the sources itself.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1] / "metal"
LIBRARY = "uocr.metallib"
SOURCES = "uocr-kernels"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
# The language version and the absence of fast mathematics are those of engine/src/gpu/device_metal.m.
FLAGS = ["-std=metal3.0", "-fno-fast-math", "-mmacosx-version-min=13.0", "-Wall", "-Wno-unused-function"]


def joined(path: Path) -> str:
    """The source with each local include in its place, once; `#line` keeps compilers' messages right."""
    return _joined(path, set())


def _joined(path: Path, seen: set[Path]) -> str:
    text = path.read_text(encoding="utf-8")
    parts, at = [f'#line 1 "{path.name}"\n'], 0
    for found in INCLUDE.finditer(text):
        parts.append(text[at : found.start()])
        target = path.parent / found[1]
        if target not in seen:
            seen.add(target)
            parts.append(_joined(target, seen))
        parts.append(f'#line {text.count(chr(10), 0, found.end()) + 2} "{path.name}"')
        at = found.end()
    return "".join([*parts, text[at:]]).rstrip("\n") + "\n"


def write_sources(folder: Path, kernels: Path = KERNELS) -> list[Path]:
    """``folder/NAME.metal`` for each kernel source, and nothing else with that ending."""
    sources = sorted(kernels.glob("*.metal"))
    if not sources:
        raise SystemExit(f"{kernels} holds no kernel source (*.metal).")
    folder.mkdir(parents=True, exist_ok=True)
    for old in {path.name for path in folder.glob("*.metal")} - {path.name for path in sources}:
        (folder / old).unlink()
    written = []
    for source in sources:
        target = folder / source.name
        partial = target.with_name(target.name + ".partial")
        partial.write_text(joined(source), encoding="utf-8")
        os.replace(partial, target)
        written.append(target)
    return written


def metal_compiler() -> list[str] | None:
    """The command that runs Apple's Metal tools, None where there are none: Xcode has them, its small tools do not."""
    if sys.platform != "darwin" or not shutil.which("xcrun"):
        return None
    tools = ["xcrun", "-sdk", "macosx"]
    found = subprocess.run([*tools, "-f", "metal"], capture_output=True, check=False)
    return tools if found.returncode == 0 else None


def compile_library(sources: list[Path], target: Path, tools: list[str]) -> Path:
    """One metallib of all sources. A source that does not compile ends the program with what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for source in sources:
            objects.append(str(Path(folder) / f"{source.stem}.air"))
            _run([*tools, "metal", *FLAGS, "-c", str(source), "-o", objects[-1]], source.name)
        partial = target.with_name(target.name + ".partial")
        _run([*tools, "metallib", *objects, "-o", str(partial)], target.name)
    os.replace(partial, target)
    return target


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{what} does not compile for Metal:\n{done.stderr or done.stdout}")
    sys.stderr.write(done.stderr)  # warnings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sources-only", action="store_true", help="do not look for Apple's compiler")
    arguments = parser.parse_args()
    sources = write_sources(arguments.folder / SOURCES)
    print(f"{arguments.folder / SOURCES}: {len(sources)} sources")
    library = arguments.folder / LIBRARY
    library.unlink(missing_ok=True)  # one of other sources must not be taken
    tools = None if arguments.sources_only else metal_compiler()
    if tools:
        print(compile_library(sources, library, tools))
    else:
        print("No Metal compiler is used here: the device compiles the sources when it opens.")


if __name__ == "__main__":
    main()
