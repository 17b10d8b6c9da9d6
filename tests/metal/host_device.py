"""Builds for the tests of the GPU back end: kernels for the host device, and C programs over it.

Both are made once for each content of what they are made of and kept under ``build/tests-metal/``.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine" / "src"
HOST = ENGINE / "gpu" / "host"
KERNELS = ROOT / "metal"
CACHE = ROOT / "build" / "tests-metal"
HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HOST))
sys.path.insert(0, str(ROOT / "tests" / "engine"))

import kernel_library as kernels  # noqa: E402
import strict  # noqa: E402, F401
import translate  # noqa: E402, F401
from c_programs import FLAGS, compiler  # noqa: E402

OPERATOR_TESTS = [
    ROOT / "tests" / "engine" / f"{name}.c"
    for name in ("ops_linear", "ops_rows", "ops_attention", "ops_support")
]
GROUND = [ENGINE / f"{name}.c" for name in ("memory", "profile", "status", "pixels")]
GPU = sorted((ENGINE / "gpu").glob("*.c"))


def missing() -> str:
    """Why nothing can be built here, in one line; empty when all is there."""
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        return "the host device for GPU kernels runs on x86-64 Linux only"
    if not kernels.compiler():
        return kernels.HOW_TO_GET_IT
    return "" if compiler() else "no C compiler: install one, or ziglang from PyPI"


@functools.cache
def library(check: bool = False) -> Path:
    """All kernels of ``metal/``, fast or with the checker."""
    sources = sorted(KERNELS.glob("*.metal"))
    name = f"kernels-{'check' if check else 'fast'}"
    target = CACHE / f"{name}-{kernels.digest(check, sources)}.so"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{name}-*.so"):
            old.unlink()
        kernels.build(target, check)
    return target


def program(name: str, sources: list[Path], flags: tuple[str, ...] = ("-O2",), shared: bool = False) -> Path:
    """A C program, or shared library, from these files."""
    command = [
        *compiler(),
        *FLAGS,
        *flags,
        f"-I{ENGINE}",
        f"-I{ROOT / 'engine' / 'include'}",
        f"-I{ROOT / 'tests' / 'engine'}",
    ]
    headers = sorted([*ENGINE.rglob("*.h"), *KERNELS.glob("*.h"), *(ROOT / "tests" / "engine").glob("*.h")])
    digest = hashlib.sha256(repr((command, shared)).encode())
    for file in [*sources, *headers]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    target = CACHE / f"{name}-{digest.hexdigest()[:16]}{'.so' if shared else ''}"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{name}-*"):
        old.unlink()
    partial = target.with_suffix(f".{os.getpid()}.partial")
    mode = ["-shared", "-fPIC"] if shared else []
    done = subprocess.run(
        [*command, *mode, *map(str, sources), "-o", str(partial), "-lm", "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{name} does not compile:\n{done.stderr}"
    partial.replace(target)
    return target


def engine() -> Path:
    """libuocr with the GPU back end over the host device."""
    sources = [*sorted(ENGINE.glob("*.c")), *sorted((ENGINE / "cpu").glob("*.c")), *GPU]
    # Vector files need their instruction set; one for all is good enough for a library that only tests load.
    flags = (
        "-O2",
        "-mavx2",
        "-mfma",
        "-mf16c",
        "-fvisibility=hidden",
        "-DUOCR_GPU",
        '-DUOCR_VERSION_STRING="0.0.0"',
    )
    return program("libuocr-gpu", sources, flags, shared=True)


def run_over_gpu(
    command: str, *arguments: str, over: Path | None = None, timeout: float = 550
) -> subprocess.CompletedProcess[str]:
    """`over_gpu.py` in a process of its own, over these kernels; all of them by default."""
    return subprocess.run(
        [sys.executable, HERE / "over_gpu.py", engine(), command, *arguments],
        env={**os.environ, "UOCR_HOST_KERNELS": str(over or library())},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def over_gpu(command: str, *arguments: str, timeout: float = 550) -> Any:
    """What `over_gpu.py` answers."""
    done = run_over_gpu(command, *arguments, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(executable: Path, *arguments: str, check: bool = False, timeout: float = 500) -> str:
    """What the program printed over the fast kernels, or those with the checker. It must succeed."""
    environment = {**os.environ, "UOCR_HOST_KERNELS": str(library(check))}
    done = subprocess.run(
        [executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, (
        f"{executable.name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout
