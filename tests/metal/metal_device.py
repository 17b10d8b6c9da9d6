"""Builds for the tests of the Metal device: for Linux over a mock of Apple's frameworks, for arm64 Macs by ziglang."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from host_device import CACHE, ENGINE, ENGINE_SOURCES, GPU, HERE, ROOT, kernels
from host_device import compiled as engine_objects

APPLE = HERE / "apple"
METAL = ENGINE / "gpu" / "device_metal.m"
BESIDE = ENGINE / "gpu" / "device_metal_files.c"
MOCK = sorted((APPLE / "mock").glob("*.c"))
PORTABLE = [path for path in GPU if path.name != "device_host.c"]
"""The GPU back end without a device."""
INCLUDES = [
    f"-I{folder}"
    for folder in (ENGINE, ROOT / "engine" / "include", ROOT / "tests" / "engine", HERE, APPLE / "include")
]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
OBJECTIVE_C = ["-std=gnu11", "-fobjc-arc", *WARNINGS]
MACOS = "aarch64-macos.13.0"


@functools.cache
def zig() -> list[str]:
    """The command of ziglang's compiler; empty when it is not installed."""
    command = [sys.executable, "-m", "ziglang"]
    there = subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0
    return [*command, "cc"] if there else []


@functools.cache
def clang() -> list[str]:
    """A compiler of Objective-C for this machine; empty when there is none."""
    found = kernels.compiler()
    beside = shutil.which(found.replace("clang++", "clang")) if found else None
    return [beside] if beside else zig()


def missing() -> str:
    """Why the mock cannot be built here; empty when it can."""
    if sys.platform != "linux":
        return "the mock of Apple's frameworks is for Linux"
    return "" if clang() else f"no compiler of Objective-C: ziglang from PyPI, or {kernels.HOW_TO_GET_IT}"


def finished(command: list[str | Path], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{what} does not compile:\n{done.stderr}"


def command_for(source: Path, flags: tuple[str, ...]) -> list[str]:
    """What compiles one file for this machine."""
    language = [*OBJECTIVE_C, "-fobjc-runtime=objfw", "-fblocks"] if source.suffix == ".m" else ["-std=gnu11", "-Wall"]
    common = ["-D_GNU_SOURCE", "-UNDEBUG", "-g", "-ffp-contract=off", "-fPIC"]
    return [*clang(), *common, *language, *flags, *INCLUDES]


def compiled(source: Path, flags: tuple[str, ...]) -> Path:
    """The object of one file for this machine, kept by the hash of what it is made of."""
    command = command_for(source, flags)
    headers = sorted(
        [
            *ENGINE.rglob("*.h"),
            *APPLE.rglob("*.h"),
            *HERE.glob("*.h"),
            *(ROOT / "metal").glob("*.h"),
            *(ROOT / "tests" / "engine").glob("*.h"),
        ]
    )
    digest = hashlib.sha256(repr(command).encode() + source.read_bytes())
    for header in headers:
        digest.update(header.read_bytes())
    target = CACHE / "objects-metal" / f"{source.stem}-{digest.hexdigest()[:24]}.o"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}.partial")
        finished([*command, "-c", str(source), "-o", str(partial)], source.name)
        partial.replace(target)
    return target


def program(target: Path, sources: list[Path], flags: tuple[str, ...] = ("-O2",)) -> Path:
    """A program, or a library where the flags say -shared, of these files over the Metal device over the mock."""
    objects = [compiled(source, flags) for source in [METAL, BESIDE, *MOCK, *sources]]
    finished([*clang(), *flags, *objects, "-o", target, "-lm", "-ldl", "-lpthread"], target.name)
    return target


def engine(target: Path) -> Path:
    """libuocr over the Metal device over the mock."""
    sources = [path for path in ENGINE_SOURCES if path.name != "device_host.c"]
    objects = [*engine_objects(sources, "")[1], *(compiled(source, ("-O2",)) for source in [METAL, BESIDE, *MOCK])]
    finished([*clang(), "-shared", *objects, "-o", target, "-lm", "-ldl", "-lpthread"], target.name)
    return target


def for_mac(target: Path, sources: list[Path]) -> Path:
    """libuocr for arm64 Macs, of these files and the Metal device."""
    flags = [
        "-target",
        MACOS,
        "-O2",
        "-ffp-contract=off",
        "-fvisibility=hidden",
        "-D_GNU_SOURCE",
        "-DUOCR_GPU",
        "-DUOCR_GPU_FIRST",
    ]
    stubs = APPLE / "stubs"
    command = [*zig(), *flags, '-DUOCR_VERSION_STRING="0.0.0"', *INCLUDES, f"-F{stubs}", f"-L{stubs}"]
    frameworks = [
        f for name in ("Metal", "MetalPerformanceShaders", "Foundation", "CoreGraphics") for f in ("-framework", name)
    ]
    metal = target.with_suffix(".o")
    finished([*command, *OBJECTIVE_C, "-c", METAL, "-o", metal], METAL.name)
    finished(
        [
            *command,
            "-std=gnu11",
            *sources,
            BESIDE,
            metal,
            "-shared",
            "-o",
            target,
            f"-Wl,-install_name,@rpath/{target.name}",
            *frameworks,
            "-lobjc",
        ],
        target.name,
    )
    return target
