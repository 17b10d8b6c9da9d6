"""Compiles the two measuring programs into the cache folder, once for each content of their sources.

The compiler is `$CC`, else `cc`, else the one that the PyPI package ziglang carries. Flags are those of CMakeLists.txt.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
ENGINE, INCLUDE = ROOT / "engine" / "src", ROOT / "engine" / "include"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"]
_VECTOR = {"_avx2": ["-mavx2", "-mfma", "-mf16c"],
           "_avx512": ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni"]}


class CannotBuild(Exception):
    """There is no compiler, or it refused; the message says what to do."""


def compiler() -> list[str]:
    if chosen := os.environ.get("CC"):
        return shlex.split(chosen)
    if found := shutil.which("cc"):
        return [found]
    zig = [sys.executable, "-m", "ziglang"]
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode == 0:
        return [*zig, "cc"]
    raise CannotBuild("There is no C compiler; install one (on Debian: gcc), or the PyPI package ziglang.")


def vector_flags(source: Path) -> list[str]:
    """What this file's instruction set needs, as CMakeLists.txt gives it."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    return next((flags for suffix, flags in _VECTOR.items() if source.stem.endswith(suffix)), [])


def _compile(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"{command[-1]} does not compile:\n{done.stderr[-3000:]}")


def _program(name: str, sources: Sequence[Path], headers: Sequence[Path], cache: Path) -> Path:
    command = [*compiler(), *FLAGS, f"-I{ENGINE}", f"-I{INCLUDE}"]
    digest = hashlib.sha256(repr(command).encode())
    for file in [*sources, *headers]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    program = cache / f"{name}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        objects = [str(Path(folder) / f"{source.stem}.o") for source in sources]
        for source, target in zip(sources, objects, strict=True):
            _compile([*command, *vector_flags(source), "-c", "-o", target, str(source)])
        linked = Path(folder) / name
        _compile([*command, "-o", str(linked), *objects, "-lm", "-lpthread"])
        for old in cache.glob(f"{name}-*"):
            old.unlink()
        os.replace(linked, program)
    return program


def machine(cache: Path) -> Path:
    """The program that measures this machine's limits."""
    return _program("machine", [HERE / "machine.c"], [], cache)


def operators(cache: Path) -> Path:
    """The program that measures the engine's operators."""
    ground = [ENGINE / f"{name}.c" for name in ("memory", "pixels", "processors", "profile", "status", "threads")]
    sources = [HERE / "operators.c", *ground, *sorted((ENGINE / "cpu").glob("*.c"))]
    headers = sorted([*ENGINE.rglob("*.h"), *INCLUDE.glob("*.h")])
    return _program("operators", sources, headers, cache)
