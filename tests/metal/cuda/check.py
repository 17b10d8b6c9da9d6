"""The kernels of metal/ on an NVIDIA GPU: the table of operators, then speed. `make check-cuda`.

    check.py [--build]        with --build nothing runs: for a machine that has the compiler and no GPU

The .metal files are compiled as they are, by nvcc, once for each set of function constants that the tests
ask for; a device that runs nothing writes those down first. What was compiled is kept in build/tests-cuda.
Every family of operators runs in a process of its own: a kernel that breaks the device stops no other.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ENGINE = ROOT / "engine" / "src"
KERNELS = ROOT / "metal"
BUILD = ROOT / "build" / "tests-cuda"
sys.path.insert(0, str(ENGINE / "gpu" / "host"))

from translate import TranslationError, local_includes, translate  # noqa: E402

FAMILIES = ["rows", "decoder", "rope", "linear", "experts", "vision", "attention"]
PRECISIONS = ["fast", "exact"]
MOST_IN_ONE = 6
"""Kernels of one source: few, so that all processors have work."""

C_SOURCES = [
    *(HERE.parent / name for name in ("gpu_table.c",)),
    *(ROOT / "tests" / "engine" / f"{name}.c" for name in ("ops_linear", "ops_rows", "ops_attention", "ops_support")),
    *(ENGINE / f"{name}.c" for name in ("memory", "profile", "status", "pixels", "model_file",
                                     "model_config", "sha256")),
    *(path for path in sorted((ENGINE / "gpu").glob("*.c")) if not path.name.startswith("device_")),
    HERE / "run_cuda.c",
]
INCLUDES = [f"-I{folder}" for folder in (HERE, HERE.parent, ENGINE, ROOT / "engine" / "include",
                                         ROOT / "tests" / "engine")]
C_FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-UNDEBUG", "-Wall", "-Wextra", "-ffp-contract=off"]
# The compiler's front end keeps no address spaces apart, and says that unused kernels of a file are unused.
NVCC_FLAGS = ["-std=c++20", "-O3", "-diag-suppress", "177,186,550,20012,20011,20093,20096"]


def nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def gpu() -> bool:
    """Whether a driver lists one."""
    tool = shutil.which("nvidia-smi")
    return bool(tool) and subprocess.run([tool, "-L"], capture_output=True, check=False).returncode == 0


def digest(*parts: object) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part.read_bytes() if isinstance(part, Path) else str(part).encode())
        hashed.update(b"\0")
    return hashed.hexdigest()[:16]


def run(command: list[str | Path]) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(command: list[str | Path], source: Path, headers: Iterable[Path]) -> Path:
    """The object of a source, made when there is none of the same content."""
    target = BUILD / "objects" / f"{source.stem}-{digest(*command, source, *headers)}.o"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}.partial")
        run([*command, "-c", source, "-o", partial])
        partial.replace(target)
    return target


def c_objects(pool: ThreadPoolExecutor, extra: list[Path]) -> list[Path]:
    headers = sorted([*ENGINE.rglob("*.h"), *KERNELS.glob("*.h"), *HERE.parent.glob("*.h"), *HERE.glob("*.h"),
                      *(ROOT / "tests" / "engine").glob("*.h")])
    command: list[str | Path] = ["cc", *C_FLAGS, *INCLUDES]
    return list(pool.map(lambda source: compiled(command, source, headers), [*C_SOURCES, *extra]))


def wanted(pool: ThreadPoolExecutor) -> list[str]:
    """"name constant constant ..." of every kernel that the tests ask for."""
    program = BUILD / "record"
    run(["cc", *c_objects(pool, [HERE / "device_record.c"]), "-o", program, "-lm", "-lpthread"])
    runs = [["table", precision, family] for precision in PRECISIONS for family in FAMILIES] + [["speed"]]

    def record(number: int) -> set[str]:
        listed = BUILD / f"record-{number}.txt"
        listed.unlink(missing_ok=True)
        # Numbers are all zero here, so the program finds fault with them: only the list counts.
        subprocess.run([program, *runs[number]], env={**os.environ, "GPU_RECORD": str(listed)}, check=False,
                       stdout=subprocess.DEVNULL)
        return set(listed.read_text().splitlines())

    return sorted(set().union(*pool.map(record, range(len(runs)))))


def without_spaces(text: str) -> str:
    """Without the word `device`: nvcc's own attribute has that name, so no macro can hide it."""
    return re.sub(r"\bdevice\b", "", text)


