"""The readers that can be compared, each in a process of its own: the engine, tesseract 5, rapidocr.

Pages are handed to all readers in turn, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from uocr.convert.front_end import json_bytes
from uocr.document import BOX_SCALE, Box
from uocr.modelfile import ModelFile

from bench.machine import processors
from bench.quality.pages import Page
from bench.quality.scores import Reading

TESSERACT_LANGUAGES = "eng+ita+deu+fra+spa+por"
TESSERACT_ADDED = "nld+swe+dan+pol+ces+hun"
"""For the set "new languages" alone, so that the other sets are read as before."""
PEERS = ("tesseract", "rapidocr")
_state: dict[str, Any] = {}
"""What a reader's process keeps between pages."""


class MissingReader(RuntimeError):
    """A peer is not installed; the text says how to install it."""


@dataclass
class Reader:
    """A reader in processes of its own (one, unless `jobs` says more); `identity` tells its readings from others."""

    name: str
    work: Callable[[Page], Reading]
    setup: Callable[..., None]
    arguments: tuple[Any, ...] = ()
    jobs: int = 1
    identity: str = ""

    def __post_init__(self) -> None:
        self.identity = self.identity or self.name
        self.pool = ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn"), initializer=self.setup,
                                        initargs=self.arguments)

    def start(self, page: Page) -> Future[Reading]:
        """Read a page, when a process is free. With one process of each reader, pages are read in turn."""
        future = self.pool.submit(self.work, page)
        if self.jobs == 1:
            future.exception()
        return future

    def close(self) -> None:
        self.pool.shutdown()


def model(path: Path, precision: str = "fast", threads: int = 0, name: str | None = None, jobs: int = 1) -> Reader:
    """The engine with a model file."""
    with ModelFile.open(path) as file:
        identity = f"{file.model_id.hex()} {precision} {_front_end_hash(file.front_end)}"
    return Reader(name or path.stem, _read_with_model, _open_model, (path, precision, threads), jobs, identity)


