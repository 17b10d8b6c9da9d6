"""Fixed sets of pages with their truth, made from seeds, kept in a cache folder outside the repository.

A page is one PNG and one JSON; page i of a set depends on the set's name, its seed and i alone, so that a run over
20 pages reads the first 20 of a run over 100. The folder's name carries a hash of everything a page is made from
(fonts and texts, the code that draws), so that pages of an older generator are never taken for those of a newer.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import platformdirs
from PIL import Image
from uocr.document import Box

ROOT = Path(__file__).resolve().parents[2]
_DRAWN_BY = ("training/pages", "training/charset.py", "training/words.py", "training/targets.py", "training/fonts.py",
             "training/texts.py", "bench/quality/generated.py", "bench/quality/looks.py", "bench/quality/documents.py",
             "bench/quality/table_pages.py")


@dataclass(frozen=True)
class TruthBlock:
    """A block that a page really holds; the box in page units 0..999, None where it is not known."""

    label: str
    text: str
    box: Box | None


@dataclass(frozen=True)
class Page:
    """One page of a set: where its picture lies, what it holds, and the preset it is meant for."""

    set: str
    number: int
    picture: Path
    blocks: tuple[TruthBlock, ...]
    preset: str

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    def markup(self) -> str:
        """The truth in the output grammar of the models."""
        return "".join(f"<|det|>{b.label} [{b.box.x1}, {b.box.y1}, {b.box.x2}, {b.box.y2}]<|/det|>{b.text}\n"
                       for b in self.blocks if b.box is not None)


Drawn = tuple[Image.Image, list[TruthBlock]]
Draw = Callable[[Path, int], Drawn]
"""From (pack of fonts and texts, page number) to a picture and its blocks; deterministic."""


@dataclass(frozen=True)
class PageSet:
    """A kind of page: its name, how it is drawn, how many are read by default, what a reader should know."""

    name: str
    draw: Draw
    preset: str = "base"
    pages: int = 20
    blank: bool = False
    about: str = ""


def default_cache() -> Path:
    return Path(platformdirs.user_cache_dir("leggio", appauthor=False)) / "bench"


def content_hash(paths: Sequence[Path]) -> str:
    """SHA-256 over the names and bytes of files and of all files in folders."""
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(file.relative_to(path.parent).as_posix().encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def weights_hash(checkpoint: Path) -> str:
    """SHA-256 of a checkpoint's weights: of its .safetensors files one after the other (one file: its own)."""
    digest = hashlib.sha256()
    for file in sorted(checkpoint.glob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class PageCache:
    """Pages of sets, drawn at first use. `pack` is the folder of fonts and texts (training.collect)."""

    def __init__(self, folder: Path, pack: Path, processes: int = 1) -> None:
        self.pack, self.processes = pack, processes
        drawn_by = [ROOT / name for name in _DRAWN_BY if (ROOT / name).exists()]
        self.key = content_hash([pack / "fonts", pack / "text", pack / "tokenizer.json", *drawn_by])
        self.folder = folder / f"pages-{self.key[:16]}"

    def pages(self, page_set: PageSet, count: int) -> Iterator[Page]:
        """The first `count` pages of a set, in order; missing ones are drawn and stored before they are given out."""
        folder = self.folder / page_set.name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        missing = [i for i in range(count) if not (folder / f"{i:03d}.json").exists()]
        work = partial(_store, page_set.draw, self.pack, folder)
        if self.processes > 1 and len(missing) > 1:
            with ProcessPoolExecutor(self.processes) as pool:
                list(pool.map(work, missing))
        else:
            for number in missing:
                work(number)
        for number in range(count):
            yield load(folder, page_set, number)


def _store(draw: Draw, pack: Path, folder: Path, number: int) -> None:
    picture, blocks = draw(pack, number)
    mark = f"{os.getpid()}.partial"  # several runs may draw the same page at once
    partial_png = folder / f"{number:03d}.png.{mark}"
    picture.save(partial_png, "PNG")
    os.replace(partial_png, folder / f"{number:03d}.png")
    # The JSON comes last: its presence says that the page is complete.
    partial_json = folder / f"{number:03d}.json.{mark}"
    partial_json.write_text(json.dumps([asdict(b) for b in blocks], ensure_ascii=False), encoding="utf-8")
    os.replace(partial_json, folder / f"{number:03d}.json")


def load(folder: Path, page_set: PageSet, number: int) -> Page:
    """A stored page."""
    stored = json.loads((folder / f"{number:03d}.json").read_text(encoding="utf-8"))
    blocks = tuple(TruthBlock(b["label"], b["text"], Box(**b["box"]) if b["box"] else None) for b in stored)
    return Page(page_set.name, number, folder / f"{number:03d}.png", blocks, page_set.preset)
