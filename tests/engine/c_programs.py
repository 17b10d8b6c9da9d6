"""Compiles the C test programs of this folder against the engine's sources, with sanitizers if there are any.

The compiler is ``$CC``, else ``cc``, else the one that the PyPI package ziglang carries. A program is
compiled once for each content of its sources, of all headers and of the command line, and kept under
``build/tests-engine/``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
ENGINE = ROOT / "engine" / "src"
INCLUDE = ROOT / "engine" / "include"
CACHE = ROOT / "build" / "tests-engine"

# -UNDEBUG: asserts are part of what is tested, and ziglang turns them off by itself when it optimises.
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-UNDEBUG", "-g", "-O1", "-fno-omit-frame-pointer",
         "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LIBRARIES = ["-lm", "-lpthread"]
ADDRESS = "address,undefined"
THREAD = "thread"
# The first report ends the program.
SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


class CompileError(Exception):
    """A test program does not compile or link."""


@functools.cache
def compiler() -> tuple[str, ...]:
    """The compiler's command; empty when there is none."""
    if chosen := os.environ.get("CC"):
        return tuple(shlex.split(chosen))
    if found := shutil.which("cc"):
        return (found,)
    probe = subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False)
    return (sys.executable, "-m", "ziglang", "cc") if probe.returncode == 0 else ()


def build(name: str, engine: Sequence[str], sanitizer: str = "") -> Path:
    """The program ``name`` (``tests/engine/name.c``) linked with these files of ``engine/src``.

    ``sanitizer`` is what follows ``-fsanitize=``; empty for none. Raises CompileError with what the compiler
    said.
    """
    sources = [HERE / f"{name}.c", *(ENGINE / file for file in engine)]
    command = [*compiler(), *FLAGS, f"-I{ENGINE}", f"-I{INCLUDE}", f"-I{HERE}"]
    if sanitizer:
        command += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=undefined"]

    headers = sorted([*ENGINE.rglob("*.h"), *INCLUDE.glob("*.h"), *HERE.glob("*.h")])
    digest = hashlib.sha256(repr(command).encode())
    for file in [*sources, *headers]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    label = f"{name}-{sanitizer.replace(',', '-') or 'plain'}"
    program = CACHE / f"{label}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program

    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{label}-*"):
        old.unlink()
    partial = program.with_suffix(f".{os.getpid()}.partial")
    compiled = subprocess.run([*command, *map(str, sources), "-o", str(partial), *LIBRARIES],
                              capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        raise CompileError(f"{name} does not compile:\n{compiled.stderr}")
    partial.replace(program)
    return program


def start(program: Path, *arguments: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end, whatever that is."""
    environment = {**os.environ, **SANITIZER_ENVIRONMENT}
    return subprocess.run([program, *arguments], env=environment, timeout=timeout, check=False,
                          capture_output=True, text=True, errors="replace")


@functools.cache
def sanitizes(sanitizer: str) -> bool:
    """Whether a program compiled with ``-fsanitize=sanitizer`` is stopped at a fault made on purpose.

    That it links proves nothing: some compilers take the option and leave the checks out.
    """
    fault = {ADDRESS: "read", THREAD: "race"}[sanitizer]
    try:
        return start(build("faults", [], sanitizer), fault).returncode != 0
    except CompileError:
        return False


def run(program: Path, *arguments: str | Path, timeout: float = 300) -> str:
    """What the program printed. Fails the test when the program fails, with all it said."""
    done = start(program, *arguments, timeout=timeout)
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