def _front_end_hash(front_end: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits of what the file says besides its weights: grids of crops, the repeat guard, when a
    page is read again, ... A reading changes with it."""
    return hashlib.sha256(json_bytes(front_end)).hexdigest()[:12]


def peer(name: str, threads: int = 0, jobs: int = 1) -> Reader:
    """Another program, with `threads` threads (0: as many as processors). Raises MissingReader."""
    if name == "tesseract":
        missing = missing_languages()
        if missing:
            raise MissingReader(f"tesseract lacks {', '.join(missing)}; apt-get install tesseract-ocr "
                                + " ".join(f"tesseract-ocr-{code}" for code in missing) + ".")
        return Reader(name, _read_with_tesseract, _set_threads, (threads,), jobs, peer_version(name))
    if name == "rapidocr":
        try:
            __import__("rapidocr"), __import__("onnxruntime")
        except ImportError as error:
            raise MissingReader(f"rapidocr cannot be used ({error}); pip install 'leggio[bench]'.") from error
        return Reader(name, _read_with_rapidocr, _open_rapidocr, (threads,), jobs, peer_version(name))
    raise MissingReader(f"The peer {name!r} is unknown; there are {', '.join(PEERS)}.")


def missing_languages() -> list[str]:
    """Languages of the pages that tesseract cannot read; all of them where it is not installed."""
    wanted = [*TESSERACT_LANGUAGES.split("+"), *TESSERACT_ADDED.split("+")]
    if shutil.which("tesseract") is None:
        return wanted
    said = subprocess.run(["tesseract", "--list-langs"], check=True, capture_output=True, text=True)
    known = (said.stdout + said.stderr).split()
    return [code for code in wanted if code not in known]


def peer_version(name: str) -> str:
    """A peer that is installed, as reports name it."""
    if name == "tesseract":
        said = subprocess.run(["tesseract", "--version"], check=True, capture_output=True, text=True)
        return (said.stdout or said.stderr).splitlines()[0].strip()
    return ", ".join(f"{package} {metadata.version(package)}" for package in ("rapidocr", "onnxruntime"))


def peak_bytes(who: int = resource.RUSAGE_SELF) -> int:
    """Most resident memory so far. Linux counts KiB, macOS bytes."""
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _set_threads(threads: int) -> None:
    _state["threads"] = threads or processors()


def _open_model(path: Path, precision: str, threads: int) -> None:
    from uocr import UnlimitedOCR

    _state["ocr"] = UnlimitedOCR(path, precision=precision, threads=threads)


def _read_with_model(page: Page) -> Reading:
    begin, cpu = time.perf_counter(), time.process_time()
    found = _state["ocr"].read(page.picture, preset=page.preset).pages[0]
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return Reading(
        "", page.set, page.number, found.text, boxes=[box for block in found.blocks for box in block.boxes],
        words=[(word.text, word.confidence) for block in found.blocks for word in block.words],
        finish=str(found.finish_reason), seconds=seconds, cpu_seconds=cpu, peak_bytes=peak_bytes(),
        tokens=found.timings.generated_tokens, error=found.error or "")


def _read_with_tesseract(page: Page) -> Reading:
    """Page segmentation 3 (automatic), all the set's languages; boxes are its paragraphs."""
    languages = TESSERACT_ADDED if page.set == "new languages" else TESSERACT_LANGUAGES
    environment = os.environ | {"OMP_THREAD_LIMIT": str(_state["threads"])}
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        command = ["tesseract", str(page.picture), str(Path(folder) / "out"), "-l", languages, "--psm", "3", "txt",
                   "tsv"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        text = (Path(folder) / "out.txt").read_text("utf-8") if process.returncode == 0 else ""
        boxes = _paragraphs((Path(folder) / "out.tsv").read_text("utf-8"), page) if process.returncode == 0 else None
    return Reading("", page.set, page.number, text, boxes=boxes, finish="error" if process.returncode else "eos",
                   seconds=seconds, cpu_seconds=usage.ru_utime + usage.ru_stime, peak_bytes=usage.ru_maxrss * 1024,
                   error=f"exit code {process.returncode}" if process.returncode else "")


def _paragraphs(table: str, page: Page) -> list[Box]:
    with Image.open(page.picture) as picture:
        width, height = picture.size
    boxes = []
    for line in table.splitlines()[1:]:
        fields = line.split("\t")
        if fields[0] == "3":
            left, top, wide, high = (int(value) for value in fields[6:10])
            boxes.append(_units((left, top, left + wide, top + high), width, height))
    return boxes


def _units(box: tuple[float, float, float, float], width: int, height: int) -> Box:
    return Box(*(round(value / side * BOX_SCALE) for value, side in zip(box, (width, height) * 2, strict=True)))


def _open_rapidocr(threads: int) -> None:
    from rapidocr import RapidOCR

    threads = threads or processors()
    _state["rapidocr"] = RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": threads,
                                          "Global.log_level": "error"})


def _read_with_rapidocr(page: Page) -> Reading:
    """The models that its wheel holds, everything else as it comes. It finds lines, no blocks."""
    begin, cpu = time.perf_counter(), time.process_time()
    result = _state["rapidocr"](str(page.picture))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    text = "" if result.txts is None else "\n".join(result.txts[n] for n in order_of_lines(result.boxes))
    return Reading("", page.set, page.number, text, seconds=seconds, cpu_seconds=cpu, peak_bytes=peak_bytes())


def order_of_lines(corners: np.ndarray) -> list[int]:
    """Places of lines (`corners` [lines, 4, 2], pixels) row by row from the top, each row from the left. A line belongs
    to a row when its middle is less than half a line's height below that of the row's first."""
    top, bottom = corners[:, :, 1].min(axis=1), corners[:, :, 1].max(axis=1)
    middle, left = (top + bottom) / 2, corners[:, :, 0].min(axis=1)
    rows: list[list[int]] = []
    for n in np.argsort(middle, kind="stable").tolist():
        first = rows[-1][0] if rows else None
        if first is not None and middle[n] - middle[first] < (bottom[first] - top[first]) / 2:
            rows[-1].append(n)
        else:
            rows.append([n])
    return [n for row in rows for n in sorted(row, key=lambda n: float(left[n]))]
