"""Compiles metal/*.metal into a shared library for the host device. Needs clang 16 or newer.

    python3 kernel_library.py OUTPUT.so [--check] [--source FOLDER] [--extra OTHER.metal]

Local includes are read by the compiler itself; they hold no attributes and no threadgroup locals.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from translate import local_includes, program

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[3] / "metal"
COMPILERS = ["clang++-19", "clang++-20", "clang++-18", "clang++-17", "clang++-16", "clang++"]
COMMON = [
    "-std=c++20",
    "-fPIC",
    "-g1",
    "-fsigned-char",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-Wall",
    "-Wno-unknown-attributes",
    "-Wno-psabi",
    "-Wno-unused-variable",
    "-Wno-unused-function",
    "-Wno-sign-compare",
]
FAST = ["-O2", "-march=native", "-fno-semantic-interposition"]
CHECK = ["-O1", "-march=native", "-fno-vectorize", "-fno-slp-vectorize", "-DMSL_CHECK", "-fsanitize=thread"]
HOW_TO_GET_IT = "no clang++ 16 or newer: apt-get install clang-19 libclang-rt-19-dev"


def compiler() -> str | None:
    """The first of COMPILERS that is here and knows half precision vectors."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def compile_one(command: list[str], source: Path, target: Path) -> None:
    if target.exists():
        return
    partial = target.with_suffix(f".{os.getpid()}.partial")
    done = subprocess.run(
        [*command, "-c", str(source), "-o", str(partial)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{source.name} does not compile:\n{done.stderr}")
    partial.replace(target)


def build(output: Path, check: bool = False, sources: list[Path] | None = None) -> Path:
    """Writes the library; `sources` are the kernels, all of metal/ by default.

    Objects stay beside it in `objects`, by the hash of what they are made of.
    """
    clang = compiler()
    if not clang:
        raise SystemExit(HOW_TO_GET_IT)
    sources = sources or sorted(KERNELS.glob("*.metal"))
    kept = output.parent / "objects"
    kept.mkdir(parents=True, exist_ok=True)
    base = [clang, *COMMON, f"-I{HERE}"]
    jobs = []
    for source in sources:
        flags = [*(CHECK if check else FAST), f"-I{source.parent}", f"-I{KERNELS}"]
        stem = kept / f"{source.stem}-{digest(check, [source])}"
        text = stem.with_suffix(".cpp")
        text.write_text(program(source, source.stem))
        jobs.append(([*base, *flags], text, stem.with_suffix(".o")))
    for name in ["machine", "launch", "checker" if check else "no_checker"]:
        target = kept / f"{name}-{digest(False, [])}.o"
        jobs.append(([*base, "-O2", "-march=native"], HERE / f"{name}.cpp", target))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_one(*job), jobs))
    partial = output.with_suffix(f".{os.getpid()}.partial")
    objects = [str(job[2]) for job in jobs]
    linked = subprocess.run(
        [clang, "-shared", *objects, "-o", str(partial), "-lm", "-ldl", "-pthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if linked.returncode != 0:
        raise SystemExit(f"{output.name} does not link:\n{linked.stderr}")
    partial.replace(output)
    return output


def digest(check: bool, sources: list[Path]) -> str:
    """Identity of what `build` would make: a loader re-uses a path it has seen, so names carry it."""
    files = {*sources, *HERE.iterdir()} | {
        include for source in sources for include in local_includes(source)
    }
    hashed = hashlib.sha256(f"{check} {compiler()}".encode())
    for file in sorted(file for file in files if file.is_file()):
        hashed.update(file.name.encode() + b"\0" + file.read_bytes())
    return hashed.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--check", action="store_true", help="with the checker")
    parser.add_argument("--source", type=Path, default=KERNELS, help="folder of .metal files")
    parser.add_argument("--extra", type=Path, action="append", default=[], help="another .metal file")
    arguments = parser.parse_args()
    build(arguments.output, arguments.check, [*sorted(arguments.source.glob("*.metal")), *arguments.extra])
    print(arguments.output)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
