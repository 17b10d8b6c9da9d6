"""The whole engine compiled once for each sanitizer, for the test programs that need all of it.

Objects are kept under ``build/tests-engine/objects`` by the hash of their source, of all headers and of the
command line; vector files get the flags of their instruction set, as in CMakeLists.txt.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from c_programs import CACHE, ENGINE, FLAGS, HERE, INCLUDE, LIBRARIES, compiler

X86 = platform.machine() in ("x86_64", "AMD64")


def vector_flags(source: Path) -> list[str]:
    """What this file's instruction set needs on this machine."""
    if not X86 or not source.stem.endswith(("_avx2", "_avx512")):
        return []
    avx512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni"] if source.stem.endswith("_avx512") else []
    return ["-mavx2", "-mfma", "-mf16c", *avx512]


def command_for(sanitizer: str) -> list[str]:
    command = [*compiler(), *FLAGS, '-DUOCR_VERSION_STRING="0.0.0"']
    command += [f"-I{ENGINE}", f"-I{INCLUDE}", f"-I{HERE}"]
    return [*command, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=undefined"] if sanitizer else command


def header_digest() -> bytes:
    digest = hashlib.sha256()
    for header in sorted([*ENGINE.rglob("*.h"), *INCLUDE.glob("*.h"), *HERE.glob("*.h")]):
        digest.update(header.name.encode() + b"\0" + header.read_bytes())
    return digest.digest()


def folder_for(sanitizer: str) -> Path:
    return CACHE / "objects" / (sanitizer.replace(",", "-") or "plain")


def compile_object(source: Path, folder: Path, command: list[str], headers: bytes) -> Path:
    command = [*command, *vector_flags(source)]
    digest = hashlib.sha256(repr(command).encode() + headers + source.read_bytes()).hexdigest()[:24]
    target = folder / f"{source.stem}-{digest}.o"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}.partial")
        done = subprocess.run([*command, "-c", str(source), "-o", str(partial)], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}"
        partial.replace(target)
    return target


@functools.cache
def engine_objects(sanitizer: str) -> tuple[Path, ...]:
    """Objects of every source of the engine; files of earlier contents are removed."""
    folder, command, headers = folder_for(sanitizer), command_for(sanitizer), header_digest()
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted([*ENGINE.glob("*.c"), *(ENGINE / "cpu").glob("*.c")])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = tuple(pool.map(lambda source: compile_object(source, folder, command, headers), sources))
    for old in set(folder.glob("*.o")) - set(objects):
        old.unlink()
    return objects


def build_with_engine(name: str, sanitizer: str = "") -> Path:
    """The program ``tests/engine/name.c`` linked with the whole engine.

    ``sanitizer`` is what follows ``-fsanitize=``; empty for none.
    """
    objects = engine_objects(sanitizer)
    program = folder_for(sanitizer) / f"{name}-{os.getpid()}"
    command = [*command_for(sanitizer), str(HERE / f"{name}.c"), *map(str, objects), "-o", str(program)]
    done = subprocess.run([*command, *LIBRARIES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name} does not compile:\n{done.stderr}"
    return program
