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
from concurrent.futures import ThreadPoolExecutor
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
from c_programs import ADDRESS, FLAGS, SANITIZER_ENVIRONMENT, compiler, sanitizes  # noqa: E402, F401
from whole_engine import command_for, compile_object, header_digest  # noqa: E402

OPERATOR_TESTS = [
    ROOT / "tests" / "engine" / f"{name}.c"
    for name in ("ops_linear", "ops_rows", "ops_attention", "ops_support")
]
GROUND = [
    ENGINE / f"{name}.c"
    for name in ("memory", "profile", "status", "pixels", "model_file", "model_config", "sha256")
]
GPU = [
    path
    for path in sorted((ENGINE / "gpu").glob("*.c"))
    if not path.name.startswith("device_") or path.name == "device_host.c"
]
"""The portable half and the host device."""


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


def program(name: str, sources: list[Path], flags: tuple[str, ...] = ("-O2",)) -> Path:
    """A C program from these files."""
    command = [
        *compiler(),
        *FLAGS,
        *flags,
        f"-I{ENGINE}",
        f"-I{ROOT / 'engine' / 'include'}",
        f"-I{ROOT / 'tests' / 'engine'}",
        f"-I{HERE}",
    ]
    folders = [KERNELS, ROOT / "tests" / "engine", HERE]
    headers = sorted([*ENGINE.rglob("*.h"), *(header for folder in folders for header in folder.glob("*.h"))])
    digest = hashlib.sha256(repr(command).encode())
    for file in [*sources, *headers]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    target = CACHE / f"{name}-{digest.hexdigest()[:16]}"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{name}-*"):
        old.unlink()
    partial = target.with_suffix(f".{os.getpid()}.partial")
    done = subprocess.run(
        [*command, *map(str, sources), "-o", str(partial), "-lm", "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{name} does not compile:\n{done.stderr}"
    partial.replace(target)
    return target


def link(target: Path, command: list[str], inputs: list[Path], kept: str) -> Path:
    """A file made of these; earlier ones whose names begin with `kept` go."""
    if not target.exists():
        for old in CACHE.glob(f"{kept}-*"):
            old.unlink()
        partial = target.with_suffix(f".{os.getpid()}.partial")
        linked = [*command, *map(str, inputs), "-o", str(partial), "-lm", "-ldl", "-lpthread"]
        done = subprocess.run(linked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{target.name} does not link:\n{done.stderr}"
        partial.replace(target)
    return target


def compiled(sources: list[Path], sanitizer: str, *flags: str) -> tuple[list[str], list[Path]]:
    """The command and the objects of these files, with the GPU back end in it."""
    command = [
        *command_for(sanitizer),
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-DUOCR_GPU",
        f"-I{HERE}",
        *flags,
    ]
    shared = [*KERNELS.glob("*.h"), *HERE.glob("*.h"), ENGINE / "gpu" / "device_host.c"]
    headers = header_digest() + b"".join(path.read_bytes() for path in sorted(shared))
    folder = CACHE / "objects-engine"
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = pool.map(lambda source: compile_object(source, folder, command, headers), sources)
        return command, list(objects)


def named(kind: str, sanitizer: str, objects: list[Path]) -> tuple[str, str]:
    """What to keep of a kind, and the name of one made of these."""
    kept = f"{kind}-{sanitizer.replace(',', '-') or 'plain'}"
    return kept, f"{kept}-{hashlib.sha256(''.join(path.name for path in objects).encode()).hexdigest()[:16]}"


ENGINE_SOURCES = [*sorted(ENGINE.glob("*.c")), *sorted((ENGINE / "cpu").glob("*.c")), *GPU]


@functools.cache
def engine() -> Path:
    """libuocr with the GPU back end over the host device."""
    command, objects = compiled(ENGINE_SOURCES, "")
    kept, name = named("libuocr-gpu", "", objects)
    return link(CACHE / f"{name}.so", [*command, "-shared"], objects, kept)


def engine_program(source: Path, sanitizer: str = "", device: bool = True) -> Path:
    """A C program over the whole engine with runs on the GPU back end; without `device` it brings its own."""
    sources = [path for path in ENGINE_SOURCES if device or path.name not in ("device_host.c", "api.c")]
    flags = ("-DTINY_BACKEND=UOCR_BACKEND_METAL",)
    command, objects = compiled(sources, sanitizer)
    if not device:  # as on Apple's systems, where "auto" is the GPU
        objects += compiled([ENGINE / "api.c"], sanitizer, "-DUOCR_GPU_FIRST")[1]
    own = compiled([source], sanitizer, *flags)[1]
    kept, name = named(source.stem, sanitizer, [*objects, *own])
    return link(CACHE / name, command, [*objects, *own], kept)


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