def sources(keys: list[str]) -> list[Path]:
    """C++ sources that hold these kernels, each with its constants in a namespace of its own."""
    folder = BUILD / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    for header in KERNELS.glob("*.h"):
        (folder / header.name).write_text(without_spaces(header.read_text()))
    homes = {}
    for path in sorted(KERNELS.glob("*.metal")):
        translation = translate(path.read_text())
        homes.update(dict.fromkeys(translation.codes, (path, translation)))
    by_file = defaultdict(list)
    for key in keys:
        name = key.split()[0]
        if name not in homes:
            raise TranslationError(f"no file of metal/ has a kernel {name}")
        by_file[homes[name][0]].append(key)
    written = []
    for path, some in by_file.items():
        translation = homes[some[0].split()[0]][1]
        for first in range(0, len(some), MOST_IN_ONE):
            lines = ["#define MSL_KERNELS", "#include <metal_stdlib>"]
            lines += [f'#include "{include.name}"' for include in reversed(local_includes(path))]
            for number, key in enumerate(some[first : first + MOST_IN_ONE]):
                name, *values = key.split()
                values += ["0"] * (12 - len(values))
                lines += [f"#define MSL_VALUE_{index} {value}" for index, value in enumerate(values)]
                home = f"{path.stem}_{first + number}"  # of its own in the whole program
                lines += [f"namespace {home} {{", f'#line 1 "{path}"', without_spaces(translation.text), "}"]
                lines += [f"#undef MSL_VALUE_{index}" for index in range(12)]
                codes = ", ".join(map(str, translation.codes[name]))
                lines.append(f'static msl::registered<&{home}::{name}, {codes}> {home}_registered("{key}");')
            target = folder / f"{path.stem}_{first // MOST_IN_ONE}.cu"
            target.write_text("\n".join(lines) + "\n")
            written.append(target)
    return written


def build(compiler: str, architecture: str) -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [compiler, *NVCC_FLAGS, f"-arch={architecture}", *INCLUDES, f"-I{KERNELS}"]
    headers = sorted([*HERE.glob("*.h"), *KERNELS.glob("*.h"), *(ENGINE / "gpu").glob("*.h"), HERE / "metal_stdlib"])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        kernels = sources(wanted(pool))
        device = HERE / "device_cuda.cu"
        objects = list(pool.map(lambda source: compiled(command, source, headers), [device, *kernels]))
        objects += c_objects(pool, [])
    program = BUILD / "run_cuda"
    run([compiler, f"-arch={architecture}", *objects, "-o", program])
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true", help="compile only")
    parser.add_argument("--arch", help="as nvcc's -arch; that of this machine's GPU, sm_90 without one")
    arguments = parser.parse_args()
    program, compiler = BUILD / "run_cuda", nvcc()
    if not arguments.build and not gpu():
        print("check-cuda is skipped: no NVIDIA GPU answers here (nvidia-smi -L); it needs one and its driver.")
        return
    if compiler:
        program = build(compiler, arguments.arch or ("native" if gpu() else "sm_90"))
    elif not program.exists():
        print("check-cuda is skipped: no nvcc; install NVIDIA's CUDA toolkit 12 or newer and put nvcc on the PATH.")
        return
    if arguments.build:
        print(program)
        return

    def table(case: tuple[str, str]) -> tuple[int, str]:
        done = subprocess.run([program, "table", *case], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    cases = [(precision, family) for precision in PRECISIONS for family in FAMILIES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(table, cases))
    failed = [" ".join(case) for case, (code, _) in zip(cases, results, strict=True) if code != 0]
    print("".join(text for _, text in results), flush=True)
    speed = subprocess.run([program, "speed"], check=False).returncode
    print(f"check-cuda: {len(cases) - len(failed)} of {len(cases)} families right"
          + (f"; wrong: {', '.join(failed)}" if failed else ""))
    raise SystemExit(bool(failed) or speed != 0)


if __name__ == "__main__":
    main()
